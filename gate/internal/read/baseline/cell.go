package baseline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unique"
)

// cells parses the cells of one row. The first error stays, with its place; later calls give zero values.
type cells struct {
	file string
	line int
	err  error
}

func (c *cells) fail(column, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s:%d: %s: %w", c.file, c.line, column, fmt.Errorf(format, args...))
	}
}

// parse is one cell through any parser.
func parse[T any](c *cells, column, cell string, parser func(string) (T, error)) (v T) {
	if c.err != nil {
		return v
	}
	v, err := parser(cell)
	if err != nil {
		c.fail(column, "%w", err)
	}
	return v
}

// list is a cell with n values.
func list[T any](c *cells, column, cell string, n int, parser func(string) (T, error)) []T {
	return parse(c, column, cell, func(cell string) ([]T, error) { return expand(cell, n, parser) })
}

// expand undoes [join]. It gives exactly n values or an error, whatever the repetitions claim.
func expand[T any](cell string, n int, parser func(string) (T, error)) ([]T, error) {
	if cell == "" {
		return nil, errors.New("the cell is empty; write one value a run, - for a run without")
	}
	values := make([]T, 0, n)
	for word := range strings.SplitSeq(cell, " ") {
		of, times, repeated := strings.Cut(word, "*")
		k := 1
		if repeated {
			var err error
			if k, err = parseCount(times); err != nil || k == 0 {
				return nil, fmt.Errorf("%q does not repeat a value; write it like 32*5", word)
			}
		}
		if k > n-len(values) { // asked before they are made: 1*999999999 must not fill the memory
			return nil, fmt.Errorf("more values than the session has runs (%d)", n)
		}
		v, err := parser(of)
		if err != nil {
			return nil, err
		}
		for range k {
			values = append(values, v)
		}
	}
	if len(values) < n {
		return nil, fmt.Errorf("%d values for %d runs", len(values), n)
	}
	return values, nil
}

// join writes one word for each of the values, equal neighbours once with their number.
func join[T any](values []T, word func(T) string) string {
	var b strings.Builder
	for i := 0; i < len(values); {
		w, k := word(values[i]), 1
		for i+k < len(values) && word(values[i+k]) == w {
			k++
		}
		i += k
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		if k > 1 {
			b.WriteString("*" + strconv.Itoa(k))
		}
	}
	return b.String()
}

// parseCount reads a whole number as strconv.Itoa writes it.
func parseCount(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 0)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is not a whole number of 0 or more", s)
	}
	return int(n), nil
}

// parseNumber reads a decimal number that a measurement can have: finite, not negative.
func parseNumber(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	// no Inf or 0x1p4
	if err != nil || s[0] == '+' || f-f != 0 || math.Signbit(f) || len(s) > 1 && s[1]|0x20 == 'x' {
		return 0, fmt.Errorf("%q is not a number of 0 or more", s)
	}
	return f, nil
}

func parseTick(s string) (float64, error) {
	// maxTick is the coarsest timer of a GPU to believe, in ns: changes below the tick are no findings.
	const maxTick = 2000
	f, err := parseNumber(s)
	if err == nil && f > maxTick {
		err = fmt.Errorf("%q is no resolution of a GPU's timer: at most %d ns", s, maxTick)
	}
	return f, err
}

// formatNumber is the shortest decimal form that reads back as the same float64.
func formatNumber(f float64) string {
	if f == 0 {
		return "0" // the negative zero too
	}
	if f < 1e-6 || f >= 1e21 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

const missing = "-"

// orMissing is a parser for the cell of one run, which may have no value.
func orMissing[T any](absent T, parser func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		if s == missing {
			return absent, nil
		}
		return parser(s)
	}
}

var parseSample = orMissing(math.NaN(), parseNumber)

func formatSample(f float64) string {
	if math.IsNaN(f) {
		return missing
	}
	return formatNumber(f)
}

// parseSteady checks whether a run was steady: yes, no, or "-" for an unprofiled one.
func parseSteady(s string) (string, error) {
	if s != "yes" && s != "no" && s != missing {
		return "", fmt.Errorf("%q is neither yes nor no", s)
	}
	return s, nil
}

func parseStart(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.IsZero() {
		return time.Time{}, fmt.Errorf("%q is not a time; write it like 2026-11-21T01:51:00Z", s)
	}
	return t.UTC(), nil
}

func formatStart(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// parseSeconds and formatSeconds are of durations in whole seconds.
func parseSeconds(s string) (time.Duration, error) {
	n, err := parseCount(s)
	return time.Duration(n) * time.Second, err
}

func formatSeconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// escape makes a cell of any text, on one line and visible to the last character; see the package comment.
func escape(s string) string {
	quoted := strconv.Quote(s)
	text := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if s != "" && strings.IndexByte("=+-@'", s[0]) >= 0 {
		text = "'" + text
	}
	return text
}

// unescape undoes [escape]. Sessions have most texts in common, and each is held once.
func unescape(cell string) (string, error) {
	s := strings.TrimPrefix(cell, "'")
	if s == "" || strings.IndexByte(s, '\\') < 0 {
		return unique.Make(s).Value(), nil
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil {
		return "", fmt.Errorf(`%q holds a backslash that starts no escape; write \\ for a backslash`, cell)
	}
	return text, nil
}
