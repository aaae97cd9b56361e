package decide_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
)

// days are sessions of one program, one a day; edit may change them.
func days(n int, edit func(day int, p *program, s *model.Session)) (out []history.Moment) {
	for day := range n {
		p := quiet()
		p.seed, p.start = uint64(day), noon.AddDate(0, 0, day)
		edit(day, &p, nil)
		s := p.session()
		s.Commit = string(rune('a' + day))
		edit(day, &p, &s)
		out = append(out, history.MomentOf(&s))
	}
	return out
}

func trendOf(h *history.History, kernel, metric string) *history.Trend {
	i := slices.IndexFunc(h.Trends, func(t history.Trend) bool { return t.Kernel == kernel && t.Metric == metric })
	if i < 0 {
		return nil
	}
	return &h.Trends[i]
}

// A change of the code is found with the commits around it, one of the driver is put down to that, and of a few points
// only the first and the last are told.
func TestHistory(t *testing.T) {
	slower := func(from int) func(int, *program, *model.Session) {
		return func(day int, p *program, s *model.Session) {
			if s == nil && day >= from {
				p.kernels = slices.Clone(p.kernels)
				p.kernels[0].time *= 1.05
			}
		}
	}
	kernel := quiet().kernels[0].name
	h := history.NewHistory(days(24, slower(14)))
	got := trendOf(h, kernel, "total")
	if got == nil || len(got.Changes) != 1 || got.Changes[0].Moment != 14 || got.Changes[0].From != "n" ||
		got.Changes[0].To != "o" || got.Changes[0].Change < 0.045 || got.Changes[0].Change > 0.055 ||
		len(got.Changes[0].Elsewhere) > 0 {
		t.Errorf("a slower kernel: %+v", got)
	}
	if h.Trends[0].Scope != measure.ScopeWorkload {
		t.Errorf("the first trend is of %s", h.Trends[0].Kernel)
	}
	for _, x := range h.Trends {
		if x.Scope == measure.ScopeKernel && x.Kernel != kernel && len(x.Changes) > 0 {
			t.Errorf("%s did not change: %+v", x.Kernel, x.Changes)
		}
	}

	both := slower(14)
	h = history.NewHistory(days(24, func(day int, p *program, s *model.Session) {
		both(day, p, s)
		if s != nil && day >= 14 {
			s.Driver = "600.1"
		}
	}))
	if got = trendOf(h, kernel, "total"); len(got.Changes) != 1 ||
		!slices.Equal(got.Changes[0].Elsewhere, []string{"driver"}) || !slices.Contains(h.Moments[14].Since, "driver") {
		t.Errorf("with another driver: %+v", got.Changes)
	}

	h = history.NewHistory(days(6, slower(3)))
	got = trendOf(h, kernel, "total")
	if got.Enough || len(got.Changes) > 0 || got.Change < 0.04 {
		t.Errorf("of six points: %+v", got)
	}
	if got.SinceAnchor != nil {
		t.Errorf("without an anchor: %v", *got.SinceAnchor)
	}

	few := days(6, slower(3))
	few[2].Anchor = "v1"
	got = trendOf(history.NewHistory(few), kernel, "total")
	if got.SinceAnchor == nil || *got.SinceAnchor < 0.04 {
		t.Errorf("since the anchor before the change: %v", got.SinceAnchor)
	}
	few[4].Anchor = "v2"
	if got = trendOf(history.NewHistory(few), kernel, "total"); got.SinceAnchor == nil || *got.SinceAnchor > 0.01 ||
		got.Change < 0.04 {
		t.Errorf("since the last anchor: %v", got.SinceAnchor)
	}
	few[5].Anchor = "v3"
	got = trendOf(history.NewHistory(few), kernel, "total")
	if got.SinceAnchor != nil {
		t.Errorf("since the anchor, which is the last: %v", *got.SinceAnchor)
	}
	h = history.NewHistory(nil)
	if len(h.Moments) > 0 || len(h.Trends) > 0 {
		t.Errorf("of nothing: %+v", h)
	}
}

// Unchanged recordings, in any order, hardly have a change of level.
func TestHistoryOfUnchanged(t *testing.T) {
	dirs, err := filepath.Glob("../../../../testdata/h200/sessions/kernels-batches*/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no recordings", err)
	}
	var sessions []model.Session
	for _, dir := range dirs {
		b, err := baseline.Open(dir, (*baseline.Baseline).ReadAll)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, b.All()...)
	}
	r := rand.New(rand.NewPCG(1, 2))
	changed, histories := 0, 40
	for range histories {
		r.Shuffle(len(sessions), func(i, j int) { sessions[i], sessions[j] = sessions[j], sessions[i] })
		var moments []history.Moment
		for i := range sessions[:min(len(sessions), 30)] {
			m := history.MomentOf(&sessions[i])
			m.At = noon.Add(time.Duration(i) * 24 * time.Hour)
			moments = append(moments, m)
		}
		if slices.ContainsFunc(history.NewHistory(moments).Trends,
			func(t history.Trend) bool { return len(t.Changes) > 0 }) {
			changed++
		}
	}
	t.Logf("%d of %d unchanged histories of %d sessions have a change of level", changed, histories,
		min(len(sessions), 30))
	if changed > 1 {
		t.Errorf("%d of %d unchanged histories have a change of level", changed, histories)
	}
}

// Values of an output in another unit than the last are no change of it.
func TestHistoryOfUnits(t *testing.T) {
	moments := days(3, func(day int, _ *program, s *model.Session) {
		if s != nil {
			unit := []string{"us", "ms", "ms"}[day]
			s.Series = append(s.Series, model.Series{Subject: measure.Subject{Scope: measure.ScopeOutput,
				Name: "latency"},
				Metric: measure.Cost, Note: unit, Values: slices.Repeat(model.Values{float64(5 + day)}, len(s.Runs))})
			for i := range s.Runs {
				s.Runs[i].Unprofiled = true
			}
		}
	})
	got := trendOf(history.NewHistory(moments), "latency", measure.Cost.Name)
	if got == nil || got.Values[0].Known() || got.Values[1] != 6 || got.Unit != "" {
		t.Errorf("%+v", got)
	}
}
