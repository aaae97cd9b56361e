package measure

import (
	"math"
	"strconv"
	"strings"
)

// How numbers are printed, the same in every sentence, table and format: four significant digits, a space before the
// unit, "–" for an unknown value. Formats that must not break a line between number and unit bind the space.

// Unknown stands for a number that was not measured.
const Unknown = "–"

func unmeasured(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// Quantity prints a value of a metric with its unit: times and sizes in the prefix that keeps them under 1000, with
// four significant digits; counts in full; anything else as the number and its unit.
func Quantity(v float64, unit string) string { return Scale(v, unit).String() }

// Scaled is a value in the unit that it is printed in, "" for a number alone. The value is rounded as its number is.
type Scaled struct {
	Value        float64
	Number, Unit string
	count        bool // of things, without a unit
}

// newScaled is a printed number with its unit.
func newScaled(number, unit string) Scaled {
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		v = math.NaN()
	}
	return Scaled{v, number, unit, false}
}

func (s Scaled) String() string {
	if s.Unit == "" {
		return s.Number
	}
	return s.Number + " " + s.Unit
}

// Decimals is how many digits the number has after the point.
func (s Scaled) Decimals() int {
	_, after, _ := strings.Cut(s.Number, ".")
	return len(after)
}

// Digits is the value with at most so many significant digits; whole counts and bytes stay in full.
func (s Scaled) Digits(n int) Scaled {
	if unmeasured(s.Value) || s.Value == 0 || s.Value == math.Trunc(s.Value) && (s.count || s.Unit == "B") {
		return s
	}
	whole := 1 + int(math.Floor(math.Log10(math.Max(math.Abs(s.Value), 1))))
	s.Number = strconv.FormatFloat(s.Value, 'f', max(n-whole, 0), 64)
	if s.count {
		return s.Tidy()
	}
	return s
}

// Tidy is the value without zeros at the end of its decimals: "84.00 µs" becomes "84 µs".
func (s Scaled) Tidy() Scaled {
	if strings.Contains(s.Number, ".") {
		s.Number = strings.TrimRight(strings.TrimRight(s.Number, "0"), ".")
	}
	return s
}

// size is the unit that a value is printed in, the value's own where it has no larger one.
func size(v float64, unit string) sized {
	sizes := printed[unit]
	for _, prefix := range []string{"M", "G", "T"} {
		if IsRate(unit) && unit != "1/s" && math.Abs(v) >= thousands[prefix] {
			sizes = []sized{{prefix + unit, unit, thousands[prefix]}}
		}
	}
	for _, at := range sizes {
		if math.Abs(Round(v/at.factor)) < 1000 {
			return at
		}
	}
	if len(sizes) > 0 {
		return sizes[len(sizes)-1]
	}
	if unit == "count" || unit == "ratio" {
		unit = ""
	}
	return sized{strings.Join(strings.Fields(unit), " "), "", 1}
}

// Scale is a value in the unit that [Quantity] prints it in.
func Scale(v float64, unit string) Scaled {
	if unmeasured(v) {
		return newScaled(Unknown, "")
	}
	if unit == "count" {
		s := newScaled(Number(v), "").Tidy()
		s.Number, s.count = grouped(s.Number), true
		return s
	}
	at := size(v, unit)
	if at.factor == 1 && at.base == "" {
		return newScaled(Number(v), at.name)
	}
	x := v / at.factor
	if (v == 0 || at.name == "B") && x == math.Trunc(x) {
		return newScaled(Number(x), at.name)
	}
	return newScaled(digits(x), at.name)
}

// ScalePair is two values as [Scale] gives them, both in the unit of the larger where the smaller is nearly one of
// them: "0.9996 → 1.101 ms". Whole bytes stay.
func ScalePair(a, b float64, unit string) (x, y Scaled) {
	x, y = Scale(a, unit), Scale(b, unit)
	if x.Unit == y.Unit || unmeasured(a) || unmeasured(b) {
		return x, y
	}
	at := size(max(math.Abs(a), math.Abs(b)), unit)
	in := func(v float64, s Scaled) Scaled {
		if s.Unit != at.name && s.Unit != "B" && math.Abs(v) >= 0.95*at.factor {
			return newScaled(digits(v/at.factor), at.name)
		}
		return s
	}
	return in(a, x), in(b, y)
}

