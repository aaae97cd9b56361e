package ncu

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
)

// table reads one table: of the raw page, a row of units and then a row a launch, or of the details page, a row a
// metric or rule.
func (b *builder) table(t *table) error {
	r := csv.NewReader(t)
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if err != nil {
		return t.syntax(err)
	}
	r.ReuseRecord = true
	rows := rows{table: t, csv: r, columns: make(map[string]int, len(header)), width: len(header)}
	for i, column := range header {
		if _, twice := rows.columns[column]; twice {
			return model.Refuse(model.BadTable, again, "%s:%d: column %s is there twice", t.name, t.begin,
				quote(column))
		}
		rows.columns[column] = i
	}
	_, rows.details = rows.columns["Metric Value"]
	needed := identity[:kernel+1]
	if rows.details {
		needed = []string{identity[id], identity[kernel], "Metric Name", "Metric Unit"}
	}
	for _, column := range needed {
		if _, ok := rows.columns[column]; !ok && column != identity[process] {
			return model.Refuse(model.BadTable, again, "%s:%d: no column %s", t.name, t.begin, quote(column))
		}
	}
	before := b.profile.Launches
	var language language
	if rows.details {
		err = b.detailsPage(&rows, &language)
	} else {
		err = b.rawPage(&rows, header, &language)
	}
	if err != nil {
		return err
	}
	if b.profile.Launches == before {
		return model.Refuse(model.NoKernels, "compare ncu's kernel filter with the kernels that the workload launches",
			"%s:%d: the table holds no kernel", t.name, t.begin)
	}
	return measure.Either(language.foreign == nil && !language.english, language.unclear, language.foreign)
}

// rows are those of a table. The cells of one are valid until the next.
type rows struct {
	*table
	csv     *csv.Reader
	columns map[string]int
	width   int // of the header
	details bool
	cells   []string
	at      int   // line of the row
	err     error // why there is no next row, nil behind the last one
}

// next reads a row; it is false where there is none.
func (r *rows) next() bool {
	var err error
	if r.cells, err = r.csv.Read(); err != nil {
		if err != io.EOF {
			r.err = r.syntax(err)
		}
		return false
	}
	line, _ := r.csv.FieldPos(0)
	r.at = line + r.begin - 1
	if len(r.cells) == r.width {
		return true
	}
	// Rows of metrics on the details page end after the value, or with some empty cells.
	value := r.columns["Metric Value"]
	if r.details && len(r.cells) > value && len(r.cells) < r.width && strings.Join(r.cells[value+1:], "") == "" {
		return true
	}
	why := "the table is cut or broken"
	if len(r.cells) > r.width {
		if io.Copy(io.Discard, r.table); !r.quoted {
			why = "the quotes around the cells are lost"
		}
	}
	r.err = model.Refuse(model.BadTable, again, "%s:%d: the row has %d cells, the header %d: %s", r.name, r.at,
		len(r.cells), r.width, why)
	return false
}

// cell is the text of a column, "" where there is none.
func (r *rows) cell(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.cells) {
		return r.cells[i]
	}
	return ""
}

// launch is that of a row, as long as the row is valid.
func (r *rows) launch() launch {
	l := launch{file: r.name, line: r.at}
	for i, column := range identity {
		l.is[i] = r.cell(column)
	}
	return l
}

// rawPage reads a row a launch. Most columns serve only to find the number format of the language.
func (b *builder) rawPage(r *rows, header []string, language *language) error {
	var columns []cell // of metrics, in the current row
	var names []string
	for i, name := range header {
		if !slices.Contains(identity[:], name) && !isNumbering(name) && // process and host are not read
			!slices.Contains([]string{"Process Name", "Host Name", "Context", "CC", "Kernel Time"}, name) {
			columns = append(columns, cell{at: i, file: r.name, name: name, words: wordy(name), kept: b.keeps(name)})
			if b.keeps(name) {
				names = append(names, name)
			}
		}
	}
	units, values := false, make([]value, 0, len(names))
	for r.next() {
		l := r.launch()
		switch {
		case l.is[id] == "" && units:
			return model.Refuse(model.BadTable, again, "%s:%d: a second row of units", r.name, r.at)
		case l.is[id] == "":
			units = true
			for i := range columns {
				x := &columns[i]
				x.unit = strings.Clone(strings.TrimSpace(r.cells[x.at]))
				x.factor, x.base = baseUnit(x.unit)
			}
			continue
		case !units:
			return model.Refuse(model.BadTable, again, "%s:%d: the row of units is missing", r.name, r.at)
		}
		values = values[:0]
		for i := range columns {
			x := &columns[i]
			x.line, x.text = r.at, strings.TrimSpace(r.cells[x.at])
			if v := x.read(language); x.kept {
				values = append(values, v)
			}
		}
		b.profile.Cells += len(columns)
		if err := b.record(&l, names, values); err != nil {
			return err
		}
	}
	return r.err
}

