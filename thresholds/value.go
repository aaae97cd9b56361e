package thresholds

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kballard/go-shellquote"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nsgate/nsgate/gate/measure"
)

// A field is the part of a policy that one key fills.
type field struct {
	kind  string // of value, for documentation
	take  func(entry) error
	print func() string // what it holds, "" for nothing
}

// parsed is a field for text that parse turns into *to.
func parsed[T any](kind string, to *T, parse func(string) (T, error), print func(T) string) field {
	return field{kind, func(e entry) error {
		switch {
		case e.kind != unstable.String:
			return fmt.Errorf("a string in quotes is expected, not %s", kindOf(e.kind))
		case strings.TrimSpace(e.text) == "":
			return errors.New("must not be empty; leave the key out instead")
		case strings.ContainsFunc(e.text, unicode.IsControl):
			return errors.New("must not hold control characters")
		}
		v, err := parse(e.text)
		if err == nil {
			*to = v
		}
		return err
	}, func() string { return print(*to) }}
}

// optional is a parsed field that stays nil where the file does not have it.
func optional[T any](kind string, to **T, parse func(string) (T, error), print func(T) string) field {
	return parsed(kind, to, func(s string) (*T, error) {
		v, err := parse(s)
		return &v, err
	}, func(v *T) string {
		if v == nil {
			return ""
		}
		return print(*v)
	})
}

func anyText(s string) (string, error) { return s, nil }

func verbatim[T ~string](v T) string { return string(v) }

// percentage is a field for a fraction, which check may refuse.
func percentage(to *float64, check func(text string, v float64) error) field {
	return parsed("percentage", to, func(s string) (float64, error) {
		v, err := measure.ParsePercent(s)
		if err == nil && check != nil {
			err = check(s, v)
		}
		return v, err
	}, measure.Percent)
}

// limit refuses limits of times that cannot be meant: without room for noise, and beyond twice the time.
func limit(s string, v float64) error {
	switch {
	case v == 0:
		return fmt.Errorf(`%q leaves no room for noise, so that nothing passes; write a small limit such as "0.5%%"`, s)
	case v > 1:
		return fmt.Errorf("%q lets a time more than double; write a limit of at most 100%%", s)
	}
	return nil
}

// pattern is a field for the pattern of an output.
func pattern(to *string) field {
	return parsed("regular expression", to, func(s string) (string, error) {
		_, err := measure.CompileOutput(s)
		return s, err
	}, verbatim)
}

// better is a field for the direction in which an output gets better.
func better(to *measure.Direction) field {
	words := map[string]measure.Direction{"higher": measure.Higher, "lower": measure.Lower}
	return parsed(`"higher" or "lower"`, to, func(s string) (measure.Direction, error) {
		d, ok := words[s]
		if !ok {
			return 0, fmt.Errorf(`%q is unknown; write "higher" or "lower"`, s)
		}
		return d, nil
	}, func(d measure.Direction) string {
		for word, of := range words {
			if of == d {
				return word
			}
		}
		return ""
	})
}

func amount(to **measure.Amount) field {
	return optional("amount", to, measure.ParseAmount, measure.Amount.String)
}

// NoTimeout is the timeout of a workload that may run for ever.
const NoTimeout time.Duration = -1

// noTimeout is the same as people write it.
const noTimeout = "none"

