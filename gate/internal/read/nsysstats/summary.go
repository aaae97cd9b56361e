package nsysstats

import (
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// sum is one line of a summary in ns or bytes.
type sum struct {
	subject     measure.Subject // a kernel, or the copies of one kind
	count       int64
	total, step float64 // of all, and what the total is rounded to
	rows        int
	truncated   bool // a printed table cut the name
}

func (t *table) readSums() ([]sum, error) {
	var sums []sum
	var percent, slack, total float64
	err := t.each(func() error {
		text, share := strings.Clone(t.text(t.find("name"))), t.number(t.find("time"))
		all, factor := t.number(t.find("total")), t.find("total").factor
		s := sum{rows: 1, total: all.Float(factor), step: all.Step(factor), count: t.value(t.find("count"), busiest)}
		t.value(t.find("total"), largest)
		t.value(t.find("time"), 1000)
		for _, name := range []string{"avg", "min", "med", "max"} {
			t.value(t.find(name), largest)
		}
		if err := t.checkName(text); err != nil {
			return err
		}
		kind, copied := operation(text)
		s.subject = measure.Subject{Scope: measure.ScopeWorkload, Name: kind.String()}
		switch {
		case t.wrong != nil:
			return t.wrong
		case s.count == 0:
			return model.Refuse(model.BadValue, again, "%s: %s was launched 0 times", place(t.file, t.at),
				measure.Quote(text))
		case t.contradiction() != "":
			return model.Refuse(model.BadValue, again, "%s: %s: the row contradicts itself",
				place(t.file, t.at), t.contradiction())
		case t.kind != kernSum && !copied:
			return model.Refuse(model.BadValue, fromReport, "%s: column %s: %s is no copy and no memset",
				place(t.file, t.at), measure.Quote(t.find("name").title), measure.Quote(text))
		case t.kind == kernSum:
			var err error
			if s.subject, err = t.kernels.Subject(t.file, text); err != nil {
				return err
			}
			s.truncated = strings.HasSuffix(text, "...") || strings.HasSuffix(text, "…")
		}
		percent, slack, total = percent+share.Float(1), slack+share.Step(1)/2, total+s.total
		if t.kind != memSize {
			t.step = max(t.step, s.step)
		}
		sums = append(sums, s)
		return nil
	})
	if err == nil && t.has("time") && t.rows > 0 && percent < 100-slack-0.1 && total > 0 {
		err = model.Refuse(model.RowsMissing,
			"export the whole table again: nsys stats --report "+t.kind.String()+" --format csv REPORT.nsys-rep",
			"%s: the rows of %s add up to %.1f %% of its total: rows are missing", t.place(), t.kind, percent)
	}
	return sums, err
}

// contradiction names cells of a row that cannot be of one table, apart from rounding; "" for none.
func (t *table) contradiction() string {
	of := func(name string) (value, slack float64, quoted string) {
		c := t.find(name)
		n := t.number(c)
		value = n.Float(c.factor)
		return value, n.Step(c.factor) + 1e-9*value, c.title + " " + n.text
	}
	if t.has("avg") {
		total, s, of1 := of("total")
		count, _, of2 := of("count")
		mean, each, of3 := of("avg")
		if math.Abs(mean*count-total) > each*count+s {
			return of3 + " is not " + of1 + " / " + of2
		}
	}
	for _, pair := range [][2]string{{"min", "med"}, {"med", "max"}, {"min", "avg"}, {"avg", "max"}} {
		if !t.has(pair[0]) || !t.has(pair[1]) {
			continue
		}
		less, a, ofLess := of(pair[0])
		more, b, ofMore := of(pair[1])
		if less-more > a+b {
			return ofLess + " is above " + ofMore
		}
	}
	return ""
}

const (
	// roughly is the largest relative error of bytes that are kept: sizes count as exact.
	roughly = 0.01
	// mode makes a summary differ from a trace of the same kernels, so that the two are not compared.
	mode = "summary of all launches"
	// meanOfAll is the note of times, since the time of a trace has another meaning.
	meanOfAll = "mean over all launches, the first ones included"
)

// summarize makes a session of the summaries; t is that of the kernels.
func summarize(t *table, sums map[kind][]sum) (*model.Session, error) {
	s := &model.Session{Environment: model.Environment{Tool: string(model.Statistics), Mode: mode}, Warmup: "0"}
	set := func(subject measure.Subject, m measure.Metric, value float64, note string) {
		if m.Unit == "ns" {
			value = math.Round(value*1000) / 1000
		}
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: m, Values: model.Values{value}, Note: note})
	}
	var total float64
	var launches int64
	// Rows of one subject are builds of one kernel.
	for _, k := range merged(sums[kernSum]) {
		if !k.truncated || k.rows == 1 { // equal truncated names may be those of several kernels
			set(k.subject, measure.Time, k.total/float64(k.count), meanOfAll)
		}
		set(k.subject, measure.Launches, float64(k.count), "")
		set(k.subject, measure.Total, k.total, "")
		total, launches = total+k.total, launches+k.count
	}
	if total == 0 {
		return nil, model.Refuse(model.ZeroLength, nanosecond, "%s: all %d launches took no time", t.place(), launches)
	}
	set(measure.Workload, measure.GPUTime, total, "")
	set(measure.Workload, measure.Launches, float64(launches), "")
	counted := map[measure.Subject]bool{}
	for _, k := range []kind{memTime, memSize} {
		for _, x := range merged(sums[k]) {
			if !counted[x.subject] {
				set(x.subject, measure.Copies, float64(x.count), "")
			}
			counted[x.subject] = true
			switch {
			case k == memTime:
				set(x.subject, measure.CopyTime, x.total, "")
			case x.step/2 <= roughly*x.total:
				set(x.subject, measure.CopyBytes, x.total, "")
			}
		}
	}
	s.Tick = max(model.ShortestTick, t.step)
	s.Runs = []model.Run{{Total: int(launches), Launches: int(launches), Steady: true}}
	s.SortSeries()
	return s, s.Check()
}

func merged(sums []sum) []sum {
	var out []sum
	at := map[measure.Subject]int{}
	for _, s := range sums {
		i, known := at[s.subject]
		if !known {
			at[s.subject] = len(out)
			out = append(out, s)
			continue
		}
		x := &out[i]
		x.total, x.count, x.step, x.rows = x.total+s.total, x.count+s.count, x.step+s.step, x.rows+1
	}
	return out
}
