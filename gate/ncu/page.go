package ncu

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gocarina/gocsv"

	"github.com/nsgate/nsgate/gate/measure"
)

// launchRow are the columns that say which launch a row is about. Every field is the text of its cell, and what a cell
// means is decided in one place below, since gocsv by itself reads an empty cell or a missing column as zero. The
// columns that name the process and the host are not read.
type launchRow struct {
	ID      string `csv:"ID"`
	Process string `csv:"Process ID"`
	Kernel  string `csv:"Kernel Name"`
	Block   string `csv:"Block Size"`
	Grid    string `csv:"Grid Size"`
	Device  string `csv:"Device"`
}

// detailsRow is a row of the details page: of a metric, or of a rule.
type detailsRow struct {
	ID       string `csv:"ID"`
	Process  string `csv:"Process ID"`
	Kernel   string `csv:"Kernel Name"`
	Block    string `csv:"Block Size"`
	Grid     string `csv:"Grid Size"`
	Device   string `csv:"Device"`
	Section  string `csv:"Section Name"`
	Item     string `csv:"Body Item Label"` // with some sections only
	Metric   string `csv:"Metric Name"`
	Unit     string `csv:"Metric Unit"`
	Value    string `csv:"Metric Value"`
	Rule     string `csv:"Rule Name"` // from here on with rules only
	RuleType string `csv:"Rule Type"`
	RuleText string `csv:"Rule Description"`
}

// optional are the columns that some versions and options leave out.
var optional = []string{"Block Size", "Grid Size", "Device", "Body Item Label", "Rule Name", "Rule Type", "Rule Description"}

// identity are the columns of the raw page that are no metrics and are not read.
var identity = []string{"Process Name", "Host Name", "Context", "Stream", "CC", "Kernel Time"}

func isIdentity(column string) bool {
	return slices.Contains(identity, column) ||
		strings.Contains(column, "Push/Pop_Range") || strings.Contains(column, "Start/Stop_Range")
}

// builder puts the rows of all tables together.
type builder struct {
	profile *Profile
	devices map[string]bool
	names   map[string]bool
	used    map[string]bool
	units   map[string]bool
	seen    map[measure.Subject]int
}

func newBuilder(name string) *builder {
	return &builder{
		profile: &Profile{Source: name},
		devices: map[string]bool{}, names: map[string]bool{}, used: map[string]bool{}, units: map[string]bool{},
		seen: map[measure.Subject]int{},
	}
}

// launch is a profiled launch while its cells are collected.
type launch struct {
	row   launchRow
	line  int
	cells []*cell
	rules []Rule
}

// table reads one table.
func (b *builder) table(t table) error {
	b.profile.Count.Tables++
	details, err := t.shape()
	if err != nil {
		return err
	}
	var launches []*launch
	if details {
		launches, err = t.details()
	} else {
		launches, err = t.raw()
	}
	if err != nil {
		return err
	}
	if len(launches) == 0 {
		return refuse(t.file, t.line, "the table holds no kernel",
			"compare ncu's kernel filter with the kernels that the workload launches")
	}
	var l language
	for _, x := range launches {
		for _, c := range x.cells {
			if !lists[c.name] {
				l.see(c)
			}
		}
	}
	if err := l.check(); err != nil {
		return err
	}
	for _, x := range launches {
		if err := b.add(t, x); err != nil {
			return err
		}
	}
	return nil
}

func (t table) reader() *csv.Reader {
	r := csv.NewReader(strings.NewReader(t.text))
	r.FieldsPerRecord = -1
	return r
}

