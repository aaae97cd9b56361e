package decide_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// TestUnmeasuredMerge wants no failure and no pass of a kernel whose baseline is that of a merge which was never
// measured.
func TestUnmeasuredMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	base, head := six().session(r, nil), six().session(r, slower(3, 0.1))
	for i := range base.Series {
		x := &base.Series[i]
		x.Unmeasured = x.Subject == measure.Workload || x.Subject.Short() == "sgemm"
	}
	report := compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
	f := find(report, "sgemm", "time")
	if report.Verdict != result.NoVerdict || f.ReasonKey != "unmeasured" || f.Outcome != result.Undecided {
		t.Errorf("%s (%s); sgemm is %s: %s", report.Verdict, report.Reason, f.Outcome, f.Reason)
	}
}

// TestCountsDiffer wants a count undecided whose mean falls while its median rises: the sessions of the baseline
// differ.
func TestCountsDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	session := func(day int, calls float64) model.Session {
		s := six().session(r, nil)
		s.Start = s.Start.Add(time.Duration(day) * 24 * time.Hour)
		values := make(model.Values, len(s.Runs))
		for i := range values {
			values[i] = calls
		}
		s.Series = append(s.Series, model.Series{Subject: measure.Workload, Metric: measure.SyncCalls, Values: values})
		s.SortSeries()
		return s
	}
	base := []model.Session{session(0, 1), session(1, 1), session(2, 9)}
	policy, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nmetric = \"sync_calls\"\nmax = \"0%\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	report := compareSides(base, []model.Session{session(3, 1.5)}, policy)
	f := find(report, "workload", "sync_calls")
	if f.ReasonKey != "counts-differ" || f.Outcome != result.Undecided || !f.Undecided {
		t.Errorf("%s (%s); the count is %s: %s", report.Verdict, report.Reason, f.Outcome, f.Reason)
	}
}
