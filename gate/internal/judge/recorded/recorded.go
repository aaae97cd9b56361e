// Package recorded looks up what was measured in the sessions of the baseline or the head, by subject, metric and run.
package recorded

import (
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// KernelShare is the least part of GPU time of a kernel that represents the program's kernels.
const KernelShare = 0.005

// SideNames are the names of the baseline and the head in reasons.
var SideNames = [...]string{"base", "head"}

// Index holds the sessions of the baseline or the head with their series by subject.
type Index struct {
	Sessions []model.Session
	Entries  map[measure.Subject]*Entry
	sorted   []measure.Subject // of the entries
	Total    measure.Metric    // the metric of a kernel's cost
	Whole    float64           // typical kernel time of the workload
}

// Entry holds the series of a subject. Names of kernels are long, so each is looked up once for all its metrics.
type Entry struct {
	Series [][]model.Series // by session
	share  float64          // see [Index.Share], NaN until it is computed
}

// New indexes sessions. total is the metric of a kernel's cost.
func New(sessions []model.Session, total measure.Metric) *Index {
	s := &Index{Sessions: sessions, Entries: map[measure.Subject]*Entry{}, Total: total}
	for i := range sessions {
		// The series of a subject mostly stand together.
		for rest := sessions[i].Series; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Subject == rest[0].Subject {
				n++
			}
			h := s.Entries[rest[0].Subject]
			if h == nil {
				h = &Entry{Series: make([][]model.Series, len(sessions)), share: math.NaN()}
				s.Entries[rest[0].Subject] = h
				s.sorted = append(s.sorted, rest[0].Subject)
			}
			if h.Series[i] == nil {
				h.Series[i] = rest[:n:n]
			} else {
				h.Series[i] = append(h.Series[i], rest[:n]...)
			}
			rest = rest[n:]
		}
	}
	slices.SortFunc(s.sorted, measure.Subject.Compare)
	s.Whole = s.Typical(measure.Workload, measure.GPUTime.Name)
	if math.IsNaN(s.Whole) {
		// Counters are not of the whole workload: one launch of each kernel stands for it.
		s.Whole = s.TypicalSum(Kernels(s.sorted), total.Name)
	}
	return s
}

// In is a metric of one session, nil where that does not have it.
func (h *Entry) In(session int, metric string) *model.Series {
	if h == nil {
		return nil
	}
	return measure.First(h.Series[session], func(x *model.Series) bool { return x.Metric.Name == metric })
}

// Newest is the series of the newest session that has it, nil where none does.
func (h *Entry) Newest(metric string) *model.Series {
	if h == nil {
		return nil
	}
	for i := len(h.Series) - 1; i >= 0; i-- {
		if x := h.In(i, metric); x != nil {
			return x
		}
	}
	return nil
}

// ByLaunch reports whether sessions are counters, of single launches and not of the workload.
func ByLaunch(sessions []model.Session) bool {
	return len(sessions) > 0 && sessions[len(sessions)-1].Counted()
}

// Times are the metrics of a launch, and of all launches of a kernel, that sessions of one profiler have.
func Times(sessions []model.Session) (time, total measure.Metric) {
	if ByLaunch(sessions) {
		return measure.ReplayTime, measure.ReplayTime
	}
	return measure.Time, measure.Total
}

// Subjects lists what the side has, in stable order. The list is the side's own.
func (s *Index) Subjects() []measure.Subject { return s.sorted }

// ProfiledRuns is how many profiled runs the sessions have in all.
func (s *Index) ProfiledRuns() int {
	return measure.Sum(s.Sessions, func(x model.Session) int { return x.Profiled() })
}

// Runs is how many runs a comparison has: the profiled ones, or all where none was profiled.
func (s *Index) Runs() int {
	return measure.Sum(s.Sessions, func(x model.Session) int { return x.Judged() })
}

// Has reports whether any session has the subject.
func (s *Index) Has(subject measure.Subject) bool { return s.Entries[subject] != nil }

// Metrics lists the metrics of a subject, in the order of [Known].
func (s *Index) Metrics(subject measure.Subject) []measure.Metric {
	h := s.Entries[subject]
	return slices.DeleteFunc(slices.Clone(Known(h)), func(m measure.Metric) bool { return h.Newest(m.Name) == nil })
}

