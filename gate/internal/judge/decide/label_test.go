package decide_test

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// Kernels of one short name are told apart by their arguments, and by their geometry where they have the same.
func TestLabels(t *testing.T) {
	kernel := func(name string, grid uint32) measure.Subject {
		return measure.Subject{Scope: measure.ScopeKernel, Name: name, Grid: measure.Dim3{X: grid, Y: 1, Z: 1},
			Block: measure.Dim3{X: 128, Y: 1, Z: 1}}
	}
	subjects := map[measure.Subject]string{
		kernel("saxpy(int)", 8):                            "",
		kernel("void each<(int)4, Mul<float>>(int)", 8):    "each · Mul<float>",
		kernel("void each<(int)4, Add<float>>(int)", 8):    "each · Add<float> · grid 8",
		kernel("void each<(int)4, Add<float>>(int)", 4096): "each · Add<float> · grid 4096",
	}
	session := model.Session{Runs: make([]model.Run, 5)}
	for s := range subjects {
		session.Series = append(session.Series, model.Series{Subject: s, Metric: measure.Total,
			Values: model.Values{1000, 1001, 1002, 1003, 1004}})
	}
	session.SortSeries()
	sides := []model.Session{session}
	r := compareSides(sides, sides, thresholds.Default())
	if len(r.Findings) != len(subjects) {
		t.Fatalf("%d findings: %s", len(r.Findings), r.ReasonKey)
	}
	for _, f := range r.Findings {
		if want := subjects[f.Subject()]; f.Label != want {
			t.Errorf("%s %s is %q, want %q", f.Name, f.Grid, f.Label, want)
		}
	}

	later := session
	later.Start = later.Start.AddDate(0, 0, 1)
	h := history.NewHistory([]history.Moment{history.MomentOf(&session), history.MomentOf(&later)})
	if len(h.Trends) != len(subjects) {
		t.Fatalf("%d trends", len(h.Trends))
	}
	for _, x := range h.Trends {
		if want := subjects[x.Subject()]; x.Label != want {
			t.Errorf("the trend of %s %s is %q, want %q", x.Name, x.Grid, x.Label, want)
		}
	}
}
