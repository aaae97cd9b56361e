package app

import (
	"slices"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// A budget plans one further look, of as many runs as fit by the time of the first session.
func TestBudget(t *testing.T) {
	const second = result.Number(time.Second)
	for _, tt := range []struct {
		name        string
		limit       time.Duration
		known, took result.Number // a run before the first look, and in it
		over        result.Number // time of the first session beyond its runs
		slots       float64
		looks, want []int
	}{
		{"none", 0, 0, 5 * second, 2 * second, 1, []int{3, 5, 8}, []int{3, 5, 8}},
		// 18 s, then 7 × (5 s + 1 s)
		{"the rest fits", time.Minute, 0, 5 * second, 3 * second, 1, []int{3, 1000}, []int{3, 10}},
		{"no more than was asked for", time.Minute, 0, 5 * second, 3 * second, 1, []int{3, 5, 8}, []int{3, 8}},
		// 9 s, 4 s and 8 s more
		{"a session costs its start", 22 * time.Second, 0, second, 6 * second, 1, []int{3, 1000}, []int{3, 7}},
		{"nothing fits", 10 * time.Second, 0, 5 * second, 3 * second, 1, []int{3, 1000}, []int{3}},
		// 33 s, 2 × 10 s and 3 s
		{"both builds", time.Minute, 0, 5 * second, 3 * second, 2, []int{3, 1000}, []int{3, 5}},
		{"runs are known to be long", time.Minute, 30 * second, 25 * second, 3 * second, 1, []int{3, 1000}, []int{2}},
	} {
		s := &result.Spent{}
		b := budget{limit: tt.limit, spent: s, run: tt.known, slots: tt.slots}
		looks := b.begin(tt.looks)
		s.InRuns = result.Number(float64(looks[0])*tt.slots) * tt.took
		s.Total = s.InRuns + tt.over
		if got := b.plan(looks); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A further look takes the runs that what is open is measured in.
func TestPreferredRuns(t *testing.T) {
	open := func(metric string) result.Finding {
		return result.Finding{Metric: metric, Outcome: result.Undecided, Gates: true, Low: -0.1, High: 0.1, Limit: 0.03}
	}
	settled := result.Finding{Metric: "rate", Outcome: result.WithinLimit, Gates: true}
	of := func(findings ...result.Finding) *result.Report {
		return &result.Report{Findings: findings}
	}
	m := &Live{Unprofiled: 1.5}
	c := Check{Job: Job{Measurer: m, Live: m}}
	for _, tt := range []struct {
		name                 string
		judged               *result.Report
		profiled, unprofiled int
	}{
		{"kernel and output", of(open("rate"), open("time")), 2, 3},
		{"output", of(open("cost")), 1, 3},
		{"kernel", of(settled, open("time")), 2, 0},
		{"the first look", nil, 2, 3},
	} {
		c.prefer(tt.judged)
		if p := m.plan(2, nil); p.Runs != tt.profiled || p.Unprofiled != tt.unprofiled {
			t.Errorf("%s: %d and %d runs, want %d and %d", tt.name, p.Runs, p.Unprofiled, tt.profiled, tt.unprofiled)
		}
	}
}
