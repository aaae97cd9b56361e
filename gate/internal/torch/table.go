package torch

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// mostTable is the most bytes that the rows of a table may have.
const mostTable = 64 << 20

var (
	gap    = regexp.MustCompile(`\s{2,}`)
	device = regexp.MustCompile(`^Self ([A-Z][A-Za-z0-9_]*)$`)
	footer = regexp.MustCompile(`^\s*Self ([A-Z][A-Za-z0-9_]*) time total:\s*(\S+)\s*$`)
)

// isRule reports whether a line is one of the dashed lines around the rows.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "---") && strings.Contains(line, "-  -") && strings.Trim(line, "- ") == ""
}

// tableHeader splits a line if it is the header of a table of key_averages.
func tableHeader(line string) (columns []string, ok bool) {
	if line = strings.TrimSpace(line); !strings.HasPrefix(line, "Name ") {
		return nil, false
	}
	if columns = gap.Split(line, -1); len(columns) < 3 || columns[0] != "Name" {
		return nil, false
	}
	var calls, cpu bool
	for _, c := range columns {
		calls = calls || c == "# of Calls" || c == "Number of Calls"
		cpu = cpu || strings.HasPrefix(c, "Self CPU") || strings.HasPrefix(c, "CPU total")
	}
	return columns, calls && cpu
}

// printed is a table on its way in.
type printed struct {
	src  source
	line int // of the header
	// device is how the table calls the GPU: CUDA, or HIP.
	device string
	column map[string]int // of the columns behind the names
	from   int            // where the names begin
	names  []int          // widths of the columns of names: one, or two with overload names
	size   int            // bytes of all rows
	gpu    []printedRow   // rows of what ran on the GPU
	cpu    map[string]bool
	closed bool
	footed bool
	total  amount // at the foot
}

// printedRow is a row of a kernel, copy or annotation.
type printedRow struct {
	name           string
	total, average amount
	calls          int64
}

// amount is a time as printed, in ns, and half of its last place: it is right to within that.
type amount struct {
	ns   int64
	half float64
}

// parseAmount reads "239.338ms".
func parseAmount(s string) (amount, bool) {
	unit := strings.TrimLeft(s, "0123456789.")
	factor, base, known := measure.BaseUnit(unit)
	n, form := cells.Parse(strings.TrimSuffix(s, unit))
	ns, ok := n.Int(factor)
	return amount{ns, max(0.5, n.Step(factor)/2)}, ok && known && base == "ns" && form != cells.NoNumber && form != cells.Foreign
}

// readTable reads the one table that stands somewhere in a text. A table that is printed again in another order, as
// programs do, is read once.
func readTable(src source, in *bufio.Reader) (*model.Session, error) {
	var tables []*printed
	in = bufio.NewReader(cells.UTF8(in))
	for number := 1; ; number++ {
		line, err := cells.Line(in)
		if err != nil && err != io.EOF {
			return nil, src.broken(err)
		}
		if line == "" && err == io.EOF {
			break
		}
		err = nil
		if columns, ok := tableHeader(line); ok {
			var t *printed
			t, err = newPrinted(src, number, columns)
			tables = append(tables, t)
		} else if len(tables) > 0 {
			err = tables[len(tables)-1].read(line, number)
		}
		if err != nil {
			return nil, err
		}
	}
	var first *model.Session
	for _, t := range tables {
		s, err := t.session()
		switch {
		case err != nil:
			return nil, err
		case first == nil:
			first = s
		case !sameSeries(first, s):
			return nil, model.Refuse(model.SeveralTables, "keep one table a file, of one run",
				"%s: there is another table in line %d, with other numbers", t.place(), tables[0].line)
		}
	}
	if first == nil {
		return nil, model.Refuse(model.OtherFormat, "name what prof.export_chrome_trace wrote, or "+printAgain,
			"%s holds neither a trace nor a table of torch.profiler", src)
	}
	return first, nil
}

// newPrinted checks that the header has what is needed.
func newPrinted(src source, line int, columns []string) (*printed, error) {
	t := &printed{src: src, line: line, column: make(map[string]int), cpu: make(map[string]bool), names: []int{0}}
	behind := 1
	if columns[1] == "Overload Name" {
		behind, t.names = 2, []int{0, 0}
	}
	for i, c := range columns[behind:] {
		t.column[c] = i
		if m := device.FindStringSubmatch(c); m != nil && m[1] != "CPU" {
			t.device = m[1]
		}
	}
	_, old := t.column["CUDA total"]
	switch {
	case t.device == "" && old:
		return nil, model.Refuse(model.NotTraced, "update PyTorch and "+printAgain,
			"%s: a table of PyTorch before 1.8, which lists no kernels", t.place())
	case t.device == "":
		return nil, model.Refuse(model.NotTraced, activities+", then "+printAgain,
			"%s: the table has no GPU times", t.place())
	case t.device != "CUDA" && t.device != "HIP":
		return nil, model.Refuse(model.OtherDevice, "profile on a CUDA GPU",
			"%s: the table is of %s, which nsgate cannot judge", t.place(), measure.Quote(t.device))
	}
	for _, c := range append(t.times(), "# of Calls") {
		if _, ok := t.column[c]; !ok {
			return nil, model.Refuse(model.BadTable, printAgain, "%s: the table has no column %s", t.place(), measure.Quote(c))
		}
	}
	return t, nil
}

