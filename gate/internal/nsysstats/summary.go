package nsysstats

import (
	"cmp"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// sumRow is a row of a summary.
type sumRow struct {
	Share number `csv:"time"`
	Total number `csv:"total"`
	Count number `csv:"count"`
	Mean  number `csv:"avg"`
	Least number `csv:"min"`
	Most  number `csv:"max"`
	Name  name   `csv:"name"`
}

// sum is one line of a summary in ns or bytes.
type sum struct {
	subject     measure.Subject // of kernels
	kind        model.CopyKind  // of copies
	count       int64
	total, step float64 // what all have together, and what that is rounded to
	mean        float64
	least, most int64 // -1 where the table does not say
	rows        int
	cut         bool // a printed table cut the name off
}

func (t *table) readSums() error {
	var percent, slack, total float64
	err := t.each(new(sumRow), func(x any, line int) (err error) {
		r := x.(*sumRow)
		keep := func(v int64, e error) int64 { err = cmp.Or(err, e); return v }
		s := sum{rows: 1, total: r.Total.Float(t.factor["total"]), step: r.Total.Step(t.factor["total"])}
		keep(t.take(line, "total", r.Total, largest))
		s.count = keep(t.count(line, "count", r.Count, busiest))
		keep(t.take(line, "time", r.Share, 1000))
		keep(t.take(line, "avg", r.Mean, largest))
		s.least, s.most = keep(t.take(line, "min", r.Least, largest)), keep(t.take(line, "max", r.Most, largest))
		text := strings.Clone(string(r.Name))
		kind, copied := operation(text)
		s.kind = kind
		switch {
		case err != nil:
			return err
		case s.count == 0:
			return model.Refuse(model.BadValue, again, "%s: column %s: %s is no number of launches", place(t.file, line),
				measure.Quote(t.titles["count"]), measure.Quote(r.Count.text))
		case text == "":
			return model.Refuse(model.BadValue, fromReport, "%s: the row has no name", place(t.file, line))
		case t.kind != kernSum && !copied:
			return model.Refuse(model.BadValue, fromReport, "%s: column %s: %s is no copy and no memset", place(t.file, line),
				measure.Quote(t.titles["name"]), measure.Quote(text))
		case t.kind == kernSum:
			if err := t.budget.Add(t.file, text); err != nil {
				return err
			}
			s.cut = strings.HasSuffix(text, "...") || strings.HasSuffix(text, "…")
			s.subject = model.KernelSubject(text, measure.Dim3{}, measure.Dim3{})
		}
		s.mean = s.total / float64(s.count)
		// As printed, unless the total is rounded less.
		if step := r.Mean.Step(t.factor["avg"]); r.Mean.text != "" && (step <= 1 || step <= s.step/float64(s.count)) {
			s.mean = r.Mean.Float(t.factor["avg"])
		}
		percent, slack, total = percent+r.Share.Float(1), slack+r.Share.Step(1)/2, total+s.total
		t.step = max(t.step, s.step)
		t.sums = append(t.sums, s)
		return nil
	})
	if err == nil && t.kind != memSize {
		err = t.fine("times")
	}
	if err == nil && t.has("time") && t.rows > 0 && percent < 100-slack-0.1 && total > 0 {
		err = model.Refuse(model.RowsMissing, "export the whole table again: nsys stats --report "+t.kind.String()+" --format csv REPORT.nsys-rep",
			"%s: the rows of %s add up to %.1f %% of its total: rows are missing", t.place(), t.kind, percent)
	}
	return err
}

const (
	// roughly is how far bytes may be off, as a part of them, to be worth a sample: sizes count as exact.
	roughly = 0.01
	// mode keeps a summary from being compared with a trace of the same kernels.
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
	var total float64
	var launches int64
	var durations []int64
	// Rows of one subject are builds of one kernel.
	for _, k := range merged(t.sums, func(x sum) measure.Subject { return x.subject }) {
		if !k.cut || k.rows == 1 { // names that are cut off alike may be those of several kernels
			set(k.subject, measure.Time, k.mean, meanOfAll)
		}
		set(k.subject, measure.Launches, float64(k.count), "")
		set(k.subject, measure.Total, k.total, "")
		total, launches = total+k.total, launches+k.count
		durations = append(durations, max(k.least, 0), max(k.most, 0))
	}
	if total == 0 {
		return nil, model.Refuse(model.ZeroLength, noTime, "%s: all %d launches took no time", t.place(), launches)
	}
	set(measure.Workload, measure.GPUTime, total, "")
	set(measure.Workload, measure.Launches, float64(launches), "")
	counted := map[model.CopyKind]bool{}
	for _, k := range []kind{memTime, memSize} {
		if c.tables[k] == nil {
			continue
		}
		for _, x := range merged(c.tables[k].sums, func(x sum) model.CopyKind { return x.kind }) {
			subject := measure.Subject{Scope: measure.ScopeWorkload, Name: x.kind.String()}
			if !counted[x.kind] {
				set(subject, measure.Copies, float64(x.count), "")
			}
			counted[x.kind] = true
			switch {
			case k == memTime:
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

// merged adds up the rows of one key.
func merged[Key comparable](sums []sum, of func(sum) Key) []sum {
	var out []sum
	at := map[Key]int{}
	for _, s := range sums {
		i, known := at[of(s)]
		if !known {
			at[of(s)] = len(out)
			out = append(out, s)
			continue
		}
		x := &out[i]
		x.rows++
		x.total, x.count, x.step = x.total+s.total, x.count+s.count, x.step+s.step
		x.mean = x.total / float64(x.count)
		x.least, x.most = min(x.least, s.least), max(x.most, s.most)
	}
	return out
}
