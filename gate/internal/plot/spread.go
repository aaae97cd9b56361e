package plot

import (
	"math"
	"strconv"
	"strings"
)

// bins is how many columns a density has.
const bins = 60

// Spread draws how the times of launches are distributed, from evenly spaced quantiles: the baseline above the line, the head below.
func Spread(title string, base, head []int64, label func(float64) string) SVG {
	const band = 38
	var values []float64
	for _, q := range [][]int64{base, head} {
		if n := len(q); n > 2 {
			values = append(values, float64(q[1]), float64(q[n-2])) // the extremes are single launches
		}
	}
	scale := Around(0.06, values...)
	b, most := density(base, scale)
	h, mostOfHead := density(head, scale)
	most = math.Max(most, mostOfHead)
	s := begin("spread", 2*band+axisHeight, title, "")
	s.axis(scale, 4, 2*band, label)
	s.shape("area base", 0, band, area(b, func(v float64) float64 { return 1000 - 950*v/most }))
	s.shape("area head", band, band, area(h, func(v float64) float64 { return 950 * v / most }))
	s.line("zero", 0, band, 1, band)
	return s.end()
}

// density is the part of all launches in each bin, and the largest of these. Launches between two quantiles are spread evenly.
func density(quantiles []int64, scale Scale) (parts [bins]float64, most float64) {
	for i := 1; i < len(quantiles); i++ {
		low, high := float64(quantiles[i-1]), float64(quantiles[i])
		if high < scale.Low || low > scale.High {
			continue
		}
		first, last := min(int(scale.At(low)*bins), bins-1), min(int(scale.At(high)*bins), bins-1)
		for j := first; j <= last; j++ {
			parts[j] += 1 / float64(len(quantiles)-1) / float64(last-first+1)
			most = math.Max(most, parts[j])
		}
	}
	return parts, math.Max(most, 1e-9)
}

// area is the outline of a density; y is the height of a value in it.
func area(parts [bins]float64, y func(v float64) float64) string {
	point := func(x int, v float64) string { return strconv.Itoa(x) + " " + strconv.Itoa(int(y(v))) }
	var b strings.Builder
	b.WriteString("M" + point(0, 0))
	for i, v := range parts {
		b.WriteString("L" + point(1000*i/(bins-1), v))
	}
	return b.String() + "L" + point(1000, 0) + "Z"
}
