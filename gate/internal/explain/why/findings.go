package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const maxExplained = 5

// explainable are the metrics of a launch that counters can explain.
var explainable = []string{measure.Time.Name, measure.ReplayTime.Name}

// Dearest is how many kernels a check explains.
const Dearest = 3

// Slower are the indices of the findings to explain, one a kernel, those with the largest cost first, at most some: the
// failing ones, with all also the ones that only warn. Counters explain a slower launch; more launches, or work split
// among several kernels, are explained by the counts.
func Slower(findings []result.Finding, all bool, most int) (indices []int) {
	added := map[string]int{} // by role
	for _, f := range findings {
		if f.Outcome == result.New && f.Scope == measure.ScopeKernel {
			added[f.Role]++
		}
	}
	for i := range findings {
		f := &findings[i]
		replaced := f.Metric == measure.Total.Name && f.Match != "exact" && len(f.BaseNames) < 2 &&
			(f.Match != "role" || added[f.Role] < 2)
		switch {
		case f.Scope != measure.ScopeKernel || f.Outcome != result.Slower || !slices.Contains(explainable, f.Metric) &&
			!replaced,
			!f.Gates && !all,
			attribution.Communicates(f.Name), // it hangs where a profiler runs it alone
			slices.ContainsFunc(indices, func(o int) bool { return findings[o].Subject() == f.Subject() }):
		default:
			indices = append(indices, i)
		}
	}
	slices.SortStableFunc(indices, func(a, b int) int { return cmp.Compare(findings[b].Cost, findings[a].Cost) })
	return indices[:min(len(indices), most)]
}

// SlowestRow is the index of the finding on a row of a benchmark file whose certain change for the worse is the
// largest: of the failing ones, with all also of those that only warn. Memory is not explained by kernels.
func SlowestRow(findings []result.Finding, all bool) (index int, ok bool) {
	most := math.NaN()
	for i := range findings {
		f := &findings[i]
		if f.Scope != measure.ScopeBenchmark || f.Outcome != result.Slower || !f.Gates && !all ||
			f.Metric == measure.Memory.Name {
			continue
		}
		// a rate as a time
		certain := float64(measure.Either(f.Direction() == measure.Higher, 1/(1+f.High)-1, f.Low))
		if certain > most || math.IsNaN(most) { // not known where a bound of the policy is broken
			index, ok, most = i, true, certain
		}
	}
	return index, ok
}

// BaseName is the name of a finding's kernel in the baseline.
func BaseName(f *result.Finding) string {
	if len(f.BaseNames) > 0 {
		return f.BaseNames[0]
	}
	return f.Name
}

// Alone notes that a baseline has no counters.
const Alone = "nothing to compare with: measure a base build too, or record the baseline with counters"

// Causes are the causes of some findings, by index, from the counters of both sides; base is nil for none, with a note.
func Causes(findings []result.Finding, indices []int, base, head *counters.Profile, none string) map[int]*result.Cause {
	out := map[int]*result.Cause{}
	for _, i := range indices {
		out[i] = cause(&findings[i], base, head, none)
	}
	return out
}

func cause(f *result.Finding, base, head *counters.Profile, none string) *result.Cause {
	after, missing := launches(head, f.Subject(), "head")
	if missing != "" {
		return &result.Cause{Summary: missing}
	}
	if base == nil {
		out := Stand(after)
		out.Note = none
		return out
	}
	s := measure.Either(f.Match == "exact", f.Subject(), measure.Subject{Scope: f.Scope, Name: BaseName(f)})
	before, missing := launches(base, s, "base")
	if missing != "" {
		out := Stand(after)
		out.Note = strings.TrimSuffix(missing, ".")
		return out
	}
	out := Explain(before, after)
	if base.GPU != "" && head.GPU != "" && base.GPU != head.GPU {
		out.Note = "base and head were profiled on different GPU models"
	}
	return out
}