// ParseTimeout reads the longest time of a run, [NoTimeout] for "none".
func ParseTimeout(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if s == noTimeout {
		return NoTimeout, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%q is not a positive duration; write it like "90s" or "2m30s", or "none"`, s)
	}
	return d, nil
}

// FormatTimeout prints what [ParseTimeout] reads.
func FormatTimeout(d time.Duration) string {
	if d == NoTimeout {
		return noTimeout
	}
	return d.String()
}

func timeout(to *time.Duration) field {
	return parsed("duration", to, ParseTimeout, func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return FormatTimeout(d)
	})
}

// age is a field for a number of days.
func age(to *time.Duration) field {
	const day = 24 * time.Hour
	return parsed("days", to, func(s string) (time.Duration, error) {
		days, found := strings.CutSuffix(strings.TrimSpace(s), "d")
		n, err := strconv.Atoi(days)
		if err != nil || !found || n < 1 || n > 36500 {
			return 0, fmt.Errorf(`%q is no number of days; write it like "90d"`, s)
		}
		return time.Duration(n) * day, nil
	}, func(d time.Duration) string { return strconv.Itoa(int(d/day)) + "d" })
}

// warmup is a field for a warm-up rule; a number of steps may stand without quotes.
func warmup(to *string) field {
	f := parsed("number of steps or text", to, ParseWarmup, verbatim)
	text := f.take
	f.take = func(e entry) error {
		if e.kind == unstable.Integer {
			e.kind = unstable.String
		}
		return text(e)
	}
	return f
}

// whole is a field for a whole number from low to high.
func whole(to *int, low, high int) field {
	return field{"whole number", func(e entry) (err error) {
		n := 0
		if e.kind == unstable.Integer {
			n, err = strconv.Atoi(e.text)
		}
		if err != nil || n < low || n > high {
			return fmt.Errorf("a whole number from %d to %d is expected, without quotes", low, high)
		}
		*to = n
		return nil
	}, func() string {
		if *to == 0 {
			return ""
		}
		return strconv.Itoa(*to)
	}}
}

// command is a field for a command line, as one string or as a list of its words.
func command(to *[]string) field {
	return field{"text or list of words", func(e entry) (err error) {
		switch e.kind {
		case unstable.String:
			*to, err = SplitCommand(e.text)
		case unstable.Array:
			if len(e.items) == 0 || e.items[0] == "" {
				return errors.New("command is empty; write the program and its arguments")
			}
			if slices.ContainsFunc(e.items, func(s string) bool { return strings.ContainsRune(s, 0) }) {
				return errors.New("command holds a control character; take it out")
			}
			*to = e.items
		default:
			err = fmt.Errorf("a string or a list of strings is expected, not %s", kindOf(e.kind))
		}
		return err
	}, func() string { return JoinCommand(*to) }}
}

// patterns is a field that accepts the pattern of a file, or a list of them.
func patterns(to *[]string) field {
	return field{"pattern or list of patterns", func(e entry) error {
		switch e.kind {
		case unstable.String:
			*to = []string{e.text}
		case unstable.Array:
			*to = e.items
		default:
			return fmt.Errorf("a string or a list of strings is expected, not %s", kindOf(e.kind))
		}
		for _, pattern := range *to {
			if _, err := filepath.Match(pattern, ""); err != nil || pattern == "" || strings.ContainsRune(pattern, 0) {
				return fmt.Errorf("%q is no pattern of files", pattern)
			}
		}
		return nil
	}, func() string { return strings.Join(*to, ", ") }}
}

// word is a field that accepts only the given words.
func word[T ~string](to *T, words ...T) field {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(string(w))
	}
	last := len(quoted) - 1
	list := strings.Join(quoted[:last], ", ") + " or " + quoted[last]
	return parsed(list, to, func(s string) (T, error) {
		if !slices.Contains(words, T(s)) {
			return "", fmt.Errorf("%q is unknown; write %s", s, list)
		}
		return T(s), nil
	}, verbatim)
}

var workloadName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func parseName(s string) (string, error) {
	if !workloadName.MatchString(s) {
		return "", fmt.Errorf(`%q is not a name; use up to 64 letters, digits, ".", "_" and "-"`, s)
	}
	return s, nil
}

// parseOutputName reads a name that stands in tables and on a line of its own.
func parseOutputName(s string) (string, error) {
	const most = 64
	if s != strings.TrimSpace(s) || utf8.RuneCountInString(s) > most {
		return "", fmt.Errorf("%q is not a name; use up to %d characters, without space at the ends", s, most)
	}
	return s, nil
}

// parseGlob refuses the only patterns that cannot be meant: those with space at an end, which no name has.
func parseGlob(s string) (Glob, error) {
	if s != strings.TrimSpace(s) {
		return "", fmt.Errorf("pattern %q begins or ends with space and matches no name; remove it", s)
	}
	return Glob(s), nil
}

// parseMetric reads a pattern that some metric matches.
func parseMetric(s string) (Glob, error) {
	names := make([]string, len(measure.Metrics))
	for i, m := range measure.Metrics {
		names[i] = m.Name
	}
	if !slices.ContainsFunc(names, Glob(s).Match) {
		return "", fmt.Errorf("no metric matches %q%s", s, suggestion(s, names))
	}
	return Glob(s), nil
}

// ParseWarmup reads a warm-up rule and gives its only spelling: "auto", "capture", or a number of steps (launches,
// where the workload has no steps) to skip.
func ParseWarmup(s string) (string, error) {
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

// SplitCommand splits a command line into words as a POSIX shell would, with quotes and backslashes but without
// expansion. What only a shell can do (pipes, redirection, variables, patterns) is refused: the profiler starts the
// program itself.
func SplitCommand(s string) ([]string, error) {
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
		if !strings.ContainsRune("|&;<>()$`*?", c) {
			continue
		}
		if same, err := shellquote.Split(s[:i] + `\` + s[i:]); err == nil && slices.Equal(words, same) {
			return nil, fmt.Errorf(`command holds %q, which only a shell understands; quote it, or run a shell: ["sh", "-c", "…"]`, c)
		}
	}
	return words, nil
}

// JoinCommand writes words as one command line, which [SplitCommand] and a POSIX shell split into the same words.
func JoinCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+") != "" {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// ParseRanks reads numbers of ranks and spans of them: "0,7", "0-3,8". "" is nil: all.
func ParseRanks(s string) ([]int, error) {
	const highest, most = 1 << 20, 1 << 16
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		if s == "" {
			return nil, nil
		}
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

// ranks checks what [ParseRanks] reads.
func ranks(s string) (string, error) {
	_, err := ParseRanks(s)
	return s, err
}

// CheckName refuses what cannot be the name of a workload, and so of a directory of its baseline.
func CheckName(s string) error {
	_, err := parseName(s)
	return err
}
