package verdict

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

func TestVerdicts(t *testing.T) {
	because := func(key string) *result.Remark { return &result.Remark{Key: key} }
	for _, c := range []struct {
		name      string
		evidence  gathered
		verdict   result.Verdict
		undecided bool
		key       string
	}{
		{"nothing", gathered{passed: because("none-slower")}, result.Pass, false, "none-slower"},
		{"open", gathered{open: because("undecided")}, result.Pass, true, "undecided"},
		{"open, strict", gathered{open: because("undecided"), strict: true}, result.NoVerdict, true, "undecided"},
		{"doubted before open", gathered{open: because("undecided"), doubted: because("doubted")}, result.NoVerdict,
			true, "doubted"},
		{"drift before doubt", gathered{drift: because(result.KeyOverDrift), doubted: because("doubted")},
			result.Fail, false,
			result.KeyOverDrift},
		{"an outlier before drift", gathered{drift: because(result.KeyOverDrift),
			Gate: Gate{Outlier: because("single-run-outlier")}}, result.NoVerdict, false, "single-run-outlier"},
		{"too few runs before drift", gathered{drift: because(result.KeyOverDrift),
			tooFew: because("few-runs")},
			result.NoVerdict, false, "few-runs"},
		{"nothing judged before drift", gathered{drift: because(result.KeyOverDrift),
			unjudged: because("nothing-judged")},
			result.NoVerdict, false, "nothing-judged"},
		{"what was not measured before nothing judged", gathered{unmeasuredKernels: because("not-profiled"),
			unjudged: because("nothing-judged")}, result.NoVerdict, false, "not-profiled"},
		{"a regression before all", gathered{failing: "k", drift: because(result.KeyOverDrift),
			unmeasuredKernels: because("not-profiled"), Gate: Gate{Outlier: because("single-run-outlier")},
			doubted: because("doubted"), open: because("undecided"), strict: true}, result.Fail, false, "slower"},
	} {
		if v := verdictOf(c.evidence); v.Verdict != c.verdict || v.Undecided != c.undecided || v.Because.Key != c.key {
			t.Errorf("%s: %s, undecided %t, %s", c.name, v.Verdict, v.Undecided, v.Because.Key)
		}
	}
}

// Each remedy belongs to a kind of reason that exists.
func TestRemedies(t *testing.T) {
	for _, r := range []result.Reason{reason.WithAll{}, reason.Waiting, reason.HostDenied{}, reason.OtherUnit{}} {
		if remedies[result.Say(r).Key] == "" {
			t.Errorf("no remedy of %q", result.Say(r).Key)
		}
	}
	if len(remedies) != 4 {
		t.Errorf("%d remedies, 4 of which are tested", len(remedies))
	}
}

// Without a policy file there are no rules to check.
func TestNothingJudged(t *testing.T) {
	policy := thresholds.Default()
	if r := NothingJudged(policy.For("")); strings.Contains(r.Sentence+r.Next, "rule") {
		t.Errorf("%+v", r)
	}
	policy.Rules = append(policy.Rules, thresholds.Rule{})
	if r := NothingJudged(policy.For("")); !strings.Contains(r.Next, "rules") {
		t.Errorf("%+v", r)
	}
}
