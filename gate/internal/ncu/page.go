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

	"github.com/nsgate/nsgate/gate/internal/counters"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// isMetric reports whether a column of the raw page is a metric. Those that name the process and the host are not read.
func isMetric(column string) bool {
	return !slices.Contains(identity[:], column) && !isNumbering(column) &&
		!slices.Contains([]string{"Process Name", "Host Name", "Context", "CC", "Kernel Time"}, column)
}

// table reads one table: of the raw page, a row of units and then a row a launch, or of the details page, a row a
// metric or rule.
func (b *builder) table(t *table) error {
	r := csv.NewReader(strings.NewReader(t.text.String()))
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
			return model.Refuse(model.BadTable, again, "%s:%d: column %s is there twice", t.file, t.begin, quote(column))
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
			return model.Refuse(model.BadTable, again, "%s:%d: no column %s", t.file, t.begin, quote(column))
		}
	}
	before := len(b.profile.Records)
	var language language
	if rows.details {
		err = b.detailsPage(&rows, &language)
	} else {
		err = b.rawPage(&rows, header, &language)
	}
	if err != nil {
		return err
	}
	if len(b.profile.Records) == before {
		return model.Refuse(model.NoKernels, "compare ncu's kernel filter with the kernels that the workload launches",
			"%s:%d: the table holds no kernel", t.file, t.begin)
	}
	return language.check()
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
	if len(r.cells) > r.width && !strings.Contains(r.text.String(), `"`) {
		why = "the quotes around the cells are lost"
	}
	r.err = model.Refuse(model.BadTable, again, "%s:%d: the row has %d cells, the header %d: %s", r.file, r.at, len(r.cells), r.width, why)
	return false
}

// cell is the text of a column, "" where there is none.
func (r *rows) cell(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.cells) {
		return r.cells[i]
	}
	return ""
}

func (r *rows) launch() *launch {
	l := &launch{file: r.file, line: r.at}
	for i, column := range identity {
		l.is[i] = strings.Clone(r.cell(column)) // or it holds the whole row
	}
	return l
}

// counted is a column of the raw page that holds a metric.
type counted struct {
	at         int
	name, unit string
	words      bool // it may hold words that look like numbers
	kept       bool
	factor     float64 // from the unit to its base
	base       string
}

// rawPage reads a row a launch. Most columns serve only to find the number format of the language.
func (b *builder) rawPage(r *rows, header []string, language *language) error {
	var columns []counted
	kept := 0
	for i, name := range header {
		if isMetric(name) {
			columns = append(columns, counted{at: i, name: name, words: wordy(name), kept: b.keeps(name)})
			if b.keeps(name) {
				kept++
			}
		}
	}
	units := false
	for r.next() {
		l := r.launch()
		switch {
		case l.is[id] == "" && units:
			return model.Refuse(model.BadTable, again, "%s:%d: a second row of units", r.file, r.at)
		case l.is[id] == "":
			units = true
			for i := range columns {
				x := &columns[i]
				x.unit = strings.Clone(strings.TrimSpace(r.cells[x.at]))
				x.factor, x.base = baseUnit(x.unit)
			}
			continue
		case !units:
			return model.Refuse(model.BadTable, again, "%s:%d: the row of units is missing", r.file, r.at)
		}
		record := counters.Record{Line: r.at, Raw: make(map[string]counters.Value, kept)}
		for i := range columns {
			x := &columns[i]
			c := cell{r.file, r.at, "", x.name, x.unit, strings.TrimSpace(r.cells[x.at]), x.factor, x.base}
			if !x.words {
				language.see(&c)
			}
			if x.kept {
				keep(&record, &c, c.value())
			}
		}
		b.profile.Cells += len(columns)
		if err := b.record(l, record); err != nil {
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
			byID[key] = l
			launches = append(launches, l)
		} else if first.is != l.is {
			return model.Refuse(model.BadValue, again, "%s:%d: launch %s is another kernel than on line %d", r.file, r.at, quote(l.is[id]), first.line)
		}
		switch name, section := r.cell("Metric Name"), r.cell("Section Name"); {
		case name != "":
			first := byID[key]
			first.cells = append(first.cells, cell{file: r.file, line: r.at, section: section,
				name: counter(section, r.cell("Body Item Label"), name),
				unit: strings.TrimSpace(r.cell("Metric Unit")), text: strings.TrimSpace(r.cell("Metric Value"))})
		case r.cell("Rule Name") == "":
			return model.Refuse(model.BadTable, again, "%s:%d: a row with neither a metric nor a rule", r.file, r.at)
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
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return model.Refuse(model.Damaged, again, "%s:%d: the table is broken: %s", t.file, t.begin+pe.Line-1, pe.Err)
	}
	return model.Refuse(model.Damaged, again, "%s:%d: the table is broken: %s", t.file, t.begin, err)
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
		"%s:%d: launch %s, the last one, has %d metrics, and each before it %d: the output is cut", last.file, last.line, quote(last.is[id]), n, len(all))
}

