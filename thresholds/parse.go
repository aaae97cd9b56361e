package thresholds

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nsgate/nsgate/gate/measure"
)

// maxFile is far beyond any policy that a person would write, in bytes.
const maxFile = 1 << 20

// Parse reads a policy file. Everything in it is optional; what it leaves out is as in [Default]:
//
//	threshold  = "3%"     # largest regression of times
//	alpha      = "1%"     # chance of a false alarm in a whole gate
//	impact     = "0.5%"   # share of GPU time under which a kernel does not fail a gate by itself
//	session_sd = "0.5%"   # spread between GPU hosts to expect before it was measured
//	undecided  = "warn"   # or "fail": a gate that cannot decide is no verdict
//
//	[[workload]]
//	name       = "kernels"
//	command    = "./kernels --steps 60"   # or ["./kernels", "--steps", "60"]; no shell is involved
//	launcher   = "srun -n 1"              # optional, starts the profiler
//	dir        = "bench"
//	timeout    = "2m"                     # of one run
//	warmup     = "auto"                   # or "capture", or a number of steps
//	step       = "step"                   # NVTX range that the workload repeats
//	runs       = 5
//	throughput = 'tokens/s: ([0-9.]+)'    # regular expression with one group
//	threshold  = "1%"                     # of this workload's times
//
//	[[rule]]                              # the first rule that matches applies
//	kernel   = "sgemm*"                   # or range = "…" or copy = "…"; * and ? are wildcards
//	metric   = "time"
//	max      = "5%"
//	floor    = "1us"
//	at_most  = "2ms"                      # bounds of the value itself, whatever the base has; also at_least
//	severity = "fail"                     # or "warn" or "ignore"
//
// Errors are of the form "nsgate.toml:12: …", with file as it was given. Unknown keys, wrong types, patterns and
// numbers that cannot be meant, a name given twice and a rule that can never apply are errors.
func Parse(file string, data []byte) (*Policy, error) {
	tables, err := read(data)
	if err != nil {
		return nil, at(file, err)
	}
	p := Default()
	p.File = file
	for _, t := range tables {
		switch t.name {
		case "":
			err = p.root(t)
		case "workload":
			err = p.workload(t)
		case "rule":
			err = p.rule(t)
		default:
			err = unknown(t.line, t.name, []string{"rule", "workload"}, "table")
		}
		if err != nil {
			return nil, at(file, err)
		}
	}
	return p, nil
}

// lineError is an error at a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }

func errorAt(line int, format string, args ...any) error {
	return &lineError{line, fmt.Errorf(format, args...)}
}

// at puts the place before the message.
func at(file string, err error) error {
	var le *lineError
	if errors.As(err, &le) {
		return fmt.Errorf("%s:%d: %w", file, le.line, le.err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// A table is the top of the file (name "") or one [[name]], its entries in the order of the file.
type table struct {
	name    string
	line    int
	entries []entry
}

type entry struct {
	key   string
	line  int
	kind  unstable.Kind
	text  string   // of strings and numbers
	items []string // of an array of strings
}

// read takes the file apart with the line of every key, which decoding into structs would lose.
func read(data []byte) ([]table, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes; this is not a policy file", maxFile)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	// The decoder finds what the expression parser does not look for: keys and tables defined twice.
	if err := toml.Unmarshal(data, new(map[string]any)); err != nil {
		var de *toml.DecodeError
		if errors.As(err, &de) {
			line, _ := de.Position()
			return nil, errorAt(line, "%s", strings.TrimPrefix(de.Error(), "toml: "))
		}
		return nil, err
	}
	tables := []table{{}}
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		name, line := "", 0
		for it := e.Key(); it.Next(); {
			if name != "" {
				name += "."
			}
			name += string(it.Node().Data)
			line = 1 + bytes.Count(data[:it.Node().Raw.Offset], []byte("\n"))
		}
		switch e.Kind {
		case unstable.Table:
			if name == "workload" || name == "rule" {
				return nil, errorAt(line, "[%s] must be written [[%s]], since there may be several", name, name)
			}
			return nil, unknown(line, name, []string{"rule", "workload"}, "table")
		case unstable.ArrayTable:
			if name == "" {
				return nil, unknown(line, name, []string{"rule", "workload"}, "table")
			}
			tables = append(tables, table{name: name, line: line})
		case unstable.KeyValue:
			v := entry{key: name, line: line, kind: e.Value().Kind, text: string(e.Value().Data)}
			if v.kind == unstable.Array {
				for it := e.Value().Children(); it.Next(); {
					if it.Node().Kind != unstable.String {
						return nil, errorAt(line, "%s: every element of the list must be a string in quotes", name)
					}
					v.items = append(v.items, string(it.Node().Data))
				}
			}
			last := &tables[len(tables)-1]
			last.entries = append(last.entries, v)
		}
	}
	return tables, p.Error()
}

// fields are the keys that a table may have, with what takes their value.
type fields map[string]func(entry) error

// take gives every entry of the table to its field.
func (t table) take(fs fields) error {
	for _, e := range t.entries {
		f, ok := fs[e.key]
		if !ok {
			if t.name == "" && (e.key == "workload" || e.key == "rule") {
				return errorAt(e.line, "%s must be written as a table [[%s]]", e.key, e.key)
			}
			return unknown(e.line, e.key, slices.Collect(maps.Keys(fs)), "key")
		}
		if err := f(e); err != nil {
			return errorAt(e.line, "%s: %w", e.key, err)
		}
	}
	return nil
}

// text is a field that holds a string, which parse may refuse.
func text(parse func(string) error) func(entry) error {
	return func(e entry) error {
		if e.kind != unstable.String {
			return fmt.Errorf("a string in quotes is expected, not %s", kind(e.kind))
		}
		if strings.TrimSpace(e.text) == "" {
			return errors.New("must not be empty; leave the key out instead")
		}
		if strings.ContainsFunc(e.text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return errors.New("must not hold control characters")
		}
		return parse(e.text)
	}
}

// parsed is a field whose text parse turns into *to.
func parsed[T any](to *T, parse func(string) (T, error)) func(entry) error {
	return text(func(s string) (err error) {
		*to, err = parse(s)
		return err
	})
}

// optional is a parsed field that stays nil where the file does not have it.
func optional[T any](to **T, parse func(string) (T, error)) func(entry) error {
	return text(func(s string) error {
		v, err := parse(s)
		*to = &v
		return err
	})
}

func verbatim(s string) (string, error) { return s, nil }

// command is a field that holds a command line, as one string or as a list of its words.
func command(to *[]string) func(entry) error {
	return func(e entry) (err error) {
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
			err = fmt.Errorf("a string or a list of strings is expected, not %s", kind(e.kind))
		}
		return err
	}
}

// oneOf is a parser that accepts only the given words.
func oneOf[T ~string](words ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		if slices.Contains(words, T(s)) {
			return T(s), nil
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = strconv.Quote(string(w))
		}
		last := len(quoted) - 1
		return "", fmt.Errorf("%q is unknown; write %s or %s", s, strings.Join(quoted[:last], ", "), quoted[last])
	}
}

