package app

import (
	"math"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// The heaviest kernels are worth a look under ncu, also where a run lacks one of them.
func TestHeaviest(t *testing.T) {
	s := model.Session{Runs: make([]model.Run, 2)}
	add := func(name string, launches float64, total ...float64) {
		k := measure.Subject{Scope: measure.ScopeKernel, Name: name}
		s.Series = append(s.Series,
			model.Series{Subject: k, Metric: measure.Launches, Values: model.Values{launches, launches}},
			model.Series{Subject: k, Metric: measure.Total, Values: total})
	}
	add("light", 100, 1, 1)
	add("heavy", 100, 500, math.NaN())
	add("ncclAllReduce", 100, 900, 900)
	add("void deep_ep::intranode::combine<8>(int)", 100, 800, 800)
	add("once", 1, 300, 300)
	add("middle", 100, math.NaN(), 200)
	got, err := heaviest(&s, 0.005, 5)
	if want := []string{"heavy", "middle"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	if got, err := heaviest(&s, 0.005, 100); err == nil {
		t.Errorf("%v although none is launched more often than is skipped", got)
	}
}
