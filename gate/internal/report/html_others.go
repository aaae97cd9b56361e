package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// maxTrends is the most trends on the page of a history, the largest changes first.
const maxTrends = 150

func htmlHistory(h *history.History, o Options) (string, error) {
	form, err := saved.JSON(h)
	if err != nil {
		return "", err
	}
	name := cmp.Or(Elide(trimmed(h.Workload), 100), "default")
	s := &sheet{Title: name + ": history · nsgate", Kicker: join(" · ", "nsgate history", name, trimmed(h.GPU)), Headline: count(len(h.Moments), "session")}
	line := plot.Timeline{Anchor: h.Anchor()}
	for i, m := range h.Moments {
		line.Tips = append(line.Tips, join(" · ", day(m.At), Elide(Clean(m.Commit), 12), Elide(trimmed(m.Reason), 100)))
		line.Marks = append(line.Marks, join(" ", day(m.At), Elide(Clean(m.Commit), 8)))
		if slices.Contains(m.Since, "host") {
			line.Hosts = append(line.Hosts, i)
		}
		if len(others(m)) > 0 {
			line.Others = append(line.Others, i)
		}
	}
	s.Headline += ", " + day(h.Moments[0].At) + " to " + day(h.Moments[len(h.Moments)-1].At)
	levels, none := levelTable(h, o.Source)
	s.add(part{ID: "levels", Title: "Changes of level", Table: levels, Said: nonempty(none)})
	t := trendTable(h, 40, maxTrends)
	about := "Each dot is a session, the oldest to the left, on a scale of its own; a dashed line is where the level changed"
	if len(line.Others) > 0 {
		about += ", a dotted one where something else changed than the code"
	}
	if len(line.Hosts) > 0 {
		about += ", a tick at the foot where the host changed"
	}
	about += wrapped(", the bright line ", anchorOf(h), ", the anchor")
	for i := range t.Rows {
		x := h.Trends[i]
		var at []int
		for _, c := range x.Changes {
			at = append(at, c.Moment)
		}
		t.Rows[i].Cells[2] = cell{SVG: plot.Trend(Elide(subject(x.Scope, x.Title()), maxName)+": "+metric(x.Metric)+" over time", drawn(x.Values), at, line, tick(x.Unit))}
	}
	s.add(part{ID: "trends", Title: "Trends", About: about + ".", Table: t})
	s.add(part{ID: "measured", Title: "Measured with something else from", Said: elsewhere(h)})
	return s.html(form)
}

func htmlSummary(m *result.Summary, _ Options) (string, error) {
	form, err := saved.JSON(m)
	if err != nil {
		return "", err
	}
	name := Elide(trimmed(m.Workload), 100)
	s := &sheet{Title: join(": ", name, headline(m)) + " · nsgate show", Headline: headline(m), Kicker: join(" · ", "nsgate show", name)}
	s.warnings(nonempty(m.Warnings...))
	s.add(part{ID: "patterns", Title: "Patterns", Said: sentences(m.Patterns)})
	for _, t := range panels(m, true, false, func(path []string) string { return strings.Join(path, "/") }) {
		about := t.About
		t.About = ""
		t.most(maxChanges, func(left int) string { return fmt.Sprintf("%d more; the report inside has them.", left) })
		s.add(part{ID: slug(t.Title), Title: t.Title, About: about, Table: t})
	}
	if r := newRanks(m.Ranks); r != nil {
		s.add(part{ID: "ranks", Title: "Ranks", Said: r.Told, Facts: r.About, Table: r.Table})
	}
	s.add(part{ID: "measured", Title: "How it was measured", Facts: recording(m)})
	return s.html(form)
}
