package plot

import (
	"math"
)

// Fall draws the parts of a change as bars around zero, one a row of a table, on one scale.
type Fall struct {
	scale Scale
	parts [][3]float64
}

// NewFall is the scale for these parts: each a change and its interval, NaN where that is not known.
func NewFall(parts [][3]float64) *Fall {
	low, high := 0.0, 0.0
	for _, p := range parts {
		for _, v := range p {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = math.Min(low, v), math.Max(high, v)
			}
		}
	}
	room := (high - low) * 0.03
	return &Fall{Scale{low - room, high + room}, parts}
}

const fallHeight = 22

// Bar is the bar of a part.
func (f *Fall) Bar(i int) SVG {
	s := begin("fall", fallHeight, "", "")
	change, low, high := f.parts[i][0], f.parts[i][1], f.parts[i][2]
	class, zero, at := "worse", f.scale.At(0), f.scale.At(change)
	if change < 0 {
		class = "better"
	}
	x, y := math.Min(zero, at), math.Max(zero, at)
	s.line("thread", zero, 0, zero, fallHeight)
	s.rect(class, x, math.Max(y, x+0.002), 4, fallHeight-8, "")
	if !math.IsNaN(low) && !math.IsNaN(high) {
		l, h := f.scale.At(low), f.scale.At(high)
		s.line("interval", l, fallHeight/2, h, fallHeight/2)
		s.line("interval", l, fallHeight/2-4, l, fallHeight/2+4)
		s.line("interval", h, fallHeight/2-4, h, fallHeight/2+4)
	}
	return s.end()
}

// Pair draws two parts of a whole, the base above the head.
func Pair(base, head float64, class string) SVG {
	s := begin("pair", fallHeight, "", "")
	s.rect("total", 0, math.Min(math.Max(base, 0), 1), 3, 7, "")
	if class != "worse" && class != "better" {
		class = "calm"
	}
	s.rect(class, 0, math.Min(math.Max(head, 0), 1), 12, 7, "")
	return s.end()
}
