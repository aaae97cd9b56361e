package nsysstats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// sumRow is a row of a summary, of whichever report.
type sumRow struct {
	Percent   string `csv:"time"`
	Time      string `csv:"total time"`
	Size      string `csv:"total"`
	Instances string `csv:"instances"`
	Count     string `csv:"count"`
	Kernels   string `csv:"kern inst"`
	Mean      string `csv:"avg"`
	Least     string `csv:"min"`
	Most      string `csv:"max"`
	Grid      string `csv:"gridxyz"`
	Block     string `csv:"blockxyz"`
	Category  string `csv:"category"`
	Name      string `csv:"name"`
	Operation string `csv:"operation"`
	Range     string `csv:"nvtx range"`
	Kernel    string `csv:"kernel name"`
}

// sum is one line of a summary in ns or bytes.
type sum struct {
	line        int
	total, step float64 // what all have together, and what that is rounded to
	count       int64
	mean        float64 // -1 where the table does not say
	meanStep    float64
	percent     float64 // of the table, -1 where it does not say
	within      float64 // what the percentage is rounded to
	least, most int64   // -1 where the table does not say
	grid, block measure.Dim3
	name        string
	rng         string // of nvtxSum, "" outside all
	kernel      bool
	kind        measure.CopyKind // of copies
}

func (r *rows) readSums(t *table) error {
	columns := map[kind][]string{
		kernSum: {"total time", "instances", "name"}, gbSum: {"total time", "instances", "name"},
		gpuSum: {"total time", "instances", "operation"}, memTime: {"total time", "count", "operation"},
		memSize: {"total", "count", "operation"}, nvtxSum: {"total time", "kern inst", "avg", "kernel name"},
	}[t.kind]
	if err := r.need(r.file, r.from, columns...); err != nil {
		return err
	}
	total, mean, err := r.sumUnits(t.kind)
	if err != nil {
		return err
	}
	k := t.kind
	err = each(r, func(row sumRow) error {
		s, err := r.sum(k, row, total, mean)
		if err != nil {
			return err
		}
		if row.Category == "CUDA_API" {
			t.kind = apiSum
		}
		t.units.total = max(t.units.total, s.step)
		t.sums = append(t.sums, s)
		return nil
	})
	if err != nil {
		return err
	}
	if t.kind != memSize && t.units.total > coarsest {
		return t.refuse(t.line, fmt.Sprintf("the times are rounded to %.0f ns", t.units.total), nanosecond)
	}
	return t.complete()
}

// sumUnits are the units of a summary's totals and means.
func (r *rows) sumUnits(k kind) (total, mean unit, err error) {
	if k == memSize {
		if total, err = r.size(r.file, r.from, "total"); err != nil {
			return total, mean, err
		}
		if c, _ := r.find("total"); c.unit == "" {
			total = unit{kibi: 1} // the releases until 2021 do not say so
		}
		return total, total, nil
	}
	units, err := r.times("total time", "avg")
	if err != nil {
		return total, mean, err
	}
	for _, name := range []string{"min", "max"} {
		if u, err := r.time(r.file, r.from, name); err != nil {
			return total, mean, err
		} else if !r.has("avg") {
			units[1] = u
		} else if r.has(name) && u != units[1] {
			return total, mean, refuse(r.file, r.from, "the columns are in different units of time", again)
		}
	}
	return units[0], units[1], nil
}

func (r *rows) sum(k kind, row sumRow, total, mean unit) (sum, error) {
	s := sum{line: r.line, mean: -1, percent: -1, least: -1, most: -1}
	name, totalColumn, totalCell, countColumn, countCell := row.Operation, "total time", row.Time, "instances", row.Instances
	switch k {
	case kernSum, gbSum:
		name = row.Name
	case nvtxSum:
		name, countColumn, countCell = row.Kernel, "kern inst", row.Kernels
	case memSize:
		totalColumn, totalCell, countColumn, countCell = "total", row.Size, "count", row.Count
	case memTime:
		countColumn, countCell = "count", row.Count
	}
	n, err := r.number(totalColumn, totalCell)
	if err != nil {
		return s, err
	}
	s.total, s.step = n.float(total), n.step(total)
	if s.total > largest {
		return s, r.cell(totalColumn, totalCell, "is more than can be", again)
	}
	if s.count, err = r.whole(countColumn, countCell, busiest); err != nil {
		return s, err
	}
	if s.count == 0 {
		return s, r.cell(countColumn, countCell, "is no number of launches", again)
	}
	if r.has("avg") {
		if n, err = r.number("avg", row.Mean); err != nil {
			return s, err
		}
		s.mean, s.meanStep = n.float(mean), n.step(mean)
	}
	if r.has("time") {
		if n, err = r.number("time", row.Percent); err != nil {
			return s, err
		}
		s.percent, s.within = n.float(unit{}), n.step(unit{})
	}
	if r.has("min", "max") && k != memSize {
		if s.least, err = r.quantity("min", row.Least, mean, largest); err != nil {
			return s, err
		}
		if s.most, err = r.quantity("max", row.Most, mean, largest); err != nil {
			return s, err
		}
	}
	if k == gbSum {
		if s.grid, err = r.extents("gridxyz", row.Grid); err != nil {
			return s, err
		}
		if s.block, err = r.extents("blockxyz", row.Block); err != nil {
			return s, err
		}
	}
	if name == "" {
		return s, r.refuse("the row has no name", fromReport)
	}
	s.name, s.rng = strings.Clone(name), strings.Clone(rangeName(row.Range))
	var copied bool
	s.kind, copied = operation(name)
	switch {
	case k == gpuSum && row.Category == "CUDA_KERNEL":
		s.kernel = true
	case k == gpuSum && row.Category == "CUDA_API":
	case k == gpuSum && row.Category != "MEMORY_OPER":
		return s, r.cell("category", row.Category, "is no category of nsys", again)
	case k == gpuSum, k == memTime, k == memSize:
		if !copied {
			return s, r.cell("operation", row.Operation, "is no copy and no memset", fromReport)
		}
	default:
		s.kernel = !copied
	}
	return s, nil
}