// shape says which page the table is, after checking what gocsv does not: that no column is there twice, and that rows
// are as long as the header. Rows of metrics on the details page end after the value, with or without an empty cell.
func (t table) shape() (details bool, err error) {
	r := t.reader()
	header, err := r.Read()
	if err != nil {
		return false, t.syntax(err)
	}
	sorted := slices.Sorted(slices.Values(header))
	for i := range sorted {
		if i > 0 && sorted[i] == sorted[i-1] {
			return false, refuse(t.file, t.line, fmt.Sprintf("column %s is there twice", quote(sorted[i])), again)
		}
	}
	value := slices.Index(header, "Metric Value")
	r.ReuseRecord = true
	for {
		row, err := r.Read()
		if err == io.EOF {
			return value >= 0, nil
		}
		if err != nil {
			return false, t.syntax(err)
		}
		short := value >= 0 && (len(row) == value+1 || len(row) == value+2 && row[value+1] == "")
		if len(row) != len(header) && !short {
			line, _ := r.FieldPos(0)
			return false, refuse(t.file, t.line+line-1, fmt.Sprintf("the row has %d cells, the header %d: the table is cut or broken",
				len(row), len(header)), again)
		}
	}
}

// syntax turns an error of the CSV reader into a refusal with its place in the file.
func (t table) syntax(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return refuse(t.file, t.line+pe.Line-1, fmt.Sprintf("the table is broken: %v", pe.Err), again)
	}
	return refuse(t.file, t.line, "the table is broken: "+err.Error(), again)
}

// unmarshaller reads rows of one kind, once all columns that it cannot do without are there.
func (t table) unmarshaller(r *csv.Reader, row any) (*gocsv.Unmarshaller, error) {
	um, err := gocsv.NewUnmarshaller(r, row)
	if err != nil {
		return nil, t.syntax(err)
	}
	for _, column := range um.MismatchedStructFields {
		if !slices.Contains(optional, column) {
			return nil, refuse(t.file, t.line, fmt.Sprintf("no column %q", column), again)
		}
	}
	return um, nil
}

// raw reads the raw page: a row of units, then a row a launch.
func (t table) raw() ([]*launch, error) {
	r := t.reader()
	um, err := t.unmarshaller(r, launchRow{})
	if err != nil {
		return nil, err
	}
	var launches []*launch
	var units map[string]string
	for {
		x, metrics, err := um.ReadUnmatched()
		if err == io.EOF {
			return launches, nil
		}
		if err != nil {
			return nil, t.syntax(err)
		}
		line, _ := r.FieldPos(0)
		line += t.line - 1
		row := x.(launchRow)
		if row.ID == "" {
			if units != nil {
				return nil, refuse(t.file, line, "a second row of units", again)
			}
			units = metrics
			continue
		}
		if units == nil {
			return nil, refuse(t.file, line, "the row of units is missing", again)
		}
		l := &launch{row: row, line: line}
		for _, name := range slices.Sorted(maps.Keys(metrics)) {
			if !isIdentity(name) {
				l.cells = append(l.cells, t.cell(line, name, units[name], metrics[name]))
			}
		}
		launches = append(launches, l)
	}
}

// details reads the details page: a row a metric or rule, and a launch is the rows of one ID and process.
func (t table) details() ([]*launch, error) {
	r := t.reader()
	um, err := t.unmarshaller(r, detailsRow{})
	if err != nil {
		return nil, err
	}
	var launches []*launch
	byID := map[[2]string]*launch{}
	for {
		x, err := um.Read()
		if err == io.EOF {
			return launches, nil
		}
		if err != nil {
			return nil, t.syntax(err)
		}
		line, _ := r.FieldPos(0)
		line += t.line - 1
		row := x.(detailsRow)
		what := launchRow{row.ID, row.Process, row.Kernel, row.Block, row.Grid, row.Device}
		id := [2]string{row.Process, row.ID}
		l := byID[id]
		if l == nil {
			l = &launch{row: what, line: line}
			byID[id] = l
			launches = append(launches, l)
		}
		if l.row != what {
			return nil, refuse(t.file, line, fmt.Sprintf("launch %s is another kernel than on line %d", quote(row.ID), l.line), again)
		}
		switch {
		case row.Metric != "":
			l.cells = append(l.cells, t.cell(line, counter(row.Section, row.Item, row.Metric), row.Unit, row.Value))
		case row.Rule != "":
			l.rules = append(l.rules, Rule{row.Section, row.Rule, row.RuleType, row.RuleText})
		default:
			return nil, refuse(t.file, line, "a row with neither a metric nor a rule", again)
		}
	}
}

