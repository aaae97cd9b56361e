package app

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// changes are the findings of a report that differ, worst first, one for each subject.
func changes(r *result.Report) (out []*result.Finding) {
	seen := map[measure.Subject]bool{}
	for i := range r.Findings {
		if f := &r.Findings[i]; differs(f) && !seen[f.Subject()] {
			seen[f.Subject()] = true
			out = append(out, f)
		}
	}
	return out
}

// changeName is the short name of what changed.
func changeName(f *result.Finding) string {
	if f.Scope == measure.ScopeRange {
		return "range " + measure.NormalizeLine(f.Kernel)
	}
	return measure.NormalizeLine(f.Kernel)
}

// changeLine is a change on one line: "saxpy time 84.55 → 88.60 µs (+4.8 %)".
func changeLine(f *result.Finding) string {
	switch f.Outcome {
	case result.Added:
		return changeName(f) + " is new"
	case result.Removed:
		return changeName(f) + " is gone"
	}
	base, head := f.Base.In(f.Unit), f.Head.In(f.Unit)
	if number, unit, ok := strings.Cut(base, " "); ok && strings.HasSuffix(head, " "+unit) {
		base = number
	}
	s := changeName(f) + " " + result.Title(f.Metric) + " " + base + " → " + head
	if f.Change.Known() {
		s += " (" + f.Change.Change() + ")"
	}
	return s
}
