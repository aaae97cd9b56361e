package thresholds

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kballard/go-shellquote"

	"github.com/nsgate/nsgate/gate/measure"
)

// NoTimeout is the timeout of a workload that may run for ever.
const NoTimeout time.Duration = -1

// parseTimeout reads the longest time of a run, [NoTimeout] for "none".
func parseTimeout(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if s == "none" {
		return NoTimeout, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%q is not a positive duration; write it like "90s" or "2m30s", or "none"`, s)
	}
	return d, nil
}

// parseWarmup reads a warm-up rule and gives its only spelling: "auto", "capture", or a number of steps (launches,
// where the workload has no steps) to skip.
func parseWarmup(s string) (string, error) {
	switch s = strings.TrimSpace(s); s {
	case "auto", "capture":
		return s, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return "", fmt.Errorf(`warm-up %q is not a rule; write "auto", "capture" or the number of steps to skip`, s)
	}
	return strconv.FormatUint(n, 10), nil
}

// splitCommand splits a command line into words as a POSIX shell would, with quotes and backslashes but without
// expansion. What only a shell can do (pipes, redirection, variables, patterns) is refused: no shell runs it.
func splitCommand(s string) ([]string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f }) {
		return nil, errors.New("command holds a control character; take it out")
	}
	words, err := shellquote.Split(s)
	switch {
	case errors.Is(err, shellquote.UnterminatedEscapeError):
		return nil, errors.New("command ends in a backslash; take it out, or quote it")
	case err != nil:
		return nil, errors.New("command has no closing quote; end the quotation")
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("command is empty; write the program and its arguments")
	}
	for i, c := range s {
		// A backslash before a character changes the words unless a shell would take the character for its own.
		if !strings.ContainsRune("|&;<>()$`*?", c) || strings.HasPrefix(s[i:], measure.RunDir) {
			continue
		}
		if same, err := shellquote.Split(s[:i] + `\` + s[i:]); err == nil && slices.Equal(words, same) {
			return nil,
				fmt.Errorf(`command holds %q, which only a shell understands; quote it, or run a shell: ["sh", "-c", "…"]`, c)
		}
	}
	return words, nil
}

// JoinCommand writes words as one command line, which a POSIX shell splits into the same words, and a policy file too
// if no word has a control character or begins a command of a CI runner: they are quoted with $'…', as in bash and
// POSIX.1-2024.
func JoinCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		special := strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsPrint(r) })
		if special || obeyed().MatchString(w) || !utf8.ValidString(w) {
			quoted[i] = escaped(w)
		} else if w == "" || strings.Trim(w,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+") != "" {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// obeyed matches a word that a CI runner takes for a command where it stands in a log: GitHub, Azure, TeamCity.
var obeyed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^::|##[\pL\pN]*\[`) })

// escaped quotes a word with $'…', as printable characters that begin no command of a CI runner.
func escaped(word string) string {
	var b strings.Builder
	last := rune(0)
	for i, r := range word {
		_, size := utf8.DecodeRuneInString(word[i:])
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '#' || r == ':' && last == ':' || r == utf8.RuneError || !unicode.IsPrint(r):
			for _, c := range []byte(word[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteRune(r)
		}
		last = r
	}
	return "$'" + b.String() + "'"
}

// parseRanks reads numbers of ranks and spans of them: "0,7", "0-3,8".
func parseRanks(s string) ([]int, error) {
	const highest, most = 1 << 20, 1 << 16
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		from, to, span := strings.Cut(strings.TrimSpace(part), "-")
		low, err := strconv.Atoi(from)
		high := low
		if span && err == nil {
			high, err = strconv.Atoi(to)
		}
		if err != nil || low < 0 || high < low || high > highest {
			return nil, fmt.Errorf("%q names no ranks; write them like \"0,7\" or \"0-3\"", s)
		}
		if high-low >= most-len(out) {
			return nil, fmt.Errorf("%.40q names more than %d ranks", s, most)
		}
		for n := low; n <= high; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

var workloadName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })

