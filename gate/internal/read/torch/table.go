package torch

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// TableMode is the model.Environment.Mode of a session that comes from a table.
const TableMode = "key_averages"

var (
	gap    = input.Pattern(`\s{2,}`)
	device = input.Pattern(`  Self ([A-Z][A-Za-z0-9_]*)  `)
	footer = input.Pattern(`^\s*Self ([A-Z][A-Za-z0-9_]*) time total:\s*(\S+)\s*$`)
	// apiCall matches the functions of the CUDA runtime and driver.
	apiCall = input.Pattern(`^cu(?:da)?[A-Z]\w*$`)
)

// tableHeader splits a line if it is the header of a table of key_averages.
func tableHeader(line string) (columns []string, ok bool) {
	line = strings.TrimSpace(line)
	// as most lines, whose splitting would take longer than the rest of the reading
	if !strings.HasPrefix(line, "Name ") {
		return nil, false
	}
	columns = gap().Split(line, -1)
	return columns, columns[0] == "Name" && slices.Contains(columns, "# of Calls") &&
		slices.Contains(columns, "Self CPU")
}

type printed struct {
	src     source
	line    int    // of the header
	device  string // how the table calls the GPU: CUDA, or HIP
	columns []string
	starts  []int // where the columns begin, in characters, by the dashes under the header
	size    int   // bytes of all lines
	gpu     []work
	cpu     map[string]bool // names of operations on the CPU
	closed  bool
	footed  bool
	total   amount // at the foot
}

// amount is a time as printed, in ns, and half of its last place, which is its rounding error.
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
	return amount{ns, max(0.5, n.Step(factor)/2)}, ok && known && base == "ns" && form != cells.NoNumber &&
		form != cells.Foreign
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
			t := &printed{src: src, line: number, columns: columns, cpu: map[string]bool{}}
			tables, err = append(tables, t), t.check(line)
		} else if len(tables) > 0 {
			err = tables[len(tables)-1].read(strings.TrimRight(line, " \t\r\n"), number)
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
		case !reflect.DeepEqual(first.Series, s.Series):
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

// check refuses a table without the columns of a GPU that is judged.
func (t *printed) check(header string) error {
	for _, m := range device().FindAllStringSubmatch(header, -1) {
		if m[1] != "CPU" {
			t.device = m[1]
		}
	}
	switch {
	case t.device == "":
		return model.Refuse(model.NotTraced, activities+" (with PyTorch 1.8 or later), then "+printAgain,
			"%s: the table has no GPU times", t.place())
	case t.device != "CUDA" && t.device != "HIP":
		return model.Refuse(model.OtherDevice, supported, "%s: the table is of %s, which nsgate cannot judge",
			t.place(), measure.Quote(t.device))
	}
	for _, c := range []string{"CPU total", t.device + " time avg"} {
		if !slices.Contains(t.columns, c) {
			return model.Refuse(model.BadTable, printAgain, "%s: the table has no column %s", t.place(),
				measure.Quote(c))
		}
	}
	return nil
}

func (t *printed) place() string { return fmt.Sprintf("%s:%d", t.src, t.line) }

func (t *printed) read(line string, number int) error {
	const mostTable = 64 << 20 // the most bytes that the rows of a table may have
	refuse := func(kind model.Kind, format string, args ...any) error {
		return model.Refuse(kind, printAgain, "%s:%d: %s", t.src, number, fmt.Sprintf(format, args...))
	}
	t.size += len(line)
	switch {
	case line == "": // between the stacks of two rows
		return nil
	case t.closed:
		m := footer().FindStringSubmatch(line)
		if m == nil || m[1] != t.device || t.footed {
			return nil
		}
		t.total, t.footed = parseAmount(m[2])
		if !t.footed {
			return refuse(model.BadValue, "%s is no time", measure.Quote(m[2]))
		}
		return nil
	case t.starts == nil:
		t.starts = cells.Rule(line)
		if len(t.starts) != len(t.columns) {
			return refuse(model.BadTable, "the line under the header is no rule, or has other columns")
		}
		return nil
	case cells.Rule(line) != nil:
		t.closed = true
		return nil
	case t.size > mostTable:
		return refuse(model.TooLarge, "the table is larger than %d MB", mostTable>>20)
	}
	return t.readRow(line, refuse)
}

func (t *printed) readRow(line string, refuse func(kind model.Kind, format string, args ...any) error) error {
	row, ok := t.cut(line)
	if !ok {
		return refuse(model.BadTable, "the row is no row of the table")
	}
	if row["Name"] == "" { // one more line of a stack
		return nil
	}
	var times [4]amount
	for i, c := range []string{"Self CPU", "CPU total", "Self " + t.device, t.device + " time avg"} {
		if times[i], ok = parseAmount(row[c]); !ok {
			return refuse(model.BadValue, "column %s: %s is no time", measure.Quote(c), measure.Quote(row[c]))
		}
	}
	calls, ok := integer([]byte(row["# of Calls"]))
	if !ok || calls < 1 {
		return refuse(model.BadValue, `column "# of Calls": %s is no count`, measure.Quote(row["# of Calls"]))
	}
	selfCPU, allCPU, total, average := times[0], times[1], times[2], times[3]
	if selfCPU.ns != 0 || allCPU.ns != 0 || total.ns <= 0 {
		t.cpu[row["Name"]] = true
		return nil
	}
	if math.Abs(float64(average.ns)*float64(calls)-float64(total.ns)) > average.half*float64(calls)+total.half+1 {
		return refuse(model.BadValue, "average times calls is not the total")
	}
	t.gpu = append(t.gpu, work{name: row["Name"], average: float64(average.ns), total: float64(total.ns),
		half: total.half, calls: float64(calls)})
	return nil
}

// cut gives the cells of a row up to the calls; what stands behind them may be wider than its column. It is not ok
// unless two blanks separate the columns.
func (t *printed) cut(line string) (row map[string]string, ok bool) {
	row = make(map[string]string, len(t.columns))
	text := []rune(line)
	for i, cell := range cells.Cut(line, t.starts) {
		before := min(t.starts[i], len(text))
		if margin := text[max(0, before-2):before]; strings.TrimSpace(string(margin)) != "" {
			return nil, false
		}
		row[t.columns[i]] = cell
		if t.columns[i] == "# of Calls" {
			break
		}
	}
	return row, true
}

func (t *printed) session() (*model.Session, error) {
	switch {
	case !t.closed:
		return nil, model.Refuse(model.Truncated, printAgain, "%s: the table that begins here ends in the middle",
			t.place())
	case !t.footed:
		return nil, model.Refuse(model.BadTable, printAgain+" with its last lines",
			`%s: the table has no line "Self %s time total" at its foot, so that nothing tells whether it is complete`,
			t.place(), t.device)
	}
	ran, err := t.split()
	if err != nil {
		return nil, err
	}
	s := &model.Session{Environment: model.Environment{Tool: string(model.Torch), Mode: TableMode}, Warmup: "0"}
	add := func(subject measure.Subject, metric measure.Metric, value float64, note string) {
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: metric, Values: model.Values{value},
			Note: note})
	}
	works, err := t.merge(ran)
	if err != nil {
		return nil, err
	}
	var all, launches float64
	for _, w := range works {
		if w.subject.Scope == measure.ScopeWorkload {
			add(w.subject, measure.CopyTime, w.total, w.note)
			add(w.subject, measure.Copies, w.calls, w.note)
			continue
		}
		if w.note == "" {
			add(w.subject, measure.Time, w.average, "")
		}
		add(w.subject, measure.Total, w.total, w.note)
		add(w.subject, measure.Launches, w.calls, "")
		all += w.total
		launches += w.calls
	}
	if launches == 0 {
		return nil, model.Refuse(model.NoKernels, activities+", then "+printAgain, "%s: the table lists no GPU kernel",
			t.place())
	}
	add(measure.Workload, measure.GPUTime, all, "")
	add(measure.Workload, measure.Launches, launches, "")
	s.Runs = []model.Run{{Total: int(launches), Launches: int(launches), Steady: true}}
	s.SortSeries()
	return s, s.Check()
}