// complete refuses a summary whose rows do not fit each other, because some are missing or a number is not what
// it seems.
func (t *table) complete() error {
	var total, percent, slack float64
	for _, s := range t.sums {
		total += s.total
		percent += s.percent
		slack += s.within / 2
	}
	for _, s := range t.sums {
		if s.percent >= 0 && total > 0 && percent < 100-slack-0.1 {
			return t.refuse(t.line, fmt.Sprintf("the rows of %s add up to %.1f %% of its total: rows are missing", t.kind, percent),
				"export the whole table again: nsys stats --report "+t.kind.String()+" --format csv REPORT.nsys-rep")
		}
		if p := 100 * s.total / total; s.percent >= 0 && total > 0 && math.Abs(p-s.percent) > 0.52*s.within+100*s.step/total {
			return t.refuse(s.line, fmt.Sprintf("the row says that it is %v %% of the total, and its time is %.1f %% of it",
				s.percent, p), again)
		}
		if t.kind == nvtxSum { // counts some kernels twice
			continue
		}
		if s.mean >= 0 && !s.consistent() {
			return refuse(t.file, s.line, fmt.Sprintf("the row says that %d times %v are %v", s.count, s.mean, s.total), again)
		}
	}
	return nil
}

// consistent reports whether total, count and mean can be roundings of what fits together.
func (s *sum) consistent() bool {
	return math.Abs(s.total-float64(s.count)*s.mean) <= 0.51*(s.step+float64(s.count)*s.meanStep)+1e-9*s.total
}

// time is the mean of the launches: as printed, or from the total where that is rounded less.
func (s *sum) time() float64 {
	if s.mean >= 0 && (s.meanStep <= 1 || s.meanStep <= s.step/float64(s.count)) {
		return s.mean
	}
	return s.total / float64(s.count)
}

// Ranges that are worth a row, as in gate/sample.
const (
	rangeShare = 0.001
	rangeCount = 200
)

// roughly is how far bytes may be off, as a part of them, to be worth a sample: sizes count as exact.
const roughly = 0.01

// mode keeps what a summary says from being held against what a trace says of the same kernels.
const mode = "summary of all launches"

// meanOfAll is the note of times, since the time of a trace is another one.
const meanOfAll = "mean over all launches, the first ones included"

// finishSummary makes a session of the summaries.
func (c *collection) finishSummary() (*measure.Session, error) {
	t := c.kernels()
	kernels, err := c.kernelSums(t)
	if err != nil {
		return nil, err
	}
	s := &measure.Session{Environment: measure.Environment{Tool: Tool, Mode: mode}, Warmup: "0"}
	set := func(subject measure.Subject, m measure.Metric, value float64, note string) {
		if m.Unit == "ns" {
			value = math.Round(value*1000) / 1000
		}
		s.Series = append(s.Series, measure.Series{Subject: subject, Metric: m, Values: measure.Values{value}, Note: note})
	}
	var total float64
	var launches int64
	var durations []int64
	for _, k := range kernels {
		set(k.subject, measure.Time, k.time, meanOfAll)
		set(k.subject, measure.Launches, float64(k.count), "")
		set(k.subject, measure.Total, k.total, "")
		total += k.total
		launches += k.count
		durations = append(durations, k.least, k.most)
	}
	if launches == 0 {
		return nil, refuse(t.file, t.line, t.kind.String()+" lists copies and no kernel", noKernel)
	}
	if total == 0 {
		return nil, refuse(t.file, t.line, fmt.Sprintf("all %d launches took no time", launches), noTime)
	}
	set(measure.Workload, measure.GPUTime, total, "")
	set(measure.Workload, measure.Launches, float64(launches), "")
	for _, x := range c.copySums() {
		subject := measure.Subject{Scope: measure.ScopeWorkload, Name: x.kind.String()}
		set(subject, measure.Copies, float64(x.count), "")
		if x.timed {
			set(subject, measure.CopyTime, x.time, "")
		}
		if x.sized {
			set(subject, measure.CopyBytes, x.bytes, "")
		}
	}
	ranges, err := c.rangeSums(total)
	if err != nil {
		return nil, err
	}
	for _, x := range ranges {
		set(measure.Subject{Scope: measure.ScopeRange, Name: x.name}, measure.GPUTime, x.total, "")
	}
	s.Tick = tick(len(durations), func(i int) int64 { return durations[i] }, t.units.total)
	s.Runs = []measure.Run{{Total: int(launches), Launches: int(launches), Steady: true}}
	s.SortSeries()
	return s, s.Check()
}

