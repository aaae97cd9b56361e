package bisect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Bisect finds the commits between two that made a workload slower. First it proves that the ends differ. Then commits
// between them are built in worktrees and measured interleaved with both ends: how much of the change do they have?
// At the end each culprit is measured interleaved with the commit before it, which gives its change and cause.
type Bisect struct {
	app.Job
	// Build is the workload in the checkout here; each commit's is the same in its worktree.
	Build     app.Build
	Good, Bad string // git revisions; the line between them is that of first parents
	Script    string // a shell command that builds a worktree, "" where nothing needs to be built
	Looks     []int  // numbers of runs a side, ascending: the next is taken while a reading is open
	// Kernel and Metric select the finding to follow: by the name in reports or the short one, and by metric name. ""
	// takes the slower finding that matters most.
	Kernel, Metric string
	MaxTime        time.Duration // ends the search with the range found so far, 0 for never
	Explain        app.Explain
	Version        string // of nsgate: another one may judge otherwise
	// Getenv looks up variables that may lead into the checkout here; nil for none.
	Getenv func(string) string
}

type bisection struct {
	*Bisect
	line   []history.Commit // the good end first
	search *history.Search
	out    *history.Bisection
	good   app.Build // in its worktree, as is
	bad    app.Build
	names  []measure.Subject // of the followed finding in the commits
	until  time.Time
	state  state
}

var errTime = errors.New("the time is up")

func (b *bisection) at(ctx context.Context, commit string) (app.Build, func(), error) {
	return (&app.Base{Build: b.Build, Script: b.Script}).Checkout(ctx, commit, b.Getenv, b.Observe)
}

func (b *bisection) pair(base, head app.Build, explain app.Explain) *app.Pair {
	job := b.Job
	base.Keep(base.Root) // it may have been the head before
	head.Root = ""
	job.Live = b.Live.Of(head)
	job.Measurer = job.Live
	return (&app.Check{Job: job, Explain: explain}).Interleaved(base)
}

// beside measures one build interleaved with another, look after look, until enough says so.
func (b *bisection) beside(ctx context.Context, base, head app.Build, looks []int, explain app.Explain,
	enough func([]result.Finding) bool) (*result.Report, error) {
	p := b.pair(base, head, explain)
	for _, runs := range looks {
		if err := p.UpTo(ctx, runs); err != nil {
			return nil, err
		}
		if enough(p.Judgement.Findings) {
			break
		}
	}
	return p.Explained(ctx)
}

// read measures how much of the change a commit has, unless that is known.
func (b *bisection) read(ctx context.Context, i int) error {
	id := b.line[i].ID
	x, ok := b.state.Readings[id]
	if !ok {
		if !b.until.IsZero() && time.Now().After(b.until) {
			return errTime
		}
		doing := "measuring " + id[:12] + " " + b.line[i].Subject
		if left := b.search.Left(); left > 0 {
			doing += ": at most " + measure.Count(left, "commit") + " to go"
		}
		b.Begin(doing)
		r, err := app.Refused(nil, b.ask(ctx, id, &x))
		if err != nil {
			return err
		}
		if r != nil {
			x.Skipped = r.Reason
		}
		b.state.Readings[id] = x
		if err := b.state.write(); err != nil {
			return err
		}
	}
	if x.Skipped != "" {
		b.search.Skipped[i] = true
	} else {
		b.search.Readings[i] = &x.Reading
	}
	return nil
}

// ask measures a commit interleaved with the good end, then with the bad one, with more runs while it is undecided.
func (b *bisection) ask(ctx context.Context, commit string, x *known) error {
	build, remove, err := b.at(ctx, commit)
	defer remove()
	if err != nil {
		return err
	}
	whole := *b.search.Readings[len(b.line)-1]
	good, bad := b.pair(b.good, build, app.ExplainNever), b.pair(b.bad, build, app.ExplainNever)
	for _, runs := range b.looks() {
		for _, end := range []struct {
			*app.Pair
			reads **history.Reading
		}{{good, &x.FromGood}, {bad, &x.FromBad}} {
			if err := end.UpTo(ctx, runs); err != nil {
				return err
			}
			*end.reads = nil
			if f := b.follow(end.Judgement.Findings); f != nil {
				*end.reads = new(reading(f))
			}
		}
		var clear bool
		x.Reading, clear = history.Between(x.FromGood, x.FromBad, whole)
		if clear {
			x.Skipped = ""
			break
		}
		x.Skipped = b.unread(x)
	}
	return nil
}

// unread is the reason why the measurement of a commit is undecided.
func (b *bisection) unread(x *known) string {
	switch {
	case x.FromGood == nil && x.FromBad == nil:
		return b.out.Followed.Kernel + " is not in it"
	case x.FromGood != nil && x.FromBad != nil:
		return fmt.Sprintf("too noisy to tell: %s against the good end, %s against the bad one", within(x.FromGood),
			within(x.FromBad))
	}
	return "too noisy to tell: " + within(cmp.Or(x.FromGood, x.FromBad))
}

func within(r *history.Reading) string {
	return fmt.Sprintf("between %+.2g %% and %+.2g %%", 100*r.Low, 100*r.High)
}

// looks are the numbers of runs of a reading: those that were asked for, and twice and four times the last.
func (b *Bisect) looks() []int {
	last := b.Looks[len(b.Looks)-1]
	return slices.Compact(append(slices.Clone(b.Looks), 2*last, 4*last))
}

func reading(f *result.Finding) history.Reading {
	return history.Reading{Change: f.Change, Low: f.Low, High: f.High}
}

// names are the subject of a finding, and without geometry those of other names that both sides have in its place.
func names(f *result.Finding) []measure.Subject {
	of := func(name string) measure.Subject { return measure.Subject{Scope: f.Scope, Name: name} }
	return append([]measure.Subject{f.Subject()}, measure.Map(slices.Concat(f.BaseNames, f.HeadNames), of)...)
}

// follow is the followed finding in a report, and learns all its names; nil if a commit lacks it. It is that of the
// very subject, else the only one of a name that no other finding of the ends has with its geometry.
func (b *bisection) follow(findings []result.Finding) *result.Finding {
	var found []*result.Finding
	for i := range findings {
		f := &findings[i]
		if f.Scope != b.out.Followed.Scope || f.Metric != b.out.Followed.Metric ||
			!f.Change.Known() || !f.Low.Known() || !f.High.Known() {
			continue
		}
		if slices.Contains(b.names, f.Subject()) {
			found = []*result.Finding{f}
			break
		}
		same := func(s measure.Subject) bool {
			return slices.ContainsFunc(b.names, func(known measure.Subject) bool { return known.Name == s.Name })
		}
		if slices.ContainsFunc(names(f), same) && !b.other(f.Subject()) {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return nil
	}
	if found[0].Match != "rest" { // those left over may be the names of another subject
		b.names = append(b.names, names(found[0])...)
	}
	return found[0]
}

// other reports whether the ends have a subject beside the followed one.
func (b *bisection) other(s measure.Subject) bool {
	same := func(x result.Finding) bool { return x.Subject() == s }
	return b.out.Ends != nil && slices.ContainsFunc(b.out.Ends.Findings, same)
}
