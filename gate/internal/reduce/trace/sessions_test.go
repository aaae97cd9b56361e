package trace

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Sessions is [Reduce] of one side.
func Sessions(traces []model.Trace, o Options) ([]model.Session, error) {
	out, err := Reduce(o, traces)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// A made-up run: a fill before the loop, then steps of two kernels and a copy inside ranges step / compute, a last
// kernel behind the loop. Durations are in ns; warm steps take longer.
type madeUp struct {
	steps, warm int
	noRanges    bool
	capture     [2]int // step of the start and of the stop of the profiler, {0, 0} for never
	gemm        func(step int) int64
	start       time.Time
	gpu         string
	at          int64 // of the trace's clock
}

// runs are so many runs one after the other.
func (m madeUp) runs(n int) (out []model.Trace) {
	for i := range n {
		run := m
		run.at += int64(i) * 1_000_000_000
		out = append(out, run.trace())
	}
	return out
}

const (
	fill = iota
	gemm
	relu
	check
)

func (m madeUp) trace() model.Trace {
	if m.gemm == nil {
		m.gemm = func(int) int64 { return 100_000 }
	}
	if m.gpu == "" {
		m.gpu = "GPU-a"
	}
	t := model.Trace{Source: "run.sqlite", MemoryPeak: -1, RangeNames: []string{"step", "compute"}}
	t.Environment = model.Environment{GPU: "NVIDIA H200", GPUs: 1, GPUHash: model.HashUUID(m.gpu), Start: m.start,
		Tick: 32}
	for _, name := range []string{"fill", "gemm", "relu", "check"} {
		t.Kernels = append(t.Kernels, model.KernelInfo{Registers: 32, Subject: measure.Subject{
			Scope: measure.ScopeKernel, Name: name, Grid: measure.Dim3{X: 1, Y: 1, Z: 1},
			Block: measure.Dim3{X: 32, Y: 1, Z: 1}}})
	}
	// The CPU runs ahead of the GPU: calls come every microsecond, kernels queue up.
	api, gpu := m.at+1000, m.at+1_000_000
	launch := func(kernel int32, ns int64, r int32) {
		if m.noRanges {
			r = -1
		}
		t.Launches = append(t.Launches, model.Launch{API: api, Start: gpu, End: gpu + ns, Kernel: kernel, Range: r})
		api, gpu = api+1000, gpu+ns+500
	}
	launch(fill, 50_000, -1)
	for i := range m.steps {
		if m.capture != [2]int{} && i == m.capture[0] {
			t.Captures = append(t.Captures, model.Interval{Start: api})
			api += 10
		}
		step := int32(len(t.Ranges))
		begin := api
		api += 100
		t.Ranges = append(t.Ranges, model.Range{Start: begin, Name: 0, Parent: -1},
			model.Range{Start: api, Name: 1, Parent: step})
		api += 100
		ns := m.gemm(i)
		if i < m.warm {
			ns *= 3
		}
		launch(gemm, ns, step+1)
		launch(gemm, ns, step+1)
		t.Ranges[step+1].End = api
		api += 100
		// relu is launched by a thread without ranges, while the step is open.
		launch(relu, 10_000, -1)
		t.Copies = append(t.Copies, model.Copy{API: api, Start: gpu, End: gpu + 2000, Bytes: 4096, Kind: 1, Source: 0,
			Target: 2})
		api += 1000
		t.Ranges[step].End = api
		api += 1000
		if m.capture != [2]int{} && i == m.capture[1]-1 {
			t.Captures[0].End = api
			api += 10
		}
	}
	launch(check, 70_000, -1)
	if m.noRanges {
		t.Ranges, t.RangeNames = nil, nil
	}
	return t
}

func one(t *testing.T, o Options, traces ...model.Trace) model.Session {
	t.Helper()
	sessions, err := Sessions(traces, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(sessions) != 1 {
		t.Fatalf("%d sessions, want 1", len(sessions))
	}
	return sessions[0]
}

func kernel(i int) measure.Subject { return madeUp{}.trace().Kernels[i].Subject }

func value(t rapid.TB, s model.Session, subject measure.Subject, metric measure.Metric, want float64) {
	t.Helper()
	x, ok := s.Find(subject, metric.Name)
	if !ok {
		t.Errorf("no %s of %s", metric.Name, subject.ID())
		return
	}
	for _, v := range x.Values {
		if math.Abs(v-want) > 1e-6*want {
			t.Errorf("%s of %s = %v, want %v in every run", metric.Name, subject.ID(), x.Values, want)
			return
		}
	}
}

func TestSteps(t *testing.T) {
	m := madeUp{steps: 40, warm: 5}
	s := one(t, Options{}, m.runs(3)...)
	if s.Step != "step" || s.Warmup != "auto" || len(s.Runs) != 3 {
		t.Fatalf("step %q, warm-up %q, %d runs", s.Step, s.Warmup, len(s.Runs))
	}
	for _, r := range s.Runs {
		if r != (model.Run{Skipped: 5, Total: 40, Steady: true, Launches: 35 * 3}) {
			t.Errorf("run %+v", r)
		}
	}
	value(t, s, kernel(gemm), measure.Time, 100_000)
	value(t, s, kernel(gemm), measure.Spread, 0)
	value(t, s, kernel(gemm), measure.Launches, 2)
	value(t, s, kernel(gemm), measure.Total, 200_000)
	value(t, s, kernel(gemm), measure.Registers, 32)
	value(t, s, measure.Workload, measure.GPUTime, 210_000)
	value(t, s, measure.Workload, measure.Launches, 3)
	value(t, s, measure.Workload, measure.StepTime, 211_500)
	value(t, s, measure.Subject{Scope: measure.ScopeRange, Name: "compute"}, measure.GPUTime, 200_000)
	copies := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}
	value(t, s, copies, measure.CopyTime, 2000)
	value(t, s, copies, measure.CopyBytes, 4096)
	value(t, s, copies, measure.Copies, 1)
	if x, _ := s.Find(copies, measure.CopyTime.Name); x.Note != "pageable to device" {
		t.Errorf("memory kinds %q", x.Note)
	}
	// Before the first step and behind the last is neither.
	for _, k := range []int{fill, check} {
		if _, ok := s.Find(kernel(k), measure.Time.Name); ok {
			t.Errorf("%s is outside the steps and was sampled", kernel(k).Name)
		}
	}
	for k, want := range map[int]string{gemm: "step/compute", relu: "step"} {
		if x, _ := s.Find(kernel(k), measure.Total.Name); x.Role != want {
			t.Errorf("role of %s is %q, want %q", kernel(k).Name, x.Role, want)
		}
	}
}

func TestWarmup(t *testing.T) {
	m := madeUp{steps: 40, warm: 5, capture: [2]int{10, 30}}
	skipped := func(o Options) string {
		sessions, err := Sessions([]model.Trace{m.trace()}, o)
		if err != nil {
			var refusal *model.Refusal
			if !errors.As(err, &refusal) || refusal.Next == "" {
				t.Errorf("%v is no refusal with a way out", err)
			}
			return err.Error()
		}
		r := sessions[0].Runs[0]
		return fmt.Sprintf("%s: %d of %d, %d launches", sessions[0].Warmup, r.Skipped, r.Total, r.Launches)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "auto: 5 of 40, 105 launches"},
		{Options{Warmup: "0"}, "0: 0 of 40, 120 launches"},
		{Options{Warmup: "12"}, "12: 12 of 40, 84 launches"},
		{Options{Warmup: "40"}, "leaves none of the 40"},
		{Options{Warmup: Capture}, "capture: 0 of 20, 60 launches"},
		{Options{Step: "nothing"}, `not every run has the step range "nothing"`},
		{Options{Step: "compute"}, "auto: 5 of 40"},
	} {
		if got := skipped(c.o); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s, want %s", c.o, got, c.want)
		}
	}
	m.capture = [2]int{}
	if got := skipped(Options{Warmup: Capture}); !strings.Contains(got, "never called cudaProfilerStart") {
		t.Errorf("capture without a call: %s", got)
	}
	m.gemm = func(i int) int64 { return 100_000 + 5000*int64(i) }
	s := one(t, Options{}, m.trace())
	if s.Runs[0].Steady {
		t.Error("a program that slows down with every step counts as steady")
	}
}

