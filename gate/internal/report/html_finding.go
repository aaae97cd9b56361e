package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// article is what there is to say and to see of one subject.
type article struct {
	Link, Subject, Full, About, Class string
	Delta, Values, Result             string
	Allowed                           string
	Said                              []string
	Pictures                          []picture
	Parts                             []partRow
	Cause                             *cause
	Counters, MoreCounters            []counterRow
	Roof                              *picture
}

// picture is a drawing under its title.
type picture struct {
	Title, About string
	SVG          plot.SVG
}

// partRow is a kernel of a replacement.
type partRow struct{ Mark, Time, Subject, Class string }

// counterRow is a counter of Nsight Compute in base and head.
type counterRow struct{ Name, Base, Head, Arrow, By string }

// articles are those on what a reader has to look at, the worst first.
func (s *sheet) articles() {
	all := groups(untold(s.of(failing, warned, open)))
	if len(all) > maxArticles {
		s.More, all = len(all)-maxArticles, all[:maxArticles]
	}
	for _, g := range all {
		s.Articles = append(s.Articles, s.article(g))
	}
}

func (s *sheet) article(g group) article {
	r := g[0]
	a := article{
		Link: s.links[r.F.Subject()], Subject: Elide(r.Subject, maxName), Class: rowClass(r), Delta: r.Change, Values: r.Metric + " " + r.Values, Result: plainResult(r),
		Allowed: r.Allowed,
	}
	if r.Class == warned || r.Class == open {
		a.Class = "doubt"
	}
	in := ""
	if r.F.Role != "" {
		in = "in " + Elide(Clean(r.F.Role), maxName)
	}
	a.About = join(" · ", in, g.about(""))
	if r.F.Scope == measure.ScopeKernel && len(r.Parts) == 0 {
		a.Full = r.FullName
	}
	match := r.Match
	if len(r.Parts) > 0 {
		match = ""
	}
	for _, t := range append([]string{match, r.Reason}, g.evidence()...) {
		if t != "" {
			a.Said = append(a.Said, t)
		}
	}
	for _, p := range r.Parts {
		x := partRow{"new", quantity(p.F.Head, p.F.Unit), Elide(p.Subject, maxName), "worse"}
		if p.F.Outcome == result.Removed {
			x.Mark, x.Time, x.Class = "gone", quantity(p.F.Base, p.F.Unit), "better"
		}
		a.Parts = append(a.Parts, x)
	}
	for i, x := range g {
		if svg := s.runs(x); svg != "" && i < 3 {
			a.Pictures = append(a.Pictures, picture{x.Metric + ", every run", join(" · ", x.Values, x.delta(), x.Allowed), svg})
		}
	}
	a.Pictures = append(a.Pictures, s.past(r)...)
	a.Pictures = append(a.Pictures, s.launches(r.F.Subject(), a.Class)...)
	s.cause(g, &a)
	return a
}

// maxCounters is how many counters are shown at once, those that the rules look at first.
const maxCounters = 10

// runs draws every run of a finding.
func (s *sheet) runs(r row) plot.SVG {
	if measured(r.F.BaseRuns) == 0 || measured(r.F.HeadRuns) == 0 {
		return ""
	}
	limit := math.NaN()
	if m, ok := measure.MetricByName(r.F.Metric); r.F.Limit.Known() && r.F.Base.Known() {
		limit = float64(r.F.Base) * (1 + float64(r.F.Limit))
		if ok && m.Better == measure.Higher {
			limit = float64(r.F.Base) * (1 - float64(r.F.Limit))
		}
	}
	class := rowClass(r)
	if class == "doubt" || class == "same" || class == "new" {
		class = "head"
	}
	return plot.Runs(Elide(r.Subject, maxName)+": "+r.Metric+" in every run", []plot.Group{
		{Name: "base", Class: "base", Runs: drawn(r.F.BaseRuns), Sessions: sessionsOf(&s.Report.Base, len(r.F.BaseRuns)), Typical: float64(r.F.Base)},
		{Name: "head", Class: class, Runs: drawn(r.F.HeadRuns), Sessions: sessionsOf(&s.Report.Head, len(r.F.HeadRuns)), Typical: float64(r.F.Head)},
	}, limit, tick(r.F.Unit))
}

// pastLeast is from how many sessions of the base on what came before the head is drawn.
const pastLeast = 3

// past draws the median run of each session of the base, the oldest first, and that of the head.
func (s *sheet) past(r row) []picture {
	runs, sessions := r.F.BaseRuns, sessionsOf(&s.Report.Base, len(r.F.BaseRuns))
	if len(sessions) < pastLeast || measured(runs) == 0 || !r.F.Head.Known() {
		return nil
	}
	var values []float64
	line := plot.Timeline{Anchor: -1}
	for i, n := range sessions {
		if n > len(runs) {
			return nil // a report that was edited
		}
		values, runs = append(values, stats.Median(drawn(known(runs[:n])))), runs[n:]
		line.Tips = append(line.Tips, fmt.Sprintf("session %d", i+1))
	}
	values, line.Tips = append(values, float64(r.F.Head)), append(line.Tips, "head")
	svg := plot.Trend(Elide(r.Subject, maxName)+": "+r.Metric+" by session", values, []int{len(sessions)}, line, tick(r.F.Unit))
	return []picture{{r.Metric + ", session by session, then the head", "the median run of each of the base's " + fmt.Sprint(len(sessions)) + " sessions, the oldest to the left", svg}}
}

