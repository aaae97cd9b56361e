package check

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// findOrigins runs the head once more with call stacks and notes with each finding that got slower from where in the
// repository it is called. It changes no verdict: what keeps it from that is a hint. The error is that of ctx.
func (c *Check) findOrigins(ctx context.Context, r *gate.Report) error {
	m, ok := c.Measurer.(*Machine)
	wanted := func(f gate.Finding) bool {
		return f.Outcome == gate.Regressed && (f.Gates || c.Explain == ExplainAlways) && called(f.Subject())
	}
	some := slices.ContainsFunc(r.Findings, wanted)
	if c.Explain == ExplainNever || c.Explain == "" || !ok || m.Counters != nil || !some {
		return nil
	}
	c.tell(Event{Stage: Tracing})
	traces, err := m.stacks(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		c.tell(Event{Stage: Hint, Text: "no call stacks: " + err.Error()})
		return nil
	}
	s := sources{root: Repository(), dir: m.Head.Dir}
	for i := range r.Findings {
		if f := &r.Findings[i]; wanted(*f) {
			f.Origin = originOf(f.Subject(), traces, s)
		}
	}
	return nil
}

// called reports whether a subject is a kernel or names a CUDA call, for which there can be stacks.
func called(s measure.Subject) bool {
	return s.Scope == measure.ScopeKernel ||
		slices.ContainsFunc(strings.Fields(s.Name), func(word string) bool { return strings.HasPrefix(word, "cu") })
}

// originOf is the place in the repository from which most calls for a subject come, nil where none of them shows. Calls
// for a kernel are counted; for what names a CUDA call ("cudaStreamSynchronize") the time in it counts.
func originOf(subject measure.Subject, traces []measure.Trace, s sources) *gate.Origin {
	weights := map[gate.Origin]float64{}
	all := 0.0
	for i := range traces {
		for _, c := range traces[i].Callers {
			weight := 0.0
			switch {
			case subject.Scope == measure.ScopeKernel:
				if c.Kernel >= 0 && traces[i].Kernels[c.Kernel].Subject == subject {
					weight = float64(c.Count)
				}
			case c.Kernel < 0 && slices.Contains(strings.Fields(subject.Name), c.Call):
				weight = float64(c.Wait)
			}
			if weight == 0 {
				continue
			}
			all += weight
			if place, ok := s.place(c, subject); ok {
				weights[place] += weight
			}
		}
	}
	var best *gate.Origin
	for place, weight := range weights {
		x := place
		x.Share = gate.Number(weight / all)
		if best == nil || cmp.Or(cmp.Compare(x.Share, best.Share), -cmp.Compare(x.File, best.File), -cmp.Compare(x.Line, best.Line),
			-cmp.Compare(x.Function, best.Function)) > 0 {
			best = &x
		}
	}
	return best
}

// sources are the files that count as the repository's own.
type sources struct {
	root string // of the repository, "" for none: then dir
	dir  string // in which the workload runs, "" for the current one
}

// place is the innermost frame of a stack that lies in the repository: of machine code, whose lines are not known, the
// function in an executable of its. A kernel of C++ is launched by a function of the kernel's own name, which says nothing.
func (s sources) place(c measure.Caller, subject measure.Subject) (gate.Origin, bool) {
	for _, f := range c.Python {
		if file := s.own(f.File); file != "" {
			return gate.Origin{File: file, Line: f.Line, Function: f.Function}, true
		}
	}
	for _, f := range c.Native {
		name := measure.ShortName(measure.NormalizeName(f.Function))
		if s.own(f.File) != "" && name != subject.Short() && name != c.Call {
			return gate.Origin{Function: name}, true
		}
	}
	return gate.Origin{}, false
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