// root takes the keys at the top of the file.
func (p *Policy) root(t table) error {
	return t.take(fields{
		"threshold": func(e entry) error {
			p.TimeRule = where(p.File, e.line)
			return parsed(&p.Threshold, ParsePercent)(e)
		},
		"alpha": parsed(&p.Alpha, func(s string) (float64, error) {
			f, err := ParsePercent(s)
			if err == nil && (f == 0 || f >= 0.5) {
				err = fmt.Errorf(`%q must lie between 0%% and 50%%; the default is "1%%"`, s)
			}
			return f, err
		}),
		"impact": parsed(&p.Impact, func(s string) (float64, error) {
			f, err := ParsePercent(s)
			if err == nil && f > 1 {
				err = fmt.Errorf(`%q is more than all of the GPU time; the default is "0.5%%"`, s)
			}
			return f, err
		}),
		"session_sd": parsed(&p.SessionSD, ParsePercent),
		"undecided":  parsed(&p.Undecided, oneOf("warn", "fail")),
	})
}

var workloadName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// workload takes one [[workload]].
func (p *Policy) workload(t table) error {
	w := Workload{Where: where(p.File, t.line)}
	err := t.take(fields{
		"name": parsed(&w.Name, func(s string) (string, error) {
			if !workloadName.MatchString(s) {
				return "", fmt.Errorf(`%q is not a name; use up to 64 letters, digits, ".", "_" and "-"`, s)
			}
			if other, ok := p.Workload(s); ok {
				return "", fmt.Errorf("%q is already the workload at %s; give one of them another name", s, other.Where)
			}
			return s, nil
		}),
		"command":  command(&w.Command),
		"launcher": command(&w.Launcher),
		"dir":      parsed(&w.Dir, verbatim),
		"timeout":  parsed(&w.Timeout, ParseTimeout),
		"warmup": func(e entry) error {
			if e.kind == unstable.Integer {
				e.kind = unstable.String
			}
			return parsed(&w.Warmup, ParseWarmup)(e)
		},
		"step": parsed(&w.Step, verbatim),
		"runs": func(e entry) (err error) {
			if e.kind == unstable.Integer {
				w.Runs, err = strconv.Atoi(e.text)
			}
			if err != nil || w.Runs < 1 || w.Runs > 1000 {
				return errors.New("a whole number from 1 to 1000 is expected, without quotes")
			}
			return nil
		},
		"throughput": parsed(&w.Throughput, func(s string) (string, error) {
			re, err := regexp.Compile(s)
			if err != nil {
				return "", fmt.Errorf("%q is not a regular expression (RE2 syntax): %w", s, err)
			}
			if re.NumSubexp() != 1 {
				return "", fmt.Errorf("%q has %d groups; put exactly one ( ) around the number", s, re.NumSubexp())
			}
			return s, nil
		}),
		"threshold": optional(&w.Threshold, ParsePercent),
	})
	if err == nil && w.Name == "" {
		err = errorAt(t.line, `[[workload]] has no name; add name = "…"`)
	}
	p.Workloads = append(p.Workloads, w)
	return err
}