// drawn are runs as a picture has them, NaN where a value is not known.
func drawn(runs []result.Number) []float64 {
	out := make([]float64, len(runs))
	for i, v := range runs {
		out[i] = math.NaN()
		if v.Known() {
			out[i] = float64(v)
		}
	}
	return out
}

// sessionsOf is how many of so many runs of a side each session has, traced ones or the others.
func sessionsOf(side *result.Side, runs int) []int {
	sum := 0
	for _, n := range side.SessionRuns {
		sum += n
	}
	if sum == runs {
		return side.SessionRuns
	}
	return side.SessionUnprofiled
}

// launches draws how the launches of a kernel spread, and its time over the steps.
func (s *sheet) launches(subject measure.Subject, class string) []picture {
	d := s.Report.Drawn
	if d == nil || subject.Scope != measure.ScopeKernel {
		return nil
	}
	base, head := drawnOf(d.Base, subject), drawnOf(d.Head, subject)
	var out []picture
	name := subject.Short()
	label := tick(ns)
	if base != nil && head != nil && len(base.Quantiles) > 2 && len(head.Quantiles) > 2 && min(base.Count, head.Count) >= 20 {
		out = append(out, picture{"time of single launches", measure.Count(base.Count, "launch", "launches") + " of the base above the line, " + measure.Count(head.Count, "launch", "launches") + " of the head below",
			plot.Spread(Clean(name)+": how the time of its launches spreads", base.Quantiles, head.Quantiles, label)})
	}
	var series []plot.Series
	every, skipped := 1, 0
	for _, x := range []struct {
		class string
		of    *model.DrawnLaunches
		side  *model.Drawing
	}{{"base", base, d.Base}, {class, head, d.Head}} {
		if x.of == nil || len(x.of.Steps) < 3 {
			continue
		}
		var values []float64
		for _, v := range x.of.Steps {
			values = append(values, float64(v))
		}
		series = append(series, plot.Series{Class: x.class, Values: values})
		every, skipped = max(x.of.Every, 1), max(skipped, x.side.Skipped)
	}
	if len(series) > 0 {
		out = append(out, picture{"its time in each step", "median over the runs; the shaded steps are warm-up and do not count",
			plot.Over(Clean(name)+": its time over the steps", series, every, skipped, label)})
	}
	return out
}

// drawnOf is what is drawn of a kernel, nil for nothing.
func drawnOf(d *model.Drawing, subject measure.Subject) *model.DrawnLaunches {
	if d == nil {
		return nil
	}
	for i, x := range d.Launches {
		if x.Subject >= 0 && x.Subject < len(d.Subjects) && d.Subjects[x.Subject] == subject {
			return &d.Launches[i]
		}
	}
	return nil
}

// cause says why, with the counters behind it and the place under the roofs.
func (s *sheet) cause(g group, a *article) {
	if a.Cause = g.cause(); a.Cause == nil {
		return
	}
	for _, r := range g {
		f := r.F.Cause
		if f == nil {
			continue
		}
		for _, m := range f.Metrics {
			x := counterRow{Name: Elide(metric(m.Name), 40), Base: quantity(m.Base, m.Unit), Head: quantity(m.Head, m.Unit)}
			switch {
			case !m.Base.Known() || !m.Head.Known():
			case m.Head > m.Base:
				x.Arrow = "↑"
			case m.Head < m.Base:
				x.Arrow = "↓"
			}
			if m.Base > 0 && m.Head.Known() && x.Arrow != "" {
				x.By = bind(measure.Change(float64(m.Head/m.Base - 1)))
			}
			a.Counters = append(a.Counters, x)
		}
		a.Counters, a.MoreCounters = a.Counters[:min(len(a.Counters), maxCounters)], a.Counters[min(len(a.Counters), maxCounters):]
		a.Roof = roof(f, strings.ReplaceAll(a.Subject, nb, " "))
		return
	}
}

// roof draws the kernel's places under the roofs of the head's GPU.
func roof(c *result.Cause, name string) *picture {
	at := either(c.HeadRoof, c.BaseRoof)
	if at == nil || !(at.Intensity > 0) || !(at.Ridge > 0) || !(at.Roof > 0) {
		return nil
	}
	memory := float64(at.Roof / at.Intensity)
	if at.Intensity > at.Ridge {
		memory = float64(at.Roof / at.Ridge)
	}
	var points []plot.Point
	for _, x := range []struct {
		name, class string
		at          *result.Roof
	}{{"base", "base", c.BaseRoof}, {"head", "worse", c.HeadRoof}} {
		if x.at != nil && x.at.Intensity > 0 && x.at.Achieved > 0 {
			points = append(points, plot.Point{Name: x.name, Class: x.class, Intensity: float64(x.at.Intensity), Performance: float64(x.at.Achieved)})
		}
	}
	return &picture{"under the " + Clean(at.Precision) + " roof", "arithmetic (FLOP/s) by FLOP a byte of memory traffic, both logarithmic; the line is what the GPU can do",
		plot.Roof(name+" under the roofs of the GPU", memory, memory*float64(at.Ridge), points,
			func(v float64) string { return prefixed(v) + "FLOP/B" }, func(v float64) string { return prefixed(v) + "FLOP/s" })}
}

// prefixed prints a number with the letter of its thousands in front of the unit to come: "2 T".
func prefixed(v float64) string {
	letters := []string{"", "k", "M", "G", "T", "P"}
	i := 0
	for ; v >= 1000 && i+1 < len(letters); i++ {
		v /= 1000
	}
	return tidy(measure.Digits(v)+" ") + letters[i]
}

func either(a, b *result.Roof) *result.Roof {
	if a != nil {
		return a
	}
	return b
}
