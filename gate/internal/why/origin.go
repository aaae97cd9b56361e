package why

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/attribution"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Target is what is looked for in call stacks: the launches of a kernel, or the calls of a CUDA function.
type Target struct {
	kernel measure.Subject
	call   string // "" for a kernel
	timed  bool   // what counts is the time in the calls, and not their number
}

func (t Target) known() bool { return t.call != "" || t.kernel.Scope == measure.ScopeKernel }

// Targets are what to look for of the findings that fail the gate, or with all of every one that got slower, and of counts that rose;
// none where nothing got slower.
func Targets(r *result.Report, all bool) map[int]Target {
	wanted, slower := map[int]Target{}, false
	for i := range r.Findings {
		f := &r.Findings[i]
		regressed := f.Outcome == result.Regressed && (f.Gates || all)
		if t := targetOf(f, r.Waterfall); t.known() && (regressed || f.Outcome == result.Grew) {
			wanted[i] = t
			slower = slower || regressed
		}
	}
	if !slower {
		return nil
	}
	return wanted
}

// targetOf is what a finding is about: a kernel, the synchronising call that there is most more of, or the CUDA call that the GPU
// waited in or after for most of what a step takes more.
func targetOf(f *result.Finding, w *result.Waterfall) Target {
	switch {
	case f.Scope == measure.ScopeKernel:
		return Target{kernel: f.Subject()}
	case f.Scope == measure.ScopeIdle:
		_, where := f.Subject().Idle()
		return Target{call: attribution.CallOf(where), timed: true}
	case f.Scope == measure.ScopeWorkload && f.Metric == measure.SyncCalls.Name:
		return Target{call: grownMost(f.Facts)}
	case f.Scope == measure.ScopeWorkload && f.Metric == measure.StepTime.Name && w != nil && len(w.Parts) > 0:
		if p := w.Parts[0]; p.Idle && p.Change > 0 {
			return Target{call: attribution.CallOf(p.Where), timed: true}
		}
	}
	return Target{}
}

// grownMost is the function that is called more often by most, "" for none.
func grownMost(facts []result.Remark) (call string) {
	most := result.Number(0)
	for _, fact := range facts {
		base, _ := fact.Args["base"].(result.Number)
		head, _ := fact.Args["head"].(result.Number)
		if name, _ := fact.Args["call"].(string); fact.Key == "calls" && head-base > most {
			call, most = name, head-base
		}
	}
	return call
}

// Origin is the place in the repository from which most of it is called, nil where none shows. Where any of it is called within
// steps, only that counts: a program that moves its weights to the GPU waits more often before its first step than in all others.
func (t Target) Origin(traces []model.Trace, step string, s Sources) *result.Origin {
	if step != "" {
		if found, called := t.most(traces, s, step); called {
			return found
		}
	}
	found, _ := t.most(traces, s, "")
	return found
}

// leastShare is the part of all calls under which a place is not named: the launches of an elementwise kernel of PyTorch come from
// everywhere, and the line with 5 % of them is not to blame.
const leastShare = 1. / 3

// most is the place of most calls within a range, of all where that is "", and whether there is any call.
func (t Target) most(traces []model.Trace, s Sources, within string) (best *result.Origin, called bool) {
	weights := map[result.Origin]float64{}
	all := 0.0
	for i := range traces {
		spans := occurrences(traces[i].Unpacked(), within)
		for _, c := range traces[i].Callers {
			if t.call != c.Call && t.call != "" || t.call == "" && (c.Kernel < 0 || traces[i].Kernels[c.Kernel].Subject != t.kernel) {
				continue
			}
			weight := 0.0
			for _, x := range c.Calls {
				switch {
				case within != "" && !covered(spans, x.Start):
				case t.timed:
					weight += float64(x.End - x.Start)
				default:
					weight++
				}
			}
			if weight == 0 {
				continue
			}
			all += weight
			if place, ok := s.place(c, t.kernel); ok {
				place.Call = t.call
				weights[place] += weight
			}
		}
	}
	for place, weight := range weights {
		x := place
		x.Share = result.Number(weight / all)
		if best == nil || cmp.Or(cmp.Compare(x.Share, best.Share), -cmp.Compare(x.File, best.File), -cmp.Compare(x.Line, best.Line),
			-cmp.Compare(x.Function, best.Function)) > 0 {
			best = &x
		}
	}
	if best != nil && best.Share < leastShare {
		best = nil
	}
	return best, all > 0
}

// occurrences are the spans of a range of some name, disjoint and sorted.
func occurrences(t *model.Trace, name string) (spans []model.Interval) {
	for _, r := range t.Ranges {
		if t.RangeNames[r.Name] == name {
			spans = append(spans, model.Interval{Start: r.Start, End: r.End})
		}
	}
	return model.Union(spans)
}

// covered reports whether a time lies in one of some spans, which are disjoint and sorted.
func covered(spans []model.Interval, at int64) bool {
	i, exact := slices.BinarySearchFunc(spans, at, func(x model.Interval, at int64) int { return cmp.Compare(x.Start, at) })
	return exact || i > 0 && at < spans[i-1].End
}

// Sources are the files that count as the repository's own.
type Sources struct {
	Root string // of the repository, "" for none: then Dir
	Dir  string // in which the workload runs, "" for the current one
}

// place is the innermost frame of a stack that lies in the repository: of machine code, whose lines are not known, the
// function in an executable of its. A kernel of C++ is launched by a function of the kernel's own name, which says nothing.
func (s Sources) place(c model.Caller, kernel measure.Subject) (result.Origin, bool) {
	for _, f := range c.Python {
		if file := s.own(f.File); file != "" {
			return result.Origin{File: file, Line: f.Line, Function: f.Function}, true
		}
	}
	for _, f := range c.Native {
		name := measure.ShortName(measure.NormalizeName(f.Function))
		if s.own(f.File) != "" && name != kernel.Short() && name != c.Call {
			return result.Origin{Function: name}, true
		}
	}
	return result.Origin{}, false
}

// installed are directories of what was installed into a repository.
var installed = []string{"site-packages", "dist-packages", "node_modules", "venv", "__pycache__"}

// own is the name of a file of the repository relative to its root, "" for any other file.
func (s Sources) own(file string) string {
	if file == "" || strings.HasPrefix(file, "<") { // "<string>", "<frozen importlib._bootstrap>"
		return ""
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.Dir, file)
	}
	root, err := filepath.Abs(cmp.Or(s.Root, s.Dir, "."))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	name := git.Within(root, file)
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || slices.Contains(installed, part) {
			return ""
		}
	}
	return name
}