// Every run is cut alike, however much warm-up it has.
func TestWarmupIsCommon(t *testing.T) {
	s := one(t, Options{}, madeUp{steps: 40, warm: 2}.trace(), madeUp{steps: 40, warm: 9, at: 1e9}.trace())
	for _, r := range s.Runs {
		if r.Skipped != 9 {
			t.Errorf("skipped %d, want the 9 of the slowest to settle", r.Skipped)
		}
	}
}

func TestWithoutSteps(t *testing.T) {
	for _, o := range []Options{{}, {Step: NoStep}} {
		m := madeUp{steps: 40, warm: 5, noRanges: o.Step == ""}
		s := one(t, o, m.runs(2)...)
		if s.Step != "" {
			t.Fatalf("step %q where there is none", s.Step)
		}
		value(t, s, kernel(gemm), measure.Time, 100_000)
		value(t, s, kernel(gemm), measure.Launches, 80)
		value(t, s, kernel(gemm), measure.Total, 8_000_000)
		value(t, s, kernel(check), measure.Time, 70_000)
		value(t, s, measure.Before, measure.GPUTime, 50_000)
		if _, ok := s.Find(kernel(fill), measure.Time.Name); ok {
			t.Error("a kernel of the start-up is judged alone")
		}
		if r := s.Runs[0]; r.Skipped != 10 || r.Total != 121 {
			t.Errorf("skipped %d of %d launches, want the 10 slow ones of 121", r.Skipped, r.Total)
		}
	}
}

