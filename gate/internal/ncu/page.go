package ncu

import (
	"encoding/csv"
	"errors"
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
	Stream  string `csv:"Stream"`
	Block   string `csv:"Block Size"`
	Grid    string `csv:"Grid Size"`
	Device  string `csv:"Device"`
	// The NVTX ranges around the launch, with --nvtx only.
	Pushed  string `csv:"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"`
	Started string `csv:"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"`
}

// detailsRow is a row of the details page: of a metric, or of a rule.
type detailsRow struct {
	ID       string `csv:"ID"`
	Process  string `csv:"Process ID"`
	Kernel   string `csv:"Kernel Name"`
	Stream   string `csv:"Stream"`
	Block    string `csv:"Block Size"`
	Grid     string `csv:"Grid Size"`
	Device   string `csv:"Device"`
	Pushed   string `csv:"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"`
	Started  string `csv:"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"`
	Section  string `csv:"Section Name"`
	Item     string `csv:"Body Item Label"` // with some sections only
	Metric   string `csv:"Metric Name"`
	Unit     string `csv:"Metric Unit"`
	Value    string `csv:"Metric Value"`
	Rule     string `csv:"Rule Name"` // from here on with rules only
	RuleType string `csv:"Rule Type"`
	RuleText string `csv:"Rule Description"`
}

// needed are the columns that every version writes. The others depend on version and options, and people cut columns
// away that they do not want to publish.
var needed = []string{"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"}

// identity are the columns of the raw page that are no metrics and are not read.
var identity = []string{"Process Name", "Host Name", "Context", "CC", "Kernel Time"}

func isIdentity(column string) bool {
	return slices.Contains(identity, column) || isNumbering(column) ||
		strings.Contains(column, "Push/Pop_Range") || strings.Contains(column, "Start/Stop_Range")
}

// builder puts the rows of all tables together.
type builder struct {
	profile *Profile
	devices map[string]bool
	units   map[string]bool
	seen    map[measure.Subject]int
}

func newBuilder(name string) *builder {
	return &builder{
		profile: &Profile{Source: name},
		devices: map[string]bool{}, units: map[string]bool{},
		seen: map[measure.Subject]int{},
	}
}

// launch is a profiled launch while its cells are collected.
type launch struct {
	row   launchRow
	line  int
	cells []cell
	rules []Rule
	// Of the details page: how many metrics it has, and how many of them, from the first on, are those of the first launch.
	metrics, alike int
}

