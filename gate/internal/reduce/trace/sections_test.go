package trace

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Whatever the run, its sections add up to it: wall time, kernel time and launches.
func TestSectionsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := madeUp{steps: rapid.IntRange(0, 30).Draw(t, "steps"), warm: rapid.IntRange(0, 5).Draw(t, "warm"),
			noRanges: rapid.Bool().Draw(t, "no ranges")}
		x := m.trace()
		for i := range x.Ranges { // the host runs ahead by other amounts, and the ranges end at other times
			x.Ranges[i].End -= rapid.Int64Range(0, 900).Draw(t, "shorter")
		}
		late := rapid.Int64Range(0, 50_000_000).Draw(t, "late")
		at := rapid.IntRange(0, len(x.Launches)-1).Draw(t, "at")
		for i := range x.Launches[at:] {
			x.Launches[at+i].Start += late
			x.Launches[at+i].End += late
		}
		margin := rapid.Int64Range(1, 1_000_000)
		begun, ended := margin.Draw(t, "until the first event"), margin.Draw(t, "after the last")
		first := x.Launches[0].API
		for _, r := range x.Ranges {
			first = min(first, r.Start)
		}
		x.Lifetime = model.Interval{Start: first - begun, End: x.End() + ended}
		o := Options{Warmup: rapid.SampledFrom([]string{Auto, "0"}).Draw(t, "warm-up")}
		sessions, err := Sessions([]model.Trace{x}, o)
		if err != nil {
			t.Fatal(err)
		}
		sums := map[string]float64{}
		for _, s := range measure.Sections {
			for _, metric := range []measure.Metric{measure.Elapsed, measure.GPUTime, measure.Launches} {
				row, ok := sessions[0].Find(s, metric.Name)
				if !ok {
					t.Fatalf("no %s of %s", metric.Name, s.Name)
				}
				sums[metric.Name] += row.Values[0]
			}
		}
		busy := int64(0)
		for _, l := range x.Launches {
			busy += l.End - l.Start
		}
		want := map[string]float64{measure.Elapsed.Name: float64(x.End() - first), measure.GPUTime.Name: float64(busy),
			measure.Launches.Name: float64(len(x.Launches))}
		for name, v := range want {
			if sums[name] != v {
				t.Fatalf("%s of the sections is %v, of the run %v", name, sums[name], v)
			}
		}
		// With the start of the process and its end they add up to its life.
		before, _ := sessions[0].Find(measure.Before, measure.Elapsed.Name)
		value(t, sessions[0], measure.Workload, measure.StartupTime, before.Values[0]+float64(begun))
		value(t, sessions[0], measure.Workload, measure.TeardownTime, float64(ended))
	})
}

// The times before the steps, left out, and after them have their sections.
func TestSections(t *testing.T) {
	s := one(t, Options{}, madeUp{steps: 40, warm: 5}.trace())
	value(t, s, measure.Before, measure.GPUTime, 50_000)
	value(t, s, measure.Warmup, measure.GPUTime, 5*610_000)
	value(t, s, measure.Steps, measure.GPUTime, 35*210_000)
	value(t, s, measure.After, measure.GPUTime, 70_000)
	value(t, s, measure.Warmup, measure.Repeats, 5)
	value(t, s, measure.Workload, measure.MeanToTypical, 1)
}

// CUDA initialisation is the time in calls before the first operation. A clock that puts events outside the process is
// not trusted.
func TestLifetime(t *testing.T) {
	x := madeUp{steps: 40, warm: 5}.trace()
	first := x.Launches[0].Start
	for i, call := range []model.Interval{{Start: first - 9000, End: first - 4000},
		{Start: first - 1000, End: first + 500}, {Start: first + 600, End: first + 700}} {
		x.Calls.Add(model.Call{Start: call.Start, End: call.End, Thread: int32(i % 2)})
	}
	x.CallNames = []string{"cudaMalloc"}
	x.Calls.Settle(nil)
	x.Lifetime = model.Interval{Start: first - 1_000_000, End: x.End() + 70}
	s := one(t, Options{}, x)
	value(t, s, measure.Workload, measure.InitTime, 6000)
	value(t, s, measure.Workload, measure.TeardownTime, 70)
	before, _ := s.Find(measure.Before, measure.Elapsed.Name)
	// A process that waited for its turn counts its lifetime from there and has no time before the steps.
	waited := x
	waited.Overlapped, waited.Lifetime.Start = true, first-100
	o := one(t, Options{}, waited)
	value(t, o, measure.Workload, measure.TeardownTime, 70)
	value(t, o, measure.Before, measure.GPUTime, 50_000)
	for _, none := range []measure.Metric{measure.StartupTime, measure.InitTime, measure.Elapsed} {
		for _, subject := range []measure.Subject{measure.Workload, measure.Before} {
			if row, ok := o.Find(subject, none.Name); ok {
				t.Errorf("%s of %s is %v", none.Name, subject.Name, row.Values)
			}
		}
	}
	// One run of several gives these times.
	second := madeUp{steps: 40, warm: 5, at: 1_000_000_000}.trace()
	second.Overlapped = true
	both := one(t, Options{}, x, second)
	if row, ok := both.Find(measure.Before, measure.Elapsed.Name); !ok || row.Values[0] != before.Values[0] ||
		!math.IsNaN(row.Values[1]) {
		t.Errorf("before the steps of both: %v, want %v", row.Values, before.Values)
	}
	for _, wrong := range []model.Interval{{}, {Start: first, End: x.End() + 70},
		{Start: first - 1_000_000, End: x.End() - 1}} {
		x.Lifetime = wrong
		s := one(t, Options{}, x)
		if _, ok := s.Find(measure.Workload, measure.StartupTime.Name); ok {
			t.Errorf("a start-up time of %v", wrong)
		}
	}
}

