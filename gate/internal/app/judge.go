package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
)

// Refused turns a refusal into a report without a verdict, with the baseline that was read, and lets the rest through.
func Refused(r *result.Report, err error, base ...model.Session) (*result.Report, error) {
	if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
		r, err = insight.Refuse(decide.Input{Baseline: base}, refusal), nil
	}
	return r, err
}

var _ = result.Keyed("screened", Screened{}, "The verdict on the committed baseline, before the base build decided.")

// Screened is a verdict on the committed baseline that the base build decides.
type Screened struct{ Answer, Because string }

func (r Screened) String() string {
	return "the baseline said " + r.Answer + " (" + r.Because + "); the base build, measured beside the head, decides"
}

var _ = result.Keyed(result.KeyBaseNotNeeded, BaseNotNeeded{}, "The baseline decided: no base build was needed.")

// BaseNotNeeded is a verdict on the committed or a local baseline that made a base build unnecessary.
type BaseNotNeeded struct{}

func (BaseNotNeeded) String() string {
	return "the baseline decided: the base build was neither needed nor built"
}

func draw(r *result.Report, base, head *profile.Recording) *result.Drawn {
	const maxDistributions = 24 // the number of kernels whose launch distribution is plotted, most changed first
	var kernels []measure.Subject
	for _, f := range r.Findings {
		if f.Scope == measure.ScopeKernel && !f.Outcome.Kept() {
			kernels = measure.Once(kernels, f.Subject())
		}
	}
	kernels = kernels[:min(len(kernels), maxDistributions)]
	rank := "" // the slow one, on both sides
	if r.Ranks != nil && r.Ranks.Straggler != nil {
		rank = r.Ranks.Straggler.Rank
	}
	return &result.Drawn{Base: profile.Draw(r.Base, base, kernels, rank),
		Head: profile.Draw(r.Head, head, kernels, rank)}
}

// drawStored adds the typical step of the baseline in dir to a report with pictures. An unreadable file is a warning.
func drawStored(r *result.Report, dir string, sessions []model.Session) {
	if r.Drawn == nil || r.Drawn.Base != nil {
		return
	}
	d, err := baseline.Step(dir, sessions)
	x := result.Addition{Drawn: &result.Drawn{Base: d, Head: r.Drawn.Head}}
	if err != nil {
		x.Warnings = []string{err.Error()}
	}
	r.Append(x)
}

// Pair is the head of a check and another build, measured interleaved.
type Pair struct {
	Judgement *result.Report // after the last look

	check *Check
	base  Build
	all   Measurement
	taken int // runs a side
}

// Interleaved is a check of the head against another build alone: no baseline is read.
func (c *Check) Interleaved(base Build) *Pair {
	own := *c
	own.Base, own.Paired = &Base{Build: base}, true
	return &Pair{check: &own, base: base}
}

// UpTo measures until each side has so many runs, and judges them.
func (p *Pair) UpTo(ctx context.Context, runs int) (err error) {
	if err = p.all.take(p.check.Measurer.Measure(ctx, runs-p.taken, &p.base)); err != nil {
		return err
	}
	p.Judgement, err = p.check.look(ctx, &p.all, func(m *Measurement) ([]model.Session, []model.Session, error) {
		return m.sessions(ctx, p.check.Rule, nil)
	}, decide.Look{})
	p.taken = runs
	return err
}

// Explained is the report with the causes of slower kernels.
func (p *Pair) Explained(ctx context.Context) (*result.Report, error) {
	return p.check.explained(ctx, p.Judgement, &p.base), context.Cause(ctx)
}

// first measures a head without a baseline. The answer is no verdict, for the reason why, and the measurement can be
// the first baseline. A measurement that cannot be stored is refused for its own reason.
func (c *Check) first(ctx context.Context, why error) (*result.Report, error) {
	all := &Measurement{}
	if err := all.take(c.Measurer.Measure(ctx, min(max(c.Looks[0], DefaultRuns), c.Looks[len(c.Looks)-1]),
		nil)); err != nil {
		return nil, err
	}
	_, head, err := all.sessions(ctx, c.Rule, nil)
	if err != nil {
		return nil, err
	}
	if err := c.asked(all, head); err != nil {
		return nil, err
	}
	stored := true
	for _, p := range model.Profilers(head) {
		if err := storable(p.Pick(head), c.Policy); err != nil && stored {
			stored, why = false, err
		}
	}
	if err := c.Code.attach(ctx, head); err != nil && !all.finished {
		all.Warnings = append(all.Warnings, err.Error())
	}
	r := insight.Refuse(decide.Input{Head: head, Policy: c.Policy}, why)
	r.Append(result.Addition{Warnings: all.Warnings})
	if !stored {
		return r, nil
	}
	measured, err := insight.Summarize(head)
	r.Append(result.Addition{Measured: measured})
	return r, err
}

// NoGPU is the report of a machine without a GPU; nil if there is or may be one.
func NoGPU(ctx context.Context) *result.Report {
	if _, err := tools.GPUs().GPUs(ctx); !errors.Is(err, device.ErrNone) {
		return nil
	}
	r, _ := Refused(nil, model.Refuse(model.NoGPU, "run the check where there is one",
		"this machine has no %s GPU: nothing was measured and nothing judged", model.Vendor))
	return r
}

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
