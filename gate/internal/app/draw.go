package app

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// drawn is of how many kernels it is drawn how their launches spread, the worst first.
const drawn = 24

// draw is what pictures show of the recordings that a report was made of.
func draw(r *result.Report, base, head *profile.Recording) *result.Drawn {
	var kernels []measure.Subject
	for i := range r.Findings {
		f := &r.Findings[i]
		s := f.Subject()
		if f.Scope == measure.ScopeKernel && f.Outcome != result.Unchanged && len(kernels) < drawn && !slices.Contains(kernels, s) {
			kernels = append(kernels, s)
		}
	}
	rank := "" // the slow one, on both sides
	if r.Ranks != nil && r.Ranks.Straggler != nil {
		rank = r.Ranks.Straggler.Rank
	}
	return &result.Drawn{Base: profile.Draw(r.Base, base, kernels, rank), Head: profile.Draw(r.Head, head, kernels, rank)}
}
