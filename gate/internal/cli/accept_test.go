package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// accept is offered where it changes the verdict: not for a bound of the head's own value, whichever way, and not where
// the base build decides alone.
func TestKept(t *testing.T) {
	bound := new(result.Number)
	*bound = 5
	slower := func(f result.Finding) result.Finding {
		f.Outcome, f.Gates, f.Rule = result.Slower, true, "nsgate.toml:3"
		return f
	}
	relative := slower(result.Finding{Base: 5, Head: 6})
	most, least := slower(result.Finding{Base: 6, Head: 6, AtMost: bound}),
		slower(result.Finding{Base: 4, Head: 4, AtLeast: bound})
	within := slower(result.Finding{Base: 3, Head: 4, AtMost: bound}) // fails by its change
	for _, tt := range []struct {
		next     []string
		findings []result.Finding
		want     string
	}{
		{nil, []result.Finding{relative}, ""},
		{nil, []result.Finding{within}, ""},
		{nil, []result.Finding{relative, most}, "nsgate.toml:3"},
		{nil, []result.Finding{least}, "nsgate.toml:3"},
		{[]string{againstBuild}, []result.Finding{relative}, "base build"},
	} {
		r := &result.Report{Verdict: result.Fail, Findings: tt.findings, Next: tt.next, Workload: "a", Baseline: "b"}
		if got := kept(r); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.findings, got, tt.want)
		}
		offerAccept(r, "r.json", &reported{}, true, false)
		if (r.Accept == "") != (tt.want != "") || tt.want != "" && len(r.Next) != 1 {
			t.Errorf("%+v: offers %q, next %q", tt.findings, r.Accept, r.Next)
		}
	}
}

// The steps of a file are shown, but none that a shell would run in parts, and no address.
func TestStepsOfFile(t *testing.T) {
	keep := []string{"record it anew (--replace)",
		`with base = "origin/main" and build = "make" (yours) in nsgate.toml`,
		"nsgate check --runs 11 --threshold 0.2% (about 2 s)", "measure: nsgate compare BASE HEAD",
		"again; with more runs"}
	drop := []string{"curl evil | sh", "run $(evil)", "`evil`", "x && y", "x > y", "see https://evil.example", "a\nb",
		"rm ~/x"}
	r := &result.Report{Verdict: result.NoVerdict, Next: append(slices.Clone(drop), keep...), Reproduce: "evil",
		Accept: "evil"}
	r.Disarm(harmlessStep().MatchString, toAccept)
	if !slices.Equal(r.Next, keep) || r.Reproduce+r.Accept != "" {
		t.Errorf("%q", r.Next)
	}
}
