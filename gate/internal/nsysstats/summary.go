package nsysstats

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// sum is one line of a summary in ns or bytes.
type sum struct {
	subject     measure.Subject // of kernels
	kind        model.CopyKind
	kernel      bool
	count       int64
	total, step float64 // what all have together, and what that is rounded to
	mean        float64
	least, most int64 // 0 where the table does not say
}

func (t *table) readSums() error {
	names := []string{"total time", "instances", "name"}
	switch t.kind {
	case gpuSum:
		names[2] = "operation"
	case memTime:
		names[1], names[2] = "count", "operation"
	case memSize:
		names = []string{"total", "count", "operation"}
	}
	if err := cmp.Or(t.need(names...), t.sumUnits()); err != nil {
		return err
	}
	total, count, name := t.column(names[0]), t.column(names[1]), t.column(names[2])
	mean, share, least, most := t.column("avg"), t.column("time"), t.column("min"), t.column("max")
	grid, block, category := t.column("gridxyz"), t.column("blockxyz"), t.column("category")
	var percent, slack float64
	err := t.each(func(r *row) {
		var s sum
		n := r.number(total)
		s.total, s.step = n.Float(total.factor), n.Step(total.factor)
		if s.total > largest {
			r.wrong(model.BadValue, again, total, "is more than can be")
		}
		t.step = max(t.step, s.step)
		if s.count = r.whole(count, busiest); s.count == 0 {
			r.wrong(model.BadValue, again, count, "is no number of launches")
			return
		}
		s.mean = s.total / float64(s.count)
		if mean != nil {
			n := r.number(mean)
			// As printed, unless the total is rounded less.
			if step := n.Step(mean.factor); step <= 1 || step <= s.step/float64(s.count) {
				s.mean = n.Float(mean.factor)
			}
		}
		if share != nil {
			n := r.number(share)
			percent, slack = percent+n.Float(1), slack+n.Step(1)/2
		}
		if least != nil && most != nil && t.kind != memSize {
			s.least, _ = r.quantity(least, largest)
			s.most, _ = r.quantity(most, largest)
		}
		text, of := strings.Clone(r.cell(name)), r.cell(category)
		kind, copied := operation(text)
		switch {
		case text == "":
			r.refuse(model.BadValue, fromReport, "the row has no name")
		case t.kind == gpuSum && of == "CUDA_API":
			return
		case t.kind == gpuSum && of != "CUDA_KERNEL" && of != "MEMORY_OPER":
			r.wrong(model.BadValue, again, category, "is no category of nsys")
		case copied && of != "CUDA_KERNEL":
			s.kind = kind
		case t.kind == memTime || t.kind == memSize || of == "MEMORY_OPER":
			r.wrong(model.BadValue, fromReport, name, "is no copy and no memset")
		default:
			s.kernel = true
			var g, b measure.Dim3
			if t.kind == gbSum {
				g, b = r.extents(grid), r.extents(block)
			}
			s.subject = model.KernelSubject(text, g, b)
		}
		t.sums = append(t.sums, s)
	})
	if err == nil && t.kind != memSize {
		err = t.fine("times")
	}
	if err == nil && share != nil && t.rows > 0 && percent < 100-slack-0.1 && t.total() > 0 {
		err = model.Refuse(model.RowsMissing, fmt.Sprintf("export the whole table again: nsys stats --report %s --format csv REPORT.nsys-rep", t.kind),
			"%s: the rows of %s add up to %s %% of its total: rows are missing", t.place(), t.kind, fmt.Sprintf("%.1f", percent))
	}
	return err
}

// sumUnits reads the units of the numbers.
func (t *table) sumUnits() error {
	if t.kind == memSize {
		if c := t.column("total"); c.unit == "" {
			c.unit = "kib" // the releases until 2021 do not say so
		}
		return t.units("B", "total")
	}
	if err := t.units("ns", "total time", "avg", "min", "max"); err != nil {
		return err
	}
	most := t.column("max")
	for _, name := range []string{"avg", "min"} {
		if c := t.column(name); c != nil && most != nil && c.factor != most.factor {
			return model.Refuse(model.BadTable, again, "%s: the columns are in different units of time", t.place())
		}
	}
	return nil
}