// launches are the launches of a kernel with its geometry, or with any where either side has none. Profilers print
// different template arguments: if no kernel or several kernels fit, missing says so.
func launches(p *counters.Profile, s measure.Subject, side string) (k counters.Kernel, missing string) {
	found := slices.DeleteFunc(p.Find(s), func(k counters.Kernel) bool {
		return s.Geometry() != "" && k.Subject.Geometry() != "" && k.Subject.Geometry() != s.Geometry()
	})
	switch len(found) {
	case 0:
		return k, "No launch of this kernel was profiled in the " + side + "."
	case 1:
		return found[0], ""
	}
	return k, fmt.Sprintf("%d kernels of this short name were profiled in the %s, which their names do not tell apart.",
		len(found), side)
}

// Counted are the causes of a gate on counters, whose sessions hold the counters already. One run a side judges no
// time, but its counters are exact and explain the kernels whose time differs.
func Counted(findings []result.Finding, base, head []model.Session) map[int]*result.Cause {
	if !recorded.ByLaunch(head) {
		return nil
	}
	indices := Slower(findings, true, maxExplained)
	if len(indices) == 0 {
		indices = moved(findings)
	}
	before, after := ProfileOf(model.Counted(base)), ProfileOf(head)
	out := Causes(findings, indices, before, after, Alone)
	if before != nil && after != nil {
		explainReplaced(findings, before, after, out)
	}
	return out
}

// explainReplaced explains an added kernel by a removed one, where each is the only one of its geometry.
func explainReplaced(findings []result.Finding, before, after *counters.Profile, out map[int]*result.Cause) {
	type alike struct{ added, removed []int }
	of := map[string]*alike{} // by geometry
	for i := range findings {
		f := &findings[i]
		geometry := f.Subject().Geometry()
		if f.Scope != measure.ScopeKernel || geometry == "" || !slices.Contains(explainable, f.Metric) {
			continue
		}
		if of[geometry] == nil {
			of[geometry] = new(alike)
		}
		switch f.Outcome {
		case result.New:
			of[geometry].added = append(of[geometry].added, i)
		case result.Gone:
			of[geometry].removed = append(of[geometry].removed, i)
		}
	}
	for _, x := range of {
		if len(x.added) != 1 || len(x.removed) != 1 || out[x.added[0]] != nil {
			continue
		}
		fresh, gone := x.added[0], x.removed[0]
		from, missing := launches(before, findings[gone].Subject(), "base")
		to, lacking := launches(after, findings[fresh].Subject(), "head")
		if missing == "" && lacking == "" {
			out[fresh] = Explain(from, to)
			out[fresh].Note = "compared with " + measure.ShortName(findings[gone].Name) +
				" of the base, which has the same geometry and is gone"
		}
	}
}

// moved are the findings on launches that one run a side cannot judge and whose time differs, the largest change first.
func moved(findings []result.Finding) (indices []int) {
	const least = 0.01
	for i := range findings {
		f := &findings[i]
		if f.Scope == measure.ScopeKernel && f.ReasonKey == result.KeyOneRun &&
			slices.Contains(explainable, f.Metric) && math.Abs(float64(f.Change)) >= least {
			indices = append(indices, i)
		}
	}
	slices.SortStableFunc(indices, func(a, b int) int {
		return cmp.Compare(math.Abs(float64(findings[b].Change)), math.Abs(float64(findings[a].Change)))
	})
	return indices[:min(len(indices), maxExplained)]
}

// ProfileOf is a profile of the counters in sessions, each kernel from the newest session that has it; nil for no
// session.
func ProfileOf(sessions []model.Session) *counters.Profile {
	if len(sessions) == 0 {
		return nil
	}
	p := &counters.Profile{GPU: sessions[len(sessions)-1].GPU}
	seen := map[measure.Subject]bool{}
	for i := range slices.Backward(sessions) {
		s := &sessions[i]
		kernels := counters.Kernels(s)
		for _, x := range s.Series {
			if k, ok := kernels[x.Subject]; ok && !seen[x.Subject] {
				p.Kernels = append(p.Kernels, k)
			}
			seen[x.Subject] = true
		}
	}
	return p
}
