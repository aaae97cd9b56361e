package app

import (
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// budget plans the looks of a check within a time. The zero value allows any.
type budget struct {
	limit time.Duration // of all sessions of the check
	spent *result.Spent
	start result.Spent  // spent before the first look
	run   result.Number // how long a run takes, as far as is known before the first look; else 0
	slots float64       // runs that a run a side is, of both builds and without a profiler
	round result.Number // one more run a side, in ns
	over  result.Number // time of a session beyond its runs
	first int           // runs a side of the session that both were seen in
}

// budget is that of a comparison, with a base build or with committed sessions.
func (c *Check) budget(paired bool) *budget {
	b := &budget{}
	m := c.Live
	if c.Budget <= 0 {
		return b
	}
	*b = budget{limit: c.Budget, spent: &m.spent, start: m.spent, run: result.Number(c.Baselines.Longest()),
		slots: 1 + m.Unprofiled}
	if m.spent.Runs > 0 {
		b.run = m.spent.InRuns / result.Number(m.spent.Runs)
	}
	if paired {
		b.slots *= 2
	}
	return b
}

// begin shortens the first look, to no less than two runs a side, where a run is known to take too long for it.
func (b *budget) begin(looks []int) []int {
	if b.limit > 0 && b.run > 0 {
		fit := float64(result.Number(b.limit)-b.start.Total) / (float64(b.run) * b.slots)
		looks = slices.Clone(looks)
		looks[0] = min(looks[0], max(2, int(fit)))
	}
	return looks
}

// plan is one further look, of as many runs as fit, after the session of the first.
func (b *budget) plan(looks []int) []int {
	if b.limit == 0 {
		return looks
	}
	b.first = looks[0]
	inRuns := b.spent.InRuns - b.start.InRuns
	b.round, b.over = inRuns/result.Number(b.first), b.spent.Total-b.start.Total-inRuns
	last := b.first + b.affords(looks[len(looks)-1]-b.first)
	return slices.Compact([]int{b.first, last})
}

// cost is the time of a session of so many further runs a side. The time of the profiler grows with the runs.
func (b *budget) cost(runs int) result.Number {
	n := result.Number(runs)
	return n*b.round + b.over*max(1, n/result.Number(b.first))
}

// affords is how many further runs a side fit, at most so many.
func (b *budget) affords(most int) int {
	if b.limit == 0 {
		return most
	}
	n := 0
	for n < most && b.spent.Total+b.cost(n+1) <= result.Number(b.limit) {
		n++
	}
	return n
}

// tell adds to an undecided judgement how many runs the time allowed, and how long those would take that decide.
func (b *budget) tell(r *result.Report, taken int) {
	if b.limit == 0 || verdict.Settled(r) {
		return
	}
	needed, x := 0, TimeIsUp{Budget: b.limit.String(), Runs: taken}
	for i := range r.Findings {
		if verdict.OpenToRuns(r.Findings[i]) {
			needed = max(needed, r.Findings[i].MoreRuns())
		}
	}
	if needed > taken {
		x.Needed, x.Seconds = needed, (b.spent.Total+b.cost(needed-taken))/1e9
	}
	r.Note(result.Say(x))
}

var _ = result.Keyed("time-is-up", TimeIsUp{}, "The comparison is undecided, and its budget of time is spent.")

// TimeIsUp is an undecided comparison whose budget is spent. Needed runs a side, 0 if unknown, would take Seconds.
type TimeIsUp struct {
	Budget       string
	Runs, Needed int
	Seconds      result.Number
}

func (r TimeIsUp) String() string {
	text := "the budget of " + r.Budget + " allows " + measure.Count(r.Runs, "run") + " a side"
	if r.Needed > 0 {
		text += "; " + measure.Count(r.Needed, "run") + " would take about " + (r.Seconds * 1e9).In("ns")
	}
	return text
}
