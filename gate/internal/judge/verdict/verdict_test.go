package verdict

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

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
