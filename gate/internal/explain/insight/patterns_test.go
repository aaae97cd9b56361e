package insight

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// program is a summary of steps of 1 ms on one device. A kernel has the time that the other parts leave.
func program(change func(*result.Summary)) *result.Summary {
	s := &result.Summary{Recorded: result.Side{Step: "step"}, Period: 1e6, GPUTime: 1e6, Launches: 1, Devices: 1,
		Kernels: []result.SummaryKernel{{Named: result.Named{Kernel: "gemm"}, Time: 1e6, Launches: 1, Total: 1e6,
			Share: 1}}}
	change(s)
	rest := s.Period
	for _, p := range s.Parts {
		rest -= p.Time
	}
	s.Parts = append(s.Parts, result.SummaryPart{Class: "compute", Time: rest})
	return s
}

// parts are programs whose step has a part.
func parts(p result.SummaryPart) *result.Summary {
	return program(func(s *result.Summary) { s.Parts = append(s.Parts, p) })
}

// copying are programs with copies of a kind.
func copying(c result.SummaryCopy) *result.Summary {
	return program(func(s *result.Summary) { s.Copies = append(s.Copies, c) })
}

// calling are programs with so many calls of a function a step.
func calling(name string, calls result.Number) *result.Summary {
	return program(func(s *result.Summary) {
		s.Others = append(s.Others, result.SummaryValue{Scope: measure.ScopeCall, Name: name,
			Metric: measure.SyncCalls.Name, Value: calls})
	})
}

// pageable is a program with a small part of its copies from pageable memory.
func pageable(bytes result.Number) *result.Summary {
	return program(func(s *result.Summary) {
		s.Copies = append(s.Copies, result.SummaryCopy{Kind: "memcpy HtoD", Bytes: 1e6, Memory: "pinned to device"})
		s.Others = append(s.Others, result.SummaryValue{Scope: measure.ScopeWorkload,
			Metric: measure.PageableBytes.Name, Value: bytes})
	})
}

// launching are programs with another kernel, so much of whose time nothing hides.
func launching(k result.SummaryKernel, exposed result.Number) *result.Summary {
	return program(func(s *result.Summary) {
		k.Owned = exposed
		s.Kernels = append(s.Kernels, k)
	})
}

