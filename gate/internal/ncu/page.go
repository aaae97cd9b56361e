package ncu

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// identity are the columns that say which launch a row is about; the NVTX ranges around it are there with --nvtx only.
// Versions and options differ in the others, and people cut away what they do not want to publish.
var identity = [...]string{
	id: "ID", process: "Process ID", kernel: "Kernel Name", stream: "Stream", grid: "Grid Size", block: "Block Size", device: "Device",
	pushed:  "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
	started: "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
}

const (
	id = iota
	process
	kernel
	stream
	grid
	block
	device
	pushed
	started
)

// isMetric reports whether a column of the raw page is a metric. Those that name the process and the host are not read.
func isMetric(column string) bool {
	return !slices.Contains(identity[:], column) && !isNumbering(column) &&
		!slices.Contains([]string{"Process Name", "Host Name", "Context", "CC", "Kernel Time"}, column)
}

// launch is a profiled launch while its cells are collected.
type launch struct {
	is    [len(identity)]string
	file  string
	line  int
	cells []cell
}

// add adds a cell.
func (l *launch) add(line int, section, name, unit, text string) {
	l.cells = append(l.cells, cell{l.file, line, section, name, strings.TrimSpace(unit), strings.TrimSpace(text)})
}

// builder puts the launches of all tables together.
type builder struct {
	profile *Profile
	devices map[string]bool
}

// table reads one table: of the raw page, a row of units and then a row a launch, or of the details page, a row a metric
// or rule.
func (b *builder) table(t table) error {
	r := csv.NewReader(strings.NewReader(t.text))
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if err != nil {
		return t.syntax(err)
	}
	columns := make(map[string]int, len(header))
	metrics := make([]bool, len(header))
	for i, column := range header {
		if _, twice := columns[column]; twice {
			return refuse("column-twice", t.file, t.line, quote(column))
		}
		columns[column], metrics[i] = i, isMetric(column)
	}
	value, details := columns["Metric Value"]
	needed := identity[:kernel+1]
	if details {
		needed = []string{identity[id], identity[kernel], "Metric Name", "Metric Unit"}
	}
	for _, column := range needed {
		if _, ok := columns[column]; !ok && column != identity[process] {
			return refuse("no-column", t.file, t.line, quote(column))
		}
	}
	before := len(b.profile.Records)
	var language language
	var units []string
	var launches []*launch // of the details page
	byID := map[[2]string]*launch{}
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return t.syntax(err)
		}
		line, _ := r.FieldPos(0)
		line += t.line - 1
		// Rows of metrics on the details page end after the value, or with some empty cells.
		short := details && len(row) > value && len(row) < len(header) && strings.Join(row[value+1:], "") == ""
		if len(row) != len(header) && !short {
			key := "row-length"
			if len(row) > len(header) && !strings.Contains(t.text, `"`) {
				key = "quotes-lost"
			}
			return refuse(key, t.file, line, len(row), len(header))
		}
		cell := func(column string) string {
			if i, ok := columns[column]; ok && i < len(row) {
				return row[i]
			}
			return ""
		}
		l := &launch{file: t.file, line: line}
		for i, column := range identity {
			l.is[i] = cell(column)
		}
		if !details {
			switch {
			case l.is[id] == "" && units != nil:
				return refuse("units-twice", t.file, line)
			case l.is[id] == "":
				units = row
				continue
			case units == nil:
				return refuse("no-units", t.file, line)
			}
			for i, name := range header {
				if metrics[i] {
					l.add(line, "", name, units[i], row[i])
				}
			}
			if err := b.add(l, &language); err != nil {
				return err
			}
			continue
		}
		key := [2]string{l.is[process], l.is[id]}
		if first := byID[key]; first == nil {
			byID[key] = l
			launches = append(launches, l)
		} else if first.is != l.is {
			return refuse("another-kernel", t.file, line, quote(l.is[id]), first.line)
		}
		switch name, section := cell("Metric Name"), cell("Section Name"); {
		case name != "":
			byID[key].add(line, section, counter(section, cell("Body Item Label"), name), cell("Metric Unit"), cell("Metric Value"))
		case cell("Rule Name") == "":
			return refuse("odd-row", t.file, line)
		}
	}
	if len(launches) > 0 && t.last {
		if err := whole(launches); err != nil {
			return err
		}
	}
	for _, l := range launches {
		if err := b.add(l, &language); err != nil {
			return err
		}
	}
	if len(b.profile.Records) == before {
		return refuse("empty-table", t.file, t.line)
	}
	return language.check()
}