// table reads one table: once to see in which language its numbers are, and once to take in its launches.
func (b *builder) table(t table) error {
	details, header, err := t.shape()
	if err != nil {
		return err
	}
	each := func(take func(*launch) error) error { return t.raw(header, take) }
	if details {
		each = t.details
	}
	var l language
	found := 0
	err = each(func(x *launch) error {
		found++
		for i := range x.cells {
			l.see(&x.cells[i])
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case found == 0:
		return refuse("empty-table", t.file, t.line)
	}
	if err := l.check(); err != nil {
		return err
	}
	return each(func(x *launch) error { return b.add(t, x) })
}

func (t table) reader() *csv.Reader {
	r := csv.NewReader(strings.NewReader(t.text))
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	return r
}

// shape says which page the table is, after checking what gocsv does not: that no column is there twice, and that rows
// are as long as the header. Rows of metrics on the details page end after the value, or with some empty cells.
func (t table) shape() (details bool, header []string, err error) {
	r := t.reader()
	header, err = r.Read()
	if err != nil {
		return false, nil, t.syntax(err)
	}
	sorted := slices.Sorted(slices.Values(header))
	for i := range sorted {
		if i > 0 && sorted[i] == sorted[i-1] {
			return false, nil, refuse("column-twice", t.file, t.line, quote(sorted[i]))
		}
	}
	value := slices.Index(header, "Metric Value")
	r.ReuseRecord = true
	for {
		row, err := r.Read()
		if err == io.EOF {
			return value >= 0, header, nil
		}
		if err != nil {
			return false, nil, t.syntax(err)
		}
		short := value >= 0 && len(row) > value && len(row) < len(header) &&
			!slices.ContainsFunc(row[value+1:], func(cell string) bool { return cell != "" })
		if len(row) != len(header) && !short {
			line, _ := r.FieldPos(0)
			key := "row-length"
			if len(row) > len(header) && !strings.Contains(t.text, `"`) {
				key = "quotes-lost"
			}
			return false, nil, refuse(key, t.file, t.line+line-1, len(row), len(header))
		}
	}
}

// syntax turns an error of the CSV reader into a refusal with its place in the file.
func (t table) syntax(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return refuse("broken-table", t.file, t.line+pe.Line-1, pe.Err)
	}
	return refuse("broken-table", t.file, t.line, err)
}

// unmarshaller reads rows of one kind, once all columns that it cannot do without are there.
func (t table) unmarshaller(r *csv.Reader, row any) (*gocsv.Unmarshaller, error) {
	um, err := gocsv.NewUnmarshaller(r, row)
	if err != nil {
		return nil, t.syntax(err)
	}
	for _, column := range um.MismatchedStructFields {
		if slices.Contains(needed, column) {
			return nil, refuse("no-column", t.file, t.line, quote(column))
		}
	}
	return um, nil
}

// raw reads the raw page, a row of units and then a row a launch, and gives the launches one by one.
func (t table) raw(header []string, take func(*launch) error) error {
	r := t.reader()
	um, err := t.unmarshaller(r, launchRow{})
	if err != nil {
		return err
	}
	var units map[string]string
	for {
		x, metrics, err := um.ReadUnmatched()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return t.syntax(err)
		}
		line, _ := r.FieldPos(0)
		line += t.line - 1
		row := x.(launchRow)
		if row.ID == "" {
			if units != nil {
				return refuse("units-twice", t.file, line)
			}
			units = metrics
			continue
		}
		if units == nil {
			return refuse("no-units", t.file, line)
		}
		l := &launch{row: row, line: line, cells: make([]cell, 0, len(metrics))}
		for _, name := range header {
			if text, ok := metrics[name]; ok && !isIdentity(name) {
				l.cells = append(l.cells, t.cell(line, name, units[name], text))
			}
		}
		if err := take(l); err != nil {
			return err
		}
	}
}

// details reads the details page, a row a metric or rule, and gives the launches: the rows of one ID and process.
func (t table) details(take func(*launch) error) error {
	r := t.reader()
	um, err := t.unmarshaller(r, detailsRow{})
	if err != nil {
		return err
	}
	var launches []*launch
	var first []label // the metrics of the first launch
	byID := map[[2]string]*launch{}
	for {
		x, err := um.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return t.syntax(err)
		}
		line, _ := r.FieldPos(0)
		line += t.line - 1
		row := x.(detailsRow)
		what := launchRow{row.ID, row.Process, row.Kernel, row.Stream, row.Block, row.Grid, row.Device, row.Pushed, row.Started}
		id := [2]string{row.Process, row.ID}
		l := byID[id]
		if l == nil {
			l = &launch{row: what, line: line}
			byID[id] = l
			launches = append(launches, l)
		}
		if l.row != what {
			return refuse("another-kernel", t.file, line, quote(row.ID), l.line)
		}
		switch {
		case row.Metric != "":
			m := label{row.Section, row.Item, row.Metric}
			if len(launches) == 1 {
				first = append(first, m)
			}
			if l.metrics < len(first) && l.alike == l.metrics && first[l.metrics] == m {
				l.alike++
			}
			l.metrics++
			l.cells = append(l.cells, t.cell(line, counter(row.Section, row.Item, row.Metric), row.Unit, row.Value))
		case row.Rule != "":
			l.rules = append(l.rules, Rule{row.Section, row.Rule, row.RuleType, row.RuleText})
		default:
			return refuse("odd-row", t.file, line)
		}
	}
	if t.last {
		if err := t.whole(launches, first); err != nil {
			return err
		}
	}
	for _, l := range launches {
		if err := take(l); err != nil {
			return err
		}
	}
	return nil
}

// label is how the details page names a metric.
type label struct{ section, item, metric string }

// whole refuses a page that ends in the middle of a section that all other launches have more of. Launches of one page
// have the same metrics, and those that the GPU cannot give have a row too.
func (t table) whole(launches []*launch, first []label) error {
	n := len(launches) - 1
	if n < 1 {
		return nil
	}
	l := launches[n]
	differs := func(x *launch) bool { return x.metrics != len(first) || x.alike != len(first) }
	if l.metrics == 0 || l.alike != l.metrics || l.metrics >= len(first) || slices.ContainsFunc(launches[:n], differs) ||
		first[l.metrics-1].section != first[l.metrics].section {
		return nil
	}
	return refuse("cut-launch", t.file, l.line, quote(l.row.ID), l.metrics, len(first))
}

