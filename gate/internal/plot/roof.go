package plot

import (
	"math"
	"strconv"
)

// Point is a kernel under the roofs: FLOP a byte of memory traffic, and FLOP/s.
type Point struct {
	Name, Class            string
	Intensity, Performance float64
}

// Roof draws points under the roofs of the GPU: what its memory gives (B/s), and what it computes (FLOP/s). Both axes are
// logarithmic; x and y print their values.
func Roof(title string, memory, compute float64, points []Point, x, y func(float64) string) SVG {
	ridge := compute / memory
	low, high, bottom := ridge/8, ridge*8, compute
	for _, p := range points {
		low, high, bottom = math.Min(low, p.Intensity/2), math.Max(high, p.Intensity*2), math.Min(bottom, p.Performance/2)
	}
	bottom = math.Min(bottom, compute/20)
	const band = 150
	xs := Scale{math.Log10(low), math.Log10(high)}
	ys := Scale{math.Log10(bottom), math.Log10(compute * 1.8)}
	s := begin("roof", band+axisHeight, title, "")
	at := func(v float64) float64 { return band * (1 - ys.At(math.Log10(v))) }
	for e := math.Ceil(xs.Low); e <= xs.High; e++ {
		px := xs.At(e)
		s.line("grid", px, 0, px, band)
		s.text(anchor(px), px, band+axisHeight-4, x(math.Pow(10, e)))
	}
	for e := math.Ceil(ys.Low); e <= ys.High; e++ {
		s.line("grid", 0, band*(1-ys.At(e)), 1, band*(1-ys.At(e)))
		s.above(band*(1-ys.At(e)), y(math.Pow(10, e)))
	}
	s.line("ceiling", xs.At(xs.Low), at(math.Max(low*memory, bottom)), xs.At(math.Log10(ridge)), at(compute))
	s.line("ceiling", xs.At(math.Log10(ridge)), at(compute), 1, at(compute))
	for _, p := range points {
		s.dot("run "+p.Class, xs.At(math.Log10(p.Intensity)), at(p.Performance), 5, p.Name+": "+x(p.Intensity)+", "+y(p.Performance))
	}
	return s.end()
}

// Curve draws values over a number of things, such as what can be found with so many runs.
func Curve(title string, at []int, series []Series, label func(float64) string) SVG {
	const band = 130
	if len(at) < 2 {
		return ""
	}
	var all []float64
	for _, x := range series {
		all = append(all, x.Values...)
	}
	scale := Around(0.05, append(all, 0)...)
	scale.Low = 0
	xs := Scale{float64(at[0]), float64(at[len(at)-1])}
	s := begin("over", band+axisHeight, title, "")
	for _, t := range scale.Ticks(4) {
		y := band * (1 - scale.At(t))
		s.line("grid", 0, y, 1, y)
		s.above(y, label(t))
	}
	for i, n := range at {
		if px := xs.At(float64(n)); i%2 == 0 || i == len(at)-1 {
			s.text(anchor(px), px, band+axisHeight-4, strconv.Itoa(n))
		}
	}
	for _, x := range series {
		path, pen := "", "M"
		for i, v := range x.Values {
			if math.IsNaN(v) {
				continue
			}
			path += pen + strconv.Itoa(int(1000*xs.At(float64(at[i])))) + " " + strconv.Itoa(int(1000*(1-scale.At(v))))
			pen = "L"
			s.dot("run "+x.Class, xs.At(float64(at[i])), band*(1-scale.At(v)), 3, strconv.Itoa(at[i])+" runs: "+label(v))
		}
		if path != "" {
			s.shape("trace "+x.Class, 0, band, path)
		}
	}
	return s.end()
}
