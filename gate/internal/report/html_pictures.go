package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// steps draws one step of either side on one time scale.
func (s *reportSheet) steps() {
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
		if r.F.Scope != measure.ScopeKernel {
			continue
		}
		subject := r.F.Subject()
		titles[subject] = cmp.Or(titles[subject], r.Subject)
		if len(r.Parts) == 0 {
			classes[subject] = cmp.Or(classes[subject], map[string]string{"worse": "worse", "better": "better"}[rowClass(r)])
		}
		for _, p := range r.Parts { // they are what got slower
			titles[p.F.Subject()], classes[p.F.Subject()] = p.Subject, "worse"
			if p.F.Outcome == result.Removed {
				classes[p.F.Subject()] = "gone"
			}
		}
	}
	var pictures []picture
	for _, x := range []struct {
		side string
		of   *model.Drawing
	}{{"baseline", d.Base}, {"head", d.Head}} {
		if x.of == nil || x.of.Step == nil {
			continue
		}
		step := x.of.Step
		about := fmt.Sprintf("run %d, %s", step.Run, quantity(result.Number(step.Length), ns))
		if step.Step > 0 && step.Steps > 0 {
			about = fmt.Sprintf("run %d, step %d of %d, %s", step.Run, step.Step, step.Steps, quantity(result.Number(step.Length), ns))
		}
		if step.Rank != "" {
			about = Clean(step.Rank) + ", " + about
		}
		if step.Left > 0 {
			about += "; its " + measure.Count(step.Left, "shortest operation") + " are left out"
		}
		pictures = append(pictures, picture{Title: x.side, About: about, Zoom: true,
			SVG: plot.Step("One step of the "+x.side, about, s.lanes(x.of, classes, titles), length, tick(ns))})
	}
	said := "The step nearest the median of its side, as it lay on the GPU"
	if len(pictures) > 1 {
		said += "; both are on one time scale"
	}
	s.add(part{ID: "step", Title: "One step", Nav: "One step", Pictures: pictures,
		About:  said + ". Kernels that got slower, or are new in place of others, are marked; a click on a mark leads to its kernel. + and - zoom, the arrows move.",
		Legend: []meaning{{"calm", "kernels"}, {"worse", "slower or new"}, {"better", "faster"}, {"gone", "gone in the head"}, {"move", "communication"}, {"copy", "copies"}, {"idle", "idle"}}})
}

// kinds are the lanes of a step, by the level of their spans.
var kinds = [...]struct{ name, class string }{{"kernels", "calm"}, {"communication", "move"}, {"copies", "copy"}, {"idle", "idle"}}

// lanes sorts what a step holds into rows.
func (s *reportSheet) lanes(d *model.Drawing, classes, titles map[measure.Subject]string) []plot.Lane {
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
			label = strings.TrimPrefix(name, "GPU idle: ")
		}
		class := kinds[x.Level()].class
		if x.Level() < 2 {
			class = cmp.Or(classes[subject], class)
		}
		rows[x.Level()].Spans = append(rows[x.Level()].Spans, plot.Span{Class: class, Label: label, Start: float64(x.Start()), Length: float64(x.Length()), Link: s.links[subject],
			Tip: Clean(name) + ": " + quantity(result.Number(x.Length()), ns) + " from " + quantity(result.Number(x.Start()), ns) + " on"})
	}
	return append(ranges, slices.DeleteFunc(rows[:], func(l plot.Lane) bool { return len(l.Spans) == 0 })...)
}

// node is a range with what was launched in it, or a kernel.
type node struct {
	name       string
	kernel     measure.Subject
	base, head float64
	below      []*node
}

func (n *node) find(name string) *node {
	for _, x := range n.below {
		if x.name == name && x.kernel == (measure.Subject{}) {
			return x
		}
	}
	x := &node{name: name}
	n.below = append(n.below, x)
	return x
}

// deepest is how many ranges lie in each other in a picture.
const deepest = 8

// flame draws the time of kernels by the ranges around them: baseline against head.
func (s *reportSheet) flame() {
	root := &node{name: cmp.Or(Clean(s.Report.Head.Step), "run")}
	ranged := false
	zero := func(v result.Number) float64 {
		if v.Known() {
			return float64(v)
		}
		return 0
	}
	for _, r := range s.Rows {
		f := r.F
		if f.Scope != measure.ScopeKernel || f.Metric != measure.Total.Name || len(r.Parts) > 0 {
			continue
		}
		at, base, head := root, zero(f.Base), zero(f.Head)
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
		at.below = append(at.below, &node{name: Elide(r.Subject, maxName), kernel: f.Subject(), base: base, head: head})
	}
	if !ranged || !(root.head > 0) {
		return
	}
	s.add(part{ID: "ranges", Title: "Ranges", Nav: "Ranges", About: "Kernel time by NVTX range. A box is as wide as its time in the head, those below lie in it; orange got slower, blue faster, the deeper the more.",
		Card: plot.Flame("Kernel time by NVTX range", "Each box is a range or a kernel, as wide as its time in the head; those below lie in it. Its colour says how its time changed.", s.box(root, root.head))})
}

func (s *reportSheet) box(n *node, whole float64) plot.Box {
	change, told := math.Inf(1), "new"
	if n.base > 0 {
		change = n.head/n.base - 1
		told = measure.Change(change)
	}
	b := plot.Box{Label: n.name + " " + told, Size: n.head, Class: shade(change, (n.head-n.base)/whole), Link: s.links[n.kernel],
		Tip: n.name + ": " + quantity(result.Number(n.base), ns) + " → " + quantity(result.Number(n.head), ns) + " (" + told + ")"}
	slices.SortStableFunc(n.below, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.head, a.head), cmp.Compare(a.name, b.name))
	})
	for _, x := range n.below {
		b.Boxes = append(b.Boxes, s.box(x, whole))
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

// prefix prints a number with the letter of its thousands in front of the unit to come: "2 T".
func withPrefix(v float64) string {
	letters := []string{"", "k", "M", "G", "T", "P"}
	i := 0
	for ; v >= 1000 && i+1 < len(letters); i++ {
		v /= 1000
	}
	return tidy(measure.Digits(v)+" ") + letters[i]
}

// roof draws a kernel's places under the roofs of the head's GPU, nil where they are not known.
func roof(c *result.Cause, name string) *picture {
	at := cmp.Or(c.HeadRoof, c.BaseRoof)
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
	}{{"baseline", "base", c.BaseRoof}, {"head", "worse", c.HeadRoof}} {
		if x.at != nil && x.at.Intensity > 0 && x.at.Achieved > 0 {
			points = append(points, plot.Point{Name: x.name, Class: x.class, Intensity: float64(x.at.Intensity), Performance: float64(x.at.Achieved)})
		}
	}
	return &picture{Title: "under the " + Clean(at.Precision) + " roof", About: "arithmetic (FLOP/s) by FLOP a byte of memory traffic, both logarithmic; the line is what the GPU can do",
		SVG: plot.Roof(name+" under the roofs of the GPU", memory, memory*float64(at.Ridge), points,
			func(v float64) string { return withPrefix(v) + "FLOP/B" }, func(v float64) string { return withPrefix(v) + "FLOP/s" })}
}