func (t table) cell(line int, name, unit, text string) cell {
	return cell{file: t.file, line: line, name: name, unit: strings.TrimSpace(unit), text: strings.TrimSpace(text)}
}

// add takes in a launch.
func (b *builder) add(t table, l *launch) error {
	subject, err := l.subject(t.file)
	if err != nil {
		return err
	}
	r := Record{Subject: subject, Line: l.line, Raw: map[string]Value{}, Rules: l.rules}
	all := make(map[string]Value, len(l.cells))
	b.devices[l.row.Device] = true
	count := &b.profile.Count
	count.Rules += len(l.rules)
	for i := range l.cells {
		c := &l.cells[i]
		v, kind := c.value()
		old, again := all[c.name]
		switch {
		case again && !agree(old, v):
			return c.refuse("cell-twice", old.Line, quote(old.Text))
		case again:
			count.Repeated++
			if kind != isNumber || old.Step <= v.Step {
				continue
			}
		default:
			b.count(c, kind)
		}
		all[c.name] = v
		if isKept(c.name) {
			v.Text = strings.Clone(v.Text) // or it holds the whole row
			r.Raw[c.name] = v
		}
	}
	derive(&r)
	if gpu := r.Raw[model]; gpu.Text != "" {
		name := measure.NormalizeControl(gpu.Text)
		if b.profile.GPU != "" && b.profile.GPU != name {
			return refuse("models", t.file, l.line)
		}
		b.profile.GPU = name
	}
	r.Ordinal = b.seen[subject]
	b.seen[subject]++
	b.profile.Records = append(b.profile.Records, r)
	return nil
}

// count counts a cell that is the first of its name in a launch.
func (b *builder) count(c *cell, kind cellKind) {
	count := &b.profile.Count
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
	p.Count.UnknownUnits = slices.Sorted(maps.Keys(b.units))
	return p
}

var (
	// unnamed is what ncu leaves of an anonymous namespace.
	unnamed = regexp.MustCompile(`(^|[^<\w])unnamed>::`)
	extent  = regexp.MustCompile(`^\( *([0-9]+) *, *([0-9]+) *, *([0-9]+) *\)$`)
	// around is one NVTX range of those around a launch: domain, name, and six fields of payload, colour and message.
	around = regexp.MustCompile(`"(?:[0-9]+:)?([^":]*):([^"]*?)(?::[^":]*){6}"`)
)

// subject is the kernel with its geometry, which ncu before 2023 does not print. With --replay-mode range it is the NVTX
// range, and only named "range" where there is none.
func (l *launch) subject(file string) (measure.Subject, error) {
	s := measure.Subject{Scope: measure.ScopeKernel}
	s.Name = measure.NormalizeName(unnamed.ReplaceAllString(l.row.Kernel, "$1<unnamed>::"))
	if s.Name == "" {
		return s, refuse("no-name", file, l.line)
	}
	for _, x := range []struct {
		column, text string
		to           *measure.Dim3
	}{{"Grid Size", l.row.Grid, &s.Grid}, {"Block Size", l.row.Block, &s.Block}} {
		if nothing[strings.ToLower(x.text)] {
			continue
		}
		c := cell{file: file, line: l.line, name: x.column, text: x.text}
		m := extent.FindStringSubmatch(x.text)
		if m == nil {
			return s, c.refuse("no-extent")
		}
		for i, to := range []*uint32{&x.to.X, &x.to.Y, &x.to.Z} {
			n, err := strconv.ParseUint(m[i+1], 10, 32)
			if err != nil {
				return s, c.refuse("large-extent")
			}
			*to = uint32(n)
		}
	}
	if s.Name == "range" && l.row.Stream == "n/a" { // a range has no stream of its own
		s = measure.Subject{Scope: measure.ScopeRange, Name: "range"}
		ranges := around.FindAllStringSubmatch(l.row.Pushed+" "+l.row.Started, -1)
		if len(ranges) > 0 {
			inner := ranges[len(ranges)-1]
			name := inner[2]
			if inner[1] != "" && inner[1] != "<default domain>" {
				name = inner[1] + ":" + name
			}
			s.Name = measure.NormalizeRange(name)
		}
	}
	return s, nil
}
