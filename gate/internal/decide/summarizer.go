package decide

import (
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/internal/trace"
	"github.com/nsgate/nsgate/gate/measure"
)

// summarizer makes summaries of the runs of a side: of all, or of one. Runs are numbered over all its sessions.
type summarizer struct {
	side     *side
	time     measure.Metric
	step     string
	subjects []*summand
	workload *summand
	known    []bool // the runs of which it is known who owns their steps
	stepped  []bool // those of them whose steps are like those of the others
	devices  Number // that a process uses
}

// summand is a subject with what is looked up once for all runs, of which there are as many summaries.
type summand struct {
	measure.Subject
	values map[string][]float64 // by metric, run by run
	owned  []float64            // what it has of the step of each run, nil where that is not known
	copies bool
	others []measure.Metric // that have no other place in a summary
	row    SummaryKernel    // of a kernel, as far as it is the same in all runs
}

func summaries(sessions []model.Session) *summarizer {
	last := &sessions[len(sessions)-1]
	s := &summarizer{time: measure.Time, step: last.Step, devices: max(1, Number(last.GPUs)/max(1, Number(last.Processes)))}
	total := measure.Total
	if byLaunch(sessions) {
		s.time, total = model.NcuTime, model.NcuTime
	}
	s.side = newSide(sessions, total)
	t := trial{base: s.side, head: s.side}
	s.stepped = t.stepped(s.side, 0)
	for i, values := range s.side.values(measure.Workload, measure.StepTime.Name) {
		owns := slices.ContainsFunc(s.side.sessions[i].Series, func(x model.Series) bool { return x.Metric.Name == measure.Owned.Name })
		for _, v := range values {
			s.known = append(s.known, owns && !math.IsNaN(v))
		}
	}
	s.workload = s.summand(measure.Workload)
	for _, subject := range s.side.subjects() {
		s.subjects = append(s.subjects, s.summand(subject))
	}
	return s
}

func (s *summarizer) summand(subject measure.Subject) *summand {
	x := &summand{Subject: subject, values: map[string][]float64{}}
	if s.side.hasMetric(subject, measure.Owned.Name) {
		x.owned = owned(s.side, subject, slices.Repeat([]bool{true}, s.side.runs()))
	}
	switch subject.Scope {
	case measure.ScopeKernel:
		x.row = SummaryKernel{Kernel: subject.Short(), Name: subject.Name, Role: s.side.role(subject), Communicates: trace.Communicates(subject.Name)}
		if subject.Geometry() != "" {
			x.row.Grid, x.row.Block = subject.Grid.String(), subject.Block.String()
		}
	case measure.ScopeWorkload, measure.ScopeOutput, measure.ScopeCall:
		x.copies = subject.Scope == measure.ScopeWorkload && s.side.hasMetric(subject, measure.CopyTime.Name)
		x.others = s.others(subject)
	}
	return x
}

// shown are the metrics of the workload and of copies that have a place of their own in a Summary.
var shown = []string{
	measure.GPUTime.Name, measure.Launches.Name, measure.StepTime.Name, measure.Owned.Name,
	measure.CopyTime.Name, measure.CopyBytes.Name, measure.Copies.Name,
}

// others are the metrics of the workload, or of a part of it, that have none.
func (s *summarizer) others(subject measure.Subject) (out []measure.Metric) {
	h := s.side.held[subject]
	if h == nil {
		return nil
	}
	metrics := map[string]measure.Metric{}
	for _, session := range h.series {
		for _, x := range session {
			if !slices.Contains(shown, x.Metric.Name) {
				metrics[x.Metric.Name] = x.Metric
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		out = append(out, metrics[name])
	}
	return out
}

// all is every run.
func (s *summarizer) all() []int {
	out := make([]int, s.side.runs())
	for i := range out {
		out[i] = i
	}
	return out
}

// typical is the median over these runs, which are traced ones; of what is measured in untraced runs over all of those.
func (s *summarizer) typical(runs []int, x *summand, metric measure.Metric) Number {
	values, ok := x.values[metric.Name]
	if !ok {
		values = slices.Concat(s.side.values(x.Subject, metric.Name)...)
		x.values[metric.Name] = values
	}
	if metric.Unprofiled() {
		return Number(stats.Median(known(values)))
	}
	if len(runs) == 1 {
		return Number(values[runs[0]])
	}
	kept := make([]float64, len(runs))
	for i, run := range runs {
		kept[i] = values[run]
	}
	return Number(stats.Median(known(kept)))
}

// meanOwned is the mean over these runs of what a subject has of the step.
func (x *summand) meanOwned(runs []int) Number {
	if len(runs) == 0 || x.owned == nil {
		return unknown
	}
	sum := 0.0
	for _, run := range runs {
		sum += x.owned[run]
	}
	return Number(sum / float64(len(runs)))
}

// marked are those of the runs that a list marks.
func marked(runs []int, by []bool) []int {
	return slices.DeleteFunc(slices.Clone(runs), func(run int) bool { return !by[run] })
}

// of sums up some of the runs, without their ranges.
func (s *summarizer) of(runs []int) *Summary {
	out := &Summary{
		Schema: SummarySchema, Recorded: Side{Step: s.step}, Period: s.typical(runs, s.workload, measure.StepTime),
		GPUTime: s.typical(runs, s.workload, measure.GPUTime), Launches: s.typical(runs, s.workload, measure.Launches),
		Kernels: make([]SummaryKernel, 0, len(s.subjects)), devices: s.devices,
		hidden: s.typical(runs, s.workload, measure.HiddenCommunication),
	}
	stepped := marked(runs, s.stepped)
	if len(stepped) == 0 {
		stepped = marked(runs, s.known)
	}
	for _, x := range s.subjects {
		owned := x.meanOwned(stepped)
		out.own(x.Subject, owned)
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
	out.settle()
	return out
}

// kernel is a row of the kernels, but for its share.
func (s *summarizer) kernel(runs []int, x *summand, owned Number) SummaryKernel {
	k := x.row
	k.Owned, k.Time = owned, s.typical(runs, x, s.time)
	k.Launches, k.Total = s.typical(runs, x, measure.Launches), s.typical(runs, x, s.side.total)
	if k.Communicates {
		k.Collective = &SummaryCollective{Operation: trace.Operation(k.Kernel), Wait: s.typical(runs, x, measure.CollectiveWait),
			Bytes: s.typical(runs, x, measure.MessageBytes), Rate: unknown}
		if k.Total > 0 {
			k.Collective.Rate = k.Collective.Bytes / k.Total * 1e9
		}
	}
	return k
}

// copied is a row of the copies, but for its share.
func (s *summarizer) copied(runs []int, x *summand, owned Number) SummaryCopy {
	c := SummaryCopy{
		Kind: x.Name, Count: s.typical(runs, x, measure.Copies), Bytes: s.typical(runs, x, measure.CopyBytes),
		Time: s.typical(runs, x, measure.CopyTime), Rate: unknown, Owned: owned,
		Memory: s.side.note(x.Subject, measure.CopyTime.Name),
	}
	if c.Time > 0 {
		c.Rate = c.Bytes / c.Time * 1e9
	}
	return c
}

// rest is what else was measured of the workload or a part of it.
func (s *summarizer) rest(runs []int, x *summand) (out []SummaryValue) {
	for _, m := range x.others {
		if v := s.typical(runs, x, m); v.Known() {
			out = append(out, SummaryValue{Scope: x.Scope, Name: x.Name, Role: s.side.find(x.Subject, m.Name).Role,
				Metric: m.Name, Unit: m.Unit, Value: v})
		}
	}
	return out
}
