package thresholds

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nsgate/nsgate/gate/measure"
)

// maxFile is far beyond any policy that a person would write, in bytes.
const maxFile = 1 << 20

// Parse reads a policy file, such as
//
//	threshold = "3%"                    # largest slowdown of a time
//
//	[[workload]]
//	name    = "kernels"
//	command = "./kernels --steps 60"    # or ["./kernels", "--steps", "60"]; no shell is involved
//
//	[[rule]]                            # the first rule that matches applies
//	kernel  = "sgemm*"
//	max     = "5%"
//
// [Keys] lists all that may stand in it. Everything is optional; what it leaves out is as in [Default].
//
// Errors are of the form "nsgate.toml:12: …", with file as it was given. Unknown keys, wrong types, patterns and
// numbers that cannot be meant, a name given twice and a rule that can never apply are errors.
func Parse(file string, data []byte) (*Policy, error) {
	p := Default()
	p.File = file
	err := p.parse(data)
	if place := (*measure.PlaceError)(nil); errors.As(err, &place) {
		place.File = file
		return nil, place
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

func (p *Policy) parse(data []byte) error {
	tables, err := read(p.File, data)
	for _, t := range tables {
		if err != nil {
			break
		}
		switch t.name {
		case "":
			err = take(t.entries, rootKeys, p, &p.Places)
		case "workload":
			err = p.workload(t)
		case "workload.output":
			err = p.output(t)
		case "rule":
			err = p.rule(t)
		default:
			err = unknown(t.line, t.name, tableNames, "table")
		}
	}
	return err
}

// errorAt is an error at a line of the file, whose name [Parse] adds; line 0 is no place.
func errorAt(line int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if line == 0 {
		return err
	}
	return &measure.PlaceError{Line: line, Err: err}
}

// tableNames are the tables that a file may have, any number of each.
var tableNames = []string{"rule", "workload", "workload.output"}

// A table is the top of the file (name "") or one [[name]], its entries in the order of the file.
type table struct {
	name    string
	line    int
	entries []entry
}

type entry struct {
	key   string
	line  int
	where string // for reports
	kind  unstable.Kind
	text  string   // of strings and numbers
	items []string // of an array of strings
}

// read takes the file apart with the line of every key, which decoding into structs would lose.
func read(file string, data []byte) ([]table, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes; this is not a policy file", maxFile)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	// The decoder finds what the expression parser does not look for: keys and tables defined twice.
	if err := toml.Unmarshal(data, new(map[string]any)); err != nil {
		var de *toml.DecodeError
		if errors.As(err, &de) {
			line, _ := de.Position()
			return nil, errorAt(line, "%s", malformed(data, line, strings.TrimPrefix(de.Error(), "toml: ")))
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
			if slices.Contains(tableNames, name) {
				return nil, errorAt(line, "[%s] must be written [[%s]], since there may be several", name, name)
			}
			return nil, unknown(line, name, tableNames, "table")
		case unstable.ArrayTable:
			if name == "" {
				return nil, unknown(line, name, tableNames, "table")
			}
			tables = append(tables, table{name: name, line: line})
		case unstable.KeyValue:
			v := entry{key: name, line: line, where: where(file, line), kind: e.Value().Kind, text: string(e.Value().Data)}
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

// malformed says what is wrong with a line that is no TOML, where the words of the decoder do not.
func malformed(data []byte, line int, said string) string {
	lines := strings.Split(string(data), "\n")
	text := lines[min(max(line, 1), len(lines))-1]
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if strings.HasPrefix(text, mark) {
			return "a merge left its conflict here (" + mark + "): choose one side, and remove the marks"
		}
	}
	if strings.Contains(said, "cannot have new lines") {
		return "the string is not closed: end it with the quote that begins it"
	}
	return said
}

// lines are those of the entries, by key.
func (t table) lines() map[string]int {
	lines := make(map[string]int, len(t.entries))
	for _, e := range t.entries {
		lines[e.key] = e.line
	}
	return lines
}

// workload takes one [[workload]].
func (p *Policy) workload(t table) error {
	w := Workload{Where: where(p.File, t.line)}
	if err := take(t.entries, workloadKeys, &w, &w.Places); err != nil {
		return err
	}
	if w.Name == "" {
		return errorAt(t.line, `[[workload]] has no name; add name = "…"`)
	}
	if other, ok := p.Workload(w.Name); ok {
		return errorAt(t.lines()["name"], "name: %q is already the workload at %s; give one of them another name", w.Name, other.Where)
	}
	if w.Throughput != "" {
		w.Outputs = append(w.Outputs, Output{Output: measure.Output{Name: throughput, Pattern: w.Throughput, Better: measure.Higher},
			Where: w.Places[throughput]})
	}
	p.Workloads = append(p.Workloads, w)
	return nil
}

// output takes one [[workload.output]], which belongs to the [[workload]] before it.
func (p *Policy) output(t table) error {
	if len(p.Workloads) == 0 {
		return errorAt(t.line, "[[workload.output]] belongs below the [[workload]] that prints it")
	}
	w := &p.Workloads[len(p.Workloads)-1]
	o := Output{Output: measure.Output{Better: measure.Higher}, Where: where(p.File, t.line)}
	if err := take(t.entries, outputKeys, &o, &o.Places); err != nil {
		return err
	}
	switch {
	case o.Name == "":
		return errorAt(t.line, `[[workload.output]] has no name; add name = "…"`)
	case o.Pattern == "":
		return errorAt(t.line, "[[workload.output]] has no pattern; add pattern = '…', with parentheses around the number")
	}
	for _, other := range w.Outputs {
		if other.Name == o.Name {
			return errorAt(t.lines()["name"], "name: %q is already the output at %s; give one of them another name", o.Name, other.Where)
		}
	}
	w.Outputs = append(w.Outputs, o)
	return nil
}

// rule takes one [[rule]].
func (p *Policy) rule(t table) error {
	r := Rule{Where: where(p.File, t.line)}
	if err := take(t.entries, ruleKeys, &r, &r.Places); err != nil {
		return err
	}
	lines := t.lines()
	selectors := 0
	for _, g := range []Glob{r.Kernel, r.Range, r.Device, r.Copy, r.Output, r.Section} {
		if g != "" {
			selectors++
		}
	}
	if selectors > 1 {
		return errorAt(t.line, "a rule is for a kernel, a range, a device, a copy, an output or a section; write one [[rule]] for each")
	}
	if r.Max == nil && r.Floor == nil && r.Severity == "" && r.AtMost == nil && r.AtLeast == nil && r.Drift == nil {
		return errorAt(t.line, "the rule sets nothing; add max, floor, at_most, at_least, drift or severity")
	}
	m, full := measure.MetricByName(string(r.Metric))
	for _, x := range []struct {
		key    string
		amount *measure.Amount
	}{{"floor", r.Floor}, {"at_most", r.AtMost}, {"at_least", r.AtLeast}} {
		switch {
		case x.amount == nil:
		case full && !x.amount.Fits(m):
			return errorAt(lines[x.key], `%s: %s is measured in %s; write it like %q`, x.key, m.Name, cmp.Or(m.Unit, "the program's own unit"), example(m))
		case !full && x.key == "floor" && x.amount.Unit == "" && p.hasUnits(r.Metric):
			return errorAt(lines[x.key], `floor: %g has no unit, and what the rule is about is measured in several; write a time ("1us") or a size ("64KiB"), or name the metric`,
				x.amount.Value)
		case !full && x.key != "floor":
			return errorAt(lines[x.key], "%s bounds one metric; name it in full with metric", x.key)
		}
	}
	if r.AtMost != nil && r.AtLeast != nil && r.AtMost.Value < r.AtLeast.Value {
		return errorAt(lines["at_most"], "no value is at most %g and at least %g", r.AtMost.Value, r.AtLeast.Value)
	}
	for i := range p.Rules {
		if o := &p.Rules[i]; o.covers(&r) {
			return errorAt(t.line, "the rule never applies: the one at %s comes first and matches all that it would; put this one before it, or remove one", o.Where)
		}
	}
	p.Rules = append(p.Rules, r)
	return nil
}

// hasUnits reports whether a metric that is judged by itself, or that the pattern names, has a unit.
func (p *Policy) hasUnits(pattern Glob) bool {
	return slices.ContainsFunc(measure.Metrics, func(m measure.Metric) bool {
		return !(measure.Amount{}).Fits(m) && (pattern == "" && m.Judged() || pattern != "" && pattern.Match(m.Name))
	})
}

// example is an amount of the kind that the metric needs.
func example(m measure.Metric) string {
	for _, s := range []string{"1us", "64KiB", "70%", "2TB/s", "1.5GHz"} {
		if a, err := measure.ParseAmount(s); err == nil && a.Fits(m) {
			return s
		}
	}
	return "3"
}

// kindOf names what stands where something else is expected.
func kindOf(k unstable.Kind) string {
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
	for _, table := range tableNames {
		if name == table || what == "key" && "workload."+name == table {
			return errorAt(line, "%s must be written as a table [[%s]]", name, table)
		}
	}
	return errorAt(line, "unknown %s %q%s", what, name, suggestion(name, known))
}

// suggestion names the nearest of the known words, or all of them where none is near.
func suggestion(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; known are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// Nearest is the one of the known words that a misspelt word was meant for, the first in the alphabet where several are as
// near; "" where none is within two letters of it.
func Nearest(word string, known []string) string {
	best, least := "", 3
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(word, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
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