// glob refuses the only patterns that cannot be meant: those with space at an end, which no name has.
func glob(s string) (Glob, error) {
	if s != strings.TrimSpace(s) {
		return "", fmt.Errorf("pattern %q begins or ends with space and matches no name; remove it", s)
	}
	return Glob(s), nil
}

// rule takes one [[rule]].
func (p *Policy) rule(t table) error {
	r := Rule{Where: where(p.File, t.line)}
	lines := map[string]int{} // of the amounts, by key
	amount := func(to **Amount) func(entry) error {
		parse := optional(to, ParseAmount)
		return func(e entry) error { lines[e.key] = e.line; return parse(e) }
	}
	err := t.take(fields{
		"kernel": parsed(&r.Kernel, glob),
		"range":  parsed(&r.Range, glob),
		"copy":   parsed(&r.Copy, glob),
		"metric": parsed(&r.Metric, func(s string) (Glob, error) {
			names := make([]string, len(measure.Metrics))
			for i, m := range measure.Metrics {
				names[i] = m.Name
			}
			if !slices.ContainsFunc(names, Glob(s).Match) {
				return "", fmt.Errorf("no metric matches %q%s", s, suggestion(s, names))
			}
			return Glob(s), nil
		}),
		"max":      optional(&r.Max, ParsePercent),
		"floor":    amount(&r.Floor),
		"at_most":  amount(&r.AtMost),
		"at_least": amount(&r.AtLeast),
		"severity": parsed(&r.Severity, oneOf(Fail, Warn, Ignore)),
	})
	if err != nil {
		return err
	}
	selectors := 0
	for _, g := range []Glob{r.Kernel, r.Range, r.Copy} {
		if g != "" {
			selectors++
		}
	}
	if selectors > 1 {
		return errorAt(t.line, "a rule is for a kernel, a range or a copy; write one [[rule]] for each")
	}
	if r.Max == nil && r.Floor == nil && r.Severity == "" && r.AtMost == nil && r.AtLeast == nil {
		return errorAt(t.line, "the rule sets nothing; add max, floor, at_most, at_least or severity")
	}
	m, full := measure.MetricByName(string(r.Metric))
	for _, x := range []struct {
		key    string
		amount *Amount
	}{{"floor", r.Floor}, {"at_most", r.AtMost}, {"at_least", r.AtLeast}} {
		switch {
		case x.amount == nil:
		case full && !x.amount.fits(m):
			return errorAt(lines[x.key], `%s: %s is measured in %s; write it like %q`, x.key, m.Name, m.Unit, example(m))
		case !full && x.key != "floor":
			return errorAt(lines[x.key], "%s bounds one metric; name it in full with metric", x.key)
		}
	}
	if r.AtMost != nil && r.AtLeast != nil && r.AtMost.Value < r.AtLeast.Value {
		return errorAt(lines["at_most"], "no value is at most %g and at least %g", r.AtMost.Value, r.AtLeast.Value)
	}
	for _, o := range p.Rules {
		if o.Kernel == r.Kernel && o.Range == r.Range && o.Copy == r.Copy && o.Metric == r.Metric {
			return errorAt(t.line, "the rule never applies: the one at %s comes first and matches the same; remove one", o.Where)
		}
	}
	p.Rules = append(p.Rules, r)
	return nil
}

// example is an amount of the kind that the metric needs.
func example(m measure.Metric) string {
	for _, s := range []string{"1us", "64KiB", "70%", "2TB/s", "1.5GHz"} {
		if a, err := ParseAmount(s); err == nil && a.fits(m) {
			return s
		}
	}
	return "3"
}

func kind(k unstable.Kind) string {
	switch k {
	case unstable.Integer, unstable.Float:
		return "a number"
	case unstable.Bool:
		return "true or false"
	case unstable.Array:
		return "a list"
	case unstable.InlineTable:
		return "a table"
	}
	return "a date or time"
}

// unknown is the error for a key or table that no policy file has.
func unknown(line int, name string, known []string, what string) error {
	return errorAt(line, "unknown %s %q%s", what, name, suggestion(name, known))
}

// suggestion names the nearest of the known words, or all of them where none is near.
func suggestion(name string, known []string) string {
	slices.Sort(known)
	best, least := "", 3
	for _, k := range known {
		if d := distance(name, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; known are " + strings.Join(known, ", ")
}

// distance is the Levenshtein distance of two words, in bytes.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