// split gives the rows of kernels and copies, and compares their sum with the total at the foot, in which PyTorch
// before 2.5 counts annotations and 2.0 calls. Both have a time on the GPU and are no work of its own: an annotation of
// record_function lasts from its first kernel to its last, and has the name of a row of the CPU. So have the kernels of
// torch.compile.
func (t *printed) split() (ran []work, err error) {
	var sum, slack [3]float64 // of work, annotations, calls
	for _, r := range t.gpu {
		kind := 0
		switch {
		case apiCall().MatchString(r.name):
			kind = 2
		case r.name == "ProfilerStep*" || t.cpu[r.name] && !strings.HasPrefix(r.name, "triton_"):
			kind = 1
		default:
			ran = append(ran, r)
		}
		sum[kind], slack[kind] = sum[kind]+r.total, slack[kind]+r.half
	}
	total := float64(t.total.ns)
	for _, counted := range [][3]float64{{1, 0, 0}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}} {
		apart := counted[0]*sum[0] + counted[1]*sum[1] + counted[2]*sum[2] - total
		if math.Abs(apart) <= t.total.half+1+counted[0]*slack[0]+counted[1]*slack[1]+counted[2]*slack[2] {
			return ran, nil
		}
	}
	why := measure.Either(sum[0] < total, "rows are missing", "kernels and annotations cannot be told apart")
	return nil, model.Refuse(model.RowsMissing,
		printAgain+"; if that does not help, use the trace: prof.export_chrome_trace",
		"%s: the rows of what ran on the GPU add up to %.3f ms, the foot of the table says %.3f ms: %s", t.place(),
		sum[0]/1e6, total/1e6, why)
}

// work is a row of a kernel, a copy, an annotation or a call, or one kernel, or the copies of one kind. Of copies the
// note is their kinds of memory.
type work struct {
	name                  string
	subject               measure.Subject
	average, total, calls float64 // times in ns
	half                  float64 // of the last place of the total
	note                  string
}

// merge adds up the rows of one name, as tables grouped by stack have them, and the copies of one kind. Truncated names
// that are equal may be different kernels, so that the time of one launch is not known.
func (t *printed) merge(rows []work) ([]*work, error) {
	var kernels model.KernelNames
	var works []*work
	found := make(map[measure.Subject]*work)
	for i := range rows {
		w := &rows[i]
		if strings.HasPrefix(w.name, "Memcpy ") || strings.HasPrefix(w.name, "Memset (") {
			copied := parseCopy(w.name)
			w.subject = measure.Subject{Scope: measure.ScopeWorkload, Name: copied.Kind.String()}
			w.note = copied.Memory()
		} else {
			var err error
			if w.subject, err = kernels.Subject(string(t.src), w.name); err != nil {
				return nil, err
			}
		}
		have := found[w.subject]
		if have == nil {
			found[w.subject] = w
			works = append(works, w)
			continue
		}
		if strings.HasSuffix(w.name, "..") {
			have.note = "rows whose truncated names are equal, taken together"
		} else if w.note != have.note {
			have.note = "several kinds of memory"
		}
		have.total, have.calls = have.total+w.total, have.calls+w.calls
		have.average = have.total / have.calls
	}
	return works, nil
}