// A process of a few launches beside the workload is no run, and keeps no step from being found.
func TestBeside(t *testing.T) {
	m := madeUp{steps: 40}
	small := madeUp{steps: 1, noRanges: true}.trace()
	small.Launches = small.Launches[:1]
	s := one(t, Options{}, append(m.runs(2), small)...)
	if len(s.Runs) != 2 || s.Step != "step" {
		t.Errorf("%d runs by step %q", len(s.Runs), s.Step)
	}
	if x, ok := s.Find(measure.Beside, measure.GPUTime.Name); !ok || x.Values[0] != 50_000 {
		t.Errorf("beside the workload: %v", x.Values)
	}
}

// Processes of one launch that overlap are one run, on one device as well.
func TestOverlap(t *testing.T) {
	m := madeUp{steps: 40}
	other := m
	other.at = 1_000_000
	if s := one(t, Options{}, m.trace(), other.trace()); len(s.Runs) != 1 || s.Processes != 2 {
		t.Errorf("%d runs of %d processes", len(s.Runs), s.Processes)
	}
}

// Both sides leave out the same warm-up, and a head what its baseline did.
func TestWarmupOfBothSides(t *testing.T) {
	base, head := madeUp{steps: 40, warm: 2}, madeUp{steps: 40, warm: 9}
	both, err := Reduce(Options{}, base.runs(2), head.runs(2))
	if err != nil {
		t.Fatal(err)
	}
	if both[0][0].Runs[0].Skipped != 9 || both[1][0].Runs[0].Skipped != 9 {
		t.Errorf("side by side %+v and %+v, want 9 skipped", both[0][0].Runs[0], both[1][0].Runs[0])
	}
	alone := one(t, Options{}, base.runs(2)...)
	if s := one(t, Options{Like: &alone, Step: "step"}, head.runs(2)...); s.Runs[0].Skipped != alone.Runs[0].Skipped {
		t.Errorf("skipped %d, the baseline %d", s.Runs[0].Skipped, alone.Runs[0].Skipped)
	}
	// Without steps the same launches of each kernel, and the same cycles.
	base.noRanges, head.noRanges = true, true
	if both, err = Reduce(Options{}, base.runs(2), head.runs(2)); err != nil {
		t.Fatal(err)
	}
	for _, s := range both {
		value(t, s[0], kernel(gemm), measure.WarmupLaunches, 18)
		value(t, s[0], measure.Warmup, measure.Repeats, 8)
	}
}

// Steps settle if every second, third or fourth is different; steps that get longer do not.
func TestSettle(t *testing.T) {
	for n := 1; n <= 5; n++ {
		var x []float64
		for i := range 48 {
			v := 100 + float64(i%7)/10
			if i%n == 0 {
				v *= 1.5
			}
			if i < 4 {
				v *= 3
			}
			x = append(x, v)
		}
		if s := settle(x); !s.steady || s.skip < 3 || s.skip > 6 {
			t.Errorf("every %d: %+v", n, s)
		}
	}
	var x []float64
	for i := range 48 {
		x = append(x, 100+float64(3*i))
	}
	if s := settle(x); s.steady {
		t.Errorf("growing: %+v", s)
	}
}

// A step that launches nothing, such as one that only writes a checkpoint, moves no other part of the run.
func TestSectionsEmptySteps(t *testing.T) {
	elapsed := func(empty ...int) (out []float64) {
		x := madeUp{steps: 40, warm: 5}.trace()
		steps := slices.DeleteFunc(slices.Clone(x.Ranges),
			func(r model.Range) bool { return x.RangeNames[r.Name] != "step" })
		for _, i := range empty {
			within := func(api int64) bool { return steps[i].Start <= api && api < steps[i].End }
			x.Launches = slices.DeleteFunc(x.Launches, func(l model.Launch) bool { return within(l.API) })
			x.Copies = slices.DeleteFunc(x.Copies, func(c model.Copy) bool { return within(c.API) })
		}
		s := one(t, Options{Warmup: "5"}, x)
		for _, section := range []measure.Subject{measure.Before, measure.Warmup} {
			row, _ := s.Find(section, measure.Elapsed.Name)
			out = append(out, row.Values[0])
		}
		return out
	}
	want := elapsed()
	for _, empty := range [][]int{{20}, {22}, {20, 22, 30}, {10, 20, 30, 35}} {
		if got := elapsed(empty...); !slices.Equal(got, want) {
			t.Errorf("without launches in steps %v: before and warm-up take %v ns, want %v", empty, got, want)
		}
	}
}