// add adds a launch of the details page, which may list a metric in several sections.
func (b *builder) add(l *launch, language *language) error {
	r := counters.Record{Line: l.line, Raw: map[string]counters.Value{}}
	all := make(map[string]counters.Value, len(l.cells))
	b.profile.Cells += len(l.cells)
	for i := range l.cells {
		c := &l.cells[i]
		if !wordy(c.name) {
			language.see(c)
		}
		v := c.value()
		old, again := all[c.name]
		switch {
		case again && !agree(old, v):
			return model.Refuse(model.BadValue, "write one page at a time",
				"%s:%d: column %s: %s: line %d says %s of the same launch", c.file, c.line, quote(c.name), quote(c.text), old.Line, quote(old.Text))
		case again && (math.IsNaN(v.Number) || old.Step <= v.Step):
			continue
		}
		all[c.name] = v
		if b.keeps(c.name) {
			keep(&r, c, v)
		}
	}
	return b.record(l, r)
}

// keep puts a cell into the record.
func keep(r *counters.Record, c *cell, v counters.Value) {
	v.Text = strings.Clone(v.Text) // or it holds the whole row
	r.Raw[c.name] = v
}

// record makes the record of a launch whose cells are read, within the budget of names.
func (b *builder) record(l *launch, r counters.Record) (err error) {
	if r.Subject, err = l.subject(&b.kernels); err != nil {
		return err
	}
	b.derive(&r)
	if l.is[device] != "" { // it is empty for a launch whose profiling failed
		b.devices[l.is[device]] = true
	}
	if gpu := r.Raw[deviceName]; gpu.Text != "" {
		name := measure.NormalizeControl(gpu.Text)
		if b.profile.GPU != "" && b.profile.GPU != name {
			return model.Refuse(model.OtherGPU, "profile on one GPU model at a time",
				"%s:%d: the launches ran on GPUs of different models", l.file, l.line)
		}
		b.profile.GPU = name
	}
	b.profile.Records = append(b.profile.Records, r)
	return nil
}

// finish counts the GPUs and names the launches that ncu could not profile, beside others that have a time.
func (b *builder) finish() {
	p := b.profile
	p.Devices = max(1, len(b.devices))
	timed := func(r counters.Record) bool { _, ok := r.Metrics[measure.ReplayTime.Name]; return ok }
	if !slices.ContainsFunc(p.Records, timed) {
		return
	}
	failed, first := 0, ""
	for i, r := range p.Records {
		if !timed(r) {
			failed++
			first = cmp.Or(first, fmt.Sprintf("launch %d, of %s", i+1, measure.Quote(r.Subject.Name)))
		}
	}
	if failed > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s: ncu did not profile %s to the end (%s): what they cost is not known, and shares are of the rest",
			p.Source, measure.Count(failed, "launch", "launches"), first))
	}
}

// agree reports whether two cells can be roundings of one number, or say the same word.
func agree(a, b counters.Value) bool {
	if math.IsNaN(a.Number) || math.IsNaN(b.Number) {
		return a.Text == b.Text
	}
	return a.Unit == b.Unit && math.Abs(a.Number-b.Number) <= math.Max(a.Step, b.Step)
}