// Known lists measure.Metrics, then the raw metrics of entries, sorted; each in the unit that the last of the entries
// has. The list may be that of package measure.
func Known(entries ...*Entry) []measure.Metric {
	raw, own := []measure.Metric(nil), map[string]measure.Metric{}
	for _, h := range entries {
		if h == nil {
			continue
		}
		for i := range h.Series {
			for j := range h.Series[i] {
				if m := h.Series[i][j].Metric; m.Raw() != "" && !slices.Contains(raw, m) {
					raw = append(raw, m)
				} else if m.OfResults() {
					own[m.Name] = m
				}
			}
		}
	}
	if len(raw)+len(own) == 0 {
		return measure.Metrics
	}
	measure.Sort(raw, func(a, b measure.Metric) int { return strings.Compare(a.Name, b.Name) })
	out := slices.Concat(measure.Metrics, raw)
	for i, m := range out {
		if in, ok := own[m.Name]; ok {
			out[i] = in
		}
	}
	return out
}

// Categories are the NVTX categories of the ranges that have one, by name; the last session decides.
func Categories(sides ...[]model.Session) map[string]string {
	out := map[string]string{}
	for _, s := range slices.Concat(sides...) {
		for _, x := range s.Series {
			if x.Subject.Scope == measure.ScopeRange && x.Metric == measure.GPUTime && x.Note != "" {
				out[x.Subject.Name] = x.Note
			}
		}
	}
	return out
}

// Zero begins the reasons to leave out a row whose value is 0, such as [model.UnderClock].
const Zero = "0"

// LeftOut reports whether a file of the side leaves out a row for a reason that begins so.
func (s *Index) LeftOut(row, why string) bool {
	is := func(x model.LeftOut) bool { return x.Name == row && strings.HasPrefix(x.Why, why) }
	return slices.ContainsFunc(s.Sessions, func(x model.Session) bool { return slices.ContainsFunc(x.LeftOut, is) })
}

// HasMetric reports whether any session has the metric of the subject.
func (s *Index) HasMetric(subject measure.Subject, metric string) bool {
	return s.Entries[subject].Newest(metric) != nil
}

// Values are the samples of a metric, one list a session with the runs of that metric's kind, all NaN where a session
// has none. In a session with a kernel, profiled runs without it have zero launches and time.
func (s *Index) Values(subject measure.Subject, metric string) [][]float64 {
	out, h := make([][]float64, len(s.Sessions)), s.Entries[subject]
	for i := range s.Sessions {
		session := &s.Sessions[i]
		if x := h.In(i, metric); x != nil {
			out[i] = session.Of(x)
			if metric == measure.Launches.Name || metric == measure.Total.Name {
				out[i] = s.absent(i, subject, out[i])
			}
			continue
		}
		runs := session.Profiled()
		if m, _ := measure.MetricByName(metric); m.Unprofiled() {
			runs = len(session.Runs) - runs
		}
		out[i] = slices.Repeat([]float64{math.NaN()}, runs)
	}
	return out
}

// absent puts zero for the runs of a session without any metric of a kernel. A run that lacks one value and has another
// keeps NaN: that value is unknown.
func (s *Index) absent(session int, subject measure.Subject, values []float64) []float64 {
	if subject.Scope != measure.ScopeKernel || s.Total != measure.Total || !slices.ContainsFunc(values, math.IsNaN) {
		return values
	}
	h := s.Entries[subject]
	times, launches, total := h.In(session, measure.Time.Name), h.In(session, measure.Launches.Name),
		h.In(session, measure.Total.Name)
	if times == nil {
		return values
	}
	lacks := func(x *model.Series, run int) bool { return x == nil || math.IsNaN(x.Values[run]) }
	out := slices.Clone(values)
	for run := range out {
		if lacks(times, run) && lacks(launches, run) && lacks(total, run) {
			out[run] = 0
		}
	}
	return out
}

