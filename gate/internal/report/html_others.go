package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/calibrate"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Pages of a calibration, a history and a summary: so many kernels of a calibration, those that move most, and so many trends.
const maxNoise, maxTrends = 120, 150

func htmlCalibration(c *calibrate.Calibration, _ Options) (string, error) {
	saved, err := jsonText(c)
	if err != nil {
		return "", err
	}
	word, tone, reason := calibrated(c)
	name := Elide(strings.TrimSpace(Line(c.Workload)), 100)
	s := &sheet{Title: join(" · ", cmp.Or(name, "default")+": "+strings.ToLower(word), "nsgate calibrate"), Word: word, Mark: toneClass(tone), Headline: trimmed(reason),
		Kicker: join(" · ", "nsgate calibrate", name, trimmed(c.Measured.Environment.GPU))}
	s.next(nonempty(c.Next...))
	s.warnings(nonempty(c.Warnings...))
	if c.Sound {
		s.foresight(c)
	}
	noise := noiseTable(c, maxNoise, 24)
	noise.Class = ""
	s.add(part{ID: "noise", Title: "Noise between runs", Table: noise, About: "Each dot is a run, on a scale of its own around the typical value, in the order of the runs from top to bottom. " +
		"sd is the standard deviation between runs, within that of single launches of the median run."})
	var host []string
	for _, x := range c.Host {
		host = append(host, x.Sentence)
	}
	s.add(part{ID: "measured", Title: "How it was measured", Said: nonempty(host...),
		Facts: factsOf(fact{"workload", c.Workload}, fact{"GPU", machine(c.Measured.Environment)}, fact{"measured", side(c.Measured)})})
	return s.html(saved)
}

// factsOf are the facts that are known.
func factsOf(list ...fact) []fact {
	var out []fact
	for _, f := range list {
		if f.Text = trimmed(f.Text); f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// foresight is what can be found with how many runs.
func (s *sheet) foresight(c *calibrate.Calibration) {
	var at []int
	lines := []plot.Series{{Class: "head"}, {Class: "better"}, {Class: "worse"}}
	for _, m := range c.MDE {
		at = append(at, m.Runs)
		for i, v := range drawn([]result.Number{m.Workload, m.Kernels, m.Limited}) {
			lines[i].Values = append(lines[i].Values, v)
		}
	}
	g := c.Gates
	if i := slices.IndexFunc(c.Plan, func(x calibrate.Plan) bool { return x.Threshold == c.Threshold }); i >= 0 {
		s.Figures = append(s.Figures, figure{"to gate " + percent(c.Threshold), takes(c.Plan[i]), "runs a side, baseline and head of one session", "", true})
	}
	for _, n := range c.Noise {
		if n.Scope == measure.ScopeWorkload && len(s.Figures) < 3 {
			s.Figures = append(s.Figures, figure{metric(n.Metric), quantity(n.Typical, n.Unit), deviation(n.SD) + " between runs (sd)", "", true})
		}
	}
	class := "better"
	if float64(g.Alarms) > float64(g.Gates)*float64(c.Alpha) {
		class = "worse"
	}
	s.Figures = append(s.Figures, figure{"false alarms", fmt.Sprintf("%d of %d", g.Alarms, g.Gates), "gates of unchanged runs", class, true})
	if len(c.MDE) == 0 {
		return
	}
	p := part{ID: "found", Title: "What can be found", Table: planTable(c),
		About: "The smallest slowdown that is found in 80" + nb + "% of cases, by how many runs a side has; baseline and head in one session. " +
			fmt.Sprintf("Of %d gates between random runs of this unchanged program, %s a side, %d failed (with 95%s%% confidence under %s of such gates) and %d could not decide (under %s).",
				g.Gates, count(g.Runs, "run"), g.Alarms, nb, rate(g.AlarmBound), g.Undecided, rate(g.UndecidedBound))}
	chart := plot.Chart{Title: "The smallest slowdown found in 80 % of cases, by the runs a side", Series: lines, At: at, Whole: true,
		Name: func(n int) string { return count(n, "run") }, Value: func(v float64) string { return tidy(measure.Percent(v)) }}
	if svg := plot.Lines(chart); svg != "" {
		p.Pictures = []picture{{Title: "Smallest slowdown found", About: "by runs a side", SVG: svg}}
		p.Legend = []meaning{{"run head", "workload"}, {"run better", "kernels from 5" + nb + "% of GPU time on"}, {"run worse", "all of these under the policy’s limits"}}
	}
	s.add(p)
}

func htmlHistory(h *history.History, o Options) (string, error) {
	saved, err := jsonText(h)
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
	if n := len(h.Moments); n > 0 {
		s.Headline += ", " + day(h.Moments[0].At) + " to " + day(h.Moments[n-1].At)
	}
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
	if anchor := anchorOf(h); anchor != "" {
		about += ", the bright line " + anchor + ", the anchor"
	}
	for i := range t.Rows {
		x := h.Trends[i]
		var at []int
		for _, c := range x.Changes {
			if c.Moment >= 0 && c.Moment < len(h.Moments) {
				at = append(at, c.Moment)
			}
		}
		m, _ := measure.MetricByName(x.Metric)
		t.Rows[i].Cells[0].Note = m.Title()
		t.Rows[i].Cells[2] = cell{SVG: plot.Trend(Elide(subject(x.Scope, x.Title()), maxName)+": "+m.Title()+" over time", drawn(x.Values), at, line, tick(x.Unit))}
	}
	s.add(part{ID: "trends", Title: "Trends", About: about + ".", Table: t})
	s.add(part{ID: "measured", Title: "Measured with something else from", Said: elsewhere(h)})
	return s.html(saved)
}

func htmlSummary(m *result.Summary, _ Options) (string, error) {
	saved, err := jsonText(m)
	if err != nil {
		return "", err
	}
	s := &sheet{Title: headline(m) + " · nsgate show", Headline: headline(m), Kicker: "nsgate show"}
	s.warnings(nonempty(m.Warnings...))
	s.add(part{ID: "patterns", Title: "Patterns", Said: told(m)})
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
	return s.html(saved)
}

// barOf draws a part of a whole in the colour of its class.
func barOf(share result.Number, class string, idle bool) plot.SVG {
	colour := "calm"
	switch {
	case idle:
		colour = "idle"
	case strings.Contains(class, "comm"):
		colour = "move"
	case strings.Contains(class, "cop"), strings.Contains(class, "memset"):
		colour = "copy"
	}
	return plot.Part(math.Max(float64(share), 0), colour)
}
