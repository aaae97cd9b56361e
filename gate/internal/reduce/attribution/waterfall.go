package attribution

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// ownerLeast is the part of a step that an owner has to have changed by before a waterfall names it, ownersMost is
// how many it names of a class.
const ownerLeast, ownersMost = 0.001, 8

// NewWaterfall attributes the change of the step to its parts; nil if a side lacks the attribution of its steps.
// Kernels that sums maps to the same kernel are one part, named after it. Idle time is one part where a side knows no
// cause of it.
func NewWaterfall(base, head *recorded.Index, sums map[measure.Subject]measure.Subject,
	outliers []result.OutlierRun) *result.Waterfall {
	keep := [2][]bool{}
	for i, side := range []*recorded.Index{base, head} {
		if keep[i] = Stepped(side, outliers, [...]string{"base", "head"}[i]); !slices.Contains(keep[i], true) {
			return nil
		}
	}
	type entry struct {
		part result.WaterfallPart
		runs [2][]float64
	}
	var classes []*entry
	var known model.Interned[[2]string] // class and place
	find := func(class string, at measure.Place, idle bool) *entry {
		i, isNew := known.Of([2]string{class, at.String()})
		if isNew {
			classes = append(classes, &entry{part: result.WaterfallPart{Class: class, Where: at.String(), Idle: idle}})
		}
		return classes[i]
	}
	owned := map[measure.Subject][]measure.Subject{} // by the kernel that they are named after
	subjects := slices.Concat(base.Subjects(), head.Subjects())
	slices.SortStableFunc(subjects, measure.Subject.Compare)
	for _, subject := range slices.Compact(subjects) {
		if base.HasMetric(subject, measure.Owned.Name) || head.HasMetric(subject, measure.Owned.Name) {
			name := cmp.Or(sums[subject], subject)
			owned[name] = append(owned[name], subject)
		}
	}
	blind := withoutCalls(base) || withoutCalls(head)
	var whole [2][]float64
	for _, name := range slices.SortedFunc(maps.Keys(owned), measure.Subject.Compare) {
		var runs [2][]float64
		for _, subject := range owned[name] {
			runs[0], runs[1] = add(runs[0], Owned(base, subject, keep[0])), add(runs[1], Owned(head, subject, keep[1]))
		}
		class, at := name.Idle()
		if blind && class != "" && class != Profiler.String() {
			class, at = measure.IdleUnknown, measure.Place{}
		}
		e := find(cmp.Or(class, ClassOf(name)), at, class != "" && class != Profiler.String())
		for i := range runs {
			e.runs[i], whole[i] = add(e.runs[i], runs[i]), add(whole[i], runs[i])
		}
		if class != "" {
			continue
		}
		e.part.Owners = append(e.part.Owners, result.WaterfallOwner{Named: result.NewNamed(name), Own: own(runs)})
	}
	w := &result.Waterfall{Own: own(whole)}
	for _, e := range classes {
		e.part.Own = own(e.runs)
		e.part.Owners = slices.DeleteFunc(e.part.Owners, func(o result.WaterfallOwner) bool {
			return math.Abs(float64(o.Change)) < ownerLeast*float64(w.Base)
		})
		measure.Sort(e.part.Owners, func(a, b result.WaterfallOwner) int { return largest(a.Own, b.Own) })
		e.part.Owners = e.part.Owners[:min(len(e.part.Owners), ownersMost)]
		w.Parts = append(w.Parts, e.part)
	}
	measure.Sort(w.Parts, func(a, b result.WaterfallPart) int { return largest(a.Own, b.Own) })
	return w
}

// withoutCalls reports whether no idle time of a side has a cause: its calls were not read.
func withoutCalls(s *recorded.Index) bool {
	unknown, caused := false, false
	for _, subject := range s.Subjects() {
		class, _ := subject.Idle()
		unknown = unknown || class == measure.IdleUnknown
		caused = caused || class != "" && class != measure.IdleUnknown && class != Profiler.String()
	}
	return unknown && !caused
}

func largest(a, b result.Own) int {
	return cmp.Compare(math.Abs(float64(b.Change)), math.Abs(float64(a.Change)))
}

// ClassOf is the class of an owner that is not idle time.
func ClassOf(s measure.Subject) string {
	switch {
	case s.Scope != measure.ScopeKernel && s.Name == model.Memset.String():
		return Memset.String()
	case s.Scope != measure.ScopeKernel:
		return Copy.String()
	case Communicates(s.Name):
		return Communication.String()
	}
	return Compute.String()
}

// Stepped marks the runs of a side, session by session, whose steps are attributed; without the outlier runs that are
// left out, and without those whose steps are winsorised.
func Stepped(s *recorded.Index, outliers []result.OutlierRun, which string) []bool {
	var out []bool
	periods := s.Values(measure.Workload, StepMetric(s))
	winsorised, _ := stats.Winsorised(periods)
	for i, session := range periods {
		has := false
		for _, h := range s.Entries {
			has = has || h.In(i, measure.Owned.Name) != nil
		}
		for run, v := range session {
			left := slices.ContainsFunc(outliers, func(o result.OutlierRun) bool {
				return o.Side == which && o.Session == i && o.Run == run
			})
			out = append(out, has && !left && !math.IsNaN(v) && winsorised[i][run] == v)
		}
	}
	return out
}

// Owned are the parts of the step in the kept runs, zero for a cause that a session lacks. Subjects missing from an
// accepted session keep the average of the others.
func Owned(s *recorded.Index, subject measure.Subject, keep []bool) []float64 {
	var out []float64
	sessions := s.Values(subject, measure.Owned.Name)
	elsewhere := stats.Average(sessions)
	at := 0
	for i, session := range sessions {
		held := s.Sessions[i].Accepted && s.Entries[subject].In(i, measure.Owned.Name) == nil && !math.IsNaN(elsewhere)
		for _, v := range session {
			switch {
			case held:
				v = elsewhere
			case math.IsNaN(v):
				v = 0
			}
			if keep[at] {
				out = append(out, v)
			}
			at++
		}
	}
	return out
}

// own says what the runs of base and head come to.
func own(runs [2][]float64) result.Own {
	b, h := stats.Mean(runs[0]), stats.Mean(runs[1])
	o := result.Own{Base: result.Number(b), Head: result.Number(h), Change: result.Number(h - b), Low: result.Unknown,
		High: result.Unknown}
	if len(runs[0]) < stats.MinRuns || len(runs[1]) < stats.MinRuns {
		return o
	}
	v := stats.Satterthwaite([]float64{1 / float64(len(runs[0])), 1 / float64(len(runs[1]))},
		[]stats.Variance{stats.SampleVariance(runs[0]), stats.SampleVariance(runs[1])})
	margin := 0.0 // of a part that is constant in all runs
	if v.S2 > 0 {
		margin = stats.Margin(v, result.Confidence)
	}
	o.Low, o.High = result.Number(h-b-margin), result.Number(h-b+margin)
	return o
}

func add(a, b []float64) []float64 {
	if a == nil {
		return slices.Clone(b)
	}
	for i, v := range b {
		a[i] += v
	}
	return a
}

// StepMetric is the period by whose parts the step of a side is explained: the mean one where it is known.
func StepMetric(s *recorded.Index) string {
	return measure.Either(s.HasMetric(measure.Workload, measure.MeanStep.Name), measure.MeanStep.Name,
		measure.StepTime.Name)
}
