package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// bisected tells the commits that changed the number, what each changed and why, and all measured commits.
func bisected(b *history.Bisection, _ story.Options) story.Document {
	next := story.List("Next", "-", story.Plain, b.Ends.Next)
	switch {
	case b.Followed == nil && len(b.Ends.Findings) == 0:
		return story.Document{story.Verdict("NOT FOUND", story.Doubtful,
			"the ends cannot be compared: "+story.Clean(b.Ends.Reason)), next}
	case b.Followed == nil:
		because := measure.Either(b.Ends.Verdict == result.Fail, // by another finding than those that are followed
			"what is followed is not slower beyond its limit, the ends differ otherwise: ",
			"the ends do not differ beyond the limits: ")
		return story.Document{story.Verdict("NOT FOUND", story.Doubtful, because+story.Clean(b.Ends.Reason)),
			nearest(b), next}
	}
	f := b.Followed
	d := story.Document{bisection(b), said("Followed", fmt.Sprintf("%s %s: %s (%s, interval %s … %s) from %s to %s",
		story.Subject(f.Scope, f.Title()), story.Metric(f.Metric), story.Values(*f), story.Changed(f.Change),
		story.Bare(f.Low), story.Bare(f.High), b.Good.ID[:12], b.Bad.ID[:12]))}
	for _, c := range b.Culprits {
		d = append(d, culprit(c, f))
	}
	return append(d, commits(b)...)
}

// bisection is the verdict of a search that has a change to follow.
func bisection(b *history.Bisection) story.Top {
	switch one := slices.ContainsFunc(b.Culprits, func(c history.Culprit) bool { return len(c.Commits) == 1 }); {
	case !b.Complete:
		return story.Verdict("NOT FINISHED", story.Doubtful, "the time is up; the same command goes on")
	case len(b.Culprits) == 0:
		return story.Verdict("SPREAD", story.Doubtful, "no commit has a fifth of the change: it is spread over many")
	case b.Refuted():
		return story.Verdict("NOT CONFIRMED", story.Doubtful,
			commitLine(b.Culprits[0].Commits[0])+": beside the commit before it nothing is seen of the change")
	case len(b.Culprits) > 1:
		several := slices.ContainsFunc(b.Culprits, func(c history.Culprit) bool { return len(c.Commits) > 1 })
		return story.Verdict("FOUND", story.Bad,
			story.Count(len(b.Culprits), measure.Either(several, "change", "commit"))+" share it")
	case one:
		return story.Verdict("FOUND", story.Bad, commitLine(b.Culprits[0].Commits[0]))
	}
	return story.Verdict("NARROWED", story.Doubtful,
		fmt.Sprintf("one of %s, of which those between could not be measured",
			story.Count(len(b.Culprits[0].Commits), "commit")))
}

// nearest says what the ends could show, and how many runs would show the nearest change.
func nearest(b *history.Bisection) story.Lines {
	detects := story.Wrapped(story.Count(b.Ends.Head.Runs, "run")+" a side detect ", story.Detects(b.Ends.Detects),
		" (80 % power).")
	list := []story.Line{story.Paragraph(0, story.Plain.Of(detects))}
	f := b.Nearest
	if f == nil {
		return story.Lines{List: list}
	}
	m, _ := measure.MetricByName(f.Metric)
	text := fmt.Sprintf("%s %s: %s (%s … %s)", story.Subject(f.Scope, f.Title()), m.Title(), story.Changed(f.Change),
		story.Bare(f.Low), story.Bare(f.High))
	switch {
	case b.RunsNeeded > 10_000:
		text += ": no number of runs that is worth it tells that from none"
	case b.RunsNeeded > 0:
		text += fmt.Sprintf(": to tell that from none takes about %s a side", story.Count(b.RunsNeeded, "run"))
	case f.Direction() == measure.Higher && f.High < 0, f.Direction() == measure.Lower && f.Low > 0:
		text += fmt.Sprintf(", within its limit of %s: a lower one follows it", story.Percent(f.Limit))
	}
	return story.Lines{List: append(list, story.Paragraph(0, story.Plain.Of(text)))}
}

func commitLine(c history.Commit) string {
	return fmt.Sprintf("%s %s (%s, %s)", c.ID[:12], story.Elide(story.Clean(c.Subject), 200),
		story.Elide(story.Clean(c.Author), 60), c.Date.Format("2006-01-02"))
}

