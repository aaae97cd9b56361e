package plot

import "math"

// Timeline describes the moments of a trend, by their indices.
type Timeline struct {
	Tips   []string // text under the pointer
	Marks  []string // labels of the axis, none for no axis
	Hosts  []int    // the first on another host
	Others []int    // the first with another driver, clock or the like
	Anchor int      // the anchor, -1 for none
}

// Trend draws a number over time: a dot for each moment, a line at each change of level, and behind them changes of the environment.
func Trend(title string, values []float64, changes []int, t Timeline, label func(float64) string) SVG {
	const band = 44
	scale := Around(0.15, values...)
	// The scale spans at least 1 %, so that noise stays flat.
	if middle := (scale.Low + scale.High) / 2; scale.High-scale.Low < 0.01*middle {
		scale = Scale{middle * 0.995, middle * 1.005}
	}
	last := math.Max(float64(len(values)-1), 1)
	at := func(i int) float64 { return 0.01 + 0.98*float64(i)/last }
	between := func(i int) float64 { return at(i) - 0.49/last }
	height := float64(band)
	if len(t.Marks) == len(values) && len(values) > 0 {
		height += axisHeight
	}
	s := begin("trend", height, title, "")
	if height > band {
		s.text("tick start", 0, height-4, t.Marks[0])
		s.text("tick end", 1, height-4, t.Marks[len(values)-1])
	}
	for _, i := range t.Hosts {
		s.line("host", between(i), band-6, between(i), band)
	}
	for _, i := range t.Others {
		s.line("other", between(i), 0, between(i), band)
	}
	if t.Anchor >= 0 {
		s.line("anchor", at(t.Anchor), 0, at(t.Anchor), band)
	}
	for _, c := range changes {
		s.line("limit", between(c), 0, between(c), band)
	}
	s.trace("base", band, values, func(i int) float64 { return at(i) }, scale)
	for i, v := range values {
		if !math.IsNaN(v) && i < len(t.Tips) {
			s.dot("run", at(i), band*(1-scale.At(v)), 3, t.Tips[i]+": "+label(v))
		}
	}
	return s.end()
}
