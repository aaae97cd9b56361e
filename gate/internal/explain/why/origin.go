package why

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Target is the launches of a kernel, of several by their names, or the calls of a CUDA function, to find in call
// stacks. A kernel without grid and block stands for all of its name; new ones are not in the baseline.
type Target struct {
	kernel measure.Subject
	names  []string
	isNew  bool
	call   string // "" for a kernel
	timed  bool   // weigh calls by their time instead of counting them
}

// Call is the CUDA function, "" for kernels.
func (t Target) Call() string { return t.call }

func (t Target) known() bool { return t.call != "" || t.kernel.Scope == measure.ScopeKernel }

// is reports whether the target has a kernel.
func (t Target) is(k measure.Subject) bool {
	any := t.kernel.Geometry() == "" && k.Name == t.kernel.Name
	return k == t.kernel || any || slices.Contains(t.names, k.Name)
}

// Targets are the targets of failing findings and of increased counts, by index; with all also of findings that only
// warn. There are none where no finding got slower.
func Targets(j *result.Report, all bool) map[int]Target {
	wanted, slower := map[int]Target{}, false
	for i := range j.Findings {
		f := &j.Findings[i]
		regressed := f.Outcome == result.Slower && (f.Gates || all)
		if t := targetOf(f, j.Waterfall); t.known() && (regressed || f.Increased()) {
			wanted[i] = t
			slower = slower || regressed
		}
	}
	for _, i := range added(j) {
		wanted[i], slower = Target{kernel: j.Findings[i].Subject(), isNew: true}, true
	}
	return measure.Either(slower, wanted, nil)
}

// added are the new kernels of a longer GPU time: those of a backward pass have no stack, and others say the line.
func added(j *result.Report) (indices []int) {
	longer := false
	for i := range j.Findings {
		f := &j.Findings[i]
		longer = longer || f.Subject() == measure.Workload && f.Metric == measure.GPUTime.Name &&
			f.Outcome == result.Slower
		if f.Scope == measure.ScopeKernel && f.Metric == measure.Total.Name && f.Outcome == result.New {
			indices = append(indices, i)
		}
	}
	return measure.Either(longer, indices, nil)
}

// targetOf is the target of a finding: its kernel, or the synchronising call with the largest increase. For idle time
// it is the CUDA call with most of the step's change in or after it.
func targetOf(f *result.Finding, w *result.Waterfall) Target {
	switch {
	case f.Scope == measure.ScopeKernel:
		return Target{kernel: f.Subject(), names: f.HeadNames, isNew: f.Replaces()}
	case f.Scope == measure.ScopeIdle:
		_, at := f.Subject().Idle()
		return Target{call: at.CUDA(), timed: true}
	case f.Scope == measure.ScopeWorkload && f.Metric == measure.SyncCalls.Name:
		return Target{call: grownMost(f.Facts)}
	case f.Scope == measure.ScopeWorkload && f.Metric == measure.StepTime.Name && w != nil && len(w.Parts) > 0:
		if p := w.Parts[0]; p.Idle && p.Change > 0 {
			return Target{call: measure.ParsePlace(p.Where).CUDA(), timed: true}
		}
	}
	return Target{}
}

// grownMost is the function whose number of calls increased most, "" for none.
func grownMost(facts []result.Remark) (call string) {
	most := result.Number(0)
	for _, fact := range facts {
		if x, ok := result.As[reason.Calls](fact); ok && x.Head-x.Base > most {
			call, most = x.Call, x.Head-x.Base
		}
	}
	return call
}

// Origin is the place in the repository that makes most of the calls, nil for none. Calls outside of steps count only
// if there are none within: moving weights to the GPU before the first step waits more often than all steps.
func (t Target) Origin(traces []model.Trace, step string, s Sources) *result.Origin {
	found, called := t.most(traces, s, step)
	if !called && step != "" {
		found, _ = t.most(traces, s, "")
	}
	return found
}