// Every pattern is named beyond its line and not before it.
func TestPatterns(t *testing.T) {
	starved := result.SummaryPart{Class: "launch-starved", Where: "host code in step", Idle: true}
	blocking := result.SummaryPart{Class: "blocking", Where: "cudaDeviceSynchronize in step", Idle: true}
	dry := result.SummaryPart{Class: "launch-starved", Where: "host code in step after cudaStreamSynchronize",
		Idle: true}
	profiler := result.SummaryPart{Class: "profiler"}
	with := func(p result.SummaryPart, ns result.Number) result.SummaryPart { p.Time = ns; return p }
	nccl := result.SummaryKernel{Named: result.Named{Kernel: "ncclDevKernel"}, Communicates: true, Launches: 1}
	ncclOf := func(ns result.Number) result.SummaryKernel { nccl.Total = ns; return nccl }
	for _, tt := range []struct {
		key      string
		has, not *result.Summary
	}{
		{"low-utilisation", parts(with(starved, 501e3)), parts(with(starved, 500e3))},
		{"low-utilisation", parts(with(starved, 501e3)), parts(with(profiler, 900e3))},
		{"gpu-idle", parts(with(starved, 151e3)), parts(with(starved, 149e3))},
		{"gpu-idle", parts(with(starved, 151e3)), parts(with(profiler, 500e3))},
		{"launch-starved", parts(with(starved, 101e3)), parts(with(starved, 99e3))},
		{"launch-starved", parts(with(starved, 101e3)), parts(with(blocking, 400e3))},
		{"synchronising", parts(with(blocking, 151e3)), parts(with(blocking, 149e3))},
		{"synchronising", parts(with(dry, 151e3)), parts(with(starved, 400e3))},
		{"synchronising-calls", calling("cudaStreamSynchronize", 1), calling("cudaStreamSynchronize", 0.9)},
		{"synchronising-calls", calling("cuCtxSynchronize", 1), calling("cudaEventSynchronize", 9)},
		{"synchronous-copies", calling("cudaMemcpy", 1), calling("cudaMemcpy", 0.9)},
		{"synchronous-copies", calling("cudaMemset", 1), calling("cudaDeviceSynchronize", 9)},
		{"copy-bottleneck", copying(result.SummaryCopy{Kind: "memcpy HtoD", Time: 51e3, Count: 1}),
			copying(result.SummaryCopy{Kind: "memcpy HtoD", Time: 49e3, Count: 1})},
		{"copy-bottleneck", copying(result.SummaryCopy{Kind: "memcpy HtoD", Time: 51e3, Count: 1}),
			copying(result.SummaryCopy{Kind: "memset", Time: 400e3, Count: 1})},
		{"many-copies", copying(result.SummaryCopy{Kind: "memcpy DtoH", Time: 1e3, Count: 11}),
			copying(result.SummaryCopy{Kind: "memcpy DtoH", Time: 1e3, Count: 10})},
		{"exposed-copies", copying(result.SummaryCopy{Kind: "memcpy DtoH", Time: 100e3, Owned: 51e3}),
			copying(result.SummaryCopy{Kind: "memcpy DtoH", Time: 100e3, Owned: 50e3})},
		{"exposed-copies", copying(result.SummaryCopy{Kind: "memcpy DtoH", Time: 100e3, Owned: 51e3}),
			copying(result.SummaryCopy{Kind: "memcpy DtoH", Time: 99e3, Owned: 99e3})},
		{"pageable-copies", copying(result.SummaryCopy{Kind: "memcpy DtoH", Bytes: 8, Memory: "device to pageable"}),
			copying(result.SummaryCopy{Kind: "memcpy DtoH", Bytes: 8, Memory: "device to pinned"})},
		{"pageable-copies", pageable(1), pageable(0)},
		{"small-kernels", launching(result.SummaryKernel{Time: 9e3, Launches: 100}, 0),
			launching(result.SummaryKernel{Time: 9e3, Launches: 99}, 0)},
		{"small-kernels", launching(result.SummaryKernel{Time: 9e3, Launches: 100}, 0),
			launching(result.SummaryKernel{Time: 10e3, Launches: 500}, 0)},
		{"exposed-communication", launching(ncclOf(200e3), 70e3), launching(ncclOf(200e3), 50e3)},
		{"exposed-communication", launching(ncclOf(200e3), 70e3), launching(ncclOf(99e3), 99e3)},
		{"exposed-communication", launching(ncclOf(100e3), 51e3), launching(ncclOf(100e3), 49e3)},
		{"exposed-communication", launching(ncclOf(200e3), 70e3),
			launching(result.SummaryKernel{Named: result.Named{Kernel: "gemm"}, Launches: 1, Total: 200e3}, 200e3)},
	} {
		i := slices.IndexFunc(Patterns, func(p Pattern) bool { return p.Key == tt.key })
		if i < 0 {
			t.Fatalf("no pattern %s", tt.key)
		}
		found := Patterns[i].find(tt.has, 1)
		if len(found) != 1 || found[0].Key != tt.key {
			t.Errorf("%s is not found: %v", tt.key, found)
		}
		if found := Patterns[i].find(tt.not, 1); len(found) > 0 {
			t.Errorf("%s is found where it is not: %v", tt.key, found)
		}
	}
}