// total is the sum over all rows.
func (t *table) total() (total float64) {
	for _, s := range t.sums {
		total += s.total
	}
	return total
}

// launches is the number of launches that the table lists.
func (t *table) launches() (n int64) {
	if t.traced != nil {
		return int64(len(t.traced.launches))
	}
	for _, s := range t.sums {
		if s.kernel {
			n += s.count
		}
	}
	return n
}

const (
	// roughly is how far bytes may be off, as a part of them, to be worth a sample: sizes count as exact.
	roughly = 0.01
	// mode keeps what a summary says from being held against what a trace says of the same kernels.
	mode = "summary of all launches"
	// meanOfAll is the note of times, since the time of a trace is another one.
	meanOfAll = "mean over all launches, the first ones included"
)

// finishSummary makes a session of the summaries; t is that of the kernels.
func (c *collection) finishSummary(t *table) (*model.Session, error) {
	s := &model.Session{Environment: model.Environment{Tool: Tool, Mode: mode}, Warmup: "0"}
	set := func(subject measure.Subject, m measure.Metric, value float64, note string) {
		if m.Unit == "ns" {
			value = math.Round(value*1000) / 1000
		}
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: m, Values: model.Values{value}, Note: note})
	}
	launches := t.launches()
	var total float64
	var durations []int64
	// Rows of one subject are builds of one kernel.
	for _, k := range merged(t.sums, func(x sum) (measure.Subject, bool) { return x.subject, x.kernel }) {
		set(k.subject, measure.Time, k.mean, meanOfAll)
		set(k.subject, measure.Launches, float64(k.count), "")
		set(k.subject, measure.Total, k.total, "")
		total += k.total
		durations = append(durations, k.least, k.most)
	}
	switch {
	case launches == 0:
		return nil, model.Refuse(model.NoKernels, noKernel, "%s: %s lists %s and no kernel", t.place(), t.kind, "copies")
	case total == 0:
		return nil, model.Refuse(model.ZeroLength, noTime, "%s: all %d launches took no time", t.place(), launches)
	}
	set(measure.Workload, measure.GPUTime, total, "")
	set(measure.Workload, measure.Launches, float64(launches), "")
	counted := map[model.CopyKind]bool{}
	for _, k := range []kind{memTime, gpuSum, memSize} {
		if c.tables[k] == nil || k == gpuSum && c.tables[memTime] != nil {
			continue
		}
		for _, x := range merged(c.tables[k].sums, func(x sum) (model.CopyKind, bool) { return x.kind, !x.kernel }) {
			subject := measure.Subject{Scope: measure.ScopeWorkload, Name: x.kind.String()}
			if !counted[x.kind] {
				set(subject, measure.Copies, float64(x.count), "")
			}
			counted[x.kind] = true
			switch {
			case k != memSize:
				set(subject, measure.CopyTime, x.total, "")
			case x.step/2 <= roughly*x.total:
				set(subject, measure.CopyBytes, x.total, "")
			}
		}
	}
	s.Tick = tick(len(durations), func(i int) int64 { return durations[i] }, t.step)
	s.Runs = []model.Run{{Total: int(launches), Launches: int(launches), Steady: true}}
	s.SortSeries()
	return s, s.Check()
}

// merged adds up the rows of one key; those that have none are left out.
func merged[Key comparable](sums []sum, of func(sum) (Key, bool)) []sum {
	var out []sum
	at := map[Key]int{}
	for _, s := range sums {
		key, ok := of(s)
		if !ok {
			continue
		}
		i, known := at[key]
		if !known {
			at[key] = len(out)
			out = append(out, s)
			continue
		}
		x := &out[i]
		x.total, x.count, x.step = x.total+s.total, x.count+s.count, x.step+s.step
		x.mean = x.total / float64(x.count)
		x.least, x.most = min(x.least, s.least), max(x.most, s.most)
	}
	return out
}
