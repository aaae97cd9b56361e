package thresholds

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nsgate/nsgate/gate/measure"
)

// The bounds of a file are far beyond any policy of a person: its size in bytes, its tables, and the parts of a dotted
// key. The decoder takes time in proportion to the square of the parts, a judgement to the rules times the kernels.
const (
	maxFile   = 1 << 20
	maxTables = 2000
	maxKeys   = 20_000 // the decoder compares each with the others of its table
	maxParts  = 8
)

// Parse reads a policy file. [Keys] lists all that may stand in it; what it leaves out is as in [Default]. Errors are
// of the form "nsgate.toml:12: …", with file as it was given. Unknown keys, wrong types, patterns and numbers that
// cannot be meant, a name given twice and a rule that can never apply are errors.
func Parse(file string, data []byte) (*Policy, error) {
	p := Default()
	p.File = file
	wrong := flat(p.parse(data))
	if len(wrong) == 0 {
		return p, nil
	}
	for i, err := range wrong {
		if place := (*measure.PlaceError)(nil); errors.As(err, &place) {
			place.File = file
		} else {
			wrong[i] = fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil, errors.Join(wrong...)
}

// flat are the errors that are joined in one.
func flat(err error) (list []error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			list = append(list, flat(err)...)
		}
		return list
	}
	if err != nil {
		list = []error{err}
	}
	return list
}

// Default is the policy that applies where no file says otherwise.
func Default() *Policy {
	p := &Policy{}
	for _, k := range rootKeys {
		if !(Key{Default: k.initial}).Literal() {
			continue
		}
		if err := k.field(p).take(entry{kind: unstable.String, text: strings.Trim(k.initial, `"`)}); err != nil {
			panic(err)
		}
	}
	return p
}

func (p *Policy) parse(data []byte) error {
	tables, wrong := read(p.File, data)
	if wrong != nil {
		return wrong
	}
	for _, t := range tables {
		err := error(nil)
		switch t.name {
		case "":
			err = take(t.entries, rootKeys, p, &p.Places)
		case "workload":
			err = p.workload(t)
		case "workload.output":
			err = p.output(t)
		case "workload.results":
			err = p.results(t)
		case serverTable:
			err = p.server(t)
		case "rule":
			err = p.rule(t)
		case "ratio":
			err = p.ratio(t)
		default:
			err = unknown(t.line, t.name, tableNames, "table")
		}
		wrong = errors.Join(wrong, err)
	}
	return wrong
}

// A table is the top of the file (name "") or one [[name]], its entries in the order of the file.
type table struct {
	name    string
	line    int
	entries []entry
}

