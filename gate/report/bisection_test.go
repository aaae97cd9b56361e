package report_test

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
)

// What a search found is said first: one commit, several that share it, or one of those that could not be measured.
func TestBisection(t *testing.T) {
	commit := func(id string) gate.Commit { return gate.Commit{ID: strings.Repeat(id, 40), Subject: "commit " + id} }
	culprit := func(ids ...string) (c gate.Culprit) {
		for _, id := range ids {
			c.Commits = append(c.Commits, commit(id))
		}
		return c
	}
	for _, tt := range []struct {
		culprits []gate.Culprit
		want     string
	}{
		{nil, "SPREAD"},
		{[]gate.Culprit{culprit("a")}, "FOUND  aaaaaaaaaaaa commit a"},
		{[]gate.Culprit{culprit("a"), culprit("b")}, "FOUND  2 commits share it"},
		{[]gate.Culprit{culprit("a"), culprit("b", "c")}, "FOUND  2 changes share it"},
		{[]gate.Culprit{culprit("b", "c")}, "NARROWED  one of 2 commits"},
	} {
		b := &gate.Bisection{Good: commit("0"), Bad: commit("f"), Ends: &gate.Report{}, Complete: true, Culprits: tt.culprits,
			Followed: &gate.Finding{Scope: measure.ScopeKernel, Kernel: "saxpy", Metric: "time", Unit: "ns"}}
		var out strings.Builder
		if err := report.RenderBisection("text", &out, b, report.Options{Quiet: true}); err != nil || !strings.HasPrefix(out.String(), tt.want) {
			t.Errorf("%q, %v; want %q", out.String(), err, tt.want)
		}
	}
}