func (t table) cell(line int, name, unit, text string) *cell {
	return &cell{file: t.file, line: line, name: name, unit: strings.TrimSpace(unit), text: strings.TrimSpace(text)}
}

// add takes in a launch.
func (b *builder) add(t table, l *launch) error {
	subject, err := l.subject(t.file)
	if err != nil {
		return err
	}
	r := Record{Subject: subject, Line: l.line, Raw: make(map[string]Value, len(l.cells)), Rules: l.rules}
	b.devices[l.row.Device] = true
	count := &b.profile.Count
	count.Rules += len(l.rules)
	for _, c := range l.cells {
		v, kind := c.value()
		if old, again := r.Raw[c.name]; again {
			if !agree(old, v) {
				return c.refuse(fmt.Sprintf("line %d says %s of the same launch", old.Line, quote(old.Text)), "write one page at a time")
			}
			count.Repeated++
			if old.Step <= v.Step || kind != isNumber {
				continue
			}
		}
		switch kind {
		case isNumber:
			count.Numbers++
			if _, _, known := baseUnit(c.unit); !known {
				b.units[measure.NormalizeControl(c.unit)] = true
			}
		case isText:
			count.Texts++
		case isMissing:
			count.Missing++
		}
		r.Raw[c.name] = v
		b.names[c.name] = true
	}
	b.derive(&r)
	if gpu := r.Raw["device__attribute_display_name"]; gpu.Text != "" {
		name := measure.NormalizeControl(gpu.Text)
		if b.profile.GPU != "" && b.profile.GPU != name {
			return refuse(t.file, l.line, "the launches ran on GPUs of different models", "profile on one GPU model at a time")
		}
		b.profile.GPU = name
	}
	r.Ordinal = b.seen[subject]
	b.seen[subject]++
	b.profile.Records = append(b.profile.Records, r)
	return nil
}

// agree reports whether two cells can be roundings of one number, or say the same word.
func agree(a, b Value) bool {
	if math.IsNaN(a.Number) || math.IsNaN(b.Number) {
		return a.Text == b.Text
	}
	return a.Unit == b.Unit && math.Abs(a.Number-b.Number) <= math.Max(a.Step, b.Step)
}

func (b *builder) finish() *Profile {
	p := b.profile
	p.Devices = len(b.devices)
	p.Count.Names, p.Count.Used = len(b.names), len(b.used)
	p.Count.UnknownUnits = slices.Sorted(maps.Keys(b.units))
	return p
}

var (
	// unnamed is what ncu leaves of an anonymous namespace.
	unnamed = regexp.MustCompile(`(^|[^<\w])unnamed>::`)
	extent  = regexp.MustCompile(`^\(([0-9]+), ([0-9]+), ([0-9]+)\)$`)
)

// subject is the kernel with its geometry; ncu before 2023 prints no geometry.
func (l *launch) subject(file string) (measure.Subject, error) {
	s := measure.Subject{Scope: measure.ScopeKernel}
	s.Name = measure.NormalizeName(unnamed.ReplaceAllString(l.row.Kernel, "$1<unnamed>::"))
	if s.Name == "" {
		return s, refuse(file, l.line, "the launch has no kernel name", again)
	}
	for _, x := range []struct {
		column, text string
		to           *measure.Dim3
	}{{"Grid Size", l.row.Grid, &s.Grid}, {"Block Size", l.row.Block, &s.Block}} {
		if x.text == "" {
			continue
		}
		c := cell{file: file, line: l.line, name: x.column, text: x.text}
		m := extent.FindStringSubmatch(x.text)
		if m == nil {
			return s, c.refuse("not of the form (X, Y, Z)", again)
		}
		for i, to := range []*uint32{&x.to.X, &x.to.Y, &x.to.Z} {
			n, err := strconv.ParseUint(m[i+1], 10, 32)
			if err != nil {
				return s, c.refuse("larger than any grid", again)
			}
			*to = uint32(n)
		}
	}
	return s, nil
}