// culprit is a change with its commits, and what it did to the number and to all that fails.
func culprit(c history.Culprit, followed *result.Finding) story.Lines {
	out := story.Lines{Title: fmt.Sprintf("%s, interval %s … %s %%", story.Changed(c.Change), story.Bare(c.Low),
		story.Bare(c.High))}
	out.List = measure.Map(c.Commits,
		func(x history.Commit) story.Line { return story.Paragraph(1, story.Plain.Of(commitLine(x))) })
	if c.Report == nil {
		return out
	}
	for i := range c.Report.Findings {
		f := &c.Report.Findings[i]
		same := f.Scope == followed.Scope && f.Metric == followed.Metric &&
			(f.Kernel == followed.Kernel || slices.Contains(f.BaseNames, followed.Name))
		if !same && !f.Fails() {
			continue
		}
		out.List = append(out.List, story.Paragraph(2, story.Plain.Of(fmt.Sprintf("%s %s: %s (%s)",
			story.Subject(f.Scope, f.Title()), story.Metric(f.Metric), story.Values(*f), story.Changed(f.Change)))))
		for _, e := range f.Evidence {
			out.List = append(out.List, story.Marked(3, "•", story.Minor, story.Clean(e)))
		}
		if f.Cause != nil {
			out.List = append(out.List, story.Named(3, "why", story.Clean(f.Cause.Summary)))
		}
	}
	return out
}

// from prints the change between an end and a commit measured beside it.
func from(d *history.Reading) string {
	if d == nil {
		return ""
	}
	return story.Changed(d.Change)
}

// commits is a row for each commit that was measured, and those that were not.
func commits(b *history.Bisection) story.Document {
	t := &story.Table{Title: "Measured", Columns: []story.Column{{Title: "commit"},
		{Title: "by good", Right: true, Optional: true}, {Title: "by bad", Right: true, Optional: true},
		{Title: "slower than good"}, {Title: "nearer", Optional: true}, {Title: "subject", Least: 10}}}
	var skipped []string
	for _, c := range b.Commits {
		subject := story.Elide(story.Clean(c.Subject), 72)
		switch {
		case c.Skipped != "":
			skipped = append(skipped, fmt.Sprintf("%s %s: %s", c.ID[:12], subject,
				story.Elide(story.Clean(c.Skipped), 300)))
		case c.Change != nil:
			t.Add(c.ID[:12], from(c.FromGood), from(c.FromBad),
				fmt.Sprintf("%s (%s … %s)", story.Changed(*c.Change), story.Bare(*c.Low), story.Bare(*c.High)),
				c.Nearer, subject)
		}
	}
	text := fmt.Sprintf("%d of %s measured", len(t.Rows), story.Count(len(b.Commits), "commit")) +
		measure.Either(len(skipped) > 0, fmt.Sprintf(", %d skipped", len(skipped)), "")
	return story.Document{t, story.Lines{List: []story.Line{story.Note(1,
		text+", "+story.Seconds(result.Number(b.Seconds)))}},
		story.List("Skipped", "-", story.Plain, skipped)}
}

// historied is what changed and when, then every trend as a line.
func historied(h *history.History, o story.Options) story.Document {
	const historyRows = 15 // the most trends that text shows without --verbose
	head := story.Join(", ", fmt.Sprintf("%s of %s%s", story.Count(len(h.Moments), "session"),
		cmp.Or(story.Clean(h.Workload), "the workload"), story.Wrapped(" on ", story.Clean(h.GPU), "")),
		story.Period(h.Moments))
	levels, none := story.LevelTable(h, codehost.Source{})
	most := measure.Either(o.Verbose, math.MaxInt, historyRows)
	changes := story.Lines{Title: "Changes of level"}
	for _, r := range levels.Rows[:min(most, len(levels.Rows))] {
		c := r.Cells
		changes.List = append(changes.List, story.Paragraph(1, r.Tone.Of(c[2].Text+" "),
			story.Plain.Of(fmt.Sprintf("%s %s: %s on %s, %s", c[0].Text, c[0].Note, c[1].Text, c[3].Text, c[4].Text))))
	}
	if more := len(levels.Rows) - most; more > 0 {
		none = story.Join("", strconv.Itoa(more), " smaller", story.Wrapped(" (", o.ShowAll, ")"))
	}
	changes.List = append(changes.List, story.Note(1, none))
	t := story.TrendTable(h, max(10, min(40, o.Columns()-76)), most)
	t.Title = "Trends"
	t.Hint(o)
	d := story.Document{story.Lines{List: []story.Line{story.Paragraph(0, story.Plain.Of(head))}}, changes, t}
	if len(t.Rows) == 0 {
		d = append(d, story.Lines{Title: t.Title, List: []story.Line{
			story.Note(1, "none: a trend takes two sessions of the same step, model of GPU and profiler")}})
	}
	return append(d, story.List("Measured with something else from", "-", story.Plain, story.Elsewhere(h)))
}
