package measure

import (
	"slices"
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
