package plot

import (
	"math"
	"strconv"
	"strings"
)

// Span is a piece of a step. Where Tip is "" it is drawn together with its like, and cannot be pointed at.
type Span struct {
	Class, Label, Tip string
	Link              string // name on the page that a click leads to, "" for none
	Start, Length     float64
}

// Lane is a row of a step: spans that do not lie in each other.
type Lane struct {
	Name   string
	Height float64
	Spans  []Span
}

const (
	laneGap  = 3
	nameRoom = 13
	// seen is the part of the width from which on a span is drawn on its own.
	seen = 0.002
)

// Step draws the lanes of one step, on a scale of so many ns.
func Step(title, about string, lanes []Lane, length float64, label func(float64) string) SVG {
	height := 0.0
	for _, l := range lanes {
		height += l.Height + laneGap
		if l.Name != "" {
			height += nameRoom
		}
	}
	s := begin("step", height+axisHeight, title, about)
	scale := Scale{0, length}
	for _, t := range scale.Ticks(5) {
		x := scale.At(t)
		s.line("grid", x, 0, x, height)
		s.text(anchor(x), x, height+axisHeight-4, label(t))
	}
	y := 0.0
	for _, l := range lanes {
		if l.Name != "" {
			s.text("lane", 0, y+nameRoom-3, l.Name)
			y += nameRoom
		}
		s.lane(l, y, scale)
		y += l.Height + laneGap
	}
	return s.end()
}

// lane draws the spans that are large enough each for itself, and the others of a class as one shape.
func (s *svg) lane(l Lane, y float64, scale Scale) {
	small := map[string]*strings.Builder{}
	var classes []string
	var until = map[string]float64{}
	for _, x := range l.Spans {
		from, to := scale.At(x.Start), scale.At(x.Start+x.Length)
		if to-from >= seen {
			s.rect(x.Class, from, to, y, l.Height, x.Tip, x.Link)
			if x.Label != "" && to-from > 0.01 {
				s.label("inside", from, to, y, l.Height, x.Label)
			}
			continue
		}
		b := small[x.Class]
		if b == nil {
			b = new(strings.Builder)
			small[x.Class] = b
			classes = append(classes, x.Class)
		}
		// Less than a thousandth of the width cannot be told apart.
		if a, e := math.Floor(from*1000), math.Ceil(to*1000); e > until[x.Class] {
			a = math.Max(a, until[x.Class])
			until[x.Class] = e
			b.WriteString("M" + strconv.Itoa(int(a)) + " 0h" + strconv.Itoa(int(e-a)) + "v1000h-" + strconv.Itoa(int(e-a)) + "z")
		}
	}
	for _, c := range classes {
		s.shape(c+" many", y, l.Height, small[c].String())
	}
}

// Box is a node of a tree: what it costs, and what lies in it.
type Box struct {
	Class, Label, Tip, Link string
	Size                    float64
	Boxes                   []Box
}

const boxHeight = 22

// Flame draws a tree from its root at the top: the width of a box is its size, and those below it lie in it.
func Flame(title, about string, root Box) SVG {
	s := begin("flame", float64(root.depth())*(boxHeight+1), title, about)
	if root.Size > 0 {
		s.box(root, 0, 1, 0)
	}
	return s.end()
}

func (b Box) depth() int {
	deepest := 0
	for _, x := range b.Boxes {
		deepest = max(deepest, x.depth())
	}
	return deepest + 1
}

// thinnest is the part of the width from which on a box is drawn.
const thinnest = 0.003

func (s *svg) box(b Box, from, to, y float64) {
	if to-from < thinnest {
		return
	}
	s.rect(b.Class, from, to, y, boxHeight, b.Tip, b.Link)
	if to-from > 0.025 {
		s.label("inside", from, to, y, boxHeight, b.Label)
	}
	at := from
	for _, x := range b.Boxes {
		width := (to - from) * x.Size / b.Size
		s.box(x, at, at+width, y+boxHeight+1)
		at += width
	}
}
