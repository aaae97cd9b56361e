package thresholds

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nsgate/nsgate/gate/measure"
)

type entry struct {
	key   string
	line  int
	where string // for reports
	kind  unstable.Kind
	text  string   // of strings and numbers
	items []string // of an array of strings
}

// A field is the part of a policy that one key fills.
type field struct {
	kind  string // of value, for documentation
	take  func(entry) error
	print func() string // its text, "" for none
}

// parsed is a field for text that parse turns into *to.
func parsed[T any](kind string, to *T, parse func(string) (T, error), print func(T) string) field {
	return field{kind, func(e entry) error {
		switch {
		case e.kind == unstable.Integer && units[kind] != "":
			return fmt.Errorf(`a string in quotes is expected, not a number: write "%s%s"`, e.text, units[kind])
		case e.kind == unstable.Float && units[kind] != "":
			return fmt.Errorf(`a string in quotes is expected, not a number: write it with its unit, like "3%s"`,
				units[kind])
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

// text is a field that takes any text.
func text(to *string) field {
	return parsed("text", to, func(s string) (string, error) { return s, nil }, verbatim)
}

func verbatim[T ~string](v T) string { return string(v) }

func percentage(to *float64, parse func(string) (float64, error)) field {
	return parsed("percentage", to, parse, measure.Percent)
}

// parseLimit refuses limits of times that cannot be meant: without room for noise, and beyond twice the time.
func parseLimit(s string) (float64, error) {
	v, err := measure.ParsePercent(s)
	switch {
	case err != nil:
	case v == 0:
		err = fmt.Errorf(`%q leaves no room for noise, so that nothing passes; write a small limit such as "0.5%%"`, s)
	case v > 1:
		err = fmt.Errorf("%q lets a time more than double; write a limit of at most 100%%", s)
	}
	return v, err
}

func pattern(to *string) field {
	return parsed("regular expression", to, func(s string) (string, error) {
		_, err := (measure.Output{Pattern: s}).Compile()
		return s, err
	}, verbatim)
}

// direction is what is better in words.
var direction = map[measure.Direction]string{measure.Higher: "higher", measure.Lower: "lower"}

// better is a field for the direction that makes an output or a metric better.
func better(to *measure.Direction) field {
	text := direction[*to]
	f := word(&text, "higher", "lower")
	take := f.take
	f.take = func(e entry) error {
		err := take(e)
		*to = map[string]measure.Direction{"higher": measure.Higher, "lower": measure.Lower}[text]
		return err
	}
	return f
}

func amount(to **measure.Amount) field {
	return optional("amount", to, measure.ParseAmount, measure.Amount.String)
}

func timeout(to *time.Duration) field {
	return parsed("duration", to, parseTimeout, func(d time.Duration) string {
		switch d {
		case 0:
			return ""
		case NoTimeout:
			return "none"
		}
		return d.String()
	})
}

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

// orNumber is a field of text that takes a whole number without quotes too.
func orNumber(f field) field {
	text := f.take
	f.take = func(e entry) error {
		if e.kind == unstable.Integer {
			e.kind = unstable.String
		}
		return text(e)
	}
	return f
}

const wholeNumber = "whole number"

func whole(to *int, low, high int) field {
	return field{wholeNumber, func(e entry) (err error) {
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

func boolean(to *bool) field {
	return field{"true or false", func(e entry) error {
		if e.kind != unstable.Bool {
			return fmt.Errorf("true or false is expected, without quotes, not %s", kindOf(e.kind))
		}
		*to = e.text == "true"
		return nil
	}, func() string { return strconv.FormatBool(*to) }}
}

// negated is a field for the contrary of a boolean.
func negated(to *bool) field {
	f := boolean(to)
	return field{f.kind, func(e entry) error {
		err := f.take(e)
		*to = *to != (err == nil)
		return err
	}, func() string { return strconv.FormatBool(!*to) }}
}

// command is a field for a command line, as one string or as a list of its words.
func command(to *[]string) field {
	return field{"words", func(e entry) (err error) {
		switch e.kind {
		case unstable.String:
			*to, err = splitCommand(e.text)
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
	return field{"patterns", func(e entry) error {
		switch e.kind {
		case unstable.String:
			*to = []string{e.text}
		case unstable.Array:
			*to = e.items
		default:
			return fmt.Errorf("a string or a list of strings is expected, not %s", kindOf(e.kind))
		}
		for _, pattern := range *to {
			if pattern == "" || strings.ContainsRune(pattern, 0) {
				return fmt.Errorf("%q is no pattern of files", pattern)
			}
			for part := range strings.SplitSeq(filepath.ToSlash(pattern), "/") {
				if _, err := filepath.Match(part, ""); err != nil {
					return fmt.Errorf("%q is no pattern of files: put \\ before a [ that belongs to a name", pattern)
				}
			}
		}
		return nil
	}, func() string { return strings.Join(*to, ", ") }}
}

// arguments is a field for an argument with {} in it, or for a list of arguments one of which has it.
func arguments(to *[]string) field {
	f := command(to)
	list := f.take
	f.take = func(e entry) error {
		if e.kind == unstable.String {
			e.kind, e.items = unstable.Array, []string{e.text}
		}
		if e.kind == unstable.Array && !strings.Contains(strings.Join(e.items, " "), "{}") {
			return errors.New(`no {} stands for the name of the benchmark; write it like "--benchmark_filter=^{}$"`)
		}
		return list(e)
	}
	return f
}

// rows is a field for a filter of jq, which may have several lines, or the name of its file.
func rows(to *string) field {
	return field{"filter", func(e entry) error {
		if e.kind != unstable.String || strings.TrimSpace(e.text) == "" {
			return errors.New(`a filter of jq or the name of its file is expected, in quotes`)
		}
		*to = e.text
		return nil
	}, func() string { return *to }}
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

// parseReady reads when a server is ready: an address of this machine, or a text in its output.
func parseReady(s string) (string, error) {
	if text, log := strings.CutPrefix(s, "log:"); log {
		if strings.TrimSpace(text) == "" {
			return "", errors.New(`no text follows log:; write it like "log:Uvicorn running"`)
		}
		return s, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" || u.Port() == "" {
		return "",
			fmt.Errorf(`%q is no address with a port; write it like "http://127.0.0.1:8000/health", or "log:TEXT"`, s)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "",
			fmt.Errorf("%q is no address of this machine; a run starts its server here: 127.0.0.1, ::1 or localhost",
				u.Hostname())
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

// glob is a field for the pattern of a name, which has no space at an end.
func glob(to *Glob) field {
	return parsed("pattern", to, func(s string) (Glob, error) {
		if s != strings.TrimSpace(s) {
			return "", fmt.Errorf("pattern %q begins or ends with space and matches no name; remove it", s)
		}
		return Glob(s), nil
	}, verbatim)
}

// parseMetric reads a pattern that some metric matches, or the title of one in reports.
func parseMetric(s string) (Glob, error) {
	if raw := (measure.Metric{Name: s}).Raw(); raw != "" {
		if _, known := measure.MetricByName(s); !known {
			return "", fmt.Errorf("%q is no name of a metric of Nsight Compute, as in %ssmsp__inst_executed.sum",
				raw, strings.TrimSuffix(s, raw))
		}
		return Glob(s), nil
	}
	if m, known := measure.MetricByName(s); known {
		return Glob(m.Name), nil // where s is the title of a raw metric
	}
	if !slices.ContainsFunc(measure.Metrics(), Glob(s).names) {
		var names []string
		for _, m := range measure.Metrics() {
			names = append(names, m.Name)
		}
		return "", fmt.Errorf("no metric matches %q%s", s, suggestion(s, names))
	}
	return Glob(s), nil
}

// units are the units of texts that files give as bare numbers by mistake, by the kind of value.
var units = map[string]string{"percentage": "%", "duration": "s", "days": "d"}

// kinds are the kinds of values in words, without dates and times.
var kinds = map[unstable.Kind]string{unstable.String: "a string", unstable.Integer: "a number",
	unstable.Float: "a number", unstable.Bool: "true or false", unstable.Array: "a list",
	unstable.InlineTable: "a table"}

func kindOf(k unstable.Kind) string { return cmp.Or(kinds[k], "a date or time") }