// times are the columns of times that are read. What ran on the GPU has no total beside its own time.
func (t *printed) times() []string {
	return []string{"Self CPU", "CPU total", "Self " + t.device, t.device + " time avg"}
}

// read takes in a line behind the header.
func (t *printed) read(line string, number int) error {
	line = strings.TrimRight(line, " \t\r\n")
	switch {
	case line == "": // between the stacks of two rows
		return nil
	case t.closed:
		m := footer.FindStringSubmatch(line)
		if m == nil || m[1] != t.device || t.footed {
			return nil
		}
		if t.total, t.footed = parseAmount(m[2]); !t.footed {
			return model.Refuse(model.BadValue, printAgain, "%s:%d: %s is no time", t.src, number, measure.Quote(m[2]))
		}
		return nil
	case t.names[0] == 0:
		if !isRule(line) {
			return model.Refuse(model.BadTable, printAgain, "%s:%d: the line under the header is no rule", t.src, number)
		}
		rules := gap.Split(strings.TrimSpace(line), -1)
		if len(rules) != len(t.names)+len(t.column) {
			return model.Refuse(model.BadTable, printAgain,
				"%s:%d: the rule has other columns than the header", t.src, number)
		}
		t.from = strings.IndexByte(line, '-')
		for i := range t.names {
			t.names[i] = len(rules[i])
		}
		return nil
	case isRule(line):
		t.closed = true
		return nil
	case len(line) >= cells.LongestLine-2:
		return model.Refuse(model.TooLarge, printAgain, "%s:%d: the line is longer than a row of a table", t.src, number)
	}
	if t.size += len(line); t.size > mostTable {
		return model.Refuse(model.TooLarge, "group its rows: "+printAgain,
			"%s:%d: the table is larger than %d MB", t.src, number, mostTable>>20)
	}
	return t.readRow(line, number)
}

// readRow takes in a row. The names stand in columns of fixed width, in characters; all others are set apart by at least
// two spaces, however wide they are.
func (t *printed) readRow(line string, number int) error {
	row := []rune(line)
	if strings.TrimSpace(string(row[:min(t.from, len(row))])) != "" {
		return model.Refuse(model.BadTable, printAgain,
			"%s:%d: the row begins before the column of names", t.src, number)
	}
	end := t.from
	for _, width := range t.names {
		if end += width + 2; len(row) < end || string(row[end-2:end]) != "  " {
			return model.Refuse(model.BadTable, printAgain, "%s:%d: the row is no row of the table", t.src, number)
		}
	}
	name := strings.TrimSpace(string(row[t.from : t.from+t.names[0]]))
	if name == "" { // one more line of a stack
		return nil
	}
	found := gap.Split(strings.TrimSpace(string(row[end:])), -1)
	cell := func(column string) string {
		if i := t.column[column]; i < len(found) {
			return found[i]
		}
		return ""
	}
	var times []amount
	for _, c := range t.times() {
		x, ok := parseAmount(cell(c))
		if !ok {
			return model.Refuse(model.BadValue, printAgain, "%s:%d: column %s: %s is no time", t.src, number, measure.Quote(c), measure.Quote(cell(c)))
		}
		times = append(times, x)
	}
	calls, ok := integer([]byte(cell("# of Calls")))
	if !ok || calls < 1 {
		return model.Refuse(model.BadValue, printAgain, `%s:%d: column "# of Calls": %s is no count`, t.src, number, measure.Quote(cell("# of Calls")))
	}
	selfCPU, allCPU, total, average := times[0], times[1], times[2], times[3]
	if selfCPU.ns != 0 || allCPU.ns != 0 || total.ns <= 0 {
		t.cpu[name] = true
		return nil
	}
	off := float64(average.ns)*float64(calls) - float64(total.ns)
	if math.Abs(off) > average.half*float64(calls)+total.half+1 {
		return model.Refuse(model.BadValue, printAgain, "%s:%d: average times calls is not the total", t.src, number)
	}
	t.gpu = append(t.gpu, printedRow{name: name, total: total, average: average, calls: calls})
	return nil
}

// place names the header of the table in messages.
func (t *printed) place() string { return fmt.Sprintf("%s:%d", t.src, t.line) }
