package plot

import (
	"html/template"
	"math"
	"strconv"
)

// Trend draws one number over time: a dot for each moment, and a line where its level changed. tips say what each moment was.
func Trend(title string, values []float64, changes []int, tips []string, label func(float64) string) template.HTML {
	const band = 44
	scale := Around(0.15, values...)
	// Less than a percent is no slope.
	if middle := (scale.Low + scale.High) / 2; scale.High-scale.Low < 0.01*middle {
		scale = Scale{middle * 0.995, middle * 1.005}
	}
	last := math.Max(float64(len(values)-1), 1)
	at := func(i int) float64 { return 0.01 + 0.98*float64(i)/last }
	s := begin("trend", band, title, "")
	for _, c := range changes {
		x := at(c) - 0.49/last
		s.line("limit", x, 0, x, band)
	}
	path, pen := "", "M"
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		path += pen + strconv.Itoa(int(1000*at(i))) + " " + strconv.Itoa(int(1000*(1-scale.At(v))))
		pen = "L"
	}
	if path != "" {
		s.shape("trace base", 0, band, path)
	}
	for i, v := range values {
		if !math.IsNaN(v) && i < len(tips) {
			s.dot("run", at(i), band*(1-scale.At(v)), 3, tips[i]+": "+label(v))
		}
	}
	return s.end()
}
