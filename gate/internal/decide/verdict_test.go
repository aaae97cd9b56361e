package decide

import "testing"

func TestVerdicts(t *testing.T) {
	because := func(key string) *Remark { return refusal(key, nil) }
	for _, c := range []struct {
		name      string
		evidence  gathered
		verdict   Verdict
		undecided bool
		key       string
	}{
		{"nothing", gathered{compared: 3}, Pass, false, "none-slower"},
		{"open", gathered{open: because("undecided")}, Pass, true, "undecided"},
		{"open, strict", gathered{open: because("undecided"), strict: true}, NoVerdict, true, "undecided"},
		{"doubted before open", gathered{open: because("undecided"), doubted: because("doubted")}, NoVerdict, true, "doubted"},
		{"drift before doubt", gathered{drift: because(overCreep), doubted: because("doubted")}, Fail, false, overCreep},
		{"an outlier before drift", gathered{drift: because(overCreep), outlier: because("swerves")}, NoVerdict, false, "swerves"},
		{"too few runs before drift", gathered{drift: because(overCreep), tooFew: because("few-runs")}, NoVerdict, false, "few-runs"},
		{"nothing judged before drift", gathered{drift: because(overCreep), unjudged: because("nothing-judged")}, NoVerdict, false, "nothing-judged"},
		{"what was not measured before nothing judged", gathered{unseen: because("not-profiled"), unjudged: because("nothing-judged")}, NoVerdict, false, "not-profiled"},
		{"a regression before all", gathered{failed: 1, drift: because(overCreep), unseen: because("not-profiled"), outlier: because("swerves"),
			doubted: because("doubted"), open: because("undecided"), strict: true}, Fail, false, "regressed"},
	} {
		if v := verdictOf(c.evidence); v.verdict != c.verdict || v.undecided != c.undecided || v.because.Key != c.key {
			t.Errorf("%s: %s, undecided %t, %s", c.name, v.verdict, v.undecided, v.because.Key)
		}
	}
}