// Apart prints two values in the unit of the first, with as many digits as tell them apart: "13.054 → 13.049 ms".
func Apart(base, head float64, unit string) string {
	at := Either(unit == "B", sized{unit, unit, 1}, size(base, unit)) // bytes in full
	one, other := "", ""
	whole := 1 + int(math.Floor(math.Log10(math.Max(math.Abs(base/at.factor), 1))))
	for n := 5; one == other && n <= 12; n++ {
		decimals := max(n-whole, 0)
		one = strconv.FormatFloat(base/at.factor, 'f', decimals, 64)
		other = strconv.FormatFloat(head/at.factor, 'f', decimals, 64)
	}
	return strings.TrimSpace(one + " → " + other + " " + at.name)
}

// Round keeps four significant digits.
func Round(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// digits prints four significant digits without an exponent, except for numbers beyond all reason.
func digits(v float64) string {
	r := Round(v)
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

// Number prints whole numbers in full, others with four significant digits.
func Number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return digits(v)
}

// grouped puts commas between the thousands of a printed number that has five digits or more before its point.
func grouped(s string) string {
	whole, _, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; len(strings.TrimPrefix(whole, "-")) > 4 && i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
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
		return "0" // without a sign
	}
	return Either(v > 0, "+"+s, s)
}

// tenfold is the smallest change that is printed as a factor.
const tenfold = 10

func factor(change float64) string { return "×" + digits(1+change) }

// Change prints a relative change, "+4.87 %", and as a factor where it is more than tenfold, "×12.30".
func Change(v float64) string { return ScaleChange(v).String() }

// ScaleChange is a relative change in the unit that [Change] prints it in.
func ScaleChange(v float64) Scaled {
	switch {
	case unmeasured(v):
		return newScaled(Unknown, "")
	case v >= tenfold:
		return newScaled(factor(v), "")
	}
	s := signed(v, decimals(v))
	switch {
	case s == "0" && v > 0:
		s = "<0.01"
	case s == "0" && v < 0:
		s = ">-0.01"
	}
	return newScaled(s, "%")
}

// Percent prints a limit or another share without sign and trailing zeros: "3 %"; from a hundredfold on as a factor.
func Percent(v float64) string {
	switch {
	case unmeasured(v):
		return Unknown
	case v >= 99.95: // a factor reads better than so many percent
		return factor(v)
	case v >= 9.995:
		return strconv.FormatFloat(v*100, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(v*100, 'g', 3, 64) + " %"
}

// Deviation prints a small relative number with two digits after the point, as in a column.
func Deviation(v float64) string {
	if unmeasured(v) {
		return Unknown
	}
	return strconv.FormatFloat(100*v, 'f', decimals(v), 64) + " %"
}

// Share prints a part of a whole: "42.1 %", "0.48 %", "<0.01 %".
func Share(v float64) string { return ScaleShare(v).String() }

// ScaleShare is a part of a whole in the unit that [Share] prints it in.
func ScaleShare(v float64) Scaled {
	digits := 1
	switch {
	case unmeasured(v):
		return newScaled(Unknown, "")
	case v > 0 && v < 0.0001:
		return newScaled("<0.01", "%")
	case v < 0.01:
		digits = 2
	}
	return newScaled(strconv.FormatFloat(v*100, 'f', digits, 64), "%")
}

// ChangeInterval prints the ends of a change's interval with the precision of the change itself, or as much as it takes
// to tell them apart: "+4.61 … +5.13 %"; "" where there is none.
func ChangeInterval(change, low, high float64) string {
	if unmeasured(low) || unmeasured(high) || low == high {
		return ""
	}
	if !unmeasured(change) && change >= tenfold {
		return factor(low) + " … " + factor(high)
	}
	d := Either(!unmeasured(change), decimals(change), decimals((low+high)/2))
	for d < 4 && signed(low, d) == signed(high, d) {
		d++
	}
	return signed(low, d) + " … " + signed(high, d) + " %"
}

// Count prints a number of things: "1 run", "5 runs". What does not take an s gives its plural.
func Count(n int, one string, more ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(more) > 0:
		return grouped(strconv.Itoa(n)) + " " + more[0]
	}
	return grouped(strconv.Itoa(n)) + " " + one + "s"
}
