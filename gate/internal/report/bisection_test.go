package report_test

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/measure"
)

// What a search found is said first: one commit, several that share it, or one of those that could not be measured.
func TestBisection(t *testing.T) {
	commit := func(id string) decide.Commit {
		return decide.Commit{ID: strings.Repeat(id, 40), Subject: "commit " + id}
	}
	culprit := func(ids ...string) (c decide.Culprit) {
		for _, id := range ids {
			c.Commits = append(c.Commits, commit(id))
		}
		return c
	}
	for _, tt := range []struct {
		culprits []decide.Culprit
		want     string
	}{
		{nil, "SPREAD"},
		{[]decide.Culprit{culprit("a")}, "FOUND  aaaaaaaaaaaa commit a"},
		{[]decide.Culprit{culprit("a"), culprit("b")}, "FOUND  2 commits share it"},
		{[]decide.Culprit{culprit("a"), culprit("b", "c")}, "FOUND  2 changes share it"},
		{[]decide.Culprit{culprit("b", "c")}, "NARROWED  one of 2 commits"},
	} {
		b := &decide.Bisection{Good: commit("0"), Bad: commit("f"), Ends: &decide.Report{}, Complete: true, Culprits: tt.culprits,
			Followed: &decide.Finding{Scope: measure.ScopeKernel, Kernel: "saxpy", Metric: "time", Unit: "ns"}}
		var out strings.Builder
		if err := report.RenderBisection("text", &out, b, report.Options{Quiet: true}); err != nil || !strings.HasPrefix(out.String(), tt.want) {
			t.Errorf("%q, %v; want %q", out.String(), err, tt.want)
		}
	}
}
