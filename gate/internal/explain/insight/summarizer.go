package insight

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// summarizer makes summaries of the runs of a side: of all, or of one. Runs are numbered over all its sessions.
type summarizer struct {
	side     *recorded.Index
	time     measure.Metric
	step     string
	subjects []*summand
	workload *summand
	all      []int         // every run
	known    []bool        // the runs whose steps are attributed
	stepped  []bool        // those of them whose steps are like those of the others
	devices  result.Number // that a process uses
}

// summand is a subject with its values, looked up once for the summaries of all runs.
type summand struct {
	measure.Subject
	values map[string][]float64 // by metric, run by run
	owned  []float64            // its part of the step of each run, nil where that is unknown
	copies bool
	others []measure.Metric     // that have no other place in a summary
	row    result.SummaryKernel // of a kernel, as far as it is the same in all runs
}

func summaries(sessions []model.Session) *summarizer {
	last := &sessions[len(sessions)-1]
	time, total := recorded.Times(sessions)
	s := &summarizer{time: time, step: last.Step,
		devices: max(1, result.Number(last.GPUs)/max(1, result.Number(last.Processes)))}
	s.side = recorded.New(sessions, total)
	s.stepped = attribution.Stepped(s.side, nil, "base")
	for i, values := range s.side.Values(measure.Workload, attribution.StepMetric(s.side)) {
		owns := slices.ContainsFunc(s.side.Sessions[i].Series,
			func(x model.Series) bool { return x.Metric.Name == measure.Owned.Name })
		for _, v := range values {
			s.all = append(s.all, len(s.all))
			s.known = append(s.known, owns && !math.IsNaN(v))
		}
	}
	s.workload = s.summand(measure.Workload)
	s.subjects = measure.Map(s.side.Subjects(), s.summand)
	return s
}

func (s *summarizer) summand(subject measure.Subject) *summand {
	x := &summand{Subject: subject, values: map[string][]float64{}}
	if s.side.HasMetric(subject, measure.Owned.Name) {
		x.owned = attribution.Owned(s.side, subject, slices.Repeat([]bool{true}, s.side.ProfiledRuns()))
	}
	switch subject.Scope {
	case measure.ScopeKernel:
		x.row = result.SummaryKernel{Named: result.NewNamed(subject), Role: s.side.Role(subject),
			Communicates: attribution.Communicates(subject.Name)}
	case measure.ScopeWorkload, measure.ScopeOutput, measure.ScopeBenchmark, measure.ScopeCall:
		x.copies = subject.Scope == measure.ScopeWorkload && s.side.HasMetric(subject, measure.CopyTime.Name)
		x.others = s.others(subject)
	}
	return x
}

// shown are the metrics of the workload and of copies that have a place of their own in a Summary.
var shown = []string{
	measure.GPUTime.Name, measure.Launches.Name, measure.StepTime.Name, measure.MeanStep.Name, measure.Growth.Name,
	measure.Owned.Name,
	measure.CopyTime.Name, measure.CopyBytes.Name, measure.Copies.Name, measure.StartupTime.Name, measure.InitTime.Name,
	measure.TeardownTime.Name,
}

// others are the metrics of the workload, or of a part of it, that have none.
func (s *summarizer) others(subject measure.Subject) []measure.Metric {
	h := s.side.Entries[subject]
	if h == nil {
		return nil
	}
	metrics := map[string]measure.Metric{}
	for _, session := range h.Series {
		for _, x := range session {
			if !slices.Contains(shown, x.Metric.Name) {
				metrics[x.Metric.Name] = x.Metric
			}
		}
	}
	return measure.Map(slices.Sorted(maps.Keys(metrics)), func(name string) measure.Metric { return metrics[name] })
}

// typical is the median over these profiled runs; of a metric of unprofiled runs that over all of them.
func (s *summarizer) typical(runs []int, x *summand, metric measure.Metric) result.Number {
	values, ok := x.values[metric.Name]
	if !ok {
		values = slices.Concat(s.side.Values(x.Subject, metric.Name)...)
		x.values[metric.Name] = values
	}
	if !metric.Unprofiled() {
		values = measure.Map(runs, func(run int) float64 { return values[run] })
	}
	return result.Number(stats.Median(stats.Known(values)))
}

// meanOwned is the mean over these runs of the part of the step attributed to a subject.
func (x *summand) meanOwned(runs []int) result.Number {
	if len(runs) == 0 || x.owned == nil {
		return result.Unknown
	}
	sum := measure.Sum(runs, func(run int) float64 { return x.owned[run] })
	return result.Number(sum / float64(len(runs)))
}

// marked are those of the runs that a list marks.
func marked(runs []int, by []bool) []int {
	return measure.Where(runs, func(run int) bool { return by[run] })
}