// Traces of one GPU within an hour are one session; another GPU or another day is another.
func TestGrouping(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int, gpu string) model.Trace {
		return madeUp{steps: 10, start: noon.Add(time.Duration(minutes) * time.Minute), gpu: gpu,
			at: int64(minutes) * 60_000_000_000}.trace()
	}
	sessions, err := Sessions([]model.Trace{at(90, "a"), at(0, "a"), at(30, "b"), at(59, "a"), at(60, "a")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sessions {
		got = append(got, fmt.Sprint(s.Start.Format("15:04"), " ", len(s.Runs)))
	}
	if fmt.Sprint(got) != "[12:00 3 12:30 1 13:30 1]" {
		t.Errorf("sessions %v", got)
	}
}

func TestMixedGraphTracing(t *testing.T) {
	a, b := madeUp{steps: 10}.trace(), madeUp{steps: 10}.trace()
	b.GraphTrace = "node"
	if _, err := Sessions([]model.Trace{a, b}, Options{}); err == nil {
		t.Error("runs with different graph tracing became one session")
	}
	if _, err := Sessions(nil, Options{}); err == nil {
		t.Error("no run became a session")
	}
}

// The spread is that of the launches within a run; a kernel of few launches has none.
func TestSpread(t *testing.T) {
	m := madeUp{steps: 40, gemm: func(i int) int64 { return 100_000 + 1000*int64(i%3) }}
	s := one(t, Options{Warmup: "1"}, m.trace())
	value(t, s, kernel(gemm), measure.Spread, 1482.6)
	s = one(t, Options{Step: NoStep}, m.trace())
	if x, ok := s.Find(kernel(fill), measure.Spread.Name); ok {
		t.Errorf("one launch has a spread of %v", x.Values)
	}
}

// Whatever the trace, every session passes its own check, and sums agree with each other.
func TestSumsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := madeUp{steps: rapid.IntRange(0, 30).Draw(t, "steps"), noRanges: rapid.Bool().Draw(t, "no ranges")}
		noise := rapid.SliceOfN(rapid.Int64Range(1, 200_000), 30, 30).Draw(t, "gemm")
		m.gemm = func(i int) int64 { return noise[i] }
		sessions, err := Sessions(m.runs(2), Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := sessions[0]
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		var total float64
		for _, x := range s.Series {
			if x.Subject.Scope == measure.ScopeKernel && x.Metric.Name == measure.Total.Name {
				total += x.Values[0]
			}
		}
		whole, _ := s.Find(measure.Workload, measure.GPUTime.Name)
		if math.Abs(total-whole.Values[0]) > 0.01 {
			t.Fatalf("kernels sum to %v, the workload to %v", total, whole.Values[0])
		}
	})
}

// A run on several devices has the time of each, a run on one has none beside the workload's.
func TestDevices(t *testing.T) {
	trace := madeUp{steps: 10}.trace()
	one, err := Sessions([]model.Trace{trace}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := one[0].Find(measure.Device(0), measure.GPUTime.Name); ok {
		t.Error("one device has a time of its own")
	}
	for i := range trace.Launches {
		if trace.Launches[i].Kernel == relu {
			trace.Launches[i].Device = 3
		}
	}
	several, err := Sessions([]model.Trace{trace}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for device, want := range map[int32]float64{0: 200_000, 3: 10_000} {
		if x, ok := several[0].Find(measure.Device(device), measure.GPUTime.Name); !ok || x.Values[0] != want {
			t.Errorf("GPU %d: %v, want %v", device, x.Values, want)
		}
	}
}

// TestCollectivesAreNoStep holds that the range of a collective is not taken for the step where collectives, which
// mostly wait, take most of the kernel time, and that it can be named.
func TestCollectivesAreNoStep(t *testing.T) {
	m := madeUp{steps: 40, warm: 5}.trace()
	m.RangeNames = []string{"NCCL:ncclAllReduce", "NCCL:ncclAllReduce"}
	for i := range m.Launches { // relu is launched outside of the ranges
		if l := &m.Launches[i]; l.Kernel == relu {
			l.API = m.Ranges[2*(i/3-1)].End + 500
		}
	}
	for _, name := range []string{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)",
		"deep_ep::internode_ll::combine<true>(void *)"} {
		m.Kernels[gemm].Subject.Name = name
		if s := one(t, Options{}, m); s.Step != "" {
			t.Errorf("%s: the step is %s", name, s.Step)
		}
	}
	if s := one(t, Options{Step: "NCCL:ncclAllReduce"}, m); s.Step != "NCCL:ncclAllReduce" {
		t.Errorf("the step that was named is %s", s.Step)
	}
}
