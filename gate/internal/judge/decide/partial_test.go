package decide_test

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// A base with a part replaced a little later, on the same GPU, is still one session with the head: no term of sessions
// widens the intervals.
func TestAcceptedWithinTheHour(t *testing.T) {
	whole := quiet().session()
	record, accept := whole, whole
	name := quiet().kernels[0].name
	of := func(x model.Series) bool { return x.Subject.Short() == name }
	record.Series = slices.DeleteFunc(slices.Clone(whole.Series), of)
	accept.Series = slices.DeleteFunc(slices.Clone(whole.Series), func(x model.Series) bool { return !of(x) })
	accept.ID, accept.Accepted = "accepted", true
	head := quiet().with(func(p *program) { p.seed = 99 }).session()
	one := compareSides([]model.Session{whole}, []model.Session{head}, thresholds.Default())
	parts := compareSides([]model.Session{record, accept}, []model.Session{head}, thresholds.Default())
	for _, f := range one.Findings {
		g := find(parts, f.Kernel, f.Metric)
		if f.Scope == measure.ScopeKernel && f.Metric == measure.Time.Name && (g == nil || g.MDE > 1.05*f.MDE) {
			t.Errorf("%s: an MDE of %v from parts, %v from one session", f.Kernel, g, f.MDE)
		}
	}
	if parts.Verdict != result.Pass || parts.Undecided || parts.Batches != one.Batches {
		t.Errorf("%s: %s", parts.Verdict, parts.Reason)
	}
}
