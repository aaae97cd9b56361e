package nsysstats

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// number is a decimal number as it was printed: digits × 10^-places. It is never negative.
type number struct {
	digits int64
	places int
}

// most is the number of digits behind the point that a power of ten in an int64 can undo.
const most = 18

// form is how a number was written.
type form int

const (
	plain   form = iota
	grouped      // 2,272,780 or 1,234.5: commas between thousands, and nothing else it could be
	unclear      // 482,333: thousands in English, a fraction in German
	comma        // 0,57 or 1.234.567: not English
	negative
	noNumber
)

var (
	thousands = regexp.MustCompile(`^[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?$`)
	foreign   = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{3})*,[0-9]+$|^[0-9]+,[0-9]+$|^[0-9]{1,3}(\.[0-9]{3}){2,}$`)
	exponent  = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]{1,2}$`)
)

// parse reads a number. An unclear one is read as English.
func parse(s string) (number, form) {
	if n, ok := simple(s); ok {
		return n, plain
	}
	switch {
	case thousands.MatchString(s):
		n, ok := simple(strings.ReplaceAll(s, ",", ""))
		if !ok {
			return n, noNumber
		}
		if strings.Count(s, ",") == 1 && !strings.Contains(s, ".") {
			return n, unclear
		}
		return n, grouped
	case foreign.MatchString(s):
		return number{}, comma
	case strings.HasPrefix(s, "-") && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
		return number{}, negative
	case exponent.MatchString(s):
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return number{}, noNumber
		}
		n, ok := simple(strconv.FormatFloat(f, 'f', -1, 64))
		if !ok {
			return n, noNumber
		}
		return n, plain
	}
	return number{}, noNumber
}

// simple reads digits with at most one point among them.
func simple(s string) (n number, ok bool) {
	point := -1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.' && point < 0 && i > 0:
			point = i
		case c >= '0' && c <= '9':
			if n.digits > (math.MaxInt64-9)/10 {
				return n, false
			}
			n.digits = n.digits*10 + int64(c-'0')
		default:
			return n, false
		}
	}
	if point >= 0 {
		n.places = len(s) - point - 1
	}
	return n, len(s) > 0 && point != len(s)-1 && n.places <= most
}

// unit is what the number in a cell is multiplied with: 10^ten × 1024^kibi.
type unit struct{ ten, kibi int }

var (
	timeUnits = map[string]unit{
		"ns": {}, "nsec": {}, "nanoseconds": {},
		"us": {ten: 3}, "usec": {ten: 3}, "µs": {ten: 3}, "μs": {ten: 3}, "microseconds": {ten: 3},
		"ms": {ten: 6}, "msec": {ten: 6}, "milliseconds": {ten: 6}, "s": {ten: 9}, "sec": {ten: 9}, "seconds": {ten: 9},
	}
	// A MB of nsys is a million bytes.
	sizeUnits = map[string]unit{
		"b": {}, "byte": {}, "bytes": {}, "kb": {ten: 3}, "mb": {ten: 6}, "gb": {ten: 9}, "tb": {ten: 12},
		"kib": {kibi: 1}, "mib": {kibi: 2}, "gib": {kibi: 3},
	}
)

// float is the number in the base unit.
func (n number) float(u unit) float64 {
	return float64(n.digits) * math.Pow10(u.ten-n.places) * math.Pow(1024, float64(u.kibi))
}

// step is the value of one of its last digit in the base unit.
func (n number) step(u unit) float64 { return number{1, n.places}.float(u) }

// int is the number in the base unit, rounded; not ok where it does not fit.
func (n number) int(u unit) (int64, bool) {
	if u.kibi > 0 {
		f := math.Round(n.float(u))
		return int64(f), f < 1<<62
	}
	v, e := n.digits, u.ten-n.places
	for ; e > 0; e-- {
		if v > math.MaxInt64/10 {
			return 0, false
		}
		v *= 10
	}
	if e < 0 {
		ten := int64(1)
		for ; e < 0; e++ {
			ten *= 10 // places are most at the most
		}
		v = v/ten + (v%ten)/((ten+1)/2)
	}
	return v, true
}
