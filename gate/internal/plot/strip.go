package plot

import (
	"math"
	"strconv"
)

// Strip draws runs as dots on a scale of their own, the first at the top.
func Strip(runs []float64, typical float64, label func(float64) string) SVG {
	const height = 30
	scale := Around(0.08, append(append([]float64{}, runs...), typical*0.995, typical*1.005)...)
	s := begin("strip", height, "", "")
	s.rect("allowed", scale.At(typical*0.99), scale.At(typical*1.01), 0, height, "1 % around the typical value")
	s.line("typical base", scale.At(typical), 2, scale.At(typical), height-2)
	for i, v := range runs {
		if !math.IsNaN(v) {
			s.dot("run", scale.At(v), 5+float64(i)*(height-10)/math.Max(float64(len(runs)-1), 1), 3, "run "+strconv.Itoa(i+1)+": "+label(v))
		}
	}
	return s.end()
}

// Part draws a part of a whole as a bar.
func Part(share float64, class string) SVG {
	s := begin("part", 16, "", "")
	s.rect("allowed", 0, 1, 4, 9, "")
	s.rect(class, 0, math.Min(math.Max(share, 0), 1), 4, 9, "")
	return s.end()
}
