package cells

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Number is a decimal number as it was printed: Digits × 10^-Places, exactly. Times of today in microseconds have more
// digits than a float64.
type Number struct {
	Digits int64
	Places int
	up     bool // the digits that were cut off are half or more of the last one
}

// Form is how a number was written, which decides its possible meanings.
type Form int

// The forms. Whether a comma or a point stands between thousands or before decimals depends on the language of the
// machine: 482,333 and 117.344 may be either.
const (
	NoNumber        Form = iota
	Whole                // 7, 10776576
	Point                // 0.57, 1.5e3: a decimal point, and nothing else it could be
	Thousands            // 2,272,780 or 1,234.5: commas between thousands, and nothing else they could be
	ThreeAfterComma      // 482,333: thousands in English, a fraction in German
	ThreeAfterPoint      // 117.344: a fraction in English, thousands in German
	Foreign              // 0,57 or 1.234.567 or 10 776 576: not English
)

var (
	grouped = input.Pattern(`^[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?$`)
	// foreign matches numbers that are not English: a comma before other than three digits, several points, or digits
	// in groups of another kind: "10 776 576" with every kind of space, "1'234.5", "1,07,76,576". U+FFFD stands for a
	// space of a code page of Windows.
	foreign = input.Pattern(`^([0-9]{1,3}(\.[0-9]{3})+|[0-9]+),[0-9]+$|^[0-9]{1,3}(\.[0-9]{3}){2,}$|` +
		`^[0-9]{1,3}([ \x{00A0}\x{2009}\x{202F}\x{FFFD}'’][0-9]{3})+([.,][0-9]+)?$|^[0-9]+(,[0-9]{2,3}){2,}(\.[0-9]+)?$`)
)

// Parse reads a number, as English if it may be of two languages. A foreign number, other text and a number larger than
// an int64 have no value.
func Parse[Text string | []byte](s Text) (Number, Form) {
	if n, form := simple(s); form != NoNumber {
		return n, form
	}
	text := string(s)
	bare := text
	if text != "" && (text[0] == '-' || text[0] == '+') {
		bare = text[1:]
	}
	if bare == "" || bare[0] < '0' || bare[0] > '9' { // words need no pattern
		return Number{}, NoNumber
	}
	n, form := simple(strings.ReplaceAll(bare, ",", ""))
	english := strings.Contains(bare, ",") && grouped().MatchString(bare)
	switch {
	case !english && foreign().MatchString(bare):
		return Number{}, Foreign
	case !english:
		n, form = simple(bare)
		if form == NoNumber {
			n, form = scientific(bare)
		}
	case form == NoNumber: // more than an int64
	case strings.Count(bare, ",") == 1 && !strings.Contains(bare, "."):
		form = ThreeAfterComma
	default:
		form = Thousands
	}
	if bare != text && text[0] == '-' {
		n.Digits = -n.Digits
	}
	return n, form
}

// scientific reads 1.5e3.
func scientific(s string) (Number, Form) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return Number{}, NoNumber
	}
	n, form := simple(s[:i])
	e, err := strconv.Atoi(s[i+1:])
	if form == NoNumber || err != nil || e < -100 || e > 100 {
		return Number{}, NoNumber
	}
	for n.Places -= e; n.Places < 0 && n.Digits != 0; n.Places++ {
		if n.Digits > math.MaxInt64/10 {
			return Number{}, NoNumber
		}
		n.Digits *= 10
	}
	n.Places = max(n.Places, 0)
	return n, Point
}

// simple reads digits with at most one point among them. Digits behind the point that an int64 has no room for are cut
// off.
func simple[Text string | []byte](s Text) (n Number, form Form) {
	const full = (math.MaxInt64 - 9) / 10
	point, cut := -1, false
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && point < 0 && i > 0:
			point = i
		case c < '0' || c > '9':
			return Number{}, NoNumber
		case n.Digits > full && point < 0:
			return Number{}, NoNumber
		case cut:
		case n.Digits > full || n.Places == 18:
			n.up, cut = c >= '5', true
		default:
			n.Digits = n.Digits*10 + int64(c-'0')
			if point >= 0 {
				n.Places++
			}
		}
	}
	switch {
	case len(s) == 0 || point == len(s)-1:
		return Number{}, NoNumber
	case point < 0:
		return n, Whole
	case len(s)-point == 4 && point <= 3 && s[0] != '0':
		return n, ThreeAfterPoint
	}
	return n, Point
}

