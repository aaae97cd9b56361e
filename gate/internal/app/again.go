package app

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// ErrNoSessions is a report without the sessions that accept would store.
var ErrNoSessions = errors.New("the report holds no measured sessions; check again, or name another report")

// ErrNothingFaster is a report whose sessions are nowhere certainly faster than the baseline as it is now.
var ErrNothingFaster = errors.New("nothing in the report is certainly faster than the baseline as it is now; " +
	"check again, or accept a change that fails")

// Again judges the sessions of a report that comes from a file against the baseline in its directory, as a check does;
// verdict, numbers and commands of the file are not used. A change within the policy's limits is accepted as well if the
// file names it and it is certain. It is [ErrNothingFaster] where nothing is as [Accept.Improved] wants it.
func (a Accept) Again(ctx context.Context, policy *thresholds.Policy) (Accept, error) {
	said := a.Judgement
	if len(said.HeadSessions) == 0 {
		return a, ErrNoSessions
	}
	dir, err := a.Dir()
	if err != nil {
		return a, err
	}
	b, err := baseline.Open(dir, func(b *baseline.Baseline) error { anchorTags(ctx, b); return b.ReadSinceAnchor() })
	if errors.Is(err, fs.ErrNotExist) {
		b, err = &baseline.Baseline{Dir: dir}, nil
	}
	if err != nil {
		return a, err
	}
	base, head := profile.CommonProfiler(b.InEffect(), said.HeadSessions)
	if head[len(head)-1].Profiler().ByLaunch() { // a check by launches may be of chosen kernels
		base = keepKernels(slices.Concat(kernels(head), named(said)), base)
	}
	judged := insight.Refuse(decide.Input{Head: head, Policy: policy}, errors.New("there is no baseline yet"))
	if len(base) > 0 {
		judged = insight.Judge(decide.Input{Baseline: base, Head: head, Policy: policy, Since: b.SinceAnchor()})
	}
	judged.Workload, judged.Baseline, judged.HeadSessions = said.Workload, said.Baseline, said.HeadSessions
	if a.first = len(base) == 0; a.first {
		judged.Measured = said.Measured
	}
	a.Judgement, a.claim, a.claimed = judged, said, map[comparison]bool{}
	wanted := map[comparison]bool{}
	for i := range said.Findings {
		if f := &said.Findings[i]; a.takes(f) {
			wanted[comparisonOf(f)] = true
		}
	}
	for i := range judged.Findings {
		f := &judged.Findings[i]
		certain := f.Low > 0 || f.High < 0
		worse := a.Improved && f.Harm() >= 0
		if wanted[comparisonOf(f)] && (certain || said.Paired) && !worse {
			a.claimed[comparisonOf(f)] = true
		}
	}
	if a.Improved && len(a.changed()) == 0 {
		return a, ErrNothingFaster
	}
	return a, nil
}

// named are the short names of the kernels that a report judges.
func named(r *result.Judgement) (names []string) {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Scope == measure.ScopeKernel {
			names = append(names, f.Subject().Short())
		}
	}
	return names
}

// outdated is the doubt that the sessions of a report that fails do not differ from the baseline as it is now.
func (a Accept) outdated() error {
	if a.claim == nil || a.claim.Verdict != result.Fail || a.claim.Paired || a.first || a.Judgement.Verdict == result.Fail ||
		len(a.changes()) > 0 {
		return nil
	}
	if a.Judgement.Verdict == result.NoVerdict && !a.Judgement.Undecided {
		return model.Refuse(model.NotAcceptable, "check again, or accept the report nevertheless",
			"the report says fail, and its sessions cannot be judged against the baseline as it is now: %s", a.Judgement.Reason)
	}
	return model.Refuse(model.NotAcceptable, "check again, or accept the report nevertheless",
		"the report says fail, and its sessions, judged against the baseline as it is now, %s", answer(a.Judgement))
}
