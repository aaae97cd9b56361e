package torch

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// TableMode is the model.Environment.Mode of a session that comes from a table.
const TableMode = "key_averages"

// session turns a table into a session of one run.
func (t *printed) session() (*model.Session, error) {
	ran, annotations, calls := t.split()
	var budget model.NameBudget
	for _, r := range ran {
		if err := budget.Add(string(t.src), r.name); err != nil {
			return nil, err
		}
	}
	switch {
	case !t.closed:
		return nil, model.Refuse(model.Truncated, printAgain,
			"%s: the table that begins here ends in the middle", t.place())
	case !t.footed:
		return nil, model.Refuse(model.BadTable, printAgain+" with its last lines",
			`%s: the table has no line "Self %s time total" at its foot, so that nothing tells whether it is complete`, t.place(), t.device)
	case len(ran) == 0:
		return nil, model.Refuse(model.NoKernels, activities+", then "+printAgain,
			"%s: the table lists no GPU kernel", t.place())
	}
	if err := t.checkTotal(ran, annotations, calls); err != nil {
		return nil, err
	}
	s := &model.Session{Environment: model.Environment{Tool: profiler, Mode: TableMode}, Warmup: "0"}
	add := func(subject measure.Subject, metric measure.Metric, value float64, note string) {
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: metric, Values: model.Values{value}, Note: note})
	}
	var all, launches float64
	for _, w := range merge(ran) {
		if w.subject.Scope == measure.ScopeWorkload {
			add(w.subject, measure.CopyTime, w.total, w.note)
			add(w.subject, measure.Copies, w.calls, w.note)
			continue
		}
		together := ""
		if w.cut && w.rows > 1 {
			together = fmt.Sprintf("%d rows whose names the table cut off alike, taken together", w.rows)
		} else {
			add(w.subject, measure.Time, w.average, w.note)
		}
		add(w.subject, measure.Total, w.total, together)
		add(w.subject, measure.Launches, w.calls, "")
		all += w.total
		launches += w.calls
	}
	if launches == 0 {
		return nil, model.Refuse(model.NoKernels, printAgain, "%s: the table lists copies but no GPU kernel", t.place())
	}
	add(measure.Workload, measure.GPUTime, all, "")
	add(measure.Workload, measure.Launches, launches, "")
	s.Runs = []model.Run{{Total: int(launches), Launches: int(launches), Steady: true}}
	s.SortSeries()
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", t.src, t.line, err)
	}
	return s, nil
}

// split tells what ran on the GPU from annotations: a range of record_function has a second row for the time from its first
// kernel to its last, which is no work of its own. Such a row has the name of a row of the CPU; so have the kernels of
// torch.compile, whose launchers are called like them.
//
// PyTorch 2.0 gives calls of CUDA (cudaLaunchKernel) a time on the GPU, which is none either.
func (t *printed) split() (ran, annotations, calls []printedRow) {
	for _, r := range t.gpu {
		if apiCall.MatchString(r.name) {
			calls = append(calls, r)
		} else if r.name == "ProfilerStep*" || t.cpu[r.name] && !strings.HasPrefix(r.name, "triton_") {
			annotations = append(annotations, r)
		} else {
			ran = append(ran, r)
		}
	}
	return ran, annotations, calls
}

// apiCall matches the functions of the CUDA runtime and driver.
var apiCall = regexp.MustCompile(`^cu(?:da)?[A-Z]\w*$`)

// checkTotal compares the rows with the total at the foot. PyTorch before 2.5 counts annotations in it, and 2.0 calls.
func (t *printed) checkTotal(ran, annotations, calls []printedRow) error {
	total := float64(t.total.ns)
	add := func(rows []printedRow) (sum float64, agrees bool) {
		slack := t.total.half + 1
		for _, r := range rows {
			sum += float64(r.total.ns)
			slack += r.total.half
		}
		return sum, math.Abs(sum-total) <= slack
	}
	sum, agrees := add(ran)
	for _, others := range [][]printedRow{annotations, calls, slices.Concat(annotations, calls)} {
		_, with := add(slices.Concat(ran, others))
		agrees = agrees || with
	}
	if agrees {
		return nil
	}
	why, next := "kernels and annotations cannot be told apart", printAgain+"; where that does not help, use the trace: prof.export_chrome_trace"
	if sum < total {
		why, next = "rows are missing", printAgain
	}
	return model.Refuse(model.RowsMissing, next, "%s: the rows of what ran on the GPU add up to %.3f ms, the foot of the table says %.3f ms: %s",
		t.place(), sum/1e6, total/1e6, why)
}

// work is one kernel, or the copies of one kind.
type work struct {
	subject               measure.Subject
	average, total, calls float64 // times in ns
	most                  float64 // the longest of its rows; the note is that row's
	note                  string
	rows                  int
	cut                   bool // the table cut the name off
}

// merge puts rows of one name together, as tables grouped by stack have them, and the copies of one kind. Names that the
// table cut off and that are then alike may be different kernels: what they take together is known, and of a single
// launch nothing.
func merge(rows []printedRow) (merged []*work) {
	found := make(map[measure.Subject]*work)
	for _, r := range rows {
		w := r.work()
		have := found[w.subject]
		if have == nil {
			found[w.subject] = w
			merged = append(merged, w)
			continue
		}
		have.total += w.total
		have.calls += w.calls
		have.average = have.total / have.calls
		have.rows++
		if w.total > have.most {
			have.most, have.note = w.total, w.note
		}
	}
	return merged
}

// work is what a row is about. Of copies the note is their kinds of memory, of kernels how the table rounds.
func (r printedRow) work() *work {
	w := &work{average: float64(r.average.ns), total: float64(r.total.ns), most: float64(r.total.ns), calls: float64(r.calls), rows: 1}
	if strings.HasPrefix(r.name, "Memcpy ") || strings.HasPrefix(r.name, "Memset (") {
		kind, source, target := parseCopy(r.name)
		w.subject = measure.Subject{Scope: measure.ScopeWorkload, Name: kind.String()}
		if w.note = target.String(); kind != model.Memset {
			w.note = source.String() + " to " + w.note
		}
		return w
	}
	w.subject = model.KernelSubject(r.name, measure.Dim3{}, measure.Dim3{})
	w.cut = strings.HasSuffix(r.name, "..")
	var notes []string
	if r.average.half > 1 {
		notes = append(notes, fmt.Sprintf("printed to %g ns", 2*r.average.half))
	}
	if w.cut {
		notes = append(notes, "name cut off by the table")
	}
	w.note = strings.Join(notes, "; ")
	return w
}

// sameSeries reports whether two tables say the same.
func sameSeries(a, b *model.Session) bool {
	return slices.EqualFunc(a.Series, b.Series, func(x, y model.Series) bool {
		return x.Subject == y.Subject && x.Metric == y.Metric && slices.Equal(x.Values, y.Values)
	})
}
