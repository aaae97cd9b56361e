package story

import (
	"crypto/sha256"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// NB binds a number to its unit: text is never broken there, and terminals and files get it as a plain space.
const NB = "\u00a0"

// Bounds of texts that may hold names out of a recording.
const (
	MaxName    = 120  // columns of a name
	maxPattern = 400  // columns of the sentence of a pattern
	MaxProse   = 500  // runes of a sentence in Markdown
	MaxCommand = 4000 // runes of a command
)

// Bind keeps a text on one line, unbind takes that back.
func Bind(s string) string   { return strings.ReplaceAll(s, " ", NB) }
func unbind(s string) string { return strings.ReplaceAll(s, NB, " ") }

// beforeUnit matches a number, a plain space and a unit, as reasons and warnings hold them.
var beforeUnit = input.Pattern(`([0-9]) (%|[nµm]?s\b|[kMGT]?B\b|MHz\b)`)

// Bound binds each number of a sentence to its unit.
func Bound(s string) string { return beforeUnit().ReplaceAllString(s, "$1"+NB+"$2") }

// Loose is a text as it is, or bound numbers of more columns with the bonds to their units alone.
func Loose(s string, columns int) string {
	return measure.Either(Columns(s) > columns && strings.ContainsAny(s, "→%"), Bound(Flat(s)), s)
}

// Flat is a text with single plain spaces.
func Flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// Clean makes hostile text fit for one line of a terminal or log: white space of every kind becomes a space, control
// and format characters (escapes, right-to-left marks, zero-width ones) and invalid UTF-8 become U+FFFD.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

// Trimmed is [Clean] without space around it; nonempty trims several texts and drops empty ones.
func Trimmed(s string) string { return strings.TrimSpace(Clean(s)) }

func Nonempty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		t = Trimmed(t)
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}

// Columns is the width of a text on a terminal: two columns for a Chinese character, none for a combining accent.
func Columns(s string) int { return displaywidth.String(s) }

// Split cuts s after as many whole characters as fit into n columns, at least one.
func Split(s string, n int) (head, rest string) {
	end, used := 0, 0
	for g := displaywidth.StringGraphemes(s); g.Next(); end += len(g.Value()) {
		used += g.Width()
		if used > n && end > 0 {
			break
		}
	}
	return s[:end], s[end:]
}

// Elide shortens s to at most n columns by cutting out its middle: names differ most at their ends. Of "old → new" it
// shortens both names, or leaves the old one out where they are much alike.
func Elide(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > 8*n+8 { // accents upon accents take no columns
		s = string(r[:4*n+4]) + string(r[len(r)-4*n-4:])
	}
	if Columns(s) <= n {
		return s
	}
	if n <= 1 {
		return "…"
	}
	if gone, here, replaced := strings.Cut(s, " → "); replaced && 2*len(Prefix(gone, here)) > len(here) {
		return Elide(here, n)
	} else if replaced && n > 12 {
		left := min(Columns(gone), max((n-3)/2, n-3-Columns(here)))
		return Elide(gone, left) + " → " + Elide(here, n-3-left)
	}
	front, rest := "", s
	if head := (n - 1) * 3 / 5; head > 0 {
		front, rest = Split(s, head)
	}
	over, cut := Columns(rest)-(n-1-Columns(front)), 0 // a wide character may take more than its part
	for g := displaywidth.StringGraphemes(rest); over > 0 && g.Next(); {
		cut, over = cut+len(g.Value()), over-g.Width()
	}
	return front + "…" + rest[cut:]
}

// Prefix is the common start of two texts.
func Prefix(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// Cut shortens s to at most n bytes, at the end of a character.
func Cut(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	n -= len(mark)
	if n < 0 {
		return ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// Word keeps the letters, digits and underscores of an identifier, up to 60 characters; the end of a longer one is its
// hash.
func Word(s string) string {
	word := notWord().ReplaceAllString(s, "_")
	if len(word) > 60 {
		sum := sha256.Sum256([]byte(s))
		word = fmt.Sprintf("%s_%x", word[:51], sum[:4])
	}
	return word
}

var notWord = input.Pattern(`[^A-Za-z0-9_]`)

// relative makes a path one that begins at the repository's root and stays in it.
func relative(file string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(Clean(file), `\`, "/")), "/")
}

// Unspaced is a text without spaces at its end, Blank reports a text of nothing but space.
func Unspaced(s string) string { return strings.TrimRight(s, " "+NB) }

// Unended is a clause without the mark behind which another follows.
func Unended(s string) string { return strings.TrimRight(s, ":;,") }

func Blank(s string) bool { return strings.TrimSpace(s) == "" }

// upTo is the start of a text before a mark.
func upTo(s, mark string) string {
	start, _, _ := strings.Cut(s, mark)
	return start
}

// isWithin reports whether a path of ranges goes through a range.
func isWithin(path, name string) bool { return strings.Contains("/"+path+"/", "/"+name+"/") }

// fileLine is the place "nsgate.toml:12" of a rule.
func fileLine(place string) (file string, line int, ok bool) {
	file, number, ok := strings.Cut(place, ":")
	line, err := strconv.Atoi(number)
	return file, line, ok && err == nil && line > 0
}

// instance is what the label of a kernel says of its template arguments and geometry: "FillFunctor<float>".
func instance(label, kernel string) string { return strings.TrimPrefix(label, kernel+" · ") }

// withoutVendor shortens the GPU that begins a text.
func withoutVendor(s string) string { return strings.TrimPrefix(s, model.Vendor+NB) }

// withoutStep is a reason without [reason.BesideHead], which stands below it.
func withoutStep(why string) string { return strings.TrimSuffix(why, ": "+reason.BesideHead) }

// stepBy adds the command to a step that is [reason.BesideHead], in place of what follows in brackets.
func stepBy(step, command string) string {
	before, after, ok := strings.Cut(step, reason.BesideHead)
	own := !ok || after != "" && !strings.HasPrefix(after, " (")
	return measure.Either(own, step, before+reason.BesideHead+": "+command)
}

// clauses splits a sentence into what fits into a headline, with the mark that ends it, and the rest.
func clauses(s string, room int) (first, rest string) {
	if Columns(s) <= room {
		return s, ""
	}
	for _, mark := range []string{":", ";", ",", "%)"} {
		first, rest, ok := strings.Cut(s, mark+" ")
		first += mark
		if ok && Columns(first) <= room && Columns(first) > 20 &&
			strings.Count(first, "(") == strings.Count(first, ")") {
			return first, rest
		}
	}
	first, _ = Split(s, room)
	if at := strings.LastIndex(first, " "); at > 20 {
		first = first[:at]
	}
	return first, strings.TrimSpace(s[len(first):])
}

// documentation matches the links of a cause.
var documentation = input.Pattern(`^` + regexp.QuoteMeta(result.Documentation) + `[A-Za-z0-9/_.#-]+$`)

func isDocumentation(link string) bool { return documentation().MatchString(link) }

// Pad fills a text with bound spaces up to n columns.
func Pad(s string, n int) string { return s + strings.Repeat(NB, max(n-Columns(s), 0)) }

// Brief is the sort key of a number, "" where it is unknown.
func Brief(n result.Number) string {
	return n.Given(strconv.FormatFloat(float64(n), 'g', 4, 64))
}

// CommitID is a commit in at most n columns, of a hash its first digits, which git finds.
func CommitID(commit string, n int) string {
	if s := strings.Trim(commit, "0123456789abcdef"); s == "" && len(commit) > n {
		return commit[:n]
	}
	return Elide(Clean(commit), n)
}