// syntax turns an error of the CSV reader into a refusal with its place in the file.
func (t table) syntax(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return refuse("broken-table", t.file, t.line+pe.Line-1, pe.Err)
	}
	return refuse("broken-table", t.file, t.line, err)
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
	return refuse("cut-launch", last.file, last.line, quote(last.is[id]), n, len(all))
}

// add takes in a launch.
func (b *builder) add(l *launch, language *language) error {
	subject, err := l.subject()
	if err != nil {
		return err
	}
	r := Record{Subject: subject, Line: l.line, Raw: map[string]Value{}}
	all := make(map[string]Value, len(l.cells))
	b.profile.Cells += len(l.cells)
	b.devices[l.is[device]] = true
	for i := range l.cells {
		c := &l.cells[i]
		language.see(c)
		v := c.value()
		old, again := all[c.name]
		switch {
		case again && !agree(old, v):
			return refuse("cell-twice", c.file, c.line, quote(c.name), quote(c.text), old.Line, quote(old.Text))
		case again && (math.IsNaN(v.Number) || old.Step <= v.Step):
			continue
		}
		all[c.name] = v
		if isKept(c.name) {
			v.Text = strings.Clone(v.Text) // or it holds the whole row
			r.Raw[c.name] = v
		}
	}
	return b.record(l, r)
}

// record takes in a launch whose cells are read.
func (b *builder) record(l *launch, r Record) error {
	derive(&r)
	if gpu := r.Raw[model]; gpu.Text != "" {
		name := measure.NormalizeControl(gpu.Text)
		if b.profile.GPU != "" && b.profile.GPU != name {
			return refuse("models", l.file, l.line)
		}
		b.profile.GPU = name
	}
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

var (
	// unnamed is what ncu leaves of an anonymous namespace.
	unnamed = regexp.MustCompile(`(^|[^<\w])unnamed>::`)
	extent  = regexp.MustCompile(`^\( *([0-9]+) *, *([0-9]+) *, *([0-9]+) *\)$`)
	// around is one NVTX range of those around a launch: domain, name, and six fields of payload, colour and message.
	around = regexp.MustCompile(`"(?:[0-9]+:)?([^":]*):([^"]*?)(?::[^":]*){6}"`)
)

// subject is the kernel with its geometry, which ncu before 2023 does not print. With --replay-mode range it is the NVTX
// range, and only named "range" where there is none.
func (l *launch) subject() (measure.Subject, error) {
	s := measure.Subject{Scope: measure.ScopeKernel}
	s.Name = measure.NormalizeName(unnamed.ReplaceAllString(l.is[kernel], "$1<unnamed>::"))
	if s.Name == "" {
		return s, refuse("no-name", l.file, l.line)
	}
	for column, to := range map[int]*measure.Dim3{grid: &s.Grid, block: &s.Block} {
		text := l.is[column]
		if text == "" || text == "n/a" {
			continue
		}
		c := cell{file: l.file, line: l.line, name: identity[column], text: text}
		m := extent.FindStringSubmatch(text)
		if m == nil {
			return s, c.refuse("no-extent")
		}
		for i, to := range []*uint32{&to.X, &to.Y, &to.Z} {
			n, err := strconv.ParseUint(m[i+1], 10, 32)
			if err != nil {
				return s, c.refuse("large-extent")
			}
			*to = uint32(n)
		}
	}
	if s.Name == "range" && l.is[stream] == "n/a" { // a range has no stream of its own
		s = measure.Subject{Scope: measure.ScopeRange, Name: "range"}
		if ranges := around.FindAllStringSubmatch(l.is[pushed]+" "+l.is[started], -1); len(ranges) > 0 {
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
