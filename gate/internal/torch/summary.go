package torch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// TableMode is the measure.Environment.Mode of a session that comes from a table.
const TableMode = "key_averages"

// session turns a table into a session of one run.
func (t *printed) session() (*measure.Session, error) {
	work, annotations := t.split()
	switch {
	case !t.closed:
		return nil, t.refuse("table-cut")
	case !t.total.ok:
		return nil, t.refuse("no-foot", t.device)
	case len(work) == 0:
		return nil, t.refuse("table-no-kernels")
	}
	if err := t.checkTotal(work, annotations); err != nil {
		return nil, err
	}
	s := &measure.Session{Environment: measure.Environment{Tool: profiler, Mode: TableMode}, Warmup: "0"}
	run := measure.Run{Steady: true}
	var all, count float64
	for _, r := range merge(work) {
		add := func(metric measure.Metric, value float64, note string) {
			s.Series = append(s.Series, measure.Series{Subject: r.subject, Metric: metric, Values: measure.Values{value}, Note: note})
		}
		if r.subject.Scope == measure.ScopeWorkload {
			add(measure.CopyTime, r.total, r.memory)
			add(measure.Copies, float64(r.calls), r.memory)
			continue
		}
		if r.alike > 0 {
			add(measure.Total, r.total, fmt.Sprintf("%d rows whose names the table cut off alike, taken together", r.alike+1))
		} else {
			add(measure.Time, r.average, r.note)
			add(measure.Total, r.total, "")
		}
		add(measure.Launches, float64(r.calls), "")
		all += r.total
		count += float64(r.calls)
		run.Launches += int(r.calls)
	}
	if run.Launches == 0 {
		return nil, t.refuse("table-copies-only")
	}
	run.Total = run.Launches
	s.Runs = []measure.Run{run}
	s.Series = append(s.Series,
		measure.Series{Subject: measure.Workload, Metric: measure.GPUTime, Values: measure.Values{all}},
		measure.Series{Subject: measure.Workload, Metric: measure.Launches, Values: measure.Values{count}})
	s.SortSeries()
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", t.src, t.line, err)
	}
	return s, nil
}

// split tells what ran on the GPU from annotations: a range of record_function has a second row for the time from its first
// kernel to its last, which is no work of its own. Such a row has the name of a row of the CPU; so have the kernels of
// torch.compile, whose launchers are called like them.
func (t *printed) split() (work, annotations []printedRow) {
	for _, r := range t.gpu {
		if r.name == "ProfilerStep*" || t.cpu[r.name] && !strings.HasPrefix(r.name, "triton_") {
			annotations = append(annotations, r)
		} else {
			work = append(work, r)
		}
	}
	return work, annotations
}

// checkTotal holds the rows against the total at the foot. PyTorch before 2.5 counts annotations in it.
func (t *printed) checkTotal(work, annotations []printedRow) error {
	sum, slack := 0.0, t.total.half+1
	for _, r := range work {
		sum += float64(r.total.ns)
		slack += r.total.half
	}
	total := float64(t.total.ns)
	if abs(sum-total) <= slack {
		return nil
	}
	with, more := sum, slack
	for _, r := range annotations {
		with += float64(r.total.ns)
		more += r.total.half
	}
	if len(annotations) > 0 && abs(with-total) <= more {
		return nil
	}
	key := "table-annotations"
	if sum < total {
		key = "table-rows-missing"
	}
	return t.refuse(key, fmt.Sprintf("%.3f", sum/1e6), fmt.Sprintf("%.3f", total/1e6))
}

// work is one kernel, or the copies of one kind.
type work struct {
	subject        measure.Subject
	average, total float64 // ns
	calls          int64
	note           string
	alike          int    // further rows with the same name, which the table cut off
	memory         string // kinds of memory of most of the time
	most           float64
}

// merge puts rows of one name together, as tables grouped by stack have them, and the copies of one kind. Names that the
// table cut off and that are then alike may be different kernels: what they take together is known, and of a single
// launch nothing.
func merge(rows []printedRow) []*work {
	found := make(map[measure.Subject]*work)
	for _, r := range rows {
		cut := strings.HasSuffix(r.name, "..")
		w := work{average: float64(r.average.ns), total: float64(r.total.ns), calls: r.calls, most: float64(r.total.ns)}
		if strings.HasPrefix(r.name, "Memcpy ") || strings.HasPrefix(r.name, "Memset (") {
			kind, source, target := parseCopy(r.name)
			w.subject = measure.Subject{Scope: measure.ScopeWorkload, Name: kind.String()}
			if w.memory = target.String(); kind != measure.Memset {
				w.memory = source.String() + " to " + w.memory
			}
		} else {
			w.subject = measure.KernelSubject(r.name, measure.Dim3{}, measure.Dim3{})
			var notes []string
			if r.average.half > 1 {
				notes = append(notes, fmt.Sprintf("printed to %g ns", 2*r.average.half))
			}
			if cut {
				notes = append(notes, "name cut off by the table")
			}
			w.note = strings.Join(notes, "; ")
		}
		have, ok := found[w.subject]
		if !ok {
			found[w.subject] = &w
			continue
		}
		have.total += w.total
		have.calls += w.calls
		have.average = have.total / float64(have.calls)
		if cut && w.subject.Scope == measure.ScopeKernel {
			have.alike++
		}
		if w.total > have.most {
			have.most, have.memory = w.total, w.memory
		}
	}
	merged := slices.Collect(maps.Values(found))
	slices.SortFunc(merged, func(a, b *work) int { return a.subject.Compare(b.subject) })
	return merged
}

// sameSeries reports whether two tables say the same.
func sameSeries(a, b *measure.Session) bool {
	return slices.EqualFunc(a.Series, b.Series, func(x, y measure.Series) bool {
		return x.Subject == y.Subject && x.Metric == y.Metric && slices.Equal(x.Values, y.Values)
	})
}
