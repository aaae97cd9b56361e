package bench

import (
	"bytes"
	"cmp"
	"embed"
	"path/filepath"
	"slices"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
)

// sources are the filters of formats: a file each, whose module directive names the harness, whose function is tells
// its files, and whose outputs are the rows. Those of harnesses have a number, and are asked in this order.
//
//go:embed formats
var sources embed.FS

// format is the filter of one harness, or of the user.
type format struct {
	name   string // of the harness, which stands for the profiler: results of two harnesses are not compared
	next   string // step after a refusal
	beside string // name of a file that tells the units of the rows, "" for none
	twins  bool   // numbers of one name are of several rows, which get a number, and no repetitions
	is     filter.Code
	rows   func() (filter.Code, error)
	ledger func() *ledger
}

// must is the value of a call on the filters of harnesses, each of which the tests run.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// library is what all filters know: functions of Go, variables and shared definitions.
var library = sync.OnceValue(func() *filter.Definitions {
	l := &filter.Definitions{Functions: functions, Variables: []string{"$file", "$columns", "$comma", "$beside"}}
	return must(l, l.Define(string(must(sources.ReadFile("formats/shared.jq")))))
})

// variables are the values of those of the library; beside is that of the file beside it.
func variables(d document, file string, beside any) []any {
	return []any{filepath.ToSlash(file), append([]any{}, d.columns...), d.comma, beside}
}

// embedded is a format by the name of its file, parsed when it is first asked for.
func embedded(name string) func() *format {
	return sync.OnceValue(func() *format {
		p := must(library().Parse(string(must(sources.ReadFile("formats/" + name)))))
		p.Trusted = true
		next, _ := p.Facts["next"].(string)
		f := &format{next: cmp.Or(next, again), is: must(p.Function("is")), rows: sync.OnceValues(p.Compile),
			ledger: sync.OnceValue(func() *ledger { return newLedger(p.Facts) })}
		f.name, _ = p.Facts["name"].(string)
		f.beside, _ = p.Facts["beside"].(string)
		f.twins, _ = p.Facts["twins"].(bool)
		return f
	})
}

// formats are those of harnesses.
var formats = sync.OnceValue(func() (all []func() *format) {
	for _, e := range must(sources.ReadDir("formats")) {
		if name := e.Name(); name[0] <= '9' {
			all = append(all, embedded(name))
		}
	}
	return all
})

// flat is no format of a harness: its rows are the refusal of a file that has the form of results and no metric by a
// name that is known.
var flat = embedded("flat.jq")

// formatOf is the format of a document, the first whose filter says so; nil for none.
func formatOf(d document, file string) *format {
	for _, format := range formats() {
		if f := format(); f.tells(d, file) {
			return f
		}
	}
	return nil
}

// tells reports whether a document is of the format.
func (f *format) tells(d document, file string) (is bool) {
	f.is.Run(d.value, func(v any) bool { is = v == true; return false }, variables(d, file, nil)...)
	return is
}

// besideIt is the value of the file of JSON by the name of the format in the directory of a file or the one above, nil
// for none.
func (f *format) besideIt(file string) (any, error) {
	for _, above := range []string{"", ".."} {
		name := filepath.Join(filepath.Dir(file), above, f.beside)
		if f.beside == "" {
			break
		}
		if text, err := input.Read(name, largest); err == nil {
			return parse(text).value, Damaged(text, name)
		}
	}
	return nil, nil
}

// Units reports whether files of a harness are read with a file of this name, for units.
func Units(name string) bool {
	return slices.ContainsFunc(formats(), func(of func() *format) bool { return of().beside == name })
}

// ownName stands for the harness of files that the user's own filter reads, ownNext is the step after their refusal.
const (
	ownName = "own filter"
	ownNext = "mend the filter; `nsgate help benchmarks` says what it gives"
)

// behind matches the first line of JSON or of a table behind those of a log.
var behind = input.Pattern(`(?m)^(?:\{|\[\s*[\[{]|name,iterations,|build_commit,|Concurrency,|Request Rate,)`)

// detect reads a text with the format that it has, or [flat], nil for none, or with the filter of the user. A table,
// JSON or XML that is none may be another text, or a log with results behind its lines.
func detect(text []byte, file, own string) (d document, f *format, err error) {
	d = parse(text)
	if own != "" {
		if d.err != nil && d.columns != nil {
			d = document{value: string(text)}
		}
		p, err := library().Parse(own)
		if err != nil {
			return d, nil, model.Refuse(model.BadValue, ownNext, "rows: %v", err)
		}
		return d, &format{name: ownName, next: ownNext, rows: p.Compile, ledger: func() *ledger { return nil }}, nil
	}
	lines := text[:bytes.LastIndexByte(text, '\n')+1] // a line of a cut text may end within a number
	if len(lines) == 0 {
		lines = text
	}
	if _, is := d.value.(string); is {
		d = document{value: string(lines)}
	}
	if f = formatOf(d, file); f != nil {
		return d, f, nil
	}
	if d.err != nil {
		plain := document{value: string(lines)}
		if f = formatOf(plain, file); f != nil {
			return plain, f, nil
		}
	}
	if at := behind().FindIndex(text); at != nil {
		rest := parse(text[at[0]:])
		rest.line += bytes.Count(text[:at[0]], []byte("\n"))
		if f = formatOf(rest, file); f != nil {
			return rest, f, nil
		}
	}
	if flat().tells(d, file) {
		return d, flat(), nil
	}
	return d, nil, nil
}
