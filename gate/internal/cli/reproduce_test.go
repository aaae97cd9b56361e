package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

func TestCalls(t *testing.T) {
	based := thresholds.Default()
	based.Base = "origin/main"
	needs := `base = "origin/main" and build = "make" (yours) in nsgate.toml`
	for _, c := range []struct {
		line   string
		policy *thresholds.Policy
		want   *result.Calls
	}{
		{"nsgate check --runs 5 --workload a -- ./a", based,
			&result.Calls{Runs: "nsgate check --runs {runs} --workload a -- ./a",
				Paired: "nsgate check --paired --runs 5 --workload a -- ./a"}},
		{"nsgate check --base-ref main", thresholds.Default(),
			&result.Calls{Runs: "nsgate check --runs {runs} --base-ref main",
				Paired: "nsgate check --paired --base-ref main"}},
		{"nsgate check", thresholds.Default(), &result.Calls{Runs: "nsgate check --runs {runs}",
			Paired: "nsgate check --paired", Needs: needs}},
		{"nsgate check --base-cmd ./old", based, &result.Calls{Runs: "nsgate check --runs {runs} --base-cmd ./old"}},
		{"nsgate check --from dir", based, nil},
		{"nsgate compare a b", based, nil},
	} {
		if got := calls(c.line, c.policy.For(""), strings.Contains(c.line, "--base-cmd")); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.line, got, c.want)
		}
	}
}