// read takes the file apart with the line of every key, which decoding into structs would lose.
func read(file string, data []byte) ([]table, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes; this is not a policy file", maxFile)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if err := bounded(data); err != nil {
		return nil, err
	}
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
	lines, upTo := 1, 0 // of the file up to the expression
	for p.NextExpression() {
		e := p.Expression()
		name, line := "", 0
		for it := e.Key(); it.Next(); {
			if name != "" {
				name += "."
			}
			name += string(it.Node().Data)
			at := int(it.Node().Raw.Offset)
			lines, upTo = lines+bytes.Count(data[upTo:at], []byte("\n")), at
			line = lines
		}
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			if err := written(e.Kind, name, line); err != nil {
				return nil, err
			}
			tables = append(tables, table{name: name, line: line})
		case unstable.KeyValue:
			v := entry{key: name, line: line, where: where(file, line), kind: e.Value().Kind,
				text: string(e.Value().Data)}
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

// written refuses a table that is unknown or has the brackets of the other kind.
func written(kind unstable.Kind, name string, line int) error {
	several := name != serverTable
	switch {
	case name == "" || kind == unstable.Table && !slices.Contains(tableNames, name):
		return unknown(line, name, tableNames, "table")
	case kind == unstable.Table && several:
		return errorAt(line, "[%s] must be written %s, since there may be several", name, heading(name))
	case kind == unstable.ArrayTable && !several:
		return errorAt(line, "[[%s]] must be written %s, since a workload has one", name, heading(name))
	}
	return nil
}

// bounded refuses keys of too many parts, and too many tables. What is no TOML is left to the decoder.
func bounded(data []byte) error {
	var p unstable.Parser
	p.Reset(data)
	tables, keys := 0, 0
	for p.NextExpression() {
		e := p.Expression()
		at := deep(e, &keys)
		if keys > maxKeys {
			it := e.Key()
			it.Next()
			return errorAt(lineOf(data, it.Node()), "more than %d keys; this is not a policy file", maxKeys)
		}
		if at != nil {
			return errorAt(lineOf(data, at),
				"a key of more than %d parts; remove it, keys of a policy have one part and tables at most two",
				maxParts)
		}
		if e.Kind != unstable.ArrayTable && e.Kind != unstable.Table {
			continue
		}
		if tables++; tables > maxTables {
			it := e.Key()
			it.Next()
			return errorAt(lineOf(data, it.Node()),
				"more than %d tables; one rule with a pattern (kernel = \"gemm*\") limits many kernels", maxTables)
		}
	}
	return nil
}

// deep is the first part of a key with too many parts, in an expression or a value; nil where there is none. It counts
// keys.
func deep(n *unstable.Node, keys *int) *unstable.Node {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable, unstable.KeyValue:
		parts, first := 0, (*unstable.Node)(nil)
		for it := n.Key(); it.Next(); parts++ {
			if parts == 0 {
				first = it.Node()
			}
			if parts == maxParts {
				return first
			}
		}
		if n.Kind == unstable.KeyValue {
			*keys++
			return deep(n.Value(), keys)
		}
	case unstable.InlineTable, unstable.Array:
		for it := n.Children(); it.Next(); {
			if at := deep(it.Node(), keys); at != nil {
				return at
			}
		}
	}
	return nil
}

func lineOf(data []byte, n *unstable.Node) int {
	return 1 + bytes.Count(data[:n.Raw.Offset], []byte("\n"))
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
	return said +
		`; the file is TOML: write KEY = "VALUE", '\d' in single quotes, and [[workload]] above the keys of a workload`
}

func (t table) lineOf(key string) int {
	for _, e := range t.entries {
		if e.key == key {
			return e.line
		}
	}
	return 0
}

func (p *Policy) workload(t table) error {
	w := Workload{Where: where(p.File, t.line)}
	err := take(t.entries, workloadKeys, &w, &w.Places)
	other, twice := p.Workload(w.Name)
	switch {
	case err != nil:
	case w.Name == "":
		err = errorAt(t.line, `[[workload]] has no name; add name = "…"`)
	case twice:
		err = errorAt(t.lineOf("name"), "name: %q is already the workload at %s; give one of them another name",
			w.Name, other.Where)
	}
	if w.Throughput != "" {
		w.Outputs = append(w.Outputs, Output{Output: measure.Output{Name: throughput, Pattern: w.Throughput,
			Better: measure.Higher}, Where: w.Places[throughput]})
	}
	p.Workloads = append(p.Workloads, w) // a wrong one too, because further tables belong to it
	return err
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
		return errorAt(t.line,
			"[[workload.output]] has no pattern; add pattern = '…', with parentheses around the number")
	}
	for _, other := range w.Outputs {
		if other.Name == o.Name {
			return errorAt(t.lineOf("name"), "name: %q is already the output at %s; give one of them another name",
				o.Name, other.Where)
		}
	}
	w.Outputs = append(w.Outputs, o)
	return nil
}

