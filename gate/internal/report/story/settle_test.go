package story

import (
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestSettle wants calls that can be copied, with the time that they take by the runs of the measurement.
func TestSettle(t *testing.T) {
	open := func(also ...result.Remark) []result.Finding {
		return []result.Finding{{Kernel: "k", Name: "k", Scope: "kernel", Metric: "time", Unit: "ns", Base: 100,
			Head: 104, Outcome: result.Undecided, Undecided: true, Gates: true,
			Reason: "interval contains the limit", Also: also}}
	}
	other := open()
	other[0].Kernel, other[0].Name = "l", "l"
	bound := open()
	bound[0].Kernel, bound[0].Name, bound[0].ReasonKey = "m", "m", result.KeyBoundsBroken
	more := result.Remark{Key: result.KeyMoreRuns, Args: result.Args{"runs": result.Number(12)}}
	spent := &result.Spent{Total: 50e9, Runs: 5}
	calls := result.Calls{Runs: "nsgate check N {runs} -w a", Paired: "nsgate check P -w a", Needs: "base set"}
	for _, c := range []struct {
		calls    *result.Calls
		paired   bool
		findings []result.Finding
		want     string
	}{
		{&calls, false, open(more), "nsgate check N 12 -w a (about 2 min)"},
		{&calls, true, open(more), "nsgate check N 12 -w a (about 4 min)"},
		{&calls, false, append(open(more), other...), "measure the base build beside the head: nsgate check P -w a " +
			"(about 100 s), with base set"},
		{&calls, true, append(open(more), other...), "nsgate check N 12 -w a (about 4 min)"},
		{&calls, false, open(),
			"measure the base build beside the head: nsgate check P -w a (about 100 s), with base set"},
		{&calls, true, open(), "nsgate check N 10 -w a (about 3 min)"},
		{nil, true, open(), "measure both builds again, on a quiet host and with more runs"},
		{nil, false, open(more), "measure the base build beside the head"},
		{nil, false, bound, "measure the head again, on a quiet host and with more runs"},
		{&calls, false, bound, "nsgate check N 10 -w a (about 100 s)"},
		{nil, false, append(open(more), bound...), "measure the base build beside the head"},
	} {
		r := &result.Report{Verdict: result.Pass, Undecided: true, Findings: c.findings, Calls: c.calls,
			Paired: c.paired, Spent: spent, Head: result.Side{Runs: 5}}
		v := Tell(r, Options{})
		if got := unbind(v.Next[0]); got != c.want || len(v.Next) != 1 {
			t.Errorf("%q, want %q", v.Next, c.want)
		}
		first, _ := v.Says()
		if !slices.ContainsFunc(first, func(s Said) bool {
			return s.Label == "Settle" && slices.Equal(s.Lines, v.Next)
		}) {
			t.Errorf("the text says %+v", first)
		}
	}
}

// TestAdvice wants each cause of a slower program to have its advice, and none where it is not known.
func TestAdvice(t *testing.T) {
	kernel := func(metric string, facts ...result.Remark) result.Finding {
		return result.Finding{Kernel: "k", Name: "k", Scope: "kernel", Metric: metric, Unit: "ns", Base: 100, Head: 200,
			Change: 1, Outcome: result.Slower, Gates: true, Match: "exact", Facts: facts}
	}
	count := func(scope, metric string) result.Finding {
		f := kernel(metric)
		f.Unit, f.Base, f.Head = "count", 1, 4
		if scope == "workload" {
			f.Scope, f.Kernel, f.Name = "workload", "workload", ""
		}
		return f
	}
	copies := func(metric string, facts ...result.Remark) result.Finding {
		f := kernel(metric, facts...)
		f.Scope, f.Kernel, f.Name = "workload", "memcpy HtoD", "memcpy HtoD"
		return f
	}
	replaced := kernel("total")
	replaced.Match, replaced.BaseNames = "place", []string{"old"}
	for _, c := range []struct {
		findings []result.Finding
		want     string
	}{
		{[]result.Finding{kernel("time")},
			"compare its source, launch and input with the baseline's: code = [FILE] with " +
				"-lineinfo names changed lines, ncu what limits it now"},
		{[]result.Finding{kernel("total"), count("kernel", "launches")},
			"look at the loop that launches it, and batch the launches"},
		{[]result.Finding{replaced},
			"compare data types, layouts, shapes and library versions: another kernel does the work"},
		{[]result.Finding{kernel("time", result.Remark{Key: result.KeyAttribute,
			Args: result.Args{"metric": "local_memory", "base": result.Number(0), "head": result.Number(64)}})},
			"lower the registers a thread needs: __launch_bounds__, smaller tiles, fewer values in flight"},
		{[]result.Finding{copies("copy_time", result.Remark{Key: result.KeyMemory,
			Args: result.Args{"base": "pinned to device", "head": "pageable to device"}})},
			"copy from pinned memory: cudaMallocHost, pin_memory=True"},
		{[]result.Finding{copies("copy_time"), copies("copies")},
			"copy once, in larger pieces, or keep the data on the GPU"},
		{[]result.Finding{copies("copy_time"), copies("copy_bytes")}, "copy less, or keep the data on the GPU"},
		{[]result.Finding{count("workload", "sync_calls")},
			"remove the new synchronising call, or move it out of the step: the next operation is issued after it"},
	} {
		v := Tell(&result.Report{Verdict: result.Fail, Findings: c.findings}, Options{})
		if got := v.Causes[0].Do; got != c.want {
			t.Errorf("%s: %q, want %q", c.findings[0].Metric, got, c.want)
		}
	}
}

// TestNewKernels wants a longer GPU time explained by new kernels where these are half of it, with their place.
func TestNewKernels(t *testing.T) {
	find := func(scope measure.Scope, name, metric string, base, head result.Number, o result.Outcome) result.Finding {
		return result.Finding{Kernel: name, Scope: scope, Name: name, Metric: metric, Unit: "ns", Base: base,
			Head: head, Change: 0.2, Outcome: o, Gates: o == result.Slower, Match: "exact"}
	}
	whole := find("workload", "", measure.GPUTime.Name, 600e6, 700e6, result.Slower)
	whole.Kernel = "workload"
	step := find("workload", "", measure.StepTime.Name, 6e6, 7e6, result.Slower)
	step.Kernel = "workload"
	long := find("kernel", "scatter", measure.Total.Name, result.Unknown, 50e6, result.New)
	long.Origin = &result.Origin{File: "gnn.py", Line: 9, Function: "forward", Share: 1}
	short := find("kernel", "gather", measure.Total.Name, result.Unknown, 20e6, result.New)
	first := find("device", "GPU 0", measure.GPUTime.Name, 300e6, 360e6, result.Slower)
	second := find("device", "GPU 1", measure.GPUTime.Name, 300e6, 340e6, result.Slower)
	same := find("device", "GPU 1", measure.GPUTime.Name, 300e6, 300e6, result.WithinLimit)
	for _, c := range []struct {
		findings  []result.Finding
		why, what string
		places    int
	}{
		{[]result.Finding{whole, short, long}, "2 new kernels take 70.00 ms a run: scatter 50.00 ms, gather 20.00 ms",
			"see whether what is new is needed in every step, and what it could be fused with", 1},
		{[]result.Finding{whole, long}, "A new kernel takes time: scatter 50.00 ms a run",
			"see whether what is new is needed in every step, and what it could be fused with", 1},
		{[]result.Finding{step, whole, long}, "A new kernel takes time: scatter 50.00 ms a run",
			"see whether what is new is needed in every step, and what it could be fused with", 1},
		{[]result.Finding{step, long}, noneChanged,
			"see both builds in Nsight Systems: no kernel, copy or idle time alone explains it", 0},
		{[]result.Finding{whole, first, second, long}, "A new kernel takes time: scatter 50.00 ms a run",
			"see whether what is new is needed in every step, and what it could be fused with", 1},
		{[]result.Finding{first, whole, same, long}, "GPU 0 GPU time: 300.0 → 360.0 ms, +20.0 % (limit 0 %)",
			"compare the work that each GPU is given, and its clocks", 0},
		{[]result.Finding{whole, short}, noneChanged,
			"see the kernels that changed most in nsgate report --verbose: none alone explains it", 0},
	} {
		r := &result.Report{Verdict: result.Fail, Findings: c.findings}
		r.Counts.New = len(slices.DeleteFunc(slices.Clone(c.findings),
			func(f result.Finding) bool { return f.Outcome != result.New }))
		v := Tell(r, Options{})
		got := v.Causes[0]
		told := strings.Contains(c.why, "new kernel") // by the cause, and not again below
		if n := len(v.Besides().Lines); n > 0 == (told || r.Counts.New == 0) {
			t.Errorf("%q: %q stand beside it", c.why, v.Besides().Lines)
		}
		if why := strings.ReplaceAll(got.Why[0], NB, " "); why != c.why || got.Do != c.what ||
			len(got.Places()) != c.places {
			t.Errorf("%q, %q, %q; want %q, %q", why, got.Do, got.Places(), c.why, c.what)
		}
	}
}

// The definition of a kernel that a function without a line launches is a place beside that.
func TestWhereabouts(t *testing.T) {
	f := result.Finding{Scope: measure.ScopeKernel, Name: "saxpy", Kernel: "saxpy", Metric: measure.Time.Name,
		Unit: "ns", Base: 20e3, Head: 30e3, Change: 0.5, Outcome: result.Slower, Gates: true}
	for _, c := range []struct {
		origin *result.Origin
		want   []string
	}{
		{nil, []string{"app.cu:5, definition of saxpy"}},
		{&result.Origin{Function: "Start", Share: 1}, []string{"app.cu:5, definition of saxpy", "in Start"}},
		{&result.Origin{File: "a.py", Line: 2, Function: "f", Share: 1}, []string{"a.py:2 in f"}},
	} {
		f.Origin = c.origin
		v := Tell(&result.Report{Verdict: result.Fail, Findings: []result.Finding{f}},
			Options{Locate: func(result.Finding) (string, int, bool) { return "app.cu", 5, true }})
		if got := v.Whereabouts(&v.Causes[0]); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.origin, got, c.want)
		}
	}
}

// A place of several kernels is one, without the shares of their launches.
func TestPlaces(t *testing.T) {
	row := func(line int, share result.Number) Row {
		return Row{F: result.Finding{Origin: &result.Origin{File: "a.py", Line: line, Function: "f", Share: share}}}
	}
	c := &Cause{Rows: []Row{row(2, 0.5), row(3, 0.5), row(2, 0.25), {}, row(3, 0.5)}}
	if got := c.Places(); !slices.Equal(got, []string{"a.py:2 in f", "a.py:3 in f (50.0\u00a0% of its launches)"}) {
		t.Errorf("%q", got)
	}
}

func TestCommitID(t *testing.T) {
	for commit, want := range map[string]string{
		"a1b2c3d4e5f60718293a4b5c6d7e8f9012345678": "a1b2c3d4e5f6071829", "43555997f4ca": "43555997f4ca",
		"43555997f4ca-dirty": "43555997f4ca-dirty", "": "", "v1.2\x1b[31m": Clean("v1.2\x1b[31m"),
	} {
		if got := CommitID(commit, 18); got != want {
			t.Errorf("%q: %q, want %q", commit, got, want)
		}
	}
}