// of sums up some of the runs, without their ranges.
func (s *summarizer) of(runs []int) *result.Summary {
	stepped := marked(runs, s.stepped)
	if len(stepped) == 0 {
		stepped = marked(runs, s.known)
	}
	steps := measure.Map(measure.Either(len(stepped) > 0, stepped, runs), func(run int) float64 {
		return math.Log(float64(s.typical([]int{run}, s.workload, measure.StepTime)))
	})
	out := &result.Summary{
		Schema: result.SummarySchema, Recorded: result.Side{Step: s.step},
		StepTime: result.Number(math.Exp(stats.Mean(stats.Known(steps)))),
		GPUTime:  s.typical(runs, s.workload, measure.GPUTime), Launches: s.typical(runs, s.workload, measure.Launches),
		Kernels: make([]result.SummaryKernel, 0, len(s.subjects)), Devices: s.devices,
		Hidden: s.typical(runs, s.workload, measure.HiddenCommunication),
	}
	for _, x := range s.subjects {
		owned := x.meanOwned(stepped)
		addPart(out, x.Subject, owned)
		if x.Scope == measure.ScopeKernel {
			if k := s.kernel(runs, x, owned); k.Total.Known() {
				out.Kernels = append(out.Kernels, k)
			}
		}
		if x.copies {
			out.Copies = append(out.Copies, s.copied(runs, x, owned))
		}
		out.Others = append(out.Others, s.rest(runs, x)...)
	}
	finish(out)
	return out
}

func (s *summarizer) kernel(runs []int, x *summand, owned result.Number) result.SummaryKernel {
	k := x.row
	k.Owned, k.Time = owned, s.typical(runs, x, s.time)
	k.Launches, k.Total = s.typical(runs, x, measure.Launches), s.typical(runs, x, s.side.Total)
	if k.Communicates {
		k.Collective = &result.SummaryCollective{Operation: attribution.Operation(k.Kernel),
			Wait:  s.typical(runs, x, measure.CollectiveWait),
			Bytes: s.typical(runs, x, measure.MessageBytes), Rate: result.Unknown}
		if k.Total > 0 {
			k.Collective.Rate = k.Collective.Bytes / k.Total * 1e9
		}
	}
	return k
}

func (s *summarizer) copied(runs []int, x *summand, owned result.Number) result.SummaryCopy {
	c := result.SummaryCopy{
		Kind: x.Name, Count: s.typical(runs, x, measure.Copies), Bytes: s.typical(runs, x, measure.CopyBytes),
		Time: s.typical(runs, x, measure.CopyTime), Rate: result.Unknown, Owned: owned,
		Memory: s.side.Note(x.Subject, measure.CopyTime.Name),
	}
	if c.Time > 0 {
		c.Rate = c.Bytes / c.Time * 1e9
	}
	return c
}

// rest are the other metrics of the workload or a part of it.
func (s *summarizer) rest(runs []int, x *summand) (out []result.SummaryValue) {
	for _, m := range x.others {
		if v := s.typical(runs, x, m); v.Known() {
			out = append(out, result.SummaryValue{Scope: x.Scope, Name: x.Name,
				Role: s.side.Find(x.Subject, m.Name).Role, Metric: m.Name, Unit: m.Unit, Value: v})
		}
	}
	return out
}

// addPart adds what a subject has of the step to its part.
func addPart(x *result.Summary, subject measure.Subject, time result.Number) {
	if !time.Known() {
		return
	}
	class, at := subject.Idle()
	p := result.SummaryPart{Class: cmp.Or(class, attribution.ClassOf(subject)), Where: at.String()}
	p.Idle = class != "" && class != attribution.Profiler.String()
	i := slices.IndexFunc(x.Parts, func(o result.SummaryPart) bool { return o.Class == p.Class && o.Where == p.Where })
	if i < 0 {
		i = len(x.Parts)
		x.Parts = append(x.Parts, p)
	}
	x.Parts[i].Time += time
}

// finish fills in the shares and puts the largest first.
func finish(x *result.Summary) {
	part := func(n, of result.Number) result.Number { return measure.Either(of > 0, n/of, result.Unknown) }
	x.Period = x.StepTime
	if len(x.Parts) > 0 {
		x.Period = measure.Sum(x.Parts, func(p result.SummaryPart) result.Number { return p.Time })
	}
	for i := range x.Parts {
		x.Parts[i].Share = part(x.Parts[i].Time, x.Period)
	}
	whole := x.GPUTime
	if !whole.Known() { // one launch of each kernel stands for the workload
		whole = measure.Sum(x.Kernels, func(k result.SummaryKernel) result.Number { return k.Total })
	}
	for i := range x.Kernels {
		x.Kernels[i].Share = part(x.Kernels[i].Total, whole)
	}
	work := measure.Sum(x.Copies, func(c result.SummaryCopy) result.Number { return c.Time.Or(0) })
	for i := range x.Copies {
		x.Copies[i].Share = part(x.Copies[i].Time, whole+work)
	}
	measure.Sort(x.Parts, func(a, b result.SummaryPart) int { return cmp.Compare(b.Time, a.Time) })
	measure.Sort(x.Kernels, func(a, b result.SummaryKernel) int { return cmp.Compare(-a.Total, -b.Total) })
	measure.Sort(x.Copies, func(a, b result.SummaryCopy) int { return cmp.Compare(b.Time, a.Time) })
}

// likeLast keeps the sessions of the GPU model, profiler and step of another.
func likeLast(sessions []model.Session, last *model.Session) []model.Session {
	return measure.Where(sessions, func(s model.Session) bool {
		return s.GPU == last.GPU && s.Profiler() == last.Profiler() && s.Step == last.Step
	})
}

// sumOf adds up what is known of some of a list.
func sumOf[T any](list []T, these func(T) bool, value func(T) result.Number) (sum result.Number) {
	for _, x := range list {
		if v := value(x); these(x) && !math.IsNaN(float64(v)) {
			sum += v
		}
	}
	return sum
}
