package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// HistoryFormats lists the names that [RenderHistory] knows, sorted.
func HistoryFormats() []string {
	return slices.DeleteFunc(Formats(), func(name string) bool { return formats[name].history == nil })
}

// RenderHistory writes a history in the named format, as [Render] does with a report.
func RenderHistory(format string, w io.Writer, h *history.History, o Options) error {
	return writeAs(format, w, "history", h, o, formats[format].history, HistoryFormats())
}

// historyRows is how many trends text shows, unless all are asked for.
const historyRows = 15

// historyText writes for a person at a terminal: what changed and when, then every trend as a line.
func historyText(h *history.History, o Options) (string, error) {
	p := newPage(o)
	first, last := h.Moments[0], h.Moments[len(h.Moments)-1]
	p.line(0, 2, span{fmt.Sprintf("%s of %s on %s, %s to %s", count(len(h.Moments), "session"), cmp.Or(Clean(h.Workload), "the workload"), Clean(h.GPU), day(first.At), day(last.At)), none})
	p.levelChanges(h)
	var rows [][]string
	shown := h.Trends
	if len(shown) > historyRows && !o.Verbose {
		shown = shown[:historyRows]
	}
	for _, t := range shown {
		metric, _ := measure.MetricByName(t.Metric)
		rows = append(rows, []string{subject(t.Scope, t.Title()), metric.Title(), bars(known(t.Values), max(10, min(40, p.width-76))), quantity(firstKnown(t.Values), t.Unit),
			quantity(lastKnown(t.Values), t.Unit), bind(measure.Change(float64(t.Change))), sinceAnchor(t)})
	}
	p.title("Trends")
	if len(rows) == 0 {
		p.dim(2, "none: a trend takes two sessions of the same step, model of GPU and profiler")
		p.elsewhere(h)
		return p.b.String(), nil
	}
	p.table([]column{{least: 16}, {}, {title: "over time"}, {title: "first", right: true, rank: 1}, {title: "last", right: true},
		{title: "change", right: true}, {title: "since " + anchorOf(h), right: true, optional: true}}, rows, nil)
	if hidden := len(h.Trends) - len(shown); hidden > 0 {
		more := fmt.Sprintf("… and %s that changed less", count(hidden, "trend"))
		if o.ShowAll != "" {
			more += "; " + o.ShowAll + " shows all"
		}
		p.dim(2, more)
	}
	p.elsewhere(h)
	return p.b.String(), nil
}

// sinceAnchor is what changed since the anchor, "" where there is none before the last value.
func sinceAnchor(t history.Trend) string {
	if t.SinceAnchor == nil {
		return ""
	}
	return bind(measure.Change(float64(*t.SinceAnchor)))
}

// anchorOf is what the anchor of a history is called.
func anchorOf(h *history.History) string {
	at := h.Anchor()
	switch {
	case at < 0:
		return ""
	case h.Moments[at].Anchor == "yes":
		return "anchor of " + day(h.Moments[at].At)
	}
	return Elide(trimmed(h.Moments[at].Anchor), 20)
}

// levelChanges writes every change of level, the largest trends first, and whether there are enough points to tell.
func (p *page) levelChanges(h *history.History) {
	enough, some := false, false
	p.title("Changes of level")
	for _, t := range h.Trends {
		enough = enough || t.Enough
		metric, _ := measure.MetricByName(t.Metric)
		for _, c := range t.Changes {
			some = true
			s, where := red, "between "+orUnknown(c.From)+" and "+orUnknown(c.To)
			if better(metric, c.Change) {
				s = green
			}
			if len(c.Elsewhere) > 0 {
				s, where = yellow, "with another "+strings.Join(c.Elsewhere, " and ")+", which is no change of the code"
			}
			p.line(2, 4, span{bind(measure.Change(float64(c.Change))) + " ", s}, span{fmt.Sprintf("%s %s: %s → %s on %s, %s", subject(t.Scope, t.Title()), metric.Title(),
				quantity(c.Before, t.Unit), quantity(c.After, t.Unit), day(h.Moments[c.Moment].At), where), none})
		}
	}
	switch {
	case !enough:
		p.dim(2, "too few sessions to tell: ten are needed; below is the change from the first to the last")
	case !some:
		p.dim(2, "none")
	}
}

// better reports whether a change is for the better.
func better(m measure.Metric, change result.Number) bool {
	return (change < 0) == (m.Better != measure.Higher)
}

// elsewhere lists when what it was measured with changed.
func (p *page) elsewhere(h *history.History) {
	var lines []string
	for _, m := range h.Moments {
		if what := slices.DeleteFunc(slices.Clone(m.Since), func(s string) bool { return s == "host" }); len(what) > 0 {
			lines = append(lines, day(m.At)+": another "+strings.Join(what, ", "))
		}
	}
	p.list("Measured with something else from", "-", none, lines)
}

func day(t time.Time) string {
	if t.IsZero() {
		return "an unknown day"
	}
	return t.UTC().Format("2006-01-02")
}

func orUnknown(commit string) string { return cmp.Or(Elide(Clean(commit), 12), "an unknown commit") }

func known(values []result.Number) []result.Number {
	return slices.DeleteFunc(slices.Clone(values), func(n result.Number) bool { return !n.Known() })
}

func firstKnown(values []result.Number) result.Number { return known(values)[0] }
func lastKnown(values []result.Number) result.Number  { k := known(values); return k[len(k)-1] }

// historyCSV writes a row a value, for spreadsheets. Names are quoted where a spreadsheet would take them for formulas.
func historyCSV(h *history.History, _ Options) (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{{"at", "commit", "gpu_hash", "driver", "scope", "name", "grid", "block", "metric", "unit", "value", "change_of_level"}}
	for _, t := range h.Trends {
		for i, v := range t.Values {
			if !v.Known() {
				continue
			}
			m, level := h.Moments[i], ""
			if j := slices.IndexFunc(t.Changes, func(c history.LevelChange) bool { return c.Moment == i }); j >= 0 {
				level = csvNumber(t.Changes[j].Change)
			}
			rows = append(rows, []string{m.At.UTC().Format(time.RFC3339), csvText(m.Commit), csvText(m.Environment.GPUHash), csvText(m.Environment.Driver), string(t.Scope),
				csvText(t.Name), t.Grid, t.Block, t.Metric, t.Unit, csvNumber(v), level})
		}
	}
	err := w.WriteAll(rows)
	return b.String(), err
}
