package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/measure"
)

// chronicle is the page of a history.
type chronicle struct {
	Headline, Kicker string
	Levels           []levelRow
	None             string // why there are no changes of level
	Trends           []trendRow
	Untold           int
	Anchor           string // what it is called, "" for none that something was measured after
	Hosts            bool   // there are several
	Elsewhere        []string
}

// levelRow is a change of level.
type levelRow struct{ Subject, Metric, Values, Change, Class, When, Where string }

// trendRow is one number over time.
type trendRow struct {
	Subject, Metric, First, Last, Change, By, Since string
	Line                                            plot.SVG
}

// maxTrends is how many trends a page shows, those that changed most.
const maxTrends = 150

func htmlHistory(h *history.History, _ Options) (string, error) {
	saved, err := jsonText(h)
	if err != nil {
		return "", err
	}
	c := &chronicle{Kicker: join(" · ", "nsgate history", Elide(trimmed(h.Workload), 100), trimmed(h.GPU))}
	c.Headline = count(len(h.Moments), "session")
	line := plot.Timeline{Anchor: h.Anchor()}
	if n := len(h.Moments); n > 0 {
		c.Headline += ", " + day(h.Moments[0].At) + " to " + day(h.Moments[n-1].At)
	}
	for i, m := range h.Moments {
		line.Tips = append(line.Tips, join(" · ", day(m.At), Elide(Clean(m.Commit), 12), Elide(trimmed(m.Reason), 100)))
		if slices.Contains(m.Since, "host") {
			line.Hosts = append(line.Hosts, i)
		}
		what := make([]string, 0, len(m.Since))
		for _, s := range m.Since {
			if s != "host" {
				what = append(what, Clean(s))
			}
		}
		if len(what) > 0 {
			line.Others = append(line.Others, i)
			c.Elsewhere = append(c.Elsewhere, day(m.At)+": another "+strings.Join(what, ", "))
		}
	}
	c.Hosts = len(line.Hosts) > 0
	if slices.ContainsFunc(h.Trends, func(t history.Trend) bool { return t.SinceAnchor != nil }) {
		c.Anchor = anchorOf(h)
	}
	c.trends(h, line)
	return htmlPage("nsgate history: "+cmp.Or(Elide(trimmed(h.Workload), 100), "default"), saved, c.page()...)
}

func (c *chronicle) trends(h *history.History, line plot.Timeline) {
	enough := false
	for i, t := range h.Trends {
		enough = enough || t.Enough
		m, _ := measure.MetricByName(t.Metric)
		name := Elide(subject(t.Scope, t.Title()), maxName)
		var at []int
		for _, x := range t.Changes {
			if x.Moment < 0 || x.Moment >= len(h.Moments) {
				continue
			}
			at = append(at, x.Moment)
			l := levelRow{name, m.Title(), quantity(x.Before, t.Unit) + nb + "→" + nb + quantity(x.After, t.Unit), bind(measure.Change(float64(x.Change))), "worse",
				day(h.Moments[x.Moment].At), "between " + orUnknown(x.From) + " and " + orUnknown(x.To)}
			if better(m, x.Change) {
				l.Class = "better"
			}
			if len(x.Elsewhere) > 0 {
				l.Class, l.Where = "doubt", "with another "+Clean(strings.Join(x.Elsewhere, " and "))+", which is no change of the code"
			}
			c.Levels = append(c.Levels, l)
		}
		if i >= maxTrends {
			c.Untold++
			continue
		}
		r := trendRow{Subject: name, Metric: m.Title(), Change: bind(measure.Change(float64(t.Change))), By: brief(t.Change), Since: sinceAnchor(t)}
		values := make([]float64, len(t.Values))
		for j, v := range t.Values {
			if values[j] = math.NaN(); v.Known() {
				values[j] = float64(v)
				r.First, r.Last = cmp.Or(r.First, quantity(v, t.Unit)), quantity(v, t.Unit)
			}
		}
		r.Line = plot.Trend(name+": "+m.Title()+" over time", values, at, line, tick(t.Unit))
		c.Trends = append(c.Trends, r)
	}
	switch {
	case !enough:
		c.None = "Too few sessions to tell: ten are needed."
	case len(c.Levels) == 0:
		c.None = "None."
	}
}
