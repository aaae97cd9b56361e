package app

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Load and power limit are told once a report, with the last numbers, and where they may change the verdict.
func TestDoubts(t *testing.T) {
	var m Measurement
	for _, n := range []string{"1", "2"} {
		m.add(&Measurement{Warnings: []string{"load " + n, "power " + n, "other"}, loaded: []string{"load " + n},
			slowed: []string{"power " + n}})
	}
	m.add(&Measurement{})
	gating := func(x measure.Metric, o result.Outcome, gates bool) *result.Report {
		return &result.Report{Verdict: result.Pass, Findings: []result.Finding{{Metric: x.Name, Outcome: o,
			Gates: gates}}}
	}
	for _, x := range []struct {
		what string
		r    *result.Report
		want []string
	}{
		{"within", gating(measure.StepTime, result.WithinLimit, true), []string{"other"}},
		{"step", gating(measure.StepTime, result.Undecided, true), []string{"other", "load 2", "power 2"}},
		{"kernel", gating(measure.Time, result.Slower, true), []string{"other", "power 2"}},
		{"warns", gating(measure.StepTime, result.Slower, false), []string{"other"}},
		{"no verdict", &result.Report{Verdict: result.NoVerdict}, []string{"other", "load 2", "power 2"}},
	} {
		got := m.doubts(x.r)
		slices.Sort(got)
		slices.Sort(x.want)
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", x.what, got, x.want)
		}
	}
}
