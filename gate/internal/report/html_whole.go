package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// fallLine is a row of the waterfall.
type fallLine struct {
	What, In         string
	Link             string
	Change, Interval string
	Class            string // "total", or which way it went
	Bar              plot.SVG
}

const (
	// fallLines is how many changes a waterfall names, fallTiny the part of all changes from which on one is named.
	fallLines, fallTiny = 12, 0.01
)

// falls is the waterfall with a bar for every kernel and cause that changed; the bars add up.
func (s *sheet) falls() {
	w := s.Report.Waterfall
	if w == nil || !w.Change.Known() || !(w.Base > 0) || !(w.Head > 0) {
		return
	}
	type item struct {
		line fallLine
		own  result.Own
	}
	var items []item
	moved := 0.0
	for _, p := range w.Parts {
		rest := p.Own
		for _, o := range p.Owners {
			items = append(items, item{fallLine{What: subject(measure.ScopeKernel, o.Title()), Link: s.link(o.Subject()), In: owner(p.Class, "", p.Idle)}, o.Own})
			rest.Change -= o.Change
		}
		what := owner(p.Class, p.Where, p.Idle)
		if len(p.Owners) > 0 {
			what, rest.Low, rest.High = "other "+what, result.Number(math.NaN()), result.Number(math.NaN())
		}
		items = append(items, item{fallLine{What: what}, rest})
	}
	for _, x := range items {
		moved = max(moved, math.Abs(float64(x.own.Change)))
	}
	large.Sort(items, func(a, b item) int {
		return cmp.Compare(math.Abs(float64(b.own.Change)), math.Abs(float64(a.own.Change)))
	})
	rest, left := result.Number(0), 0
	for i := 0; i < len(items); i++ {
		if i >= fallLines || math.Abs(float64(items[i].own.Change)) < fallTiny*moved || !items[i].own.Change.Known() {
			if items[i].own.Change.Known() {
				rest += items[i].own.Change
			}
			left++
			items = slices.Delete(items, i, i+1)
			i--
		}
	}
	if left > 0 && math.Abs(float64(rest)) > 0.0005*moved {
		items = append(items, item{fallLine{What: "everything else"}, result.Own{Change: rest, Low: result.Number(math.NaN()), High: result.Number(math.NaN())}})
	}
	var changes []float64
	for _, x := range items {
		changes = append(changes, float64(x.own.Change))
	}
	f := plot.NewFall(float64(w.Base), changes)
	s.Falls = append(s.Falls, fallLine{What: "base", Change: quantity(w.Base, ns), Class: "sum", Bar: f.Total(float64(w.Base))})
	for _, x := range items {
		x.line.Change, x.line.Interval, x.line.Class = signed(x.own.Change), between(x.own), "worse"
		if x.own.Change < 0 {
			x.line.Class = "better"
		}
		x.line.Bar = f.Change(float64(x.own.Change), float64(x.own.Low), float64(x.own.High))
		s.Falls = append(s.Falls, x.line)
	}
	relative := float64(w.Change / w.Base)
	s.Falls = append(s.Falls, fallLine{What: "head", Change: quantity(w.Head, ns), Interval: signed(w.Change) + ", " + bind(measure.Change(relative)), Class: "sum", Bar: f.Total(float64(w.Head))})
	s.FallAbout = "What the typical step of the base becomes in the head, owner by owner; the bars add up."
	if from := f.From(); from > 0 {
		s.FallAbout += " The scale begins at " + quantity(result.Number(from), ns) + ", not at zero."
	}
}

// link leads to a subject, "" where nothing on the page is about it.
func (s *sheet) link(subject measure.Subject) string {
	if !s.told[subject] {
		return ""
	}
	return s.links[subject]
}

// stepPicture is one step of a side.
type stepPicture struct {
	Side, About string
	SVG         plot.SVG
}

// steps draws one step of either side on one time scale.
func (s *sheet) steps() {
	d := s.Report.Drawn
	if d == nil {
		return
	}
	length := 0.0
	for _, x := range []*model.Drawing{d.Base, d.Head} {
		if x != nil && x.Step != nil {
			length = math.Max(length, float64(x.Step.Length))
		}
	}
	if !(length > 0) {
		return
	}
	classes, titles := make(map[measure.Subject]string), make(map[measure.Subject]string)
	for _, r := range s.Rows {
		if r.F.Scope == measure.ScopeKernel {
			subject := r.F.Subject()
			titles[subject] = cmp.Or(titles[subject], r.Subject)
			if len(r.Parts) == 0 {
				classes[subject] = cmp.Or(classes[subject], map[string]string{"worse": "worse", "better": "better"}[rowClass(r)])
			}
			for _, p := range r.Parts { // they are what got slower
				titles[p.F.Subject()] = p.Subject
				classes[p.F.Subject()] = "worse"
				if p.F.Outcome == result.Removed {
					classes[p.F.Subject()] = "gone"
				}
			}
		}
	}
	for _, x := range []struct {
		side string
		of   *model.Drawing
	}{{"base", d.Base}, {"head", d.Head}} {
		if x.of == nil || x.of.Step == nil {
			continue
		}
		step := x.of.Step
		about := fmt.Sprintf("run %d, step %d of %d, %s", step.Run, step.Step, step.Steps, quantity(result.Number(step.Length), ns))
		if step.Left > 0 {
			about += "; its " + measure.Count(step.Left, "shortest operation") + " are left out"
		}
		s.Steps = append(s.Steps, stepPicture{x.side, about, plot.Step("One step of the "+x.side, about, lanes(x.of, classes, titles), length, tick(ns))})
	}
}

