package decide_test

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Where a process gets its memory, copies of an unchanged program are 15 % slower from beginning to end, in most runs
// of a host now and then: a doubt, and no reason to stop a merge. Copies that became pageable are.
func TestCopiesByPlace(t *testing.T) {
	for _, c := range []struct {
		factor  float64
		verdict result.Verdict
	}{{1.148, result.Pass}, {3, result.NoVerdict}} {
		sessions := batchSessions(t)
		base, head := sessions[0], sessions[9]
		head.GPUHash = "another0"
		slowed := 0
		for i, x := range head.Series {
			if x.Metric != measure.CopyTime {
				continue
			}
			x.Values = append(model.Values{}, x.Values...)
			for run := range 3 {
				x.Values[run] *= c.factor
			}
			head.Series[i], slowed = x, slowed+1
		}
		r := compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
		if slowed == 0 || r.Verdict != c.verdict {
			t.Errorf("3 of 5 runs copy %v times as slowly: %s (%s %v), want %s", c.factor, r.Verdict, r.ReasonKey,
				r.ReasonArgs, c.verdict)
		}
	}
}
