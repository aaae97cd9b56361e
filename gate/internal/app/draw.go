package app

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// maxDistributions is the number of kernels whose launch distribution is plotted, most changed first.
const maxDistributions = 24

// draw is what the pictures of a report show of its recordings.
func draw(r *result.Report, base, head *profile.Recording) *result.Drawn {
	var kernels []measure.Subject
	for i := range r.Findings {
		f := &r.Findings[i]
		s := f.Subject()
		if f.Scope == measure.ScopeKernel && f.Outcome != result.Unchanged && len(kernels) < maxDistributions && !slices.Contains(kernels, s) {
			kernels = append(kernels, s)
		}
	}
	rank := "" // the slow one, on both sides
	if r.Ranks != nil && r.Ranks.Straggler != nil {
		rank = r.Ranks.Straggler.Rank
	}
	return &result.Drawn{Base: profile.Draw(r.Base, base, kernels, rank), Head: profile.Draw(r.Head, head, kernels, rank)}
}
