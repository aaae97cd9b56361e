package decide_test

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Sessions of one unchanged job of torchrun, two ranks on a host whose cores change their speed: no pair of them fails
// or has no verdict. A kernel that takes a fifth longer fails, and a step three times as long does not pass in silence.
func TestSessionsOfAJob(t *testing.T) {
	t.Parallel()
	kept, err := baseline.Open("../../../../testdata/h200/torchrun/nvidia-h200", (*baseline.Baseline).ReadAll)
	if err != nil {
		t.Fatal(err)
	}
	all := kept.All()
	if len(all) != 9 {
		t.Fatal(len(all), "sessions")
	}
	judge := func(base, head model.Session) *result.Report {
		return compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
	}
	kernel := func(s *model.Session, time float64) measure.Subject {
		i := slices.IndexFunc(s.Series, func(x model.Series) bool {
			return x.Metric == measure.Time && x.Values[0] > time && x.Values[0] < 1.2*time
		})
		return s.Series[i].Subject
	}
	fails := 0
	for b := range all {
		for h := range all {
			if b == h {
				continue
			}
			if got := judge(all[b], all[h]); got.Verdict != result.Pass {
				t.Errorf("%d, %d unchanged: %s: %s", b, h, got.Verdict, got.Reason)
			}
			if h != (b+1)%len(all) {
				continue
			}

			slower := clone(all[h])
			for _, m := range []measure.Metric{measure.Time, measure.Total} {
				scale(&slower, kernel(&slower, 170e3), m, 1.2)
			}
			switch got := judge(all[b], slower); got.Verdict {
			case result.Fail:
				fails++
			case result.Pass:
				t.Errorf("%d, %d, a kernel +20 %%: %s: %s", b, h, got.Verdict, got.Reason)
			}

			late := clone(all[h])
			scale(&late, measure.Workload, measure.StepTime, 3)
			scale(&late, measure.Workload, measure.MeanStep, 3)
			if got := judge(all[b], late); got.Verdict == result.Pass {
				t.Errorf("%d, %d, the step × 3: %s: %s", b, h, got.Verdict, got.Reason)
			}
		}
	}
	if fails < len(all)-1 {
		t.Errorf("a kernel +20 %% failed %d of %d gates", fails, len(all))
	}
}
