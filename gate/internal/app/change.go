package app

import (
	"fmt"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Change is a difference that a report found.
type Change struct {
	Name       string // short
	Metric     string
	Unit       string
	Outcome    result.Outcome
	Base, Head result.Number // typical values, in Unit
	Change     result.Number // relative
}

// Changes are the changes in a report, worst first, one for each subject.
func Changes(r *result.Report) (out []Change) {
	seen := map[measure.Subject]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if !differs(f) || seen[f.Subject()] {
			continue
		}
		seen[f.Subject()] = true
		name := f.Kernel
		if f.Scope == measure.ScopeRange {
			name = "range " + name
		}
		out = append(out, Change{name, f.Metric, f.Unit, f.Outcome, f.Base, f.Head, f.Change})
	}
	return out
}

// String is the change on one line: "saxpy time 84.55 → 88.60 µs (+4.8 %)".
func (c Change) String() string {
	name := measure.NormalizeLine(c.Name)
	switch c.Outcome {
	case result.Added:
		return name + " is new"
	case result.Removed:
		return name + " is gone"
	}
	base, head := measure.Quantity(float64(c.Base), c.Unit), measure.Quantity(float64(c.Head), c.Unit)
	if number, unit, ok := strings.Cut(base, " "); ok && strings.HasSuffix(head, " "+unit) {
		base = number
	}
	s := fmt.Sprintf("%s %s %s → %s", name, result.Title(c.Metric), base, head)
	if c.Change.Known() {
		s += " (" + measure.Change(float64(c.Change)) + ")"
	}
	return s
}