// kernelTotal is a kernel in a summary.
type kernelTotal struct {
	subject     measure.Subject
	time, total float64
	count       int64
	least, most int64
}

// kernelSums adds up the rows of each kernel. Rows of nvtx_kern_sum count a kernel in every range around it, so that they
// do only where no kernel stands in more than one.
func (c *collection) kernelSums(t *table) ([]kernelTotal, error) {
	var out []kernelTotal
	at := map[measure.Subject]int{}
	within := map[measure.Subject]string{}
	for i := range t.sums {
		s := &t.sums[i]
		if !s.kernel {
			continue
		}
		subject := measure.KernelSubject(s.name, s.grid, s.block)
		if t.kind == nvtxSum {
			const next = "export cuda_gpu_kern_sum as well, and give both"
			if !s.consistent() {
				return nil, t.refuse(s.line, fmt.Sprintf("kernel %s is counted twice in range %s, which lies in one of the same "+
					"name", quote(subject.Short()), quote(s.rng)), next)
			}
			if known, ok := within[subject]; s.rng != "" && ok && known != s.rng {
				return nil, t.refuse(s.line, fmt.Sprintf("kernel %s stands in the ranges %s and %s: how often it ran, this table "+
					"does not say", quote(subject.Short()), quote(known), quote(s.rng)), next)
			}
			if s.rng != "" {
				within[subject] = s.rng
			}
		}
		k, ok := at[subject]
		if !ok {
			at[subject] = len(out)
			out = append(out, kernelTotal{subject: subject, time: s.time(), total: s.total, count: s.count, least: s.least,
				most: s.most})
			continue
		}
		x := &out[k]
		x.total += s.total
		x.count += s.count
		x.time = x.total / float64(x.count)
		x.least, x.most = min(x.least, s.least), max(x.most, s.most)
	}
	return out, nil
}

// copyTotal is a kind of copies in the summaries.
type copyTotal struct {
	kind         measure.CopyKind
	count        int64
	time, bytes  float64
	slack        float64 // what the bytes can be off by
	timed, sized bool
}

// copySums is what the summaries say of each kind of copies.
func (c *collection) copySums() []copyTotal {
	var out []copyTotal
	of := func(kind measure.CopyKind) *copyTotal {
		i := slices.IndexFunc(out, func(x copyTotal) bool { return x.kind == kind })
		if i < 0 {
			i = len(out)
			out = append(out, copyTotal{kind: kind})
		}
		return &out[i]
	}
	for _, k := range []kind{memTime, gpuSum, apiSum} {
		if t := c.tables[k]; t != nil {
			for _, x := range t.copies() {
				o := of(x.kind)
				o.count, o.time, o.timed = x.count, x.time, true
			}
			break
		}
	}
	if t := c.tables[memSize]; t != nil {
		for _, x := range t.copies() {
			o := of(x.kind)
			o.count, o.bytes, o.sized = x.count, x.bytes, x.slack <= roughly*x.bytes
		}
	}
	return out
}

// rangeTotal is the time of the kernels in a range.
type rangeTotal struct {
	name  string
	total float64
}

// rangeSums adds up the kernels of each range, the largest ranges first.
func (c *collection) rangeSums(whole float64) ([]rangeTotal, error) {
	t := c.tables[nvtxSum]
	if t == nil {
		return nil, nil
	}
	var out []rangeTotal
	at := map[string]int{}
	twice := map[string]bool{}
	for i := range t.sums {
		s := &t.sums[i]
		if s.rng == "" || !s.kernel {
			continue
		}
		twice[s.rng] = twice[s.rng] || !s.consistent()
		k, ok := at[s.rng]
		if !ok {
			k = len(out)
			at[s.rng] = k
			out = append(out, rangeTotal{name: s.rng})
		}
		out[k].total += s.total
	}
	out = slices.DeleteFunc(out, func(x rangeTotal) bool { return twice[x.name] || x.total < rangeShare*whole })
	slices.SortFunc(out, func(a, b rangeTotal) int {
		return cmp.Or(-cmp.Compare(a.total, b.total), cmp.Compare(a.name, b.name))
	})
	if len(out) > 0 && out[0].total > whole*(1+1e-6)+t.units.total {
		return nil, refuse(t.file, t.line, fmt.Sprintf("range %s has more kernel time than the whole run", quote(out[0].name)),
			oneRun)
	}
	return out[:min(len(out), rangeCount)], nil
}
