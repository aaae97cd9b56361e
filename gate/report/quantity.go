package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate"
)

// nb binds a number to its unit: text is never broken there, and it is printed as a plain space.
const nb = "\u00a0"

// unknown stands for a number that was not measured.
const unknown = "–"

type scale struct {
	name   string
	factor float64
}

// The prefixes in which times and sizes are read, by the unit in which metrics keep them.
var scales = map[string][]scale{
	"ns": {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}},
	"B":  {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}},

	"B/s": {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}},
	"Hz":  {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}},
}

// quantity prints a value with its unit: times and sizes in the prefix that keeps them under 1000, with four
// significant digits; counts in full; anything else as the number and its unit.
func quantity(n gate.Number, unit string) string {
	if !n.Known() {
		return unknown
	}
	v, ladder := float64(n), scales[unit]
	for i, s := range ladder {
		if x := v / s.factor; math.Abs(round(x)) < 1000 || i == len(ladder)-1 {
			if unit == "B" && i == 0 && x == math.Trunc(x) {
				return plain(x) + nb + s.name
			}
			return digits(x) + nb + s.name
		}
	}
	if unit == "count" || unit == "" {
		return plain(v)
	}
	return plain(v) + nb + strings.Join(strings.Fields(Clean(unit)), nb)
}

// full prints a value in its own unit without rounding, for differences that [quantity] would hide.
func full(n gate.Number, unit string) string {
	s := strconv.FormatFloat(float64(n), 'g', 12, 64)
	if unit == "count" || unit == "" {
		return s
	}
	return s + nb + strings.Join(strings.Fields(Clean(unit)), nb)
}

// round keeps four significant digits.
func round(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// digits prints four significant digits without an exponent, except for numbers beyond all reason.
func digits(v float64) string {
	r := round(v)
	switch a := math.Abs(r); {
	case a >= 1e15 || a != 0 && a < 1e-6:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 1 || a == 0:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// plain prints whole numbers in full, others with four significant digits.
func plain(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return digits(v)
}

// decimals is how many digits after the point a relative change deserves, in per cent.
func decimals(change float64) int {
	switch a := math.Abs(change) * 100; {
	case a < 9.995:
		return 2
	case a < 99.95:
		return 1
	}
	return 0
}

// signed prints a relative number in per cent, without the per cent sign: "+4.87".
func signed(v float64, decimals int) string {
	format := byte('f')
	if math.Abs(v) >= 1e4 {
		format, decimals = 'g', 3
	}
	s := strconv.FormatFloat(v*100, format, decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return "0" // without the sign of what was rounded away
	}
	if v > 0 {
		return "+" + s
	}
	return s
}

// tenfold is the change from which on it is read as a factor.
const tenfold = 10

func factor(change gate.Number) string { return "×" + digits(1+float64(change)) }

// percentChange prints a relative change, "+4.87 %", and as a factor where it is more than tenfold, "×12.30".
func percentChange(n gate.Number) string {
	switch {
	case !n.Known():
		return unknown
	case n >= tenfold:
		return factor(n)
	}
	s := signed(float64(n), decimals(float64(n)))
	switch {
	case s == "0" && n > 0:
		s = "<0.01"
	case s == "0" && n < 0:
		s = ">-0.01"
	}
	return s + nb + "%"
}

// percent prints a limit, without sign and trailing zeros: "3 %", "0.5 %".
func percent(n gate.Number) string {
	if !n.Known() {
		return unknown
	}
	return strconv.FormatFloat(float64(n)*100, 'g', 3, 64) + nb + "%"
}

// part prints a share of a whole: "42.1 %", "0.48 %", "<0.01 %".
func part(n gate.Number) string {
	digits := 1
	switch {
	case !n.Known():
		return unknown
	case n > 0 && n < 0.0001:
		return "<0.01" + nb + "%"
	case n < 0.01:
		digits = 2
	}
	return strconv.FormatFloat(float64(n)*100, 'f', digits, 64) + nb + "%"
}

// interval prints the ends of a change's interval with the precision of the change itself, or as much as it takes to
// tell them apart: "+4.61 … +5.13 %"; "" where there is none.
func interval(change, low, high gate.Number) string {
	if !low.Known() || !high.Known() || low == high {
		return ""
	}
	if change.Known() && change >= tenfold {
		return factor(low) + nb + "…" + nb + factor(high)
	}
	d := decimals(float64(low+high) / 2)
	if change.Known() {
		d = decimals(float64(change))
	}
	for d < 4 && signed(float64(low), d) == signed(float64(high), d) {
		d++
	}
	return signed(float64(low), d) + nb + "…" + nb + signed(float64(high), d) + nb + "%"
}

const maxSpark = 24 // runs a side that a sparkline shows

// spark draws the runs of both sides as bars on one scale, "▁▂▁▁ → ▇█▇▇"; "" where either side has fewer than two. The
// scale spans at least the limit, so that noise which nobody judges stays flat.
func spark(base, head []gate.Number, limit gate.Number) string {
	low, high, n := math.Inf(1), math.Inf(-1), [2]int{}
	for side, runs := range [][]gate.Number{base, head} {
		for _, v := range runs {
			if v.Known() {
				low, high = min(low, float64(v)), max(high, float64(v))
				n[side]++
			}
		}
	}
	if min(n[0], n[1]) < 2 {
		return ""
	}
	span := high - low
	if limit.Known() {
		span = max(span, math.Abs(low)*float64(limit))
	}
	if span == 0 || math.IsInf(span, 0) {
		span = 1
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	draw := func(runs []gate.Number) string {
		var b strings.Builder
		if len(runs) > maxSpark {
			b.WriteRune('…')
			runs = runs[len(runs)-maxSpark:]
		}
		for _, v := range runs {
			if !v.Known() {
				b.WriteRune('·')
				continue
			}
			i := int((float64(v) - low) / span * float64(len(bars)-1))
			b.WriteRune(bars[min(max(i, 0), len(bars)-1)])
		}
		return b.String()
	}
	return draw(base) + nb + "→" + nb + draw(head)
}