// results takes one [[workload.results]], which belongs to the [[workload]] before it.
func (p *Policy) results(t table) error {
	if len(p.Workloads) == 0 {
		return errorAt(t.line, "[[workload.results]] belongs below the [[workload]] that writes them")
	}
	w := &p.Workloads[len(p.Workloads)-1]
	r := Results{Where: where(p.File, t.line)}
	if err := take(t.entries, resultKeys, &r, &r.Places); err != nil {
		return err
	}
	if r.Files == nil {
		return errorAt(t.line, `[[workload.results]] has no files; add files = "out/*.json"`)
	}
	if r.Filter != nil && w.Filter() != nil {
		return errorAt(t.lineOf("filter"), "filter: the workload has one already; leave one of them out")
	}
	if n := len(w.Results); n > 0 && w.Results[0].Rows != r.Rows {
		return errorAt(t.line, "rows: all [[workload.results]] of a workload have the same filter, or none")
	}
	w.Results = append(w.Results, r)
	return nil
}

// server takes the [workload.server] of the [[workload]] before it.
func (p *Policy) server(t table) error {
	if len(p.Workloads) == 0 {
		return errorAt(t.line, "[%s] belongs below the [[workload]] whose command loads it", serverTable)
	}
	s := &Server{Timeout: serverTimeout, Stop: "SIGINT", Where: where(p.File, t.line)}
	if err := take(t.entries, serverKeys, s, &s.Places); err != nil {
		return err
	}
	w := &p.Workloads[len(p.Workloads)-1]
	switch {
	case s.Command == nil:
		return errorAt(t.line, `[%s] has no command; add command = "python3 server.py"`, serverTable)
	case s.Ready == "":
		return errorAt(t.line, `[%s] does not say when the server is ready; add ready = "http://127.0.0.1:8000/health"`,
			serverTable)
	case w.Gather != "":
		return errorAt(t.line, "[%s] does not go with gather, which records ranks: leave one of them out", serverTable)
	}
	w.Server = s
	return nil
}

func (p *Policy) rule(t table) error {
	r := Rule{Where: where(p.File, t.line)}
	if err := take(t.entries, ruleKeys, &r, &r.Places); err != nil {
		return err
	}
	selectors := 0
	for _, x := range r.selectors() {
		if x.pattern != "" {
			selectors++
		}
	}
	if selectors > 1 {
		return errorAt(t.line, "a rule has one selector (%s); write one [[rule]] for each", selectable())
	}
	if (r.Domain != "" || r.Category != "") && selectors > 0 && r.Range == "" {
		return errorAt(t.line, "domain and category are of NVTX ranges; leave out the other selector")
	}
	if r.Max == nil && r.Floor == nil && r.Severity == "" && r.AtMost == nil && r.AtLeast == nil &&
		r.Drift == nil && r.Better == 0 {
		return errorAt(t.line, "the rule sets nothing; add max, floor, at_most, at_least, drift, better or severity")
	}
	if err := r.check(t); err != nil {
		return err
	}
	for i := range p.Rules {
		if o := &p.Rules[i]; o.covers(&r) {
			return errorAt(t.line, "the rule never applies: the one at %s comes first and matches all that it would; "+
				"put this one before it, or remove one", o.Where)
		}
	}
	p.Rules = append(p.Rules, r)
	return nil
}

func (p *Policy) ratio(t table) error {
	r := Ratio{Where: where(p.File, t.line)}
	if err := take(t.entries, ratioKeys, &r, &r.Places); err != nil {
		return err
	}
	if r.Name == "" || r.Of == "" || r.Over == "" {
		return errorAt(t.line, `a ratio has a name and two rows; add name = "speed-up", of = "ROW" and over = "ROW"`)
	}
	if r.Of == r.Over {
		return errorAt(t.lineOf("over"), "over: a row over itself is 1 whatever changes; name another row")
	}
	if slices.ContainsFunc(p.Ratios, func(o Ratio) bool { return o.Name == r.Name }) {
		return errorAt(t.line, "another [[ratio]] has the name %q; rename one of them", r.Name)
	}
	p.Ratios = append(p.Ratios, r)
	return nil
}

func where(file string, line int) string { return fmt.Sprintf("%s:%d", filepath.Base(file), line) }
