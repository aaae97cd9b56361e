package insight

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/explain/why"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// slowerBy is a comparison that fails a gate.
func slowerBy(scope measure.Scope, name string, m measure.Metric, base, head result.Number) *result.Finding {
	return &result.Finding{Scope: scope, Name: name, Kernel: name, Metric: m.Name, Unit: m.Unit, Base: base, Head: head,
		Change: head/base - 1, Limit: 0.03, Outcome: result.Slower, Gates: true, Match: "exact"}
}

func with(f *result.Finding, key string, args result.Args) *result.Finding {
	f.Facts = append(f.Facts, result.Remark{Key: key, Args: args})
	return f
}

// Every row of the table of advice is what is said of some failure, and no other row before it.
func TestDo(t *testing.T) {
	kernel := func() *result.Finding { return slowerBy(measure.ScopeKernel, "saxpy", measure.Time, 10, 12) }
	copies := func(kind string, m measure.Metric, base, head result.Number) *result.Finding {
		return slowerBy(measure.ScopeWorkload, kind, m, base, head)
	}
	grown := func(m measure.Metric) *result.Finding { return slowerBy(measure.ScopeWorkload, "", m, 1, 2) }
	attribute := func(m measure.Metric) *result.Finding {
		return with(kernel(), result.KeyAttribute, result.Args{"metric": m.Name, "base": result.Number(1),
			"head": result.Number(8)})
	}
	counted := func(rule string, spills result.Number) *result.Finding {
		f := kernel()
		f.Cause = &result.Cause{Guides: []result.Guide{why.GuideOf(rule)},
			Metrics: []result.CauseMetric{{Name: measure.Spills.Name, Head: spills}}}
		return f
	}
	replaced := func(gone, fresh []string) *result.Finding {
		f := slowerBy(measure.ScopeKernel, "new", measure.Total, 10, 12)
		f.Match, f.BaseNames, f.HeadNames = "role", gone, fresh
		return f
	}
	bound := result.Number(11)
	bounded := kernel()
	bounded.AtMost, bounded.Change, bounded.Base = &bound, result.Unknown, result.Unknown
	geometry := kernel()
	geometry.Match = "geometry"
	placed := kernel()
	placed.Origin = &result.Origin{File: "train.py", Line: 4}
	called := kernel()
	called.Origin = &result.Origin{Function: "Start"}
	profiled := slowerBy(measure.ScopeBenchmark, "BM_x/1", measure.Duration, 1, 2)
	profiled.Cause = &result.Cause{}
	late := &result.Ranks{Straggler: &result.Straggler{Rank: "rank 1", Late: true}}
	spilled := &result.Code{Comparison: devicecode.Comparison{Changed: []devicecode.Change{{
		Base: devicecode.Kernel{Name: "saxpy"},
		Head: devicecode.Kernel{Name: "saxpy", SpillStores: 8}}}}}
	hit := map[int]bool{}
	for _, x := range []struct {
		fails, known string
		f            Failure
		findings     []*result.Finding
	}{
		{"rank", "late", Failure{Rank: true, Report: &result.Report{Ranks: late}}, nil},
		{"rank", "computes longer", Failure{Rank: true,
			Report: &result.Report{Ranks: &result.Ranks{Straggler: &result.Straggler{}}}}, nil},
		{"bound", "no limit on a change", Failure{}, []*result.Finding{bounded}},
		{"device code", "a limit of the policy", Failure{Report: &result.Report{ReasonKey: "code-limit"}}, nil},
		{"drift", "a limit of the policy", Failure{Report: &result.Report{ReasonKey: result.KeyOverDrift}}, nil},
		{"copies", "a few bytes to the host, often", Failure{},
			[]*result.Finding{copies("memcpy DtoH", measure.CopyTime, 1, 300),
				copies("memcpy DtoH", measure.Copies, 0, 300), copies("memcpy DtoH", measure.CopyBytes, 0, 1200),
				grown(measure.SyncCalls), grown(measure.PageableBytes)}},
		{"copies", "a few bytes to the GPU, often", Failure{},
			[]*result.Finding{copies("memcpy HtoD", measure.CopyTime, 1, 300),
				copies("memcpy HtoD", measure.Copies, 1, 300),
				copies("memcpy HtoD", measure.CopyBytes, 4000, 4000+8*299)}},
		{"count", "synchronising calls", Failure{Part: measure.IdleSync},
			[]*result.Finding{grown(measure.StepTime), grown(measure.SyncCalls)}},
		{"copies", "pageable memory", Failure{}, []*result.Finding{with(copies("memcpy HtoD", measure.CopyTime, 1, 2),
			result.KeyMemory, result.Args{"base": "pinned to device", "head": "pageable to device"})}},
		{"memset", "", Failure{}, []*result.Finding{copies("memset", measure.CopyTime, 1, 2),
			copies("memset", measure.Copies, 1, 2)}},
		{"copies", "more of them", Failure{}, []*result.Finding{copies("memcpy HtoD", measure.CopyTime, 1, 2),
			copies("memcpy HtoD", measure.Copies, 1, 2)}},
		{"copies", "more of them", Failure{}, []*result.Finding{copies("memcpy DtoD", measure.CopyTime, 1, 2),
			copies("memcpy DtoD", measure.Copies, 1, 4), grown(measure.SyncCalls)}},
		{"copies", "more bytes", Failure{}, []*result.Finding{copies("memcpy HtoD", measure.CopyTime, 1, 2),
			copies("memcpy HtoD", measure.CopyBytes, 1, 2)}},
		{"copies", "between GPUs or on one", Failure{},
			[]*result.Finding{copies("memcpy DtoD", measure.CopyTime, 1, 2)}},
		{"copies", "as many bytes", Failure{}, []*result.Finding{copies("memcpy HtoD", measure.CopyTime, 1, 2)}},
		{"count", "allocations", Failure{}, []*result.Finding{grown(measure.Allocations)}},
		{"idle", "launch-starved", Failure{Part: measure.IdleLaunch}, []*result.Finding{grown(measure.StepTime)}},
		{"idle", "blocking", Failure{Part: measure.IdleSync}, []*result.Finding{grown(measure.StepTime)}},
		{"idle", "dependency-stalled", Failure{Part: measure.IdleDependency},
			[]*result.Finding{grown(measure.StepTime)}},
		{"idle", "micro gaps", Failure{Part: measure.IdleGaps}, []*result.Finding{grown(measure.StepTime)}},
		{"idle", "unknown", Failure{Part: measure.IdleUnknown}, []*result.Finding{grown(measure.StepTime)}},
		{"memory", "", Failure{}, []*result.Finding{grown(measure.MemoryPeak)}},
		{"output", "memory", Failure{}, []*result.Finding{slowerBy(measure.ScopeOutput, "peak memory", measure.Cost, 1,
			2)}},
		{"server", "latency", Failure{}, []*result.Finding{slowerBy(measure.ScopeOutput, "p99_latency_ms", measure.Cost,
			1, 2)}},
		{"server", "throughput", Failure{}, []*result.Finding{slowerBy(measure.ScopeOutput, "request_throughput",
			measure.Rate, 2, 1)}},
		{"output", "", Failure{}, []*result.Finding{slowerBy(measure.ScopeOutput, "tokens/s", measure.Rate, 2, 1)}},
		{"benchmark row", "server latency", Failure{}, []*result.Finding{slowerBy(measure.ScopeBenchmark,
			"mean_ttft_ms", measure.Duration, 1, 2)}},
		{"benchmark row", "server throughput", Failure{}, []*result.Finding{slowerBy(measure.ScopeBenchmark,
			"request throughput", measure.ItemRate, 2, 1)}},
		{"benchmark row", "", Failure{}, []*result.Finding{slowerBy(measure.ScopeBenchmark, "BM_title/1",
			measure.Duration, 1, 2)}},
		{"benchmark row", "memory", Failure{}, []*result.Finding{slowerBy(measure.ScopeBenchmark, "BM_x/1",
			measure.Memory, 1, 2)}},
		{"benchmark row", "ratio", Failure{}, []*result.Finding{slowerBy(measure.ScopeBenchmark, "x", measure.Ratio,
			1, 2)}},
		{"benchmark row", "profiled", Failure{}, []*result.Finding{profiled}},
		{"benchmark row", "ratio", Failure{}, []*result.Finding{slowerBy(measure.ScopeBenchmark, "a over b",
			measure.Ratio, 1, 2)}},
		{"benchmark row", "no speed", Failure{}, []*result.Finding{slowerBy(measure.ScopeBenchmark, "accuracy",
			measure.MoreValue, 0.9, 0.5)}},
		{"output", "no speed", Failure{}, []*result.Finding{slowerBy(measure.ScopeOutput, "loss", measure.Cost, 1, 2)}},
		{"benchmark row", "", Failure{}, []*result.Finding{slowerBy(measure.ScopeBenchmark, "BM_x/1", measure.Duration,
			1, 2)}},
		{"section", "start-up", Failure{}, []*result.Finding{grown(measure.StartupTime)}},
		{"section", "", Failure{}, []*result.Finding{slowerBy(measure.ScopeSection, "after the steps", measure.Elapsed,
			1, 2)}},
		{"device", "", Failure{}, []*result.Finding{slowerBy(measure.ScopeDevice, "GPU 3", measure.GPUTime, 1, 2)}},
		{"counters", "spills", Failure{}, []*result.Finding{counted("local memory", 4)}},
		{"counters", "local array", Failure{}, []*result.Finding{counted("local memory", 0),
			replaced([]string{"a"}, nil)}},
		{"counters", "register pressure", Failure{}, []*result.Finding{counted("register pressure", 0)}},
		{"counters", "shared memory", Failure{}, []*result.Finding{counted("shared memory", 0)}},
		{"counters", "occupancy", Failure{}, []*result.Finding{counted("occupancy", 0)}},
		{"counters", "tensor cores", Failure{}, []*result.Finding{counted("tensor cores", 0)}},
		{"counters", "precision", Failure{}, []*result.Finding{counted("precision", 0)}},
		{"counters", "divergence", Failure{}, []*result.Finding{counted("divergence", 0)}},
		{"counters", "bank conflicts", Failure{}, []*result.Finding{counted("bank conflicts", 0)}},
		{"counters", "coalescing", Failure{}, []*result.Finding{counted("coalescing of stores", 0)}},
		{"counters", "waves", Failure{}, []*result.Finding{counted("waves", 0)}},
		{"counters", "work", Failure{}, []*result.Finding{counted("work", 0)}},
		{"counters", "L2 cache, L1 cache", Failure{}, []*result.Finding{counted("L1 cache", 0)}},
		{"counters", "traffic", Failure{}, []*result.Finding{counted("traffic", 0)}},
		{"counters", "idle warps", Failure{}, []*result.Finding{counted("idle warps", 0)}},
		{"counters", "clock", Failure{}, []*result.Finding{counted("memory clock", 0)}},
		{"counters", "stalls", Failure{}, []*result.Finding{counted("stalls", 0)}},
		{"code", "spills", Failure{Report: &result.Report{Code: spilled}},
			[]*result.Finding{with(kernel(), "changed-lines", nil)}},
		{"code", "spills", Failure{}, []*result.Finding{attribute(measure.LocalMemory)}},
		{"code", "more registers", Failure{}, []*result.Finding{attribute(measure.Registers)}},
		{"code", "changed lines", Failure{}, []*result.Finding{with(attribute(measure.Registers),
			"changed-lines", nil)}},
		{"code", "changed lines", Failure{}, []*result.Finding{with(kernel(), "changed-lines", nil)}},
		{"code", "changed lines, called", Failure{}, []*result.Finding{with(kernel(), "changed-lines",
			result.Args{"launch": true})}},
		{"kernel", "same code, lower clock", Failure{},
			[]*result.Finding{with(kernel(), "same-code", result.Args{"head_clock": result.Number(1200)})}},
		{"kernel", "same code", Failure{}, []*result.Finding{with(kernel(), "same-code",
			result.Args{"head_clock": result.Number(0)})}},
		{"kernel", "an operation more", Failure{}, []*result.Finding{with(kernel(), "added-operation", nil)}},
		{"kernel", "another operation", Failure{}, []*result.Finding{with(with(kernel(), "other-parts", nil),
			"no-changed-lines", result.Args{"launch": true})}},
		{"kernel", "other code, no line", Failure{}, []*result.Finding{with(with(kernel(), "code-changed-here", nil),
			"no-changed-lines", nil)}},
		{"kernel", "changed lines elsewhere", Failure{}, []*result.Finding{with(kernel(), "no-changed-lines",
			result.Args{"definition": true, "elsewhere": []string{"a.cu:1, in twice"}})}},
		{"kernel", "changed lines elsewhere, called", Failure{}, []*result.Finding{
			with(slowerBy(measure.ScopeKernel, "saxpy", measure.Launches, 1, 2), "no-changed-lines",
				result.Args{"launch": true, "elsewhere": []string{"a.py:1, in f"}})}},
		{"kernel", "other code", Failure{}, []*result.Finding{with(kernel(), "code-changed-here", nil)}},
		{"kernels", "more launches of all", Failure{Loops: true},
			[]*result.Finding{slowerBy(measure.ScopeKernel, "saxpy", measure.Total, 1, 2)}},
		{"kernel replaced", "several for one", Failure{},
			[]*result.Finding{replaced([]string{"old"}, []string{"a", "b"})}},
		{"kernel replaced", "", Failure{}, []*result.Finding{replaced([]string{"old"}, nil)}},
		{"kernel", "more launches", Failure{}, []*result.Finding{kernel(),
			slowerBy(measure.ScopeKernel, "saxpy", measure.Launches, 1, 2)}},
		{"kernel", "small kernels", Failure{}, []*result.Finding{grown(measure.SmallKernels)}},
		{"kernel", "new", Failure{}, []*result.Finding{slowerBy(measure.ScopeKernel, "saxpy", measure.Total, 0, 2)}},
		{"kernel", "another launch", Failure{}, []*result.Finding{geometry}},
		{"kernel", "collective", Failure{}, []*result.Finding{slowerBy(measure.ScopeKernel,
			"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", measure.Time, 1, 2)}},
		{"kernel", "place", Failure{}, []*result.Finding{placed}},
		{"kernel", "its time", Failure{}, []*result.Finding{called}},
		{"kernel", "its time", Failure{}, []*result.Finding{kernel(), grown(measure.SyncCalls),
			grown(measure.Allocations), grown(measure.PageableBytes)}},
		{"range", "", Failure{}, []*result.Finding{slowerBy(measure.ScopeRange, "forward", measure.GPUTime, 1, 2)}},
		{"step", "profiler", Failure{Part: "profiler"}, []*result.Finding{grown(measure.StepTime)}},
		{"step", "some steps", Failure{}, []*result.Finding{grown(measure.MeanStep)}},
		{"step", "one part", Failure{Part: "copies"}, []*result.Finding{grown(measure.StepTime)}},
		{"step", "no cause", Failure{}, []*result.Finding{grown(measure.StepTime)}},
		{"GPU time", "whole runs", Failure{Report: &result.Report{Doubts: result.SayIf(true, reason.OneStep{})}},
			[]*result.Finding{grown(measure.GPUTime)}},
		{"GPU time", "no kernel", Failure{}, []*result.Finding{grown(measure.GPUTime)}},
		{"anything", "", Failure{}, []*result.Finding{grown(measure.SMActive)}},
	} {
		f := x.f
		f.Findings = x.findings
		if f.Report == nil {
			f.Report = &result.Report{}
		}
		for _, each := range x.findings {
			f.Report.Findings = append(f.Report.Findings, *each)
		}
		found := false
		for i, a := range advices() {
			if a.fails == x.fails && a.known == x.known {
				found, hit[i] = true, true
				if got := Do(f); got != a.text {
					t.Errorf("%s, %s: %q, want %q", x.fails, x.known, got, a.text)
				}
			}
		}
		if !found {
			t.Errorf("no row is of %s, %s", x.fails, x.known)
		}
	}
	for i, a := range advices() {
		if !hit[i] || len(a.text) > 160 {
			t.Errorf("row %s, %s has no case, or is too long: %d bytes", a.fails, a.known, len(a.text))
		}
	}
}
