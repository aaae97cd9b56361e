package plot

import "math"

// Series is one line of a chart: a value for each of its places, NaN where there is none.
type Series struct {
	Class  string
	Values []float64
}

// Chart are lines over numbered places, such as the steps of a run or the runs of a side.
type Chart struct {
	Title  string
	Series []Series
	At     []int            // the number of each place, ascending
	Name   func(int) string // what stands below a place
	Value  func(float64) string
	// Warmup is the first place that counts: the lines before it are shaded, and the scale does not follow them.
	Warmup int
	// Whole is true of a scale from zero on, with a dot at each value.
	Whole bool
}

// Lines draws a chart; there is none of fewer than two places.
func Lines(c Chart) SVG {
	const band = 100
	if len(c.At) < 2 {
		return ""
	}
	var all []float64
	for _, x := range c.Series {
		for i, v := range x.Values {
			if c.At[i] >= c.Warmup {
				all = append(all, v)
			}
		}
	}
	scale := Around(0.15, all...)
	if c.Whole {
		scale.Low = 0
	}
	first, last := c.At[0], c.At[len(c.At)-1]
	across := Scale{float64(first), float64(last)}
	s := begin("over", band+axisHeight, c.Title, "")
	if c.Warmup > first {
		s.rect("warmup", 0, across.At(float64(c.Warmup)), 0, band, "warm-up: what lies before "+c.Name(c.Warmup)+" is left out")
	}
	for _, t := range scale.Ticks(3) {
		y := band * (1 - scale.At(t))
		s.line("grid", 0, y, 1, y)
		s.above(y, c.Value(t))
	}
	for _, x := range c.Series {
		s.trace(x.Class, band, x.Values, func(i int) float64 { return across.At(float64(c.At[i])) }, scale)
		for i, v := range x.Values {
			if c.Whole && !math.IsNaN(v) {
				s.dot("run "+x.Class, across.At(float64(c.At[i])), band*(1-scale.At(v)), 3, c.Name(c.At[i])+": "+c.Value(v))
			}
		}
	}
	s.text("tick start", 0, band+axisHeight-4, c.Name(first))
	s.text("tick end", 1, band+axisHeight-4, c.Name(last))
	return s.end()
}
