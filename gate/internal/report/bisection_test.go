package report_test

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// The result of a search comes first: one commit, several that share it, or one of those that could not be measured.
func TestBisection(t *testing.T) {
	commit := func(id string) history.Commit {
		return history.Commit{ID: strings.Repeat(id, 40), Subject: "commit " + id}
	}
	culprit := func(ids ...string) (c history.Culprit) {
		for _, id := range ids {
			c.Commits = append(c.Commits, commit(id))
		}
		return c
	}
	for _, tt := range []struct {
		culprits []history.Culprit
		want     string
	}{
		{nil, "SPREAD"},
		{[]history.Culprit{culprit("a")}, "FOUND  aaaaaaaaaaaa commit a"},
		{[]history.Culprit{culprit("a"), culprit("b")}, "FOUND  2 commits share it"},
		{[]history.Culprit{culprit("a"), culprit("b", "c")}, "FOUND  2 changes share it"},
		{[]history.Culprit{culprit("b", "c")}, "NARROWED  one of 2 commits"},
	} {
		b := &history.Bisection{Good: commit("0"), Bad: commit("f"), Ends: &result.Report{}, Complete: true,
			Culprits: tt.culprits,
			Followed: &result.Finding{Scope: measure.ScopeKernel, Kernel: "saxpy", Metric: "time", Unit: "ns"}}
		var out strings.Builder
		if err := report.Render("text", &out, b, report.Options{Quiet: true}); err != nil ||
			!strings.HasPrefix(out.String(), tt.want) {
			t.Errorf("%q, %v; want %q", out.String(), err, tt.want)
		}
	}
}