// most is the place of most calls within a range, "" for the whole run, and whether there is any call.
func (t Target) most(traces []model.Trace, s Sources, within string) (best *result.Origin, called bool) {
	// leastShare is the least share of all calls of a named place: the launches of an elementwise kernel of PyTorch
	// come from many lines, and a line with 5 % of them is not the cause. Of new kernels each line is, and those of a
	// backward pass have none.
	const leastShare, leastNew = 1. / 3, 0.1
	weights := map[result.Origin]float64{}
	all := 0.0
	for i := range traces {
		spans := occurrences(&traces[i], within)
		for _, c := range traces[i].Callers {
			if t.call != c.Call && t.call != "" || t.call == "" &&
				(c.Kernel < 0 || !t.is(traces[i].Kernels[c.Kernel].Subject)) {
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
			all += weight
			kernel := t.kernel
			if c.Kernel >= 0 {
				kernel = traces[i].Kernels[c.Kernel].Subject
			}
			if place, ok := s.place(c, kernel); ok && weight > 0 {
				place.Call = t.call
				weights[place] += weight
			}
		}
	}
	for place, weight := range weights {
		x := place
		x.Share = result.Number(weight / all)
		if best == nil || cmp.Or(cmp.Compare(x.Share, best.Share), -cmp.Compare(x.File, best.File),
			-cmp.Compare(x.Line, best.Line), -cmp.Compare(x.Function, best.Function)) > 0 {
			best = &x
		}
	}
	if best != nil && best.Share < measure.Either[result.Number](t.isNew, leastNew, leastShare) {
		best = nil
	}
	return best, all > 0
}

// Compiled is the line of the repository that torch.compile made the target's kernels of, one that changed before
// others; nil for other kernels.
func (t Target) Compiled(all []model.Operation, changed func(file string, line int) bool) *result.Origin {
	var lines []result.Origin // of one kernel or several
	for _, x := range all {
		if x.Kernel == t.kernel.Short() || slices.Contains(t.names, x.Kernel) {
			lines = measure.Once(lines, result.Origin{File: x.File, Line: x.Line, Function: x.Function, Share: 1})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	at := &lines[max(slices.IndexFunc(lines, func(x result.Origin) bool { return changed(x.File, x.Line) }), 0)]
	others := len(lines) - 1
	at.Operation = "torch.compile" + measure.Either(others > 0, ", with "+measure.Count(others, "other line"), "")
	return at
}

// occurrences are the spans of the ranges of a name, disjoint and sorted.
func occurrences(t *model.Trace, name string) []model.Interval {
	of := measure.Where(t.Ranges, func(r model.Range) bool { return t.RangeNames[r.Name] == name })
	return model.Union(measure.Map(of, func(r model.Range) model.Interval {
		return model.Interval{Start: r.Start, End: r.End}
	}))
}

// covered reports whether a time lies in one of the spans, which are disjoint and sorted.
func covered(spans []model.Interval, at int64) bool {
	i, exact := slices.BinarySearchFunc(spans, at,
		func(x model.Interval, at int64) int { return cmp.Compare(x.Start, at) })
	return exact || i > 0 && at < spans[i-1].End
}

// Sources says which files are the repository's own.
type Sources struct {
	Root string // of the repository, "" for none: then Dir
	Dir  string // working directory of the workload, "" for the current one
}

// place is the innermost frame of a stack in the repository: a line of Python, or a function of an executable, whose
// lines are unknown. The host function of a C++ kernel has the kernel's name and is skipped, as are main and the start
// of the program.
func (s Sources) place(c model.Caller, kernel measure.Subject) (result.Origin, bool) {
	for _, f := range c.Python {
		if file := s.own(f.File); file != "" {
			return result.Origin{File: file, Line: f.Line, Function: f.Function}, true
		}
	}
	for _, f := range c.Native {
		name := measure.ShortName(measure.NormalizeName(f.Function))
		if s.own(f.File) != "" && !slices.Contains([]string{kernel.Short(), c.Call, "main", "_start"}, name) {
			return result.Origin{Function: name}, true
		}
	}
	return result.Origin{}, false
}

// installed are directories of installed packages.
var installed = []string{"site-packages", "dist-packages", "node_modules", "venv", "__pycache__"}

// own is the name of a file of the repository relative to its root, "" for any other file.
func (s Sources) own(file string) string {
	if file == "" || strings.HasPrefix(file, "<") { // "<string>", "<frozen importlib._bootstrap>"
		return ""
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.Dir, file)
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	name := git.Within(cmp.Or(s.Root, s.Dir, "."), file)
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || slices.Contains(installed, part) {
			return ""
		}
	}
	return name
}