// Float is the number in the base unit; factor is the size of its unit.
func (n Number) Float(factor float64) float64 {
	return float64(n.Digits) / math.Pow10(n.Places) * factor
}

// Step is the value of one of the last digit in the base unit.
func (n Number) Step(factor float64) float64 { return factor / math.Pow10(n.Places) }

// Int is the number in the base unit, rounded half away from zero; not ok if it does not fit. The factor is a whole
// number.
func (n Number) Int(factor float64) (value int64, ok bool) {
	times, places := int64(factor), n.Places
	for ; places > 0 && times%10 == 0; places-- {
		times /= 10
	}
	high, low := bits.Mul64(uint64(max(n.Digits, -n.Digits)), uint64(times))
	if places == 0 && high == 0 && low < math.MaxInt64 {
		value = n.Digits * times
		if n.up && times == 1 {
			value += int64(cmp.Compare(n.Digits, 0))
		}
		return value, true
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	half := new(big.Int).Mul(ten, big.NewInt(int64(cmp.Compare(n.Digits, 0))))
	sum := new(big.Int).Mul(big.NewInt(n.Digits), big.NewInt(2*times))
	sum.Quo(sum.Add(sum, half), ten.Lsh(ten, 1))
	return sum.Int64(), sum.IsInt64()
}

// token matches a number as any language or program writes it, with sign, exponent and groups; or a time in minutes
// and seconds. A letter that stands for thousands ends it: 1.2k.
var token = input.Pattern(`[-+\x{2212}]?(?:0[xX][0-9a-fA-F]+|[0-9]+(?:[.,_'’\x{00A0}\x{2009}\x{202F}\x{FFFD}][0-9]+)*|\.[0-9]+)` +
	`(?:[eE][-+]?[0-9]+)?(?::[0-9]{2}\b(?:\.[0-9]+)?)*(?:[kKMGTP]\b)?`)

// thousands matches a list with a pair of cells that may be one number.
var thousands = input.Pattern(`(?:^|,)[-+]?[0-9]{1,3},[0-9]{3}(?:[.,eE]|$)`)

// Around is the whole number of a line that holds the part [from, to), which the group of a pattern found. Characters
// that the pattern writes out beside its group, and commas of a list that is no number, end it. behind is the rest of
// the line.
func Around(line string, from, to int, pattern *regexp.Regexp) (number, behind string) {
	begin, end := from, to
	for _, at := range token().FindAllStringIndex(line, -1) {
		if at[0] < to && at[1] > from {
			begin, end = min(begin, signed(line, at[0])), max(end, at[1])
		}
	}
	left, right := line[begin:from], line[to:end]
	literal := pattern.String()
	_, last := utf8.DecodeLastRuneInString(left)
	_, first := utf8.DecodeRuneInString(right)
	if left != "" && strings.Contains(literal, regexp.QuoteMeta(left[len(left)-last:])+"(") {
		left = ""
	}
	if right != "" && strings.Contains(literal, ")"+regexp.QuoteMeta(right[:first])) {
		right = ""
	}
	left = left[strings.LastIndexByte(left, ':')+1:]
	whole := left + line[from:to] + right
	if _, form := Parse(whole); form == NoNumber && !thousands().MatchString(whole) {
		left = left[strings.LastIndexByte(left, ',')+1:]
		right, _, _ = strings.Cut(right, ",")
	}
	return left + line[from:to] + right, line[to+len(right):]
}

// signed is the beginning of the number of a token that begins at a place: a sign behind a letter, digit or bracket is
// a hyphen.
func signed(line string, at int) int {
	sign, size := utf8.DecodeRuneInString(line[at:])
	before, _ := utf8.DecodeLastRuneInString(line[:at])
	hyphen := unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune(")]_%", before)
	if strings.ContainsRune("-+−", sign) && hyphen {
		return at + size
	}
	return at
}
