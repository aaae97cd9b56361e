package plot

import (
	"math"
	"strconv"
	"strings"
)

// Span is a piece of a step.
type Span struct {
	Class, Label, Tip string
	Link              string // name on the page that a click leads to, "" for none
	Start, Length     float64
}

// Lane is a row of a step: spans that do not overlap.
type Lane struct {
	Name   string
	Height float64
	Spans  []Span
}

const (
	laneGap  = 3
	nameRoom = 13
	// seen is the least share of the width for a span to have a shape of its own.
	seen = 0.002
)

// Step draws the lanes of one step on a time scale of this length in ns.
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
	s.axis(scale, 5, height, label)
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

// lane draws each large span as a box, and the small spans of a class as one shape.
func (s *svg) lane(l Lane, y float64, scale Scale) {
	small := map[string]*strings.Builder{}
	var classes []string
	var until = map[string]float64{}
	for _, x := range l.Spans {
		from, to := scale.At(x.Start), scale.At(x.Start+x.Length)
		if to-from >= seen {
			s.rect(x.Class, from, to, y, l.Height, x.Tip, x.Link)
			if x.Label != "" && to-from > 0.03 {
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
			b.WriteString("M" + strconv.Itoa(int(a)) + " 0h" + strconv.Itoa(int(e-a)) + "v1000h-" +
				strconv.Itoa(int(e-a)) + "z")
		}
	}
	for _, c := range classes {
		s.shape(c+" many", y, l.Height, small[c].String())
	}
}
