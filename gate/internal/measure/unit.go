package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

var decimal = input.Pattern(`^([0-9]+(\.[0-9]*)?|\.[0-9]+)$`)

// ParsePercent reads "1%" or "0.5 %" as a fraction. A bare number is refused, since "1" could be meant as 1 % and as
// 100 %; so are negative values and those from 1000 % up.
func ParsePercent(s string) (float64, error) {
	digits, ok := strings.CutSuffix(strings.TrimSpace(s), "%")
	digits = strings.TrimSpace(digits)
	if !decimal().MatchString(digits) {
		return 0, fmt.Errorf(`%q is not a percentage; write it like "3%%" or "0.5%%"`, s)
	}
	if !ok {
		if f, err := strconv.ParseFloat(digits+"e2", 64); err == nil && f > 0 && f < 100 {
			return 0, fmt.Errorf("%q has no unit; write \"%v%%\", or \"%s%%\" if that was meant", s, f, digits)
		}
		return 0, fmt.Errorf("%q has no unit; write \"%s%%\"", s, digits)
	}
	// With the exponent in the text, "1.1%" becomes the float64 nearest to 0.011, which 1.1/100 is not.
	f, err := strconv.ParseFloat(digits+"e-2", 64)
	if err != nil || f >= 10 {
		return 0, fmt.Errorf("%q is too large; a percentage is below 1000%%", s)
	}
	return f, nil
}

// Amount is an absolute number in a base unit: "ns", "B", "B/s", "Hz", "%", or "" for counts and outputs.
type Amount struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// ParseAmount reads "1us", "500 ns", "64 KiB", "70%", "2.5 TB/s" or, for counts, "3" into the base unit. The per cent
// of an amount are those of a metric that is measured in per cent.
func ParseAmount(s string) (Amount, error) {
	text := strings.TrimSpace(s)
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	digits, spelling := text[:end], strings.TrimSpace(text[end:])
	u, known := unitOf(spelling)
	if spelling == "" {
		u, known = sized{factor: 1}, true
	}
	if !decimal().MatchString(digits) || !known {
		return Amount{},
			fmt.Errorf(`%q is not an amount; write a time ("1us", "500ns"), a size ("64KiB"), a rate ("2TB/s"), a part of the peak ("70%%") or a count ("3")`, s)
	}
	f, err := strconv.ParseFloat(digits, 64)
	f *= u.factor
	if err != nil || math.IsInf(f, 0) {
		return Amount{}, fmt.Errorf("%q is too large", s)
	}
	return Amount{f, u.base}, nil
}

// Fits reports whether the amount is of the kind that the metric counts. A rate of things and what a raw metric has per
// block may be a bare number, too.
func (a Amount) Fits(m Metric) bool {
	if own, ok := MetricByName(m.Name); ok { // a row may have a unit of its own
		m = own
	}
	base, per, _ := strings.Cut(m.Unit, " ")
	_, known := unitOf(base)
	switch {
	case IsRate(base):
		return a.Unit == "" || IsRate(a.Unit)
	case known && (a.Unit != "" || per == "" || m.Raw() == ""):
		return a.Unit == base
	}
	return a.Unit == ""
}

// String prints the amount as [Quantity] does.
func (a Amount) String() string { return Quantity(a.Value, a.Unit) }
