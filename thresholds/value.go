package thresholds

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
)

var number = regexp.MustCompile(`^([0-9]+(\.[0-9]*)?|\.[0-9]+)$`)

// ParsePercent reads "1%" or "0.5 %" as a fraction. A bare number is refused, since "1" could be meant as 1 % and as
// 100 %; so are negative values and those from 1000 % up.
func ParsePercent(s string) (float64, error) {
	digits, ok := strings.CutSuffix(strings.TrimSpace(s), "%")
	digits = strings.TrimSpace(digits)
	if !number.MatchString(digits) {
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

// Amount is an absolute number in a base unit: "ns", "B", "B/s", "Hz", "%", or "" for counts and what has a unit of its own.
type Amount struct {
	Value float64
	Unit  string
}

// Units that an amount can be written in.
var units = map[string]Amount{
	"":   {1, ""},
	"ns": {1, "ns"}, "us": {1e3, "ns"}, "µs": {1e3, "ns"}, "μs": {1e3, "ns"}, "ms": {1e6, "ns"}, "s": {1e9, "ns"},
	"B": {1, "B"}, "kB": {1e3, "B"}, "KB": {1e3, "B"}, "MB": {1e6, "B"}, "GB": {1e9, "B"},
	"KiB": {1 << 10, "B"}, "MiB": {1 << 20, "B"}, "GiB": {1 << 30, "B"},
	"B/s": {1, "B/s"}, "MB/s": {1e6, "B/s"}, "GB/s": {1e9, "B/s"}, "TB/s": {1e12, "B/s"},
	"Hz": {1, "Hz"}, "MHz": {1e6, "Hz"}, "GHz": {1e9, "Hz"},
	"%": {1, "%"},
}

// ParseAmount reads "1us", "500 ns", "64 KiB", "70%", "2.5 TB/s" or, for counts, "3" into the base unit. The per cent of an
// amount are those of a metric that is measured in per cent.
func ParseAmount(s string) (Amount, error) {
	text := strings.TrimSpace(s)
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	digits, unit := text[:end], strings.TrimSpace(text[end:])
	u, known := units[unit]
	if !number.MatchString(digits) || !known {
		return Amount{}, fmt.Errorf(`%q is not an amount; write a time ("1us", "500ns"), a size ("64KiB"), a rate ("2TB/s"), a part of the peak ("70%%") or a count ("3")`, s)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if f *= u.Value; err != nil || math.IsInf(f, 0) {
		return Amount{}, fmt.Errorf("%q is too large", s)
	}
	return Amount{f, u.Unit}, nil
}

// fits reports whether the amount is of the kind that the metric counts.
func (a Amount) fits(m measure.Metric) bool {
	switch base, _, _ := strings.Cut(m.Unit, " "); base {
	case "ns", "B", "B/s", "Hz", "%":
		return a.Unit == base
	}
	return a.Unit == ""
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

// ParseTimeout reads a positive duration such as "90s" or "2m30s".
func ParseTimeout(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%q is not a positive duration; write it like "90s" or "2m30s"`, s)
	}
	return d, nil
}

// SplitCommand splits a command line into words as a POSIX shell would, with quotes and backslashes but without
// expansion. What only a shell can do (pipes, redirection, variables, patterns) is refused: the profiler starts the
// program itself.
func SplitCommand(s string) ([]string, error) {
	const shell = `; quote it, or run a shell: ["sh", "-c", "…"]`
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f }); i >= 0 {
		return nil, fmt.Errorf("command holds a control character; take it out")
	}
	var words []string
	var word strings.Builder
	open, quote := false, byte(0) // open: a word has begun, though it may still be empty
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == '\'' && c != '\'':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && i+1 == len(s):
			return nil, fmt.Errorf("command ends in a backslash; take it out, or quote it")
		case c == '\\' && quote == 0:
			i++
			open = true
			word.WriteByte(s[i])
		case c == '\\' && strings.IndexByte("\"\\$`", s[i+1]) >= 0:
			i++
			word.WriteByte(s[i])
		case quote == '"' && (c == '$' || c == '`'):
			return nil, fmt.Errorf("command holds %q, which is not expanded here%s", c, shell)
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		case strings.IndexByte("|&;<>()$`*?", c) >= 0:
			return nil, fmt.Errorf("command holds %q, which only a shell understands%s", c, shell)
		default:
			open = true
			word.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("command has no closing %c; end the quotation", quote)
	}
	if open {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, fmt.Errorf("command is empty; write the program and its arguments")
	}
	return words, nil
}
