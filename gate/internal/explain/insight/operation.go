package insight

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// operations gives findings on kernels of XLA their places and what differs in their operations.
func operations(d *decide.Decision, x *result.Report) {
	var of [2][]model.Operation // of the last session of baseline and head
	for side, sessions := range [2][]model.Session{d.Baseline, d.Input.Head} {
		if n := len(sessions); n > 0 {
			of[side] = sessions[n-1].Operations
		}
	}
	for i := range x.Findings {
		place, facts := Operation(&x.Findings[i], of[0], of[1])
		x.Findings[i].Origin = place
		x.State(i, facts...)
	}
}

// Operation is the place of a kernel that XLA made, nil where it is not known, and how its operations differ from those
// of the baseline. An operation that the baseline lacks is the place.
func Operation(f *result.Finding, base, head []model.Operation) (place *result.Origin, facts []result.Remark) {
	if f.Scope != measure.ScopeKernel || f.Outcome == result.Gone || f.Outcome.Kept() {
		return nil, nil
	}
	of := func(all []model.Operation, kernels ...string) []model.Operation {
		return measure.Where(all, func(x model.Operation) bool { return slices.Contains(kernels, x.Kernel) })
	}
	was, is := of(base, f.Subject().Short()), of(head, f.Subject().Short())
	if len(is) == 0 && f.Replaces() {
		is = of(head, measure.Map(f.HeadNames, measure.ShortName)...)
	}
	lacks := func(x model.Operation) bool {
		return !slices.ContainsFunc(base, func(y model.Operation) bool { return x.Path == y.Path })
	}
	added := slices.IndexFunc(is, lacks)
	if len(was) == 0 && len(is) == 1 && lacks(is[0]) {
		was = replacedBy(is[0], base, head)
	}
	if len(was) == 0 || !slices.ContainsFunc(is, func(x model.Operation) bool { return !lacks(x) }) {
		added = -1
	}
	switch {
	case added >= 0:
		is = is[added : added+1]
		facts = append(facts, result.Say(reason.AddedOperation{Path: is[0].Path}))
	case len(is) > 0 && len(was) > 0 && was[0].Parts != "":
		parts := reason.OtherParts{New: partsOnly(is[0], was[0]), Gone: partsOnly(was[0], is[0])}
		if was[0].Kernel != is[0].Kernel {
			parts.Instead = was[0].Kernel
		}
		facts = append(facts, result.SayIf(len(parts.New)+len(parts.Gone) > 0, parts)...)
	}
	if len(is) == 0 || is[0].File == "" {
		return nil, facts
	}
	x := is[0]
	x.Path += measure.Either(len(is) > 1, ", among others", "")
	return &result.Origin{File: x.File, Line: x.Line, Function: cmp.Or(x.Function, "the program"), Operation: x.Path,
		Share: 1}, facts
}

// replacedBy is the operation that one side has in place of a new one: the only one of its function that is gone, where
// the new one is the only one that came; none otherwise.
func replacedBy(x model.Operation, base, head []model.Operation) []model.Operation {
	only := func(all, other []model.Operation) []model.Operation {
		return measure.Where(all, func(y model.Operation) bool {
			return y.File == x.File && y.Function == x.Function &&
				!slices.ContainsFunc(other, func(z model.Operation) bool { return z.Path == y.Path })
		})
	}
	if gone := only(base, head); len(gone) == 1 && len(only(head, base)) == 1 {
		return gone
	}
	return nil
}

// partsOnly are the parts of an operation that another does not have.
func partsOnly(x, other model.Operation) []string {
	return slices.DeleteFunc(strings.Fields(x.Parts), func(part string) bool {
		return slices.Contains(strings.Fields(other.Parts), part)
	})
}
