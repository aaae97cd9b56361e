package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

func htmlHistory(h *history.History, o story.Options) (string, error) {
	const maxTrends = 150 // the most trends on the page of a history, the largest changes first
	form, err := saved.JSON(h)
	if err != nil {
		return "", err
	}
	name := cmp.Or(story.Elide(story.Trimmed(h.Workload), 100), "default")
	s := &sheet{Title: name + ": history · nsgate", Kicker: story.Join(" · ", "nsgate history", name,
		story.Trimmed(h.GPU)), Headline: story.Count(len(h.Moments), "session")}
	line := plot.Timeline{Anchor: h.Anchor()}
	for i, m := range h.Moments {
		line.Tips = append(line.Tips, story.Join(" · ", story.When(m), story.CommitID(m.Commit, 12),
			story.Elide(story.Trimmed(m.Reason), 100)))
		line.Marks = append(line.Marks, story.Join(" ", story.When(m), story.CommitID(m.Commit, 8)))
		if slices.Contains(m.Since, "host") {
			line.Hosts = append(line.Hosts, i)
		}
		if len(story.Others(m)) > 0 {
			line.Others = append(line.Others, i)
		}
	}
	s.Headline += ", " + story.Period(h.Moments)
	levels, none := story.LevelTable(h, o.Source)
	s.add(part{ID: "levels", Title: "Changes of level", Table: levels, Said: story.Nonempty(none)})
	t := story.TrendTable(h, 40, maxTrends)
	about := "Each dot is a session, the oldest to the left, on a scale of its own; a dashed line is where the " +
		"level changed" +
		measure.Either(len(line.Others) > 0, ", a dotted one where something else changed than the code", "") +
		measure.Either(len(line.Hosts) > 0, ", a tick at the foot where the host changed", "") +
		story.Wrapped(", the bright line ", story.AnchorOf(h), ", the anchor")
	for i := range t.Rows {
		x := h.Trends[i]
		at := measure.Map(x.Changes, func(c history.LevelChange) int { return c.Moment })
		t.Rows[i].Cells[2] = story.Cell{SVG: plot.Trend(story.Elide(story.Subject(x.Scope, x.Title()),
			story.MaxName)+": "+story.Metric(x.Metric)+" over time", drawn(x.Values), at, line, tick(x.Unit))}
	}
	s.add(part{ID: "trends", Title: "Trends", About: about + ".", Table: t})
	s.add(part{ID: "measured", Title: "Measured with something else from", Said: story.Elsewhere(h)})
	return s.html(form)
}

func htmlSummary(m *result.Summary, o story.Options) (string, error) {
	form, err := saved.JSON(m)
	if err != nil {
		return "", err
	}
	name := story.Elide(story.Trimmed(m.Workload), 100)
	s := &sheet{Title: story.Join(": ", name, story.Headline(m)) + " · nsgate show", Headline: story.Headline(m),
		Kicker: story.Join(" · ", "nsgate show", name)}
	if x := origin(o, "recorded ", m.Recorded); x.Text != "" {
		s.Source = []sourceLink{x}
	}
	s.warnings(story.Nonempty(m.Warnings...))
	s.add(part{ID: "patterns", Title: "Patterns", Said: story.Sentences(m.Patterns)})
	for _, t := range story.Panels(m, true, false) {
		about := t.About
		t.About = ""
		t.Most(maxChanges, func(left int) string { return fmt.Sprintf("%d more; the report inside has them.", left) })
		s.add(part{ID: slug(t.Title), Title: t.Title, About: about, Table: t})
	}
	if r := story.NewRanks(m.Ranks); r != nil {
		s.add(part{ID: "ranks", Title: "Ranks", Said: r.Told, Facts: r.About, Table: r.Table})
	}
	s.add(part{ID: "measured", Title: "How it was measured", Facts: story.Recording(m)})
	return s.html(form)
}
