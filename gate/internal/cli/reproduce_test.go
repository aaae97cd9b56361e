package cli

import (
	"reflect"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

func TestCalls(t *testing.T) {
	based := thresholds.Default()
	based.Base = "origin/main"
	needs := `base = "origin/main" and build = "make" (yours) in nsgate.toml`
	finished := func(line string) *result.Calls {
		return &result.Calls{Runs: "measure {runs} runs a side, as these were, then: " + line,
			Paired: "measure both builds interleaved on one host, then: nsgate compare BASE HEAD"}
	}
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
		{"nsgate check --from dir", based, finished("nsgate check --from dir")},
		{"nsgate compare a b", based, finished("nsgate compare a b")},
	} {
		if got := callsOf(c.line, c.policy.For(""), nil, nil); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.line, got, c.want)
		}
	}
	limit := 0.015
	own := &thresholds.Workload{Threshold: &limit, Step: "a b", Results: []thresholds.Results{{Rows: "bench.jq"}}}
	based.File = "../nsgate.toml"
	for line, want := range map[string]string{
		"nsgate check --from dir":                 "--threshold 1.5% --step 'a b' --rows ../bench.jq",
		"nsgate check --threshold 2% --from dir":  "--threshold 2% --step 'a b' --rows ../bench.jq",
		"nsgate compare --rows '.[] | .x' a b":    "--rows '.[] | .x' --threshold 1.5% --step 'a b'",
		"nsgate check --from dir --workload scan": "--threshold 1.5% --step 'a b' --rows ../bench.jq",
	} {
		got := callsOf(line, based.For(""), own, nil).Paired
		if got != "measure both builds interleaved on one host, then: nsgate compare "+want+" BASE HEAD" {
			t.Errorf("%s: %s", line, got)
		}
	}
	if got := callsOf("nsgate check --base-ref main", based.For(""), nil,
		[]string{"--build", "command behind --"}); got.With !=
		"the same --build and command behind --" {
		t.Errorf("hidden commands: %+v", got)
	}
}