// detailsPage reads a row a metric or rule.
func (b *builder) detailsPage(r *rows, language *language) error {
	var launches []*launch
	byID := map[[2]string]*launch{}
	for r.next() {
		l := r.launch()
		key := [2]string{l.is[process], l.is[id]}
		if first := byID[key]; first == nil {
			for i := range l.is {
				l.is[i] = strings.Clone(l.is[i]) // or it holds the whole row
			}
			byID[[2]string{l.is[process], l.is[id]}] = &l
			launches = append(launches, &l)
		} else if first.is != l.is {
			return model.Refuse(model.BadValue, again, "%s:%d: launch %s is another kernel than on line %d", r.name,
				r.at, quote(l.is[id]), first.line)
		}
		name, section := r.cell("Metric Name"), r.cell("Section Name")
		switch {
		case name != "":
			first := byID[key]
			c := cell{file: r.name, line: r.at, section: section,
				name: counter(section, r.cell("Body Item Label"), name), kept: true,
				unit: strings.TrimSpace(r.cell("Metric Unit")), text: strings.TrimSpace(r.cell("Metric Value"))}
			c.words = wordy(c.name)
			first.cells = append(first.cells, c)
		case r.cell("Rule Name") == "":
			return model.Refuse(model.BadTable, again, "%s:%d: a row with neither a metric nor a rule", r.name, r.at)
		}
	}
	if r.err != nil {
		return r.err
	}
	if len(launches) > 0 && r.last {
		if err := whole(launches); err != nil {
			return err
		}
	}
	for _, l := range launches {
		if err := b.add(l, language); err != nil {
			return err
		}
	}
	return nil
}

// syntax turns an error of the CSV reader into a refusal with its place in the file.
func (t *table) syntax(err error) error {
	if pe, ok := errors.AsType[*csv.ParseError](err); ok {
		return model.Refuse(model.Damaged, again, "%s:%d: the table is broken: %s", t.name, t.begin+pe.Line-1, pe.Err)
	}
	return model.Refuse(model.Damaged, again, "%s:%d: the table is broken: %s", t.name, t.begin, err)
}

// whole refuses a page that ends in the middle of a section that all other launches have more of. Launches of one page
// have the same metrics, and those that the GPU cannot give have a row too.
func whole(launches []*launch) error {
	last := launches[len(launches)-1]
	all, n := launches[0].cells, len(last.cells)
	same := func(a, b cell) bool { return a.section == b.section && a.name == b.name }
	if n == 0 || n >= len(all) || all[n-1].section != all[n].section || !slices.EqualFunc(last.cells, all[:n], same) {
		return nil
	}
	for _, l := range launches[:len(launches)-1] {
		if !slices.EqualFunc(l.cells, all, same) {
			return nil
		}
	}
	return model.Refuse(model.Truncated, again,
		"%s:%d: launch %s, the last one, has %d metrics, and each before it %d: the output is cut", last.file,
		last.line, quote(last.is[id]), n, len(all))
}

// add adds a launch of the details page, which may list a metric in several sections.
func (b *builder) add(l *launch, language *language) error {
	all := make(map[string]value, len(l.cells))
	b.profile.Cells += len(l.cells)
	var names []string
	for i := range l.cells {
		c := &l.cells[i]
		v := c.read(language)
		old, again := all[c.name]
		switch {
		case again && !agree(old, v):
			return model.Refuse(model.BadValue, "write one page at a time",
				"%s:%d: column %s: %s: line %d says %s of the same launch", c.file, c.line, quote(c.name),
				quote(c.text), old.line, quote(old.text))
		case again && (math.IsNaN(v.number) || old.step <= v.step):
			continue
		}
		all[c.name] = v
		if !again && b.keeps(c.name) {
			names = append(names, c.name)
		}
	}
	return b.record(l, names, measure.Map(names, func(name string) value { return all[name] }))
}

// record adds the values of a launch to those of its kernel, within the budget of names.
func (b *builder) record(l *launch, names []string, cells []value) error {
	subject, err := l.subject(&b.kernels)
	if err != nil {
		return err
	}
	p, on := b.profile, b.on(names)
	k, known := b.at[subject]
	if !known {
		k = len(p.Kernels)
		b.at[subject] = k
		p.Kernels = append(p.Kernels, counters.Kernel{Subject: subject, Values: map[string][]float64{}})
	}
	p.Launches++
	if timed := on.derive(p.Kernels[k].Values, cells); !timed {
		b.failed++
		b.first = cmp.Or(b.first, fmt.Sprintf("launch %d, of %s", p.Launches, measure.Quote(subject.Name)))
	}
	if l.is[device] != "" && !b.devices[l.is[device]] { // it is empty for a launch whose profiling failed
		b.devices[strings.Clone(l.is[device])] = true
	}
	if on.device >= 0 && cells[on.device].text != "" {
		name := measure.NormalizeControl(cells[on.device].text)
		if p.GPU != "" && p.GPU != name {
			return model.Refuse(model.OtherGPU, "profile on one GPU model at a time",
				"%s:%d: the launches ran on GPUs of different models", l.file, l.line)
		}
		p.GPU = name
	}
	return nil
}

// finish counts the GPUs and names the launches that ncu could not profile, beside others that have a time.
func (b *builder) finish() {
	p := b.profile
	p.Devices = max(1, len(b.devices))
	if b.failed > 0 && b.failed < p.Launches {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("%s: ncu did not profile %s to the end (%s): what they cost is not known, and shares are of "+
				"the rest",
				p.Source, measure.Count(b.failed, "launch", "launches"), b.first))
	}
}

// agree reports whether two cells can be roundings of one number, or say the same word.
func agree(a, b value) bool {
	if math.IsNaN(a.number) || math.IsNaN(b.number) {
		return a.text == b.text
	}
	return a.unit == b.unit && math.Abs(a.number-b.number) <= math.Max(a.step, b.step)
}