// printRanks writes ranks as [parseRanks] reads them, each span as its ends.
func printRanks(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		last := i
		for last+1 < len(ranks) && ranks[last+1] == ranks[last]+1 {
			last++
		}
		part := strconv.Itoa(ranks[i])
		if last > i {
			part += "-" + strconv.Itoa(ranks[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ",")
}

// checkName refuses what cannot be the name of a workload, and so of a directory of its baseline.
func checkName(s string) error {
	if len(s) > 64 || !workloadName().MatchString(s) {
		return fmt.Errorf(`%q is not a name; use up to 64 letters, digits, ".", "_" and "-"`, s)
	}
	return nil
}

// MaxRuns is the largest number of runs that is accepted.
const MaxRuns = 1000

// Runs is the number of fresh processes a session: First, and up to Most while a comparison is undecided. Zero: unset.
type Runs struct{ First, Most int }

// FixedRuns is a fixed number of runs, the zero value for 0.
func FixedRuns(n int) Runs { return Runs{n, n} }

// ParseRuns reads "5" or "5..12".
func ParseRuns(s string) (Runs, error) {
	lo, hi, ranged := strings.Cut(s, "..")
	if !ranged {
		hi = lo
	}
	first, err := strconv.Atoi(lo)
	most, err2 := strconv.Atoi(hi)
	switch {
	case err != nil || err2 != nil:
		return Runs{}, fmt.Errorf("%q is neither a number of runs nor a range such as 5..12", s)
	case first < 1 || most > MaxRuns:
		return Runs{}, fmt.Errorf("%s is not between 1 and %d", s, MaxRuns)
	case most < first:
		return Runs{}, fmt.Errorf("%s ends before it begins", s)
	case ranged && first < 2:
		return Runs{}, errors.New("a range begins with at least 2 runs: one has no spread to judge by")
	}
	return Runs{first, most}, nil
}

// String is the form that [ParseRuns] reads, "" for zero.
func (r Runs) String() string {
	switch {
	case r.First == 0:
		return ""
	case r.First == r.Most:
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d..%d", r.First, r.Most)
}

// errorAt is an error at a line of the file, whose name [Parse] adds; line 0 is no place.
func errorAt(line int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if line == 0 {
		return err
	}
	return &measure.PlaceError{Line: line, Err: err}
}

// serverTable is the one table that a workload may have once.
const serverTable = "workload.server"

// tableNames are the tables that a file may have, any number of each but of the server.
var tableNames = []string{"ratio", "rule", "workload", "workload.output", "workload.results", serverTable}

// heading is how a file begins a table: "[[rule]]", or "[workload.server]", of which a workload has one.
func heading(table string) string {
	if table == serverTable {
		return "[" + table + "]"
	}
	return "[[" + table + "]]"
}

func unknown(line int, name string, known []string, what string) error {
	for _, table := range tableNames {
		if name == table || what == "key" && "workload."+name == table {
			return errorAt(line, "%s must be written as a table %s", name, heading(table))
		}
	}
	near, longest := suggestion(name, known), 80
	if !slices.Contains(known, "command") && slices.ContainsFunc(workloadKeys,
		func(k key[Workload]) bool { return k.name == name }) {
		near = "; it is a key of [[workload]]"
	}
	if r := []rune(name); len(r) > longest {
		name = string(r[:longest]) + "…"
	}
	return errorAt(line, "unknown %s %q%s", what, name, near)
}

// suggestion names the nearest of the known words; where none is near all of them, or the three nearest of many.
func suggestion(name string, known []string) string {
	const many = 30
	if near := measure.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) > many {
		return "; the nearest are " + strings.Join(measure.Nearby(name, known, 3), ", ") +
			" (nsgate help policy lists all)"
	}
	return "; known are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}
