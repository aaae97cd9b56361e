package attribution

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// kernels of the traces below: a program's kernel, and a collective.
var kernels = []model.KernelInfo{
	{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "gemm"}},
	{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy"}},
	{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}},
}

// partitioned are the breakdowns of device 0.
func partitioned(t *model.Trace, periods []model.Interval) (steps []Breakdown) {
	Partition(t, 0, periods, func(s Breakdown) {
		s.Parts = slices.Clone(s.Parts)
		steps = append(steps, s)
	})
	return steps
}

// TestPartition holds the partition of random traces against one that looks at every nanosecond.
func TestPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := model.Trace{Kernels: kernels, CallNames: []string{"cudaDeviceSynchronize", "cudaLaunchKernel",
			"cudaMalloc"}, RangeNames: []string{"step"}}
		span := func(label string) (a, b int64) {
			a = rapid.Int64Range(0, 190).Draw(t, label)
			return a, a + rapid.Int64Range(0, 40).Draw(t, label+" length")
		}
		for range rapid.IntRange(0, 12).Draw(t, "launches") {
			a, b := span("launch")
			l := model.Launch{Start: a, End: b, API: a - rapid.Int64Range(0, 60).Draw(t, "ahead"),
				Kernel: rapid.Int32Range(0, 2).Draw(t, "kernel"), Device: rapid.Int32Range(0, 1).Draw(t, "device"),
				Thread: rapid.Int32Range(-1, 1).Draw(t, "thread")}
			trace.Launches = append(trace.Launches, l)
		}
		slices.SortFunc(trace.Launches, func(a, b model.Launch) int { return int(a.Start - b.Start) })
		for range rapid.IntRange(0, 4).Draw(t, "copies") {
			a, b := span("copy")
			trace.Copies = append(trace.Copies, model.Copy{Start: a, End: b, API: a - 5, Thread: 0,
				Kind: rapid.SampledFrom([]model.CopyKind{1, 2, model.Memset}).Draw(t, "kind")})
		}
		slices.SortFunc(trace.Copies, func(a, b model.Copy) int { return int(a.Start - b.Start) })
		for thread := range int32(2) {
			at := int64(0)
			for at < 200 {
				start := at + rapid.Int64Range(0, 30).Draw(t, "pause")
				at = start + rapid.Int64Range(1, 30).Draw(t, "call")
				trace.Calls.Add(model.Call{Start: start, End: at, Name: rapid.Int32Range(0, 2).Draw(t, "name"),
					Thread: thread})
			}
		}
		trace.Calls.Settle(nil)
		a, b := span("overhead")
		trace.Overhead = []model.Interval{{Start: a, End: b}}
		trace.Ranges = []model.Range{{Start: 20, End: 120, Parent: -1}}
		var periods []model.Interval
		for at := int64(0); at < 180; {
			start := at + rapid.Int64Range(0, 20).Draw(t, "between")
			at = start + rapid.Int64Range(1, 80).Draw(t, "period")
			periods = append(periods, model.Interval{Start: start, End: at})
		}

		got := partitioned(&trace, periods)
		if len(got) != len(periods) {
			t.Fatalf("%d steps of %d periods", len(got), len(periods))
		}
		for i, step := range got {
			if step.Interval != periods[i] {
				t.Fatalf("step %d is %v, not %v", i, step.Interval, periods[i])
			}
			classes, sum := map[Class]int64{}, int64(0)
			seen := map[Cause]bool{}
			for _, p := range step.Parts {
				if seen[p.Cause] || p.Time <= 0 {
					t.Fatalf("step %d: %+v is there twice or owns nothing", i, p)
				}
				seen[p.Cause] = true
				sum += p.Time
				if p.Class.Idle() || p.Class == Profiler {
					p.Class = Starved
				}
				classes[p.Class] += p.Time
			}
			if sum != step.End-step.Start {
				t.Fatalf("step %d: the parts add up to %d of %d ns", i, sum, step.End-step.Start)
			}
			want := map[Class]int64{}
			for ns := step.Start; ns < step.End; ns++ {
				want[classAt(&trace, ns)]++
			}
			if diff := cmp.Diff(want, classes); diff != "" {
				t.Fatalf("step %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

// classAt is the class of a nanosecond of device 0, with all idle time counted as waiting for the CPU.
func classAt(t *model.Trace, ns int64) Class {
	class := Starved
	for _, l := range t.Launches {
		if l.Device == 0 && l.Start <= ns && ns < l.End {
			c := Compute
			if l.Kernel == 2 {
				c = Communication
			}
			class = min(class, c)
		}
	}
	for _, x := range t.Copies {
		if x.Start <= ns && ns < x.End {
			c := Copy
			if x.Kind == model.Memset {
				c = Memset
			}
			class = min(class, c)
		}
	}
	return class
}

// TestCauses names the owners of small situations, in µs.
func TestCauses(t *testing.T) {
	launch := func(start, end, api int64, kernel, stream int32) model.Launch {
		return model.Launch{Start: start * 1000, End: end * 1000, API: api * 1000, Kernel: kernel, Stream: stream}
	}
	call := func(start, end int64, name int32) model.Call {
		return model.Call{Start: start * 1000, End: end * 1000, Name: name}
	}
	for name, test := range map[string]struct {
		launches []model.Launch
		copies   []model.Copy
		calls    []model.Call
		overhead []model.Interval
		want     map[string]int64 // µs by class and place
	}{
		"queued, a short pause": {
			launches: []model.Launch{launch(0, 40, -90, 0, 7), launch(43, 100, -80, 1, 7)},
			want:     map[string]int64{"compute gemm": 40, "compute saxpy": 57, "micro gaps": 3},
		},
		"queued, waits for another stream": {
			launches: []model.Launch{launch(0, 40, -90, 0, 7), launch(70, 100, -80, 1, 9)},
			want:     map[string]int64{"compute gemm": 40, "compute saxpy": 30, "dependency-stalled": 30},
		},
		"two at once share": {
			launches: []model.Launch{launch(0, 60, -90, 0, 7), launch(40, 100, -80, 1, 9)},
			want:     map[string]int64{"compute gemm": 50, "compute saxpy": 50},
		},
		"the host sleeps after it has waited": {
			launches: []model.Launch{launch(0, 20, -5, 0, 7), launch(90, 100, 84, 1, 7)},
			calls:    []model.Call{call(-5, 1, 1), call(2, 25, 0), call(84, 88, 1)},
			want: map[string]int64{"compute gemm": 20, "blocking cudaDeviceSynchronize in step": 5,
				"launch-starved host code in step after cudaDeviceSynchronize": 59,
				"launch-starved cudaLaunchKernel in step":                      6, "compute saxpy": 10},
		},
		"the host allocates": {
			launches: []model.Launch{launch(0, 20, -5, 0, 7), launch(90, 100, 80, 1, 7)},
			calls:    []model.Call{call(10, 70, 2), call(80, 95, 1)},
			want: map[string]int64{"compute gemm": 20, "launch-starved cudaMalloc in step": 50,
				"launch-starved host code in step": 10, "launch-starved cudaLaunchKernel in step": 10,
				"compute saxpy": 10},
		},
		"the profiler writes": {
			launches: []model.Launch{launch(0, 20, -90, 0, 7), launch(80, 100, -80, 1, 7)},
			overhead: []model.Interval{{Start: 10_000, End: 75_000}},
			want: map[string]int64{"compute gemm": 20, "profiler": 55, "dependency-stalled": 5,
				"compute saxpy": 20},
		},
		"a collective behind a kernel, a copy behind both": {
			launches: []model.Launch{launch(0, 40, -90, 0, 7), launch(20, 70, -85, 2, 9)},
			copies:   []model.Copy{{Start: 10_000, End: 100_000, API: -50_000, Kind: 1}},
			want: map[string]int64{"compute gemm": 40,
				"exposed communication ncclDevKernel_AllReduce_Sum_f32_RING_LL": 30, "exposed copies memcpy HtoD": 30},
		},
		"nobody knows when it was issued": {
			launches: []model.Launch{launch(0, 40, -90, 0, 7), launch(70, 100, 70, 1, 7)},
			want:     map[string]int64{"compute gemm": 40, "compute saxpy": 30, "unknown": 30},
		},
	} {
		trace := model.Trace{Kernels: kernels, Launches: test.launches, Copies: test.copies,
			Calls: exporttest.Calls(test.calls...), Overhead: test.overhead,
			CallNames:  []string{"cudaDeviceSynchronize", "cudaLaunchKernel", "cudaMalloc"},
			RangeNames: []string{"step"}, Ranges: []model.Range{{Start: -100_000, End: 200_000, Parent: -1}}}
		got := map[string]int64{}
		for _, step := range partitioned(&trace, []model.Interval{{Start: 0, End: 100_000}}) {
			for _, p := range step.Parts {
				name := p.Class.String()
				switch {
				case p.Class <= Communication:
					name += " " + kernels[p.Kernel].Subject.Short()
				case p.Class == Copy:
					name += " " + p.Copy.String()
				case p.Where(&trace) != (measure.Place{}):
					name += " " + p.Where(&trace).String()
				}
				got[name] += p.Time / 1000
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCommunicates(t *testing.T) {
	for name, want := range map[string]bool{
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL": true, "ncclKernel_AllGather_RING_LL_Sum_int8_t": true,
		"rcclGenericKernel":       true,
		"all_reduce_3_0_fusion_1": true, "reduce_fusion_1": false,
		"nvshmemi_transfer_rma": true, "hybrid_ep_dispatch": true, "intranode_combine": true,
		"void deep_ep::intranode::dispatch<(int)8, (int)768>(int4 *, float *)":                   true,
		"deep_ep::internode_ll::combine<true>(void *)":                                           true,
		"hybrid_ep::device_sync_kernel(int *)":                                                   true,
		"void (anonymous namespace)::nvshmemi_barrier(int)":                                      true,
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)": true,
		"void gemm<deep_ep::layout>(nvshmem::team *)":                                            false,
		"void at::native::combine<float>(int)":                                                   false, "": false,
		"gemm": false, "accncclude": false, "sgemm": false, "elementwise_kernel": false,
	} {
		if got := Communicates(name); got != want {
			t.Errorf("Communicates(%q) = %v", name, got)
		}
	}
}

func TestOperation(t *testing.T) {
	for short, want := range map[string]string{
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL": "AllReduce", "ncclKernel_AllGather_RING_LL_Sum_int8_t": "AllGather",
		"ncclDevKernel_SendRecv": "SendRecv", "ncclKernel_": "ncclKernel_", "dispatch": "dispatch", "": "",
	} {
		if got := Operation(short); got != want {
			t.Errorf("Operation(%q) = %q, want %q", short, got, want)
		}
	}
}

func TestSynchronises(t *testing.T) {
	for name, want := range map[string]bool{
		"cudaDeviceSynchronize": true, "cudaStreamSynchronize": true, "cuCtxSynchronize": true,
		"cudaEventSynchronize": true,
		"cudaMemcpy":           true, "cuMemcpyDtoH_v2": true, "cudaMemcpyAsync": false, "cuMemcpyHtoDAsync_v2": false,
		"cudaLaunchKernel": false, "cudaMalloc": false, "cudaStreamWaitEvent": false,
	} {
		if got := Synchronises(name); got != want {
			t.Errorf("Synchronises(%q) = %v", name, got)
		}
	}
}
