package torch

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/measure"
)

// printAgain prints a table in which every kernel has its name.
const printAgain = "print prof.key_averages().table(row_limit=-1, max_name_column_width=None)"

const (
	longestLine = 1 << 20  // the most bytes that a line may have
	mostTable   = 64 << 20 // the most bytes that the rows of a table may have
)

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
	name string // of the file
	line int    // of the header
	// device is how the table calls the GPU: CUDA, or HIP.
	device string
	column map[string]int // of the columns behind the names
	from   int            // where the names begin
	names  []int          // widths of the columns of names: one, or two with overload names
	size   int            // bytes of all rows
	gpu    []printedRow   // rows of what ran on the GPU
	cpu    map[string]bool
	closed bool
	total  amount // at the foot
}

// printedRow is a row of a kernel, copy or annotation.
type printedRow struct {
	name           string
	line           int
	total, average amount
	calls          int64
}

// amount is a time as printed, in ns, and half of its last place: it is right to within that.
type amount struct {
	ns   int64
	half float64
	ok   bool
}

// parseAmount reads "239.338ms".
func parseAmount(s string) amount {
	for _, unit := range []struct {
		name  string
		shift int
	}{{"ns", 0}, {"us", 3}, {"µs", 3}, {"μs", 3}, {"ms", 6}, {"s", 9}} {
		digits, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		ns, _, ok := decimal([]byte(strings.TrimSpace(digits)), unit.shift)
		_, decimals, _ := strings.Cut(digits, ".")
		half := 0.5
		for i := len(decimals); i < unit.shift; i++ {
			half *= 10
		}
		if !ok {
			break
		}
		return amount{ns, half, true}
	}
	return amount{}
}

// readTable reads the one table that stands somewhere in a text. A table that is printed again in another order, as
// programs do, is read once.
func readTable(src *source, in *bufio.Reader) (*measure.Session, error) {
	var session *measure.Session
	var first, open *printed
	finish := func() error {
		if open == nil {
			return nil
		}
		s, err := open.session()
		switch {
		case err != nil:
			return err
		case first == nil:
			first, session = open, s
		case !sameSeries(session, s):
			return refuseLine(src.name, open.line, fmt.Sprintf("there is another table in line %d, with other numbers", first.line),
				"keep one table a file, of one run")
		}
		return nil
	}
	for number := 1; ; number++ {
		line, err := readLine(in)
		if err != nil && err != io.EOF {
			return nil, src.broken(err)
		}
		if line == "" && err == io.EOF {
			break
		}
		if columns, ok := tableHeader(line); ok {
			if err := finish(); err != nil {
				return nil, err
			}
			if open, err = newPrinted(src.name, number, columns); err != nil {
				return nil, err
			}
			continue
		}
		if open != nil {
			if err := open.read(line, number); err != nil {
				return nil, err
			}
		}
	}
	if err := finish(); err != nil {
		return nil, err
	}
	if session == nil {
		return nil, measure.Refuse(src.name+" holds neither a trace nor a table of torch.profiler",
			"name what prof.export_chrome_trace wrote, or "+printAgain)
	}
	return session, nil
}

// readLine reads a line without its end; of a very long one only the beginning is kept.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if room := longestLine - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return string(bytes.TrimPrefix(line, byteOrderMark)), err
	}
}

// newPrinted checks that the header has what is needed.
func newPrinted(name string, line int, columns []string) (*printed, error) {
	t := &printed{name: name, line: line, column: make(map[string]int), cpu: make(map[string]bool), names: []int{0}}
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
		return nil, refuseLine(name, line, "a table of PyTorch before 1.8, which lists no kernels",
			"update PyTorch and "+printAgain)
	case t.device == "":
		return nil, refuseLine(name, line, "the table has no GPU times", activities+", then "+printAgain)
	case t.device != "CUDA" && t.device != "HIP":
		return nil, refuseLine(name, line, fmt.Sprintf("the table is of %s, which nsgate cannot judge", quoted(t.device)),
			"profile on a CUDA GPU")
	}
	for _, c := range append(t.times(), "# of Calls") {
		if _, ok := t.column[c]; !ok {
			return nil, refuseLine(name, line, "the table has no column "+quoted(c), printAgain)
		}
	}
	return t, nil
}

// times are the columns of times that are read.
func (t *printed) times() []string {
	return []string{"Self CPU", "CPU total", "Self " + t.device, t.device + " total", t.device + " time avg"}
}