// Every pattern has a case above, and a program without data has no pattern.
func TestPatternsOfNothing(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Patterns {
		if p.Key == "" || p.Means == "" || p.When == "" || seen[p.Key] {
			t.Errorf("%q says not all, or twice: %+v", p.Key, p)
		}
		seen[p.Key] = true
		for _, s := range []*result.Summary{
			{Devices: 1},
			{Period: result.Unknown, GPUTime: result.Unknown, Launches: result.Unknown, Devices: 1,
				Recorded: result.Side{Step: "step"},
				Kernels: []result.SummaryKernel{{Named: result.Named{Kernel: "ncclDevKernel"}, Communicates: true,
					Time: result.Unknown, Launches: result.Unknown, Total: result.Unknown, Owned: result.Unknown,
					Share: result.Unknown}},
				Copies: []result.SummaryCopy{{Kind: "memcpy HtoD", Count: result.Unknown, Time: result.Unknown,
					Share: result.Unknown, Owned: result.Unknown, Rate: result.Unknown}}},
		} {
			if found := p.find(s, 1); len(found) > 0 {
				t.Errorf("%s of nothing: %v", p.Key, found)
			}
		}
	}
}

// pageables is a session of so many runs, some of them with copies to pageable memory.
func pageables(gpu string, some, runs int) model.Session {
	s := model.Session{Environment: model.Environment{GPU: gpu, Tool: "nsys 2025.3.2"}}
	copied := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy DtoH"}
	var count, time model.Values
	for i := range runs {
		n := 0.0
		if i < some {
			n = 1
		}
		s.Runs = append(s.Runs, model.Run{Steady: true})
		count, time = append(count, n), append(time, 10*n)
	}
	for metric, values := range map[measure.Metric]model.Values{measure.Copies: count, measure.CopyTime: time,
		measure.CopyBytes: time} {
		s.Series = append(s.Series, model.Series{Subject: copied, Metric: metric, Values: values,
			Note: "device to pageable"})
	}
	s.SortSeries()
	return s
}

// copiers are sessions of steps with so many copies each; the accepted ones (parts) lack the copies.
func copiers(copies float64, parts ...bool) (out []model.Session) {
	for _, part := range append(parts, false) {
		s := model.Session{Environment: model.Environment{GPU: "a", Tool: "nsys 2025.3.2"}, Step: "step",
			Accepted: part}
		var count, time model.Values
		for range 5 {
			s.Runs = append(s.Runs, model.Run{Steady: true})
			count, time = append(count, copies), append(time, 100)
		}
		copied := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy DtoH"}
		for metric, values := range map[measure.Metric]model.Values{measure.Copies: count, measure.CopyTime: time,
			measure.CopyBytes: time} {
			if !part {
				s.Series = append(s.Series, model.Series{Subject: copied, Metric: metric, Values: values,
					Note: "device to device"})
			}
		}
		s.Series = append(s.Series, model.Series{Subject: measure.Workload, Metric: measure.StepTime,
			Values: model.Values{1e6, 1e6, 1e6, 1e6, 1e6}})
		s.SortSeries()
		out = append(out, s)
	}
	return out
}

// A pattern is there where most runs have it, and new where hardly any of the base has or comes near it.
func TestNewPatterns(t *testing.T) {
	one := func(s model.Session) []model.Session { return []model.Session{s} }
	for _, tt := range []struct {
		name       string
		base, head []model.Session
		want       int
	}{
		{"new", one(pageables("a", 0, 5)), one(pageables("a", 5, 5)), 2},
		{"most runs", one(pageables("a", 0, 5)), one(pageables("a", 3, 5)), 2},
		{"half of the runs", one(pageables("a", 0, 4)), one(pageables("a", 2, 4)), 0},
		{"a run of the base", one(pageables("a", 1, 5)), one(pageables("a", 5, 5)), 2},
		{"two runs of the base", one(pageables("a", 2, 5)), one(pageables("a", 5, 5)), 0},
		{"gone", one(pageables("a", 5, 5)), one(pageables("a", 0, 5)), 0},
		{"another GPU", one(pageables("b", 0, 5)), one(pageables("a", 5, 5)), 0},
		{"at its line in the base", copiers(10), copiers(11), 0},
		{"away from its line in the base", copiers(7), copiers(11), 1},
		{"in whole sessions of the base only", copiers(11, true, true, true, true, true), copiers(11), 0},
		{"no base", nil, one(pageables("a", 5, 5)), 0},
		{"no head", one(pageables("a", 5, 5)), nil, 0},
	} {
		got := NewPatterns(tt.base, tt.head)
		if len(got) != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
