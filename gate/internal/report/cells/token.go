package cells

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/input"
)

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
	if left != "" && strings.Contains(literal, regexp.QuoteMeta(lastOf(left))+"(") {
		left = ""
	}
	if right != "" && strings.Contains(literal, ")"+regexp.QuoteMeta(firstOf(right))) {
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

func firstOf(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

func lastOf(s string) string {
	_, size := utf8.DecodeLastRuneInString(s)
	return s[len(s)-size:]
}
