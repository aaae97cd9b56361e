package plot

import "math"

const fallHeight = 22

// Fall draws part i of a change as a bar around zero, on the scale of all parts. A part is a change and the ends of its interval, NaN
// where they are unknown.
func Fall(parts [][3]float64, i int) SVG {
	low, high := 0.0, 0.0
	for _, p := range parts {
		for _, v := range p {
			if finite(v) {
				low, high = math.Min(low, v), math.Max(high, v)
			}
		}
	}
	room := (high - low) * 0.03
	scale := Scale{low - room, high + room}
	s := begin("fall", fallHeight, "", "")
	change, from, to := parts[i][0], parts[i][1], parts[i][2]
	class, zero, at := "worse", scale.At(0), scale.At(change)
	if change < 0 {
		class = "better"
	}
	x, y := math.Min(zero, at), math.Max(zero, at)
	s.line("thread", zero, 0, zero, fallHeight)
	s.rect(class, x, math.Max(y, x+0.002), 4, fallHeight-8, "")
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
	s.rect("total", 0, share(base), 3, 7, "")
	if class != "worse" && class != "better" {
		class = "calm"
	}
	s.rect(class, 0, share(head), 12, 7, "")
	return s.end()
}

// Part draws a share of a whole as a bar.
func Part(part float64, class string) SVG {
	s := begin("part", 16, "", "")
	s.rect("allowed", 0, 1, 4, 9, "")
	s.rect(class, 0, share(part), 4, 9, "")
	return s.end()
}
