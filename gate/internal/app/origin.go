package app

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/trace"
	"github.com/nsgate/nsgate/gate/measure"
)

// origins runs the head once more with call stacks where something that got slower has a place in the repository from which it
// is called, and returns that place, and those of what else was called more often, by finding. What keeps it from that is a hint. The
// error is that of ctx.
func (c *Check) origins(ctx context.Context, r *result.Report) (map[int]*result.Origin, error) {
	m := c.Measurer.Live()
	if c.Explain == ExplainNever || c.Explain == "" || m == nil || m.Counters != nil {
		return nil, nil
	}
	wanted, red := map[int]target{}, false
	for i := range r.Findings {
		f := &r.Findings[i]
		slower := f.Outcome == result.Regressed && (f.Gates || c.Explain == ExplainAlways)
		if t := targetOf(f, r.Waterfall); t.known() && (slower || f.Outcome == result.Grew) {
			wanted[i] = t
			red = red || slower
		}
	}
	if !red {
		return nil, nil
	}
	c.Tell(Event{Stage: Tracing})
	traces, err := m.stacks(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		c.Tell(Event{Stage: Hint, Text: "no call stacks: " + err.Error()})
		return nil, nil
	}
	s := sources{root: Repository(), dir: m.Head.Dir}
	found := map[int]*result.Origin{}
	for i, t := range wanted {
		found[i] = t.origin(traces, r.Head.Step, s)
	}
	return found, nil
}

// target is what is looked for in call stacks: the launches of a kernel, or the calls of a CUDA function.
type target struct {
	kernel measure.Subject
	call   string // "" for a kernel
	timed  bool   // what counts is the time in the calls, and not their number
}

func (t target) known() bool { return t.call != "" || t.kernel.Scope == measure.ScopeKernel }

// targetOf is what a finding is about: a kernel, the synchronising call that there is most more of, or the CUDA call that the GPU
// waited in or after for most of what a step takes more.
func targetOf(f *result.Finding, w *result.Waterfall) target {
	switch {
	case f.Scope == measure.ScopeKernel:
		return target{kernel: f.Subject()}
	case f.Scope == measure.ScopeIdle:
		_, where := f.Subject().Idle()
		return target{call: trace.CallOf(where), timed: true}
	case f.Scope == measure.ScopeWorkload && f.Metric == measure.SyncCalls.Name:
		return target{call: grownMost(f.Facts)}
	case f.Scope == measure.ScopeWorkload && f.Metric == measure.StepTime.Name && w != nil && len(w.Parts) > 0:
		if p := w.Parts[0]; p.Idle && p.Change > 0 {
			return target{call: trace.CallOf(p.Where), timed: true}
		}
	}
	return target{}
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

// origin is the place in the repository from which most of it is called, nil where none shows. Where any of it is called within
// steps, only that counts: a program that moves its weights to the GPU waits more often before its first step than in all others.
func (t target) origin(traces []model.Trace, step string, s sources) *result.Origin {
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
func (t target) most(traces []model.Trace, s sources, within string) (best *result.Origin, called bool) {
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

// sources are the files that count as the repository's own.
type sources struct {
	root string // of the repository, "" for none: then dir
	dir  string // in which the workload runs, "" for the current one
}

// place is the innermost frame of a stack that lies in the repository: of machine code, whose lines are not known, the
// function in an executable of its. A kernel of C++ is launched by a function of the kernel's own name, which says nothing.
func (s sources) place(c model.Caller, kernel measure.Subject) (result.Origin, bool) {
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
func (s sources) own(file string) string {
	if file == "" || strings.HasPrefix(file, "<") { // "<string>", "<frozen importlib._bootstrap>"
		return ""
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.dir, file)
	}
	root, err := filepath.Abs(cmp.Or(s.root, s.dir, "."))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	name := Within(root, file)
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || slices.Contains(installed, part) {
			return ""
		}
	}
	return name
}
