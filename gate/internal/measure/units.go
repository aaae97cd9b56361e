package measure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// sized is a spelling of a unit with its size in base units.
type sized struct {
	name, base string
	factor     float64
}

// sizes are the prefixes of a noun, each with the size of the prefixed noun in base units.
type sizes map[string]float64

var (
	single    = sizes{"": 1}
	thousands = sizes{"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
	binary    = sizes{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50}
	seconds   = sizes{"": 1e9, "m": 1e6, "milli": 1e6, "µ": 1e3, "μ": 1e3, "u": 1e3, "micro": 1e3, "n": 1, "nano": 1}
)

// nouns are the base units of metrics with spellings, prefixes, and printed units, smallest first.
var nouns = []struct {
	base, names string
	prefixes    []sizes
	printed     string
}{
	{"ns", "s sec secs second seconds", []sizes{seconds}, "ns µs ms s"},
	{"B", "B byte bytes Byte Bytes", []sizes{thousands, binary}, "B kB MB GB TB"},
	{"B/s", "B/s B/sec B/second Bps byte/s bytes/s byte/sec bytes/sec byte/second bytes/second",
		[]sizes{thousands, binary}, "B/s kB/s MB/s GB/s TB/s"},
	{"FLOP/s", "FLOP/s FLOPS FLOPS/s FLOP/sec", []sizes{thousands}, "FLOP/s MFLOP/s GFLOP/s TFLOP/s"},
	{"Hz", "Hz hz hertz", []sizes{thousands}, "Hz kHz MHz GHz"},
	{"%", "%", []sizes{single}, ""},
}

// things are counted per second, and more of them are a gain; the names in one text are of the same thing.
var things = []string{"1", "op ops", "item items", "iter iters it iterations", "token tokens tok toks t",
	"req reqs request requests", "image images img imgs", "sample samples", "step steps", "row rows", "frame frames",
	"query queries", "elem elems element elements", "msg msgs message messages", "call calls"}

// abbreviations are rates in capital or small letters.
var abbreviations = map[string]string{"fps": "frames/s", "qps": "queries/s", "rps": "requests/s"}

// spelled and lowered are the units by their spellings and by these in lower case, printed the sizes of a base unit.
var spelled, lowered, printed = func() (exact, lower map[string]sized, sizes map[string][]sized) {
	exact, lower, sizes = map[string]sized{}, map[string]sized{}, map[string][]sized{}
	for _, n := range nouns {
		for name := range strings.FieldsSeq(n.names) {
			for _, prefixes := range n.prefixes {
				for prefix, size := range prefixes {
					u := sized{prefix + name, n.base, size}
					exact[u.name], lower[strings.ToLower(u.name)] = u, u
				}
			}
		}
		for name := range strings.FieldsSeq(n.printed) {
			sizes[n.base] = append(sizes[n.base], exact[name])
		}
	}
	return exact, lower, sizes
}()

// unitOf finds a unit by any of its spellings, in any case where no other unit differs in nothing else: Gb are bits.
func unitOf(spelling string) (sized, bool) {
	if u, known := spelled[spelling]; known {
		return u, true
	}
	if u, known := rateOf(spelling); known {
		return u, true
	}
	if each, of, _ := strings.Cut(spelling, "/"); thing(of) > 0 && spelled[each].base == "ns" { // ms/step
		return spelled[each], true
	}
	text := strings.ToLower(spelling)
	bits := text != spelling && strings.Contains(spelling, "b") && !strings.Contains(spelling, "byte")
	u, known := lowered[text]
	return u, known && !bits
}

// rateOf finds the unit of things per second, with a prefix or without: Mrows/s, tok/s, 1/s.
func rateOf(spelling string) (sized, bool) {
	if rate, known := abbreviations[strings.ToLower(spelling)]; known {
		return rateOf(rate)
	}
	for _, per := range []string{"/s", "/sec", "/second", " per second"} {
		name, ok := strings.CutSuffix(spelling, per)
		name = strings.TrimSpace(name)
		if !ok {
			continue
		}
		for prefix, size := range thousands {
			if noun, ok := strings.CutPrefix(name, prefix); ok && thing(noun) >= 0 &&
				(prefix == "" || thing(name) < 0) {
				if noun == "" {
					noun = "1"
				}
				return sized{spelling, noun + "/s", size}, noun != "1" || prefix == ""
			}
		}
	}
	return sized{}, false
}

// thing is the place of a noun in things, -1 for another.
func thing(noun string) int {
	return slices.IndexFunc(things, func(names string) bool {
		return noun == "" && names == "1" || slices.Contains(strings.Fields(names), noun)
	})
}

// BaseUnit gives the base unit of a unit, as a profiler or a person writes it, and its size in that ("usecond" is 1000
// ns).
func BaseUnit(spelling string) (factor float64, base string, ok bool) {
	u, ok := unitOf(strings.TrimSpace(spelling))
	return u.factor, u.base, ok
}

// IsRate reports whether a base unit is of things per second.
func IsRate(base string) bool {
	noun, per := strings.CutSuffix(base, "/s")
	return per && thing(noun) >= 0
}

// SameUnit reports whether values in two units compare: spellings of one, or no unit on either side. The rates of
// sessions that older versions wrote are all per second without a noun, which were those of rows and elements in any
// size.
func SameUnit(a, b string) bool {
	if !IsRate(a) || !IsRate(b) {
		size, base, known := BaseUnit(a)
		other, of, _ := BaseUnit(b)
		return a == b || known && size == other && base == of
	}
	x, y := thing(strings.TrimSuffix(a, "/s")), thing(strings.TrimSuffix(b, "/s"))
	sized := []int{thing("rows"), thing("elem")}
	return x == y || x*y == 0 && !slices.Contains(sized, x+y)
}

// unitText matches a unit that a file may give its values.
var unitText = input.Pattern(`^[\pL%°µ1][\pL\pN%°µ/²³^.* _-]{0,31}$`)

// In is the metric in a unit of its own: that of a rate of things, or of a value whose file names its unit. ok is false
// for another unit.
func (m Metric) In(base string) (in Metric, ok bool) {
	switch {
	case base == m.Unit:
	case m.Raw() != "": // older versions named the same base unit in another way
	case m.Name == ItemRate.Name && IsRate(base),
		slices.Contains([]string{Value.Name, MoreValue.Name, LessValue.Name}, m.Name) && unitText().MatchString(base):
		m.Unit = base
	default:
		return m, false
	}
	return m, true
}

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
