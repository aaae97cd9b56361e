package report

import (
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// bisectionText writes the commits that changed the number, what each changed and why, and all measured commits.
func bisectionText(b *history.Bisection, o story.Options) (string, error) {
	p := newPage(o)
	found := slices.ContainsFunc(b.Culprits, func(c history.Culprit) bool { return len(c.Commits) == 1 })
	switch {
	case b.Followed == nil && len(b.Ends.Findings) == 0:
		p.verdict("NOT FOUND", yellow, "the ends cannot be compared: "+story.Clean(b.Ends.Reason))
		p.next(b.Ends.Next)
		return p.b.String(), nil
	case b.Followed == nil:
		p.verdict("NOT FOUND", yellow, "the ends do not differ beyond the limits: "+story.Clean(b.Ends.Reason))
		p.nearest(b)
		p.next(b.Ends.Next)
		return p.b.String(), nil
	case !b.Complete:
		p.verdict("NOT FINISHED", yellow, "the time is up; the same command goes on")
	case len(b.Culprits) == 0:
		p.verdict("SPREAD", yellow, "no commit has a fifth of the change: it is spread over many")
	case b.Refuted():
		p.verdict("NOT CONFIRMED", yellow, commitLine(b.Culprits[0].Commits[0])+": beside the commit before it nothing is seen of the change")
	case len(b.Culprits) > 1:
		p.verdict("FOUND", red, shared(b.Culprits))
	case found:
		p.verdict("FOUND", red, commitLine(b.Culprits[0].Commits[0]))
	default:
		p.verdict("NARROWED", yellow, fmt.Sprintf("one of %s, of which those between could not be measured", story.Count(len(b.Culprits[0].Commits), "commit")))
	}
	if o.Quiet {
		return p.b.String(), nil
	}
	f := b.Followed
	p.title("Followed")
	p.line(2, 4, span{fmt.Sprintf("%s %s: %s (%s, interval %s … %s) from %s to %s", story.Subject(f.Scope, f.Title()), story.Metric(f.Metric),
		story.Values(*f), story.Changed(f.Change), story.Bare(f.Low), story.Bare(f.High), b.Good.ID[:12], b.Bad.ID[:12]), none})
	for _, c := range b.Culprits {
		p.culprit(c, f)
	}
	p.bisected(b)
	return p.b.String(), nil
}

// nearest says what the ends could show, and how many runs would show the nearest change.
func (p *page) nearest(b *history.Bisection) {
	p.line(0, 2, span{story.Wrapped(story.Count(b.Ends.Head.Runs, "run")+" a side detect ", story.Detects(b.Ends.Detects), " (80 % power)."), none})
	f := b.Nearest
	if f == nil {
		return
	}
	m, _ := measure.MetricByName(f.Metric)
	text := fmt.Sprintf("%s %s: %s (%s … %s)", story.Subject(f.Scope, f.Title()), m.Title(), story.Changed(f.Change), story.Bare(f.Low), story.Bare(f.High))
	switch {
	case b.RunsNeeded > 10_000:
		text += ": no number of runs that is worth it tells that from none"
	case b.RunsNeeded > 0:
		text += fmt.Sprintf(": to tell that from none takes about %s a side", story.Count(b.RunsNeeded, "run"))
	case f.Direction() == measure.Higher && f.High < 0, f.Direction() == measure.Lower && f.Low > 0:
		text += fmt.Sprintf(", within its limit of %s: a lower one follows it", story.Percent(f.Limit))
	}
	p.line(0, 2, span{text, none})
}

func shared(culprits []history.Culprit) string {
	what := "commit"
	if slices.ContainsFunc(culprits, func(c history.Culprit) bool { return len(c.Commits) > 1 }) {
		what = "change" // some are not narrowed to one commit
	}
	return story.Count(len(culprits), what) + " share it"
}

func commitLine(c history.Commit) string {
	return fmt.Sprintf("%s %s (%s, %s)", c.ID[:12], story.Elide(story.Clean(c.Subject), 200), story.Elide(story.Clean(c.Author), 60), c.Date.Format("2006-01-02"))
}

func (p *page) culprit(c history.Culprit, followed *result.Finding) {
	p.title(fmt.Sprintf("%s, interval %s … %s %%", story.Changed(c.Change), story.Bare(c.Low), story.Bare(c.High)))
	for _, x := range c.Commits {
		p.line(2, 4, span{commitLine(x), none})
	}
	if c.Report == nil {
		return
	}
	for i := range c.Report.Findings {
		f := &c.Report.Findings[i]
		if f.Scope == followed.Scope && f.Metric == followed.Metric &&
			(f.Kernel == followed.Kernel || slices.Contains(f.BaseNames, followed.Name)) || f.Gates &&
			f.Outcome == result.Slower {
			p.explained(f)
		}
	}
}

// explained writes a finding of a culprit in a line, then its evidence and cause.
func (p *page) explained(f *result.Finding) {
	p.line(4, 6, span{fmt.Sprintf("%s %s: %s (%s)", story.Subject(f.Scope, f.Title()), story.Metric(f.Metric), story.Values(*f), story.Changed(f.Change)), none})
	for _, e := range f.Evidence {
		p.line(6, 8, span{"• ", dim}, span{story.Clean(e), none})
	}
	if f.Cause != nil {
		p.line(6, 8, span{"why  ", dim}, span{story.Clean(f.Cause.Summary), none})
	}
}

// from prints the change between an end and a commit measured beside it.
func from(d *history.Reading) string {
	if d == nil {
		return ""
	}
	return story.Changed(d.Change)
}

func (p *page) bisected(b *history.Bisection) {
	t := &story.Table{Columns: []story.Column{{Title: "commit"}, {Title: "by good", Right: true, Optional: true}, {Title: "by bad", Right: true, Optional: true},
		{Title: "slower than good"}, {Title: "nearer", Optional: true}, {Title: "subject", Least: 10}}}
	var skipped []string
	for _, c := range b.Commits {
		subject := story.Elide(story.Clean(c.Subject), 72)
		switch {
		case c.Skipped != "":
			skipped = append(skipped, fmt.Sprintf("%s %s: %s", c.ID[:12], subject, story.Elide(story.Clean(c.Skipped), 300)))
		case c.Change != nil:
			t.Add(c.ID[:12], from(c.FromGood), from(c.FromBad), fmt.Sprintf("%s (%s … %s)", story.Changed(*c.Change), story.Bare(*c.Low), story.Bare(*c.High)), c.Nearer, subject)
		}
	}
	p.title("Measured")
	p.table(t)
	text := fmt.Sprintf("%d of %s measured", len(t.Rows), story.Count(len(b.Commits), "commit"))
	if len(skipped) > 0 {
		text += fmt.Sprintf(", %d skipped", len(skipped))
	}
	p.dim(2, text+", "+story.Seconds(result.Number(b.Seconds)))
	p.list("Skipped", "-", none, skipped)
}
