package terms

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// side is a side whose step takes 100 ns, with as much idle time of a class.
func side(class string, idle, sensitivity, replayError float64) *recorded.Index {
	of := func(s measure.Subject, m measure.Metric, v float64) model.Series {
		return model.Series{Subject: s, Metric: m, Values: model.Values{v}}
	}
	s := model.Session{Runs: []model.Run{{Steady: true}},
		Series: []model.Series{of(measure.Workload, measure.StepTime, 100)}}
	if class != "" {
		s.Series = append(s.Series, of(measure.Subject{Scope: measure.ScopeIdle, Name: class}, measure.Owned, idle))
	}
	if sensitivity >= 0 {
		s.Series = append(s.Series, of(measure.Workload, measure.Sensitivity, sensitivity),
			of(measure.Workload, measure.ReplayError, replayError))
	}
	s.SortSeries()
	return recorded.New([]model.Session{s}, measure.Total)
}

// A step shows as much of the host's speed as its replay says, else as it waits for the CPU; all where nothing says.
func TestHostPart(t *testing.T) {
	gpu, unknown := side(measure.IdleGaps, 5, -1, 0), side("", 0, -1, 0)
	for _, c := range []struct {
		what       string
		base, head *recorded.Index
		part       float64
		bound      bool
	}{
		{"replayed", side(measure.IdleLaunch, 50, 0.2, 0.001), side(measure.IdleLaunch, 50, 0.4, 0.001), 0.4, false},
		{"replayed, host-bound", side("", 0, 0.9, 0), side("", 0, 1.3, 0), 1, true},
		{"replayed with a large error", side(measure.IdleLaunch, 5, 0.2, 0.02), gpu, 0.5, false},
		{"waits for the CPU", gpu, side(measure.IdleLaunch, 5, -1, 0), 0.5, false},
		{"waits much for the CPU", gpu, side(measure.IdleSync, 30, -1, 0), 1, true},
		{"never waits", gpu, gpu, 0, false}, {"not attributed", gpu, unknown, 1, false},
	} {
		if got := HostPart(c.base, c.head); math.Abs(got-c.part) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.what, got, c.part)
		}
		if got := HostBound(c.base, c.head); got != c.bound {
			t.Errorf("%s: host-bound %v", c.what, got)
		}
	}
	for _, x := range []*recorded.Index{gpu, side("", 0, 0.1, 0.02)} {
		if said := NotReplayed(side("", 0, 0.1, 0), x); len(said) != 1 || said[0].Args["side"] != "head" {
			t.Errorf("not replayed: %v", said)
		}
	}
	if said := NotReplayed(side("", 0, 0.1, 0), side("", 0, 0.1, 0)); said != nil {
		t.Errorf("replayed: %v", said)
	}
}

// The part of the host lies between nothing and all, is the same for both orders of the sides, and grows with the
// idle time.
func TestHostPartProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		class := rapid.SampledFrom([]string{measure.IdleLaunch, measure.IdleSync, measure.IdleDependency,
			measure.IdleGaps, measure.IdleUnknown}).Draw(r, "class")
		less := rapid.Float64Range(0, 50).Draw(r, "idle")
		more := less + rapid.Float64Range(0, 50).Draw(r, "more")
		a, b := side(class, less, -1, 0), side(class, more, -1, 0)
		part := HostPart(a, b)
		if part != HostPart(b, a) || part < HostPart(a, a) || part < 0 || part > 1 {
			r.Fatalf("%v; %v without more idle time", part, HostPart(a, a))
		}
	})
}

// A deviation grows with the sensitivity of the step, by the CPU's part of its term.
func TestSD(t *testing.T) {
	for of := KernelRow; of < rows; of++ {
		for between := range relations {
			x := errorTerms[of][between]
			if of.SD(between, 0) != x.gpu || math.Abs(of.SD(between, 1)-math.Hypot(x.gpu, x.cpu)) > 1e-12 ||
				of.SD(between, 0.5) > of.SD(between, 1) {
				t.Errorf("row %d, relation %d: %v … %v of %+v", of, between, of.SD(between, 0), of.SD(between, 1), x)
			}
		}
	}
}
