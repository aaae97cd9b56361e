// Package plot draws numbers as SVG that is as wide as the page lets it be: shapes lie at percentages of the width, so
// that text keeps its size on every screen. Colours are classes of the page's style sheet; nothing is styled inside.
package plot

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// SVG is a drawing as markup: every text in it is escaped, and it may stand in a page as it is.
type SVG string

type svg struct {
	b strings.Builder
}

// begin starts a drawing with a height in pixels; title and about describe it for screen readers.
func begin(class string, height float64, title, about string) *svg {
	s, said := new(svg), `aria-hidden="true">`
	if title != "" {
		said = `role="img"><title>` + html.EscapeString(title) + "</title>"
	}
	if about != "" {
		said += "<desc>" + html.EscapeString(about) + "</desc>"
	}
	fmt.Fprintf(&s.b, `<svg class="%s" height="%s" %s`, class, number(height), said)
	return s
}

func (s *svg) end() SVG { return SVG(s.b.String() + "</svg>") }

// rect draws a box between two shares of the width. tip is shown under the pointer, "" for none; a click leads to the
// ID of link.
func (s *svg) rect(class string, from, to, y, height float64, tip, link string) {
	at := ""
	if y != 0 {
		at = ` y="` + number(y) + `"`
	}
	fmt.Fprintf(&s.b, `<rect class="%s" x="%s" width="%s"%s height="%s"%s/>`, class, percent(from),
		percent(math.Max(to-from, 0)), at, number(height), attribute("data-tip", tip)+attribute("data-to", link))
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&s.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, percent(x1), number(y1), percent(x2),
		number(y2))
}

func (s *svg) dot(class string, x, y, radius float64, tip string) {
	fmt.Fprintf(&s.b, `<circle class="%s" cx="%s" cy="%s" r="%s"%s/>`, class, percent(x), number(y), number(radius),
		attribute("data-tip", tip))
}

// text writes a text at x; its class says whether it begins, ends or is centred there.
func (s *svg) text(class string, x, y float64, text string) {
	fmt.Fprintf(&s.b, `<text class="%s" x="%s" y="%s">%s</text>`, class, percent(x), number(y), html.EscapeString(text))
}

// label writes a text in a box, which cuts it.
func (s *svg) label(class string, from, to, y, height float64, text string) {
	fmt.Fprintf(&s.b, `<svg x="%s" width="%s" y="%s" height="%s"><text class="%s" x="4" y="%s">%s</text></svg>`,
		percent(from), percent(to-from), number(y), number(height), class, number(height*0.72), html.EscapeString(text))
}

// shape draws a path in coordinates of 0 to 1000, stretched over a band of the drawing.
func (s *svg) shape(class string, y, height float64, path string) {
	fmt.Fprintf(&s.b,
		`<svg x="0" y="%s" width="100%%" height="%s" viewBox="0 0 1000 1000" preserveAspectRatio="none"><path class="%s" d="%s"/></svg>`,
		number(y), number(height), class, path)
}

// axis draws about so many ticks across a drawing of this height, with their values below.
func (s *svg) axis(scale Scale, ticks int, height float64, label func(float64) string) {
	for _, t := range scale.Ticks(ticks) {
		x := scale.At(t)
		s.line("grid", x, 0, x, height)
		s.text(anchor(x), x, height+axisHeight-4, label(t))
	}
}

// anchor is the class of a text at a tick; at the ends it keeps the text inside the drawing.
func anchor(x float64) string {
	switch {
	case x < 0.06:
		return "tick start"
	case x > 0.94:
		return "tick end"
	}
	return "tick"
}

// attribute is an attribute of an element, "" without a value.
func attribute(name, value string) string {
	return measure.Either(value == "", "", " "+name+`="`+html.EscapeString(value)+`"`)
}

func percent(x float64) string { return number(100*x) + "%" }

// number prints a number with two decimals at most, 0 where it is unknown.
func number(x float64) string {
	if !finite(x) {
		x = 0
	}
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// share bounds a share of the width.
func share(x float64) float64 { return min(max(x, 0), 1) }

// Scale maps values to shares of the width.
type Scale struct{ Low, High float64 }

// At is the position of a value, between 0 and 1.
func (s Scale) At(v float64) float64 {
	if !(s.High > s.Low) {
		return 0.5
	}
	return share((v - s.Low) / (s.High - s.Low))
}

// Around is the scale of all known values with room at both ends, as a share of their range.
func Around(room float64, values ...float64) Scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if low > high {
		return Scale{0, 1}
	}
	pad := cmp.Or((high-low)*room, math.Max(math.Abs(low)*0.01, 1e-9))
	return Scale{low - pad, high + pad}
}

// axisHeight is the height of the values below a drawing, in pixels.
const axisHeight = 18

// Ticks are about so many round values inside the scale.
func (s Scale) Ticks(about int) []float64 {
	span := s.High - s.Low
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(about))))
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(step*m) <= float64(about) {
			step *= m
			break
		}
	}
	var out []float64
	for i := math.Ceil(s.Low / step); i*step <= s.High+step*1e-9 && len(out) < 20; i++ {
		out = append(out, i*step+0) // which makes -0 to 0
	}
	if len(out) < 2 && about < 20 { // a tick alone is no scale
		return s.Ticks(about + 1)
	}
	return out
}
