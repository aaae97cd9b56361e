package bench

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
)

// sources are the filters of formats: a file each, whose module directive names the harness, whose function is tells
// its files, and whose outputs are the rows. They are asked in the order of their names.
//
//go:embed formats
var sources embed.FS

// format is the file of one harness.
type format struct {
	name string // of the harness, which stands for the profiler: results of two harnesses are not compared
	next string // step after a refusal
	is   filter.Code
	rows func() (filter.Code, error)
	// account says which of its numbers are not rows, nil where all are.
	account func() *account
	beside  string // name of a file that tells the units of the rows, "" for none
}

// library is what all filters know: functions of Go, variables and shared definitions.
var library = sync.OnceValues(func() (*filter.Definitions, error) {
	l := &filter.Definitions{Functions: functions, Variables: []string{"$file", "$columns", "$comma", "$beside"}}
	text, err := sources.ReadFile("formats/shared.jq")
	if err == nil {
		err = l.Define(string(text))
	}
	return l, err
})

// variables are the values of those of the library; beside is that of the file beside it.
func variables(d document, file string, beside any) []any {
	columns := d.columns
	if columns == nil {
		columns = []any{}
	}
	return []any{filepath.ToSlash(file), columns, d.comma, beside}
}

// besideIt is the value of the file of JSON by the name of the format in the directory of a file or the one above, nil
// for none.
func (f *format) besideIt(file string) (any, error) {
	for _, dir := range []string{filepath.Dir(file), filepath.Join(filepath.Dir(file), "..")} {
		name := filepath.Join(dir, f.beside)
		text, err := input.Read(name, largest)
		if f.beside != "" && err == nil {
			return parse(text).value, Damaged(text, name)
		}
	}
	return nil, nil
}

// Units reports whether files of a harness are read with a file of this name, for units.
func Units(name string) bool {
	return slices.ContainsFunc(formats(), func(of func() (*format, error)) bool {
		f, err := of()
		return err == nil && f.beside == name
	})
}

// formats are those of harnesses, each parsed when it is first asked for.
var formats = sync.OnceValue(func() (all []func() (*format, error)) {
	entries, _ := sources.ReadDir("formats") // an error is one of parseFormat too
	for _, e := range entries {
		if name := e.Name(); name[0] >= '0' && name[0] <= '9' { // not the functions of all
			all = append(all, sync.OnceValues(func() (*format, error) { return parseFormat(name) }))
		}
	}
	return all
})

// parseFormat reads a file of a format.
func parseFormat(name string) (*format, error) {
	text, err := sources.ReadFile("formats/" + name)
	l, unknown := library()
	if err = cmp.Or(err, unknown); err != nil {
		return nil, err
	}
	p, err := l.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &format{next: again, rows: sync.OnceValues(p.Compile),
		account: sync.OnceValue(func() *account { return accountOf(p.Facts) })}
	f.name, _ = p.Facts["name"].(string)
	f.beside, _ = p.Facts["beside"].(string)
	f.is, err = p.Function("is")
	return f, err
}

// formatOf is the format of a document, the first whose filter says so; nil for none.
func formatOf(d document, file string) (*format, error) {
	for _, format := range formats() {
		f, err := format()
		if err != nil || f.is.First(d.value, variables(d, file, nil)...) == true {
			return f, err
		}
	}
	return nil, nil
}

// behind matches the first line of JSON or of a table behind those of a log.
var behind = input.Pattern(`(?m)^(?:\{|\[\s*[\[{]|name,iterations,|build_commit,|Concurrency,|Request Rate,)`)

// detect reads a text with the format that it has, nil for none. A table, JSON or XML that is none may be another text,
// or a log with results behind its lines.
func detect(text []byte, file, own string) (d document, f *format, err error) {
	d = parse(text)
	if f, err = ownFormat(own); f != nil || err != nil {
		if d.kind == model.BadTable {
			d = document{value: string(text)}
		}
		return d, f, err
	}
	lines := text[:bytes.LastIndexByte(text, '\n')+1] // a line of a cut text may end within a number
	if len(lines) == 0 {
		lines = text
	}
	if _, is := d.value.(string); is {
		d = document{value: string(lines)}
	}
	if f, err = formatOf(d, file); f == nil && err == nil && d.err != nil {
		plain := document{value: string(lines)}
		if f, err = formatOf(plain, file); f != nil {
			d = plain
		}
	}
	if at := behind().FindIndex(text); f == nil && err == nil && at != nil {
		rest := parse(text[at[0]:])
		if f, err = formatOf(rest, file); f != nil {
			d, d.line = rest, rest.line+bytes.Count(text[:at[0]], []byte("\n"))
		}
	}
	return d, f, err
}

// ownName stands for the harness of files that the user's own filter reads, ownNext is the step after their refusal.
const (
	ownName = "own filter"
	ownNext = "mend the filter; `nsgate help benchmarks` says what it gives"
)

// ownFormat is the format of a filter of the user, nil for "".
func ownFormat(text string) (*format, error) {
	if text == "" {
		return nil, nil
	}
	l, err := library()
	if err != nil {
		return nil, err
	}
	p, err := l.Parse(text)
	if err != nil {
		return nil, model.Refuse(model.BadValue, ownNext, "rows: %v", err)
	}
	return &format{name: ownName, next: ownNext, rows: p.Compile}, nil
}