// read takes in a line behind the header.
func (t *printed) read(line string, number int) error {
	line = strings.TrimRight(line, " \t\r\n")
	switch {
	case line == "": // between the stacks of two rows
		return nil
	case t.closed:
		m := footer.FindStringSubmatch(line)
		if m == nil || m[1] != t.device || t.total.ok {
			return nil
		}
		if t.total = parseAmount(m[2]); !t.total.ok {
			return refuseLine(t.name, number, quoted(m[2])+" is no time", printAgain)
		}
		return nil
	case t.names[0] == 0:
		if !isRule(line) {
			return refuseLine(t.name, number, "the line under the header is no rule", printAgain)
		}
		rules := gap.Split(strings.TrimSpace(line), -1)
		if len(rules) != len(t.names)+len(t.column) {
			return refuseLine(t.name, number, "the rule has other columns than the header", printAgain)
		}
		t.from = strings.IndexByte(line, '-')
		for i := range t.names {
			t.names[i] = len(rules[i])
		}
		return nil
	case isRule(line):
		t.closed = true
		return nil
	case len(line) >= longestLine-2:
		return refuseLine(t.name, number, "the line is longer than a row of a table", printAgain)
	}
	if t.size += len(line); t.size > mostTable {
		return refuseLine(t.name, number, fmt.Sprintf("the table is larger than %d MB", mostTable>>20),
			"group its rows: "+printAgain)
	}
	return t.readRow(line, number)
}

// readRow takes in a row. The names stand in columns of fixed width, in characters; all others are set apart by at least
// two spaces, however wide they are.
func (t *printed) readRow(line string, number int) error {
	broken := func(reason string) error { return refuseLine(t.name, number, reason, printAgain) }
	var name string
	rest := line
	cut := func(n int) (cell string, ok bool) {
		for i := range rest {
			if n == 0 {
				cell, rest = rest[:i], rest[i:]
				return cell, true
			}
			n--
		}
		cell, rest = rest, ""
		return cell, n == 0
	}
	if indent, ok := cut(t.from); !ok || strings.TrimSpace(indent) != "" {
		return broken("the row begins before the column of names")
	}
	for i, width := range t.names {
		cell, ok := cut(width)
		if !ok {
			return broken("the row is no row of the table")
		}
		if i == 0 {
			name = strings.TrimSpace(cell)
		}
		if space, _ := cut(2); space != "  " {
			return broken("the row is no row of the table")
		}
	}
	if name == "" { // one more line of a stack
		return nil
	}
	cells := gap.Split(strings.TrimSpace(rest), -1)
	cell := func(column string) string {
		if i := t.column[column]; i < len(cells) {
			return cells[i]
		}
		return ""
	}
	times := make(map[string]amount)
	for _, c := range t.times() {
		x := parseAmount(cell(c))
		if !x.ok {
			return broken(fmt.Sprintf("column %s: %s is no time", quoted(c), quoted(cell(c))))
		}
		times[c] = x
	}
	calls, ok := integer([]byte(cell("# of Calls")))
	if !ok || calls < 1 {
		return broken(fmt.Sprintf("column \"# of Calls\": %s is no count", quoted(cell("# of Calls"))))
	}
	self, total, average := times["Self "+t.device], times[t.device+" total"], times[t.device+" time avg"]
	if times["Self CPU"].ns != 0 || times["CPU total"].ns != 0 || self.ns <= 0 {
		t.cpu[name] = true
		return nil
	}
	if self.ns != total.ns {
		return broken("what ran on the GPU has a total that is not its own time")
	}
	if off := float64(average.ns)*float64(calls) - float64(total.ns); abs(off) > average.half*float64(calls)+total.half+1 {
		return broken("average times calls is not the total")
	}
	t.gpu = append(t.gpu, printedRow{name: name, line: number, total: total, average: average, calls: calls})
	return nil
}

func abs(x float64) float64 { return max(x, -x) }

func refuseLine(name string, line int, reason, next string) error {
	return measure.Refuse(fmt.Sprintf("%s:%d: %s", name, line, reason), next)
}

// quoted writes a cell for a message: in quotation marks, not too long, without control characters.
func quoted(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return `"` + measure.NormalizeControl(strings.Join(strings.Fields(s), " ")) + `"`
}
