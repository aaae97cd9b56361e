package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

func (s *reportSheet) steps() {
	d := s.Report.Drawn
	if d == nil {
		return
	}
	type side struct {
		name string
		*model.Drawing
	}
	sides := slices.DeleteFunc([]side{{"baseline", d.Base}, {"head", d.Head}},
		func(x side) bool { return x.Drawing == nil || x.Step == nil })
	length := 0.0
	for _, x := range sides {
		length = math.Max(length, float64(x.Step.Length))
	}
	if !(length > 0) {
		return
	}
	classes, titles := make(map[measure.Subject]string), make(map[measure.Subject]string)
	for _, r := range s.Rows {
		if r.F.Scope != measure.ScopeKernel {
			continue
		}
		subject := r.F.Subject()
		titles[subject] = cmp.Or(titles[subject], r.Subject)
		if len(r.Parts) == 0 {
			classes[subject] = cmp.Or(classes[subject],
				map[string]string{"worse": "worse", "better": "better"}[colourOf(&r)])
		}
		for _, p := range r.Parts { // they got slower
			titles[p.F.Subject()] = p.Subject
			classes[p.F.Subject()] = measure.Either(p.F.Outcome == result.Gone, "gone", "worse")
		}
	}
	pictures, drawn := []picture(nil), map[string]bool{} // classes of spans
	for _, x := range sides {
		step := x.Step
		about := story.Wrapped("", story.Clean(step.Rank), ", ") + fmt.Sprintf("run %d, ", step.Run) +
			measure.Either(step.Step > 0 && step.Steps > 0, fmt.Sprintf("step %d of %d, ", step.Step, step.Steps), "") +
			ns(step.Length) +
			measure.Either(step.Left > 0, "; its "+measure.Count(step.Left, "shortest operation")+" are left out", "")
		lanes := s.lanes(x.Drawing, classes, titles)
		for _, l := range lanes {
			for _, span := range l.Spans {
				drawn[span.Class] = true
			}
		}
		pictures = append(pictures, picture{Title: x.name, About: about, Zoom: true,
			SVG: plot.Step("One step of the "+x.name, about, lanes, length, tick(story.NS))})
	}
	said := "The step nearest the median of its side, by the GPU's clock" +
		measure.Either(len(pictures) > 1, "; both on one time scale", "")
	s.add(part{ID: "step", Title: "One step", Nav: "One step", Pictures: pictures,
		About: said + ". Slower kernels and replacements are marked.",
		Legend: slices.DeleteFunc([]meaning{{"calm", "kernels"}, {"worse", "slower or new"}, {"better", "faster"},
			{"gone", "gone in the head"}, {"move", "communication"}, {"copy", "copies"}, {"idle", "idle"}},
			func(m meaning) bool { return !drawn[m.Class] })})
}

// ns prints a time of a drawing.
func ns(time int64) string { return story.Quantity(result.Number(time), story.NS) }

// kinds are the lanes of a step, by the level of their spans.
var kinds = [...]struct{ name, class string }{{"kernels", "calm"}, {"communication", "move"}, {"copies", "copy"},
	{"idle", "idle"}}

// lanes sorts the ranges, operations and idle times of a step into rows.
func (s *reportSheet) lanes(d *model.Drawing, classes, titles map[measure.Subject]string) []plot.Lane {
	at := func(x model.DrawnSpan) (measure.Subject, bool) {
		if i := x.Subject(); i >= 0 && i < len(d.Subjects) {
			return d.Subjects[i], true
		}
		return measure.Subject{}, false
	}
	var ranges []plot.Lane
	marks := plot.Lane{Name: "NVTX marks", Height: 10}
	for _, x := range d.Step.Ranges {
		subject, ok := at(x)
		if !ok || x.Level() < 0 || x.Level() > 8 {
			continue
		}
		name := story.Elide(story.Clean(subject.Name), 60)
		if x.Length() == 0 {
			marks.Spans = append(marks.Spans, plot.Span{Class: "range", Start: float64(x.Start()),
				Length: 0.003 * float64(d.Step.Length), Tip: name + " at " + ns(x.Start())})
			continue
		}
		for len(ranges) <= x.Level() {
			ranges = append(ranges, plot.Lane{Height: 17})
		}
		ranges[x.Level()].Spans = append(ranges[x.Level()].Spans, plot.Span{Class: "range", Label: name,
			Tip:   name + ": " + ns(x.Length()) + " on the GPU",
			Start: float64(x.Start()), Length: float64(x.Length())})
	}
	if len(ranges) > 0 {
		ranges[0].Name = "NVTX ranges"
	}
	var rows [len(kinds)]plot.Lane
	for i, k := range kinds {
		rows[i] = plot.Lane{Name: k.name, Height: 20}
	}
	rows[0].Height, rows[3].Height = 30, 17
	for _, x := range slices.Concat(d.Step.Operations, d.Step.Idle) {
		subject, ok := at(x)
		if !ok || x.Level() < 0 || x.Level() >= len(kinds) {
			continue
		}
		name := story.Clean(story.Elide(cmp.Or(titles[subject], subject.Short()), story.MaxName))
		label := name
		if class, at := subject.Idle(); class != "" {
			name = story.Elide(story.Owner(class, at, true), story.MaxName)
			label = story.Elide(story.Owner(class, at, false), story.MaxName)
		}
		class := cmp.Or(measure.Either(x.Level() < 2, classes[subject], ""), kinds[x.Level()].class)
		rows[x.Level()].Spans = append(rows[x.Level()].Spans,
			plot.Span{Class: class, Label: label, Start: float64(x.Start()), Length: float64(x.Length()),
				Link: s.links[subject],
				Tip:  name + ": " + ns(x.Length()) + " from " + ns(x.Start()) + " on"})
	}
	return slices.DeleteFunc(slices.Concat(ranges, []plot.Lane{marks}, rows[:]),
		func(l plot.Lane) bool { return len(l.Spans) == 0 })
}
