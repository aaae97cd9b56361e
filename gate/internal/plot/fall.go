package plot

import (
	"math"
)

// Fall draws the bars of a waterfall, one a row of a table: from the base over its changes to the head.
type Fall struct {
	scale Scale
	at    float64 // where the next change begins
}

// NewFall begins a waterfall at the base; changes are those that follow.
func NewFall(base float64, changes []float64) *Fall {
	low, high, at := base, base, base
	for _, c := range changes {
		at += c
		low, high = math.Min(low, at), math.Max(high, at)
	}
	from := low - (high-low)*0.5
	if from < 0.4*low {
		from = 0
	}
	return &Fall{scale: Scale{from, high + (high-from)*0.02}, at: base}
}

// From is where the scale begins: 0 unless the changes would not be seen.
func (f *Fall) From() float64 { return f.scale.Low }

const fallHeight = 22

// Total is the bar of one of both ends.
func (f *Fall) Total(value float64) SVG {
	s := begin("fall", fallHeight, "", "")
	s.rect("total", 0, f.scale.At(value), 4, fallHeight-8, "")
	f.at = value
	return s.end()
}

// Change is the bar of one change with its interval, NaN where that is not known.
func (f *Fall) Change(change, low, high float64) SVG {
	s := begin("fall", fallHeight, "", "")
	a, b := f.at, f.at+change
	class := "worse"
	if change < 0 {
		class = "better"
	}
	x, y := f.scale.At(math.Min(a, b)), f.scale.At(math.Max(a, b))
	s.line("thread", f.scale.At(a), 0, f.scale.At(a), 4)
	s.rect(class, x, math.Max(y, x+0.002), 4, fallHeight-8, "")
	if !math.IsNaN(low) && !math.IsNaN(high) {
		l, h := f.scale.At(f.at+low), f.scale.At(f.at+high)
		s.line("interval", l, fallHeight/2, h, fallHeight/2)
		s.line("interval", l, fallHeight/2-4, l, fallHeight/2+4)
		s.line("interval", h, fallHeight/2-4, h, fallHeight/2+4)
	}
	s.line("thread", f.scale.At(b), fallHeight-4, f.scale.At(b), fallHeight)
	f.at = b
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
