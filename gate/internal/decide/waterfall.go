package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/internal/trace"
	"github.com/nsgate/nsgate/gate/measure"
)

// Waterfall is the change of the typical step from base to head as the sum of the changes of those who own its time: kernels,
// copies, causes of idle time. All amounts are means over the runs of a side, in ns.
type Waterfall struct {
	Own
	// Parts add up to the whole, those that changed most first.
	Parts []WaterfallPart `json:"parts"`
}

// Own is how much of a step somebody owns.
type Own struct {
	Base   Number `json:"base"`
	Head   Number `json:"head"`
	Change Number `json:"change"` // Head minus Base
	Low    Number `json:"low"`    // interval of Change by the runs of this comparison, at [Report.Confidence]; null with one run a side
	High   Number `json:"high"`
}

// WaterfallPart is a class of owners, or a cause of idle time.
type WaterfallPart struct {
	// Class is "compute", "exposed communication", "exposed copies", "memsets", "profiler", or what kind of idle time it is:
	// "launch-starved", "blocking", "dependency-stalled", "micro gaps", "unknown".
	Class string `json:"class"`
	Idle  bool   `json:"idle,omitempty"`
	// Where says where the host was in idle time: "host code in step after cudaDeviceSynchronize", "" where it plays no part.
	Where string `json:"where,omitempty"`
	Own
	// Owners are the kernels, or kinds of copies, of the class, as far as they changed; the rest of them is the difference.
	Owners []WaterfallOwner `json:"owners,omitempty"`
}

// WaterfallOwner is one kernel or one kind of copy.
type WaterfallOwner struct {
	Kernel string `json:"kernel"` // short name
	Name   string `json:"name"`
	Label  string `json:"label,omitempty"` // as of a [Finding]
	Grid   string `json:"grid,omitempty"`
	Block  string `json:"block,omitempty"`
	Own
}

const (
	// ownerLeast is the part of a step that an owner has to have changed by before a waterfall names it, ownersMost is how many
	// it names of a class.
	ownerLeast, ownersMost = 0.001, 8
)

// waterfall takes the change of the step apart; nil where a side does not know who owns its steps.
func waterfall(t trial) *Waterfall {
	keep := [2][]bool{}
	for i, side := range []*side{t.base, t.head} {
		if keep[i] = t.stepped(side, i); !slices.Contains(keep[i], true) {
			return nil
		}
	}
	type entry struct {
		part WaterfallPart
		runs [2][]float64
	}
	var classes []*entry
	find := func(class, where string, idle bool) *entry {
		for _, e := range classes {
			if e.part.Class == class && e.part.Where == where {
				return e
			}
		}
		e := &entry{part: WaterfallPart{Class: class, Where: where, Idle: idle}}
		classes = append(classes, e)
		return e
	}
	var whole [2][]float64
	subjects := slices.Concat(t.base.subjects(), t.head.subjects())
	large.Sort(subjects, measure.Subject.Compare)
	for _, subject := range slices.Compact(subjects) {
		if !t.base.hasMetric(subject, measure.Owned.Name) && !t.head.hasMetric(subject, measure.Owned.Name) {
			continue
		}
		var runs [2][]float64
		for i, side := range []*side{t.base, t.head} {
			runs[i] = owned(side, subject, keep[i])
		}
		class, where := subject.Idle()
		e := find(cmp.Or(class, classOf(subject)), where, class != "" && class != trace.Profiler.String())
		for i := range runs {
			e.runs[i], whole[i] = add(e.runs[i], runs[i]), add(whole[i], runs[i])
		}
		if class == "" {
			o := WaterfallOwner{Kernel: subject.Short(), Name: subject.Name, Own: own(runs)}
			if subject.Geometry() != "" {
				o.Grid, o.Block = subject.Grid.String(), subject.Block.String()
			}
			e.part.Owners = append(e.part.Owners, o)
		}
	}
	w := &Waterfall{Own: own(whole)}
	for _, e := range classes {
		e.part.Own = own(e.runs)
		e.part.Owners = slices.DeleteFunc(e.part.Owners, func(o WaterfallOwner) bool {
			return math.Abs(float64(o.Change)) < ownerLeast*float64(w.Base)
		})
		large.Sort(e.part.Owners, func(a, b WaterfallOwner) int { return largest(a.Own, b.Own) })
		e.part.Owners = e.part.Owners[:min(len(e.part.Owners), ownersMost)]
		w.Parts = append(w.Parts, e.part)
	}
	large.Sort(w.Parts, func(a, b WaterfallPart) int { return largest(a.Own, b.Own) })
	return w
}

// largest orders changes, the largest first.
func largest(a, b Own) int {
	return cmp.Compare(math.Abs(float64(b.Change)), math.Abs(float64(a.Change)))
}

// classOf is the class of an owner that is not idle time.
func classOf(s measure.Subject) string {
	switch {
	case s.Scope != measure.ScopeKernel && s.Name == model.Memset.String():
		return trace.Memset.String()
	case s.Scope != measure.ScopeKernel:
		return trace.Copy.String()
	case trace.Communicates(s.Name):
		return trace.Communication.String()
	}
	return trace.Compute.String()
}

// stepped marks the runs of a side, sessions one after the other, of which the owners of the steps are known; without those that
// are left out as off, and those far from the others where there are others.
func (t trial) stepped(s *side, which int) []bool {
	var out []bool
	p := steadied(pair{base: s.values(measure.Workload, measure.StepTime.Name)})
	for i, session := range s.values(measure.Workload, measure.StepTime.Name) {
		has := false
		for _, h := range s.held {
			has = has || h.in(i, measure.Owned.Name) != nil
		}
		for run, v := range session {
			off := slices.ContainsFunc(t.off, func(o Off) bool { return o.Side == sideNames[which] && o.Session == i && o.Run == run })
			out = append(out, has && !off && !math.IsNaN(v) && p.base[i][run] == v)
		}
	}
	return out
}

// owned are the parts of the kept runs; of what a session does not know, they own nothing. Where only what was accepted is known of a
// session, all else takes as long as it did in the others.
func owned(s *side, subject measure.Subject, keep []bool) []float64 {
	var out []float64
	sessions := s.values(subject, measure.Owned.Name)
	elsewhere := average(sessions)
	at := 0
	for i, session := range sessions {
		held := s.sessions[i].Accepted && s.held[subject].in(i, measure.Owned.Name) == nil && !math.IsNaN(elsewhere)
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
func own(runs [2][]float64) Own {
	mean := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		return sum / float64(len(x))
	}
	b, h := mean(runs[0]), mean(runs[1])
	o := Own{Base: Number(b), Head: Number(h), Change: Number(h - b), Low: unknown, High: unknown}
	if len(runs[0]) < minRuns || len(runs[1]) < minRuns {
		return o
	}
	v := stats.Satterthwaite([]float64{1 / float64(len(runs[0])), 1 / float64(len(runs[1]))},
		[]stats.Variance{stats.SampleVariance(runs[0]), stats.SampleVariance(runs[1])})
	margin := 0.0 // of what is the same in all runs
	if v.S2 > 0 {
		margin = stats.Margin(v, confidence)
	}
	o.Low, o.High = Number(h-b-margin), Number(h-b+margin)
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