// Sum adds a metric of several subjects run by run. A session that has none of them stays NaN.
func (s *Index) Sum(subjects []measure.Subject, metric string) [][]float64 {
	out := s.Values(subjects[0], metric)
	for i := range out {
		out[i] = slices.Clone(out[i])
	}
	for _, subject := range subjects[1:] {
		for i, session := range s.Values(subject, metric) {
			for j, v := range session {
				switch {
				case math.IsNaN(v):
				case math.IsNaN(out[i][j]):
					out[i][j] = v
				default:
					out[i][j] += v
				}
			}
		}
	}
	return out
}

// Typical is the median over all runs, NaN where there is none.
func (s *Index) Typical(subject measure.Subject, metric string) float64 {
	if !s.HasMetric(subject, metric) {
		return math.NaN()
	}
	return Typical(s.Values(subject, metric))
}

// Typical is the median over the runs of all sessions, NaN where there is none.
func Typical(sessions [][]float64) float64 { return stats.Median(stats.Pooled(sessions)) }

// WarmupSteps is how many steps the sessions left out as warm-up, NaN where that is not known.
func (s *Index) WarmupSteps() float64 { return s.Typical(measure.Warmup, measure.Repeats.Name) }

// Find is the series of the newest session that has it.
func (s *Index) Find(subject measure.Subject, metric string) *model.Series {
	return s.Entries[subject].Newest(metric)
}

// Role is the path of ranges around a kernel, "" outside all.
func (s *Index) Role(subject measure.Subject) string {
	if x := s.Find(subject, s.Total.Name); x != nil {
		return x.Role
	}
	return ""
}

// Note is the note on a metric in the newest session that has it.
func (s *Index) Note(subject measure.Subject, metric string) string {
	if x := s.Find(subject, metric); x != nil {
		return x.Note
	}
	return ""
}

// Share is the subject's part of the workload's kernel time; of copies, of kernel and copy time together.
func (s *Index) Share(subject measure.Subject) float64 {
	h := s.Entries[subject]
	if h == nil {
		return s.shareOf(subject)
	}
	if math.IsNaN(h.share) {
		h.share = s.shareOf(subject)
	}
	return h.share
}

func (s *Index) shareOf(subject measure.Subject) float64 {
	var part float64
	of := s.Whole
	switch {
	case subject == measure.Workload, subject.Scope == measure.ScopeOutput, subject.Scope == measure.ScopeBenchmark:
		return 1
	case subject.Scope == measure.ScopeKernel:
		part = s.Typical(subject, s.Total.Name)
		if part == 0 {
			part = stats.Average(s.Values(subject, s.Total.Name)) // most runs are without it
		}
	case subject.Scope == measure.ScopeRange, subject.Scope == measure.ScopeDevice:
		part = s.Typical(subject, measure.GPUTime.Name)
	default:
		part = s.Typical(subject, measure.CopyTime.Name)
		of = s.Whole + part
	}
	if math.IsNaN(part) || !(of > 0) {
		return 0
	}
	return math.Min(part/of, 1) // runs of different programs have no whole
}

// WholeRun is the wall time or GPU time of a typical run, 0 where it is not known.
func (s *Index) WholeRun(m measure.Metric) float64 {
	return s.TypicalSum(measure.Sections, m.Name)
}

// TypicalSum adds up the typical values of subjects, of those that have one.
func (s *Index) TypicalSum(subjects []measure.Subject, metric string) (sum float64) {
	for _, subject := range subjects {
		if v := s.Typical(subject, metric); !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

// ShareOfRun is the part of the run that a section takes.
func (s *Index) ShareOfRun(section measure.Subject, m measure.Metric) float64 {
	part, whole := s.Typical(section, m.Name), s.WholeRun(m)
	if math.IsNaN(part) || !(whole > 0) {
		return 0
	}
	return math.Min(part/whole, 1)
}

// Exposed is the part of a step that copies of a kind take while no kernel runs, in ns; NaN where steps are not
// attributed.
func (s *Index) Exposed(copies measure.Subject) float64 {
	of := func(x measure.Subject) bool { return s.HasMetric(x, measure.Owned.Name) }
	switch {
	case of(copies):
		return s.Typical(copies, measure.Owned.Name)
	case slices.ContainsFunc(s.Subjects(), of):
		return 0
	}
	return math.NaN()
}
