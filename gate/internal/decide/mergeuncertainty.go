package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Where two branches changed the same kernel and each was accepted by itself, the baseline of their merge holds both, and the merged
// code was never measured. How far it may differ is known: see [model.Series.Unmerged]. A change of that size is no
// finding, and no pass either.

// uncertain is the relative uncertainty of the baseline of an unmeasured merge, by metric and subject, and by metric and name alone.
type uncertain map[measured]float64

type measured struct {
	metric string
	measure.Subject
}

// uncertain are the series of the base that nobody measured as they are.
func (t comparison) uncertain() uncertain {
	out := uncertain{}
	for i := range t.base.Sessions {
		for _, x := range t.base.Sessions[i].Series {
			for _, s := range []measure.Subject{x.Subject, {Name: x.Subject.Name}} {
				if at := (measured{x.Metric.Name, s}); x.Unmerged > 0 {
					out[at] = math.Max(out[at], x.Unmerged)
				}
			}
		}
	}
	return out
}

// in is the relative uncertainty of a pair's baseline, 0 where it was measured.
func (u uncertain) in(p pair) (most float64) {
	if len(u) == 0 {
		return 0
	}
	most = u[measured{p.metric.Name, p.subject}]
	for _, name := range p.baseNames {
		most = math.Max(most, u[measured{p.metric.Name, measure.Subject{Name: name}}])
	}
	return most
}

// unmerged names the subjects of the baseline that were never measured together, nothing where all were.
func unmerged(t comparison) []result.Remark {
	var subjects []measure.Subject
	var sessions []string
	most := 0.0
	for i := range t.base.Sessions {
		s := &t.base.Sessions[i]
		for _, x := range s.Series {
			if x.Unmerged <= 0 {
				continue
			}
			if x.Subject.Scope != measure.ScopeSection { // parts of the run, in which the others are
				subjects = append(subjects, x.Subject)
			}
			if !slices.Contains(sessions, s.ID) {
				sessions = append(sessions, s.ID)
			}
			if x.Metric == t.time || x.Metric == measure.GPUTime || x.Metric == measure.StepTime {
				most = math.Max(most, x.Unmerged)
			}
		}
	}
	names := recorded.Names(slices.Concat(recorded.Kernels(subjects), subjects)) // kernels first, which say more than sums over them
	return result.SayIf(names != nil, reason.Unmerged{Names: names, Sessions: sessions, Most: result.Number(most)})
}