// kinds are the lanes of a step, by the level of their spans.
var kinds = [...]struct{ name, class string }{{"kernels", "calm"}, {"communication", "move"}, {"copies", "copy"}, {"idle", "idle"}}

// lanes sorts what a step holds into rows.
func lanes(d *model.Drawing, classes, titles map[measure.Subject]string) []plot.Lane {
	at := func(x model.DrawnSpan) (measure.Subject, bool) {
		if i := x.Subject(); i >= 0 && i < len(d.Subjects) {
			return d.Subjects[i], true
		}
		return measure.Subject{}, false
	}
	var ranges []plot.Lane
	for _, x := range d.Step.Ranges {
		subject, ok := at(x)
		if !ok || x.Level() < 0 || x.Level() > 8 {
			continue
		}
		for len(ranges) <= x.Level() {
			ranges = append(ranges, plot.Lane{Height: 17})
		}
		name := Elide(Clean(subject.Name), 60)
		ranges[x.Level()].Spans = append(ranges[x.Level()].Spans, plot.Span{Class: "range", Label: name,
			Tip: name + ": " + quantity(result.Number(x.Length()), ns) + " on the GPU", Start: float64(x.Start()), Length: float64(x.Length())})
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
		name, label := Elide(cmp.Or(titles[subject], subject.Short()), maxName), ""
		if class, where := subject.Idle(); class != "" {
			name = Elide(owner(class, where, true), maxName)
			label = Clean(strings.TrimPrefix(name, "idle, "))
		}
		class := kinds[x.Level()].class
		if x.Level() < 2 {
			class = cmp.Or(classes[subject], class)
		}
		rows[x.Level()].Spans = append(rows[x.Level()].Spans, plot.Span{Class: class, Label: label, Start: float64(x.Start()), Length: float64(x.Length()),
			Tip: Clean(name) + ": " + quantity(result.Number(x.Length()), ns) + " from " + quantity(result.Number(x.Start()), ns) + " on"})
	}
	return append(ranges, slices.DeleteFunc(rows[:], func(l plot.Lane) bool { return len(l.Spans) == 0 })...)
}

// node is a range with what was launched in it, or a kernel.
type node struct {
	name, link string
	base, head float64
	below      []*node
}

func (n *node) find(name string) *node {
	for _, x := range n.below {
		if x.name == name && x.link == "" {
			return x
		}
	}
	x := &node{name: name}
	n.below = append(n.below, x)
	return x
}

// deepest is how many ranges lie in each other in a picture.
const deepest = 8

// flame draws the time of kernels by the ranges around them: base against head.
func (s *sheet) flame() {
	root := &node{name: cmp.Or(Clean(s.Report.Head.Step), "run")}
	ranged := false
	for _, r := range s.Rows {
		f := r.F
		if f.Scope != measure.ScopeKernel || f.Metric != measure.Total.Name || len(r.Parts) > 0 {
			continue
		}
		known := func(v result.Number) float64 {
			if v.Known() {
				return float64(v)
			}
			return 0
		}
		at, base, head := root, known(f.Base), known(f.Head)
		path := strings.Split(Clean(f.Role), "/")
		if path[0] == root.name || path[0] == "" {
			path = path[1:]
		}
		path = path[:min(len(path), deepest)]
		ranged = ranged || len(path) > 0
		for _, name := range path {
			at.base, at.head = at.base+base, at.head+head
			at = at.find(name)
		}
		at.base, at.head = at.base+base, at.head+head
		at.below = append(at.below, &node{name: Elide(r.Subject, maxName), link: "kernel", base: base, head: head})
	}
	if !ranged || !(root.head > 0) {
		return
	}
	s.Flame = plot.Flame("Kernel time by NVTX range", "Each box is a range or a kernel, as wide as its time in the head; those below lie in it. Its colour says how its time changed.", box(root, root.head))
}

func box(n *node, whole float64) plot.Box {
	change := math.Inf(1)
	told := "new"
	if n.base > 0 {
		change = n.head/n.base - 1
		told = measure.Change(change)
	}
	b := plot.Box{Label: n.name + " " + told, Size: n.head, Class: shade(change, (n.head-n.base)/whole),
		Tip: n.name + ": " + quantity(result.Number(n.base), ns) + " → " + quantity(result.Number(n.head), ns) + " (" + told + ")"}
	slices.SortStableFunc(n.below, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.head, a.head), cmp.Compare(a.name, b.name))
	})
	for _, x := range n.below {
		b.Boxes = append(b.Boxes, box(x, whole))
	}
	return b
}

// shade is the colour of a change; one that adds nothing to the whole has none.
func shade(change, of float64) string {
	if math.Abs(of) < 0.0005 || math.Abs(change) < 0.01 {
		return "c0"
	}
	side := "w"
	if change < 0 {
		side = "b"
	}
	switch size := math.Abs(change); {
	case size < 0.05:
		return side + "1"
	case size < 0.25:
		return side + "2"
	}
	return side + "3"
}
