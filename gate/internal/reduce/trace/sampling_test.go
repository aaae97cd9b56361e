package trace

import (
	"math"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// sampledEvery gives a trace samples of SMs that are active while gemm runs.
func sampledEvery(t model.Trace, period int64) model.Trace {
	s := &model.Sampling{Period: period, Metrics: []measure.Metric{measure.SMActive}, Values: make([][]float64, 1)}
	end := t.Launches[len(t.Launches)-1].End
	for at := int64(0); at < end; at += period {
		busy := int64(0)
		for _, l := range t.Launches {
			if l.Kernel == gemm {
				busy += max(min(l.End, at+period)-max(l.Start, at), 0)
			}
		}
		s.Spans = append(s.Spans, model.Interval{Start: at, End: at + period})
		s.Values[0] = append(s.Values[0], 100*float64(busy)/float64(period))
	}
	t.Sampling = s
	return t
}

func TestSampling(t *testing.T) {
	m := madeUp{steps: 20, warm: 2}
	compute := measure.Subject{Scope: measure.ScopeRange, Name: "compute"}
	s := one(t, Options{}, sampledEvery(m.trace(), 1000))
	// The activity is 200 of 211.5 µs a step, and nearly all of the range, without the longer gemm of the warm-up.
	for subject, want := range map[measure.Subject]float64{measure.Workload: 94.8, compute: 99.7} {
		x, ok := s.Find(subject, measure.SMActive.Name)
		if !ok || math.Abs(x.Values[0]-want) > 0.3 {
			t.Errorf("%s: %v, want about %v", subject.ID(), x.Values, want)
		}
	}
	value(t, s, measure.Workload, measure.SamplingPeriod, 1000)
	value(t, s, measure.Workload, measure.GPUTime, 210_000)

	// A range shorter than a sample has no value, and is no zero.
	s = one(t, Options{}, sampledEvery(m.trace(), 300_000))
	if x, ok := s.Find(compute, measure.SMActive.Name); ok {
		t.Errorf("the range is shorter than a sample and has %v", x.Values)
	}
	if _, ok := s.Find(measure.Workload, measure.SMActive.Name); !ok {
		t.Error("the steps have no value")
	}
	if _, ok := s.Find(compute, measure.GPUTime.Name); !ok {
		t.Error("the range is gone")
	}
}

// Samples of an extra run give no times, and belong to the first of the timed runs.
func TestSampledBeside(t *testing.T) {
	timed := madeUp{steps: 20}
	slower := madeUp{steps: 20, warm: 1, gemm: func(int) int64 { return 150_000 }}
	s := one(t, Options{}, append(timed.runs(3), sampledEvery(slower.trace(), 1000))...)
	if len(s.Runs) != 3 {
		t.Fatalf("%d runs, want the 3 that were timed", len(s.Runs))
	}
	value(t, s, kernel(gemm), measure.Time, 100_000)
	x, _ := s.Find(measure.Workload, measure.SMActive.Name)
	if len(x.Values) != 3 || math.IsNaN(x.Values[0]) || !math.IsNaN(x.Values[1]) || !math.IsNaN(x.Values[2]) {
		t.Errorf("values %v, want one", x.Values)
	}
	// Of another GPU it says nothing here.
	other := timed
	other.gpu = "GPU-b"
	s = one(t, Options{}, append(timed.runs(2), sampledEvery(other.trace(), 1000))...)
	if x, ok := s.Find(measure.Workload, measure.SMActive.Name); ok {
		t.Errorf("values of another GPU: %v", x.Values)
	}
	// Nor without the step of the other runs.
	stepless := sampledEvery(timed.trace(), 1000)
	stepless.RangeNames = []string{"other", "compute"}
	s = one(t, Options{}, append(timed.runs(2), stepless)...)
	if x, ok := s.Find(measure.Workload, measure.SMActive.Name); ok || s.Step != "step" {
		t.Errorf("step %q, values without it: %v", s.Step, x.Values)
	}
}

func TestMemory(t *testing.T) {
	trace := madeUp{steps: 6}.trace()
	inside := trace.Ranges[3].Start + 1 // compute, in the second step
	trace.MemoryPeak, trace.Requests = 1000, []model.Request{{Time: 0, Bytes: 300}, {Time: inside, Bytes: 500},
		{Time: inside, Bytes: 200}}
	s := one(t, Options{}, trace)
	value(t, s, measure.Workload, measure.MemoryPeak, 1000)
	value(t, s, measure.Subject{Scope: measure.ScopeRange, Name: "compute"}, measure.MemoryHeld, 700)
	if x, _ := s.Find(measure.Workload, measure.MemoryPeak.Name); x.Note != "step/compute" {
		t.Errorf("it peaks in %q", x.Note)
	}
	trace.MemoryPeak, trace.Requests = 0, nil
	value(t, one(t, Options{}, trace), measure.Workload, measure.MemoryPeak, 0)
}
