package plot

import "math"

// Forest draws changes with their intervals on one scale: linear around zero up to the bend, logarithmic beyond.
type Forest struct{ bend, most float64 }

// NewForest is the scale for these changes, as fractions; bend is their usual limit, above 0.
func NewForest(bend float64, changes []float64) Forest {
	f := Forest{bend: bend, most: 2 * bend}
	for _, c := range changes {
		if finite(c) {
			f.most = math.Max(f.most, math.Abs(c))
		}
	}
	f.most = math.Min(f.most*1.15, 1000)
	return f
}

func (f Forest) at(change float64) float64 {
	x := math.Asinh(change/f.bend) / math.Asinh(f.most/f.bend)
	return 0.5 + 0.47*math.Min(math.Max(x, -1), 1) // a dot has room at the ends
}

// Row draws a change in the class of its outcome; limit is NaN for none.
func (f Forest) Row(class string, change, low, high, limit float64) SVG {
	const forestHeight = 20
	s := begin("forest", forestHeight, "", "")
	const mid = forestHeight / 2.0
	if limit > 0 && !math.IsInf(limit, 0) {
		s.rect("allowed", f.at(-limit), f.at(limit), 0, forestHeight, "", "")
	}
	if !math.IsNaN(change) {
		if f.at(high)-f.at(low) > 0.004 { // else the dot hides it; not where they are unknown
			s.line("whisker "+class, f.at(low), mid, f.at(high), mid)
		}
		if high > f.most || change > f.most {
			s.arrow("whisker "+class, f.at(high), 1, mid)
		}
		if low < -f.most {
			s.arrow("whisker "+class, f.at(low), 0, mid)
		}
		s.dot("point "+class, f.at(change), mid, 4, "")
	}
	return s.end()
}

// arrow draws where an interval leaves the scale: from x to the end of the width, 0 or 1.
func (s *svg) arrow(class string, x, end, y float64) {
	back := end + 0.025*(1-2*end)
	s.line(class, x, y, end, y)
	s.line(class, back, y-4, end, y)
	s.line(class, back, y+4, end, y)
}

// Axis draws the scale above the rows, with at least one tick beside that of zero; label prints a change.
func (f Forest) Axis(label func(float64) string) SVG {
	const zero, least, most, room = 0.5, 0.64, 0.9, 0.22 // shares of the width: labels must not touch
	s, next := begin("axis", 16, "", ""), most+room
	s.text("tick", zero, 12, "0")
	for power := 1e3; f.at(5*power) > least; power /= 10 {
		for _, t := range []float64{5 * power, 2 * power, power} {
			x := f.at(t)
			if t >= f.most || x < least || x > next-room {
				continue
			}
			next = x
			s.text("tick", x, 12, label(t))
			if t < 1 {
				s.text("tick", f.at(-t), 12, label(-t))
			}
		}
	}
	return s.end()
}

const fallHeight = 22

// Fall draws part i as a bar around zero, on the scale of all parts: each a change and the ends of its interval, or
// NaN.
func Fall(parts [][3]float64, i int) SVG {
	values := []float64{0}
	for _, p := range parts {
		values = append(values, p[:]...)
	}
	scale := Around(0.03, values...)
	s := begin("fall", fallHeight, "", "")
	change, from, to := parts[i][0], parts[i][1], parts[i][2]
	class, zero, at := "worse", scale.At(0), scale.At(change)
	if change < 0 {
		class = "better"
	}
	x, y := math.Min(zero, at), math.Max(zero, at)
	s.line("thread", zero, 0, zero, fallHeight)
	s.rect(class, x, math.Max(y, x+0.002), 4, fallHeight-8, "", "")
	if !math.IsNaN(from) && !math.IsNaN(to) {
		l, h := scale.At(from), scale.At(to)
		s.line("interval", l, fallHeight/2, h, fallHeight/2)
		s.line("interval", l, fallHeight/2-4, l, fallHeight/2+4)
		s.line("interval", h, fallHeight/2-4, h, fallHeight/2+4)
	}
	return s.end()
}

// Pair draws two shares of a whole as bars, the baseline above the head.
func Pair(base, head float64, class string) SVG {
	s := begin("pair", fallHeight, "", "")
	s.rect("total", 0, share(base), 3, 7, "", "")
	s.rect(class, 0, share(head), 12, 7, "", "")
	return s.end()
}

// Part draws a share of a whole as a bar.
func Part(part float64, class string) SVG {
	s := begin("part", 16, "", "")
	s.rect("allowed", 0, 1, 4, 9, "", "")
	s.rect(class, 0, share(part), 4, 9, "", "")
	return s.end()
}
