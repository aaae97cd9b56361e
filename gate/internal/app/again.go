package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
	"github.com/nsgate/nsgate/thresholds"
)

// ErrNothingFaster is a report whose sessions are nowhere certainly faster than the baseline as it is now.
var ErrNothingFaster = errors.New("nothing in the report is certainly faster than the baseline as it is now; " +
	"check again, or accept a change that fails")

// Kinds of the base that a head was judged against, see [result.Basis].
const againstBaseline, AgainstBuild, AgainstLocal = "baseline", "build", "local"

// lookOf is a look, counted from 1, of those that share the error of a gate, else the only one.
func lookOf(alpha float64, looks []int, n int) decide.Look {
	if n < 1 || n > len(looks) {
		return decide.Look{}
	}
	return decide.Look{Number: n, Of: len(looks), Runs: looks[n-1], MostRuns: looks[len(looks)-1],
		Alpha: stats.Spend(alpha, looks)[n-1]}
}

// Again judges a saved report again under a policy, by the baseline as it was then; an error where that is gone.
func Again(ctx context.Context, said *result.Report, policy *thresholds.Resolved) (*result.Report, error) {
	if err := said.HeadSessions.Check(); err != nil {
		return nil, fmt.Errorf("the report is damaged: %w; check again", err)
	}
	b, err := baseline.Open(At(said.Baseline), func(b *baseline.Baseline) error {
		anchorTags(ctx, b)
		return cmp.Or(b.Restore(said.Basis.Files, said.Basis.Anchor), b.ReadSinceAnchor())
	})
	if err != nil {
		return nil, fmt.Errorf("the baseline that the report was judged by is not here: %w; check again", err)
	}
	r := again(said, b, policy)
	others := func(all []string, own ...result.Remark) []string { // that the judgement itself did not make
		return slices.DeleteFunc(slices.Clone(all), func(text string) bool {
			return slices.ContainsFunc(own, func(x result.Remark) bool {
				return x.Sentence != "" && strings.HasSuffix(text, x.Sentence)
			})
		})
	}
	ofCommand := func(x result.Remark) bool {
		return !slices.Contains([]string{"shadow", "screened", result.KeyBaseNotNeeded}, x.Key)
	}
	r.Append(result.Addition{
		Doubts:   slices.DeleteFunc(slices.Clone(said.Doubts), ofCommand),
		Remarks:  slices.DeleteFunc(slices.Clone(said.Remarks), ofCommand),
		Warnings: others(said.Warnings, said.Doubts...),
		Notes:    others(said.Notes, slices.Concat(said.Remarks, said.Patterns)...),
		Gate:     said.Gate, Spent: said.Spent, Drawn: said.Drawn,
	})
	explained := map[comparison]*result.Finding{}
	for i := range said.Findings {
		explained[comparisonOf(&said.Findings[i])] = &said.Findings[i]
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if old := explained[comparisonOf(f)]; old != nil {
			f.Cause, f.Origin = cmp.Or(f.Cause, old.Cause), cmp.Or(f.Origin, old.Origin)
		}
	}
	return r, nil
}

// again judges the sessions of a saved report by a baseline; without any in that there is no verdict.
func again(said *result.Report, b *baseline.Baseline, policy *thresholds.Resolved) *result.Report {
	files := cmp.Or(said.Basis, &result.Basis{})
	base, head := profile.CommonProfiler(b.InEffect(), said.HeadSessions)
	names := files.Kernels
	if files.Against == "" && recorded.ByLaunch(head) { // launches may be of chosen kernels
		names = kernels(head)
		own := measure.Where(said.Findings, func(f result.Finding) bool { return f.Scope == measure.ScopeKernel })
		names = append(names, measure.Map(own, func(f result.Finding) string { return f.Subject().Short() })...)
	}
	in := decide.Input{Baseline: keepKernels(names, base), Head: head, Policy: policy,
		Since: keepKernels(names, b.SinceAnchor()), Look: lookOf(policy.Alpha, files.Looks, files.Look)}
	x := result.Addition{Workload: said.Workload, Baseline: said.Baseline, HeadSessions: said.HeadSessions,
		Basis: func(b *result.Basis) { *b, b.Policy = *files, policy }}
	var r *result.Report
	if len(base) > 0 {
		r = insight.Judge(in)
	} else {
		r, x.Measured = insight.Refuse(in, errors.New("there is no baseline yet")), said.Measured
	}
	r.Append(x)
	return r
}

// Again judges the sessions of a report that comes from a file against the baseline in its directory, as a check does;
// verdict, numbers and commands of the file are not used. The policy is that of the file, or the given one where the
// file has none. A change within its limits is accepted as well if the file names it and it is certain. It is
// [ErrNothingFaster] where nothing is as [Accept.Improved] wants it.
func (a Accept) Again(ctx context.Context, policy *thresholds.Resolved) (Accept, error) {
	said := a.Judgement
	if len(said.HeadSessions) == 0 {
		return a, errors.New("the report holds no measured sessions; check again, or name another report")
	}
	if err := said.HeadSessions.Check(); err != nil {
		return a, fmt.Errorf("the report is damaged: %w; check again, or name another report", err)
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
	if basis := said.Basis; basis != nil {
		policy = cmp.Or(basis.Policy, policy)
		shared := func(e baseline.Entry) bool { return slices.Contains(basis.Files, e.ID) }
		from := basis.Against == AgainstLocal || len(basis.Files) > 0
		if a.Root == "" && from && !slices.ContainsFunc(b.Entries, shared) {
			return a, fmt.Errorf("%s holds no session of the baseline that the report was judged by; "+
				"accept where that is checked out, or name the directory of the baselines", dir)
		}
	}
	judged := again(said, b, policy)
	a.first = len(b.Entries) == 0
	a.Judgement, a.claim, a.claimed = judged, said, map[comparison]bool{}
	a.believe()
	gain := func(f *result.Finding) bool { return f.Outcome == result.Faster || a.claimed[comparisonOf(f)] }
	if a.Improved && !slices.ContainsFunc(a.changed(), gain) {
		return a, ErrNothingFaster
	}
	return a, nil
}

// believe claims the changes that the file names, and that its sessions show for certain.
func (a Accept) believe() {
	wanted := map[comparison]bool{}
	for i := range a.claim.Findings {
		if f := &a.claim.Findings[i]; a.takes(f) {
			wanted[comparisonOf(f)] = true
		}
	}
	for i := range a.Judgement.Findings {
		f := &a.Judgement.Findings[i]
		certain := f.Low > 0 || f.High < 0
		worse := a.Improved && f.Harm() >= 0
		if wanted[comparisonOf(f)] && (certain || a.claim.Paired) && !worse {
			a.claimed[comparisonOf(f)] = true
		}
	}
}

// outdated is the doubt that the sessions of a report that fails do not differ from the baseline as it is now.
func (a Accept) outdated() error {
	if a.claim == nil || a.claim.Verdict != result.Fail || a.claim.Paired || a.first ||
		a.Judgement.Verdict == result.Fail || len(a.changes()) > 0 {
		return nil
	}
	if a.Judgement.Verdict == result.NoVerdict && !a.Judgement.Undecided {
		return notAcceptable("check again", "the report says fail, and its sessions cannot be judged against the "+
			"baseline as it is now: %s", a.Judgement.Reason)
	}
	return notAcceptable("check again",
		"the report says fail, and its sessions, judged against the baseline as it is now, %s", answer(a.Judgement))
}

// Saved is a Measurer of saved profiles.
type Saved struct {
	Path  string // see [profile.Open]
	Tools profile.Tools
	Rule  profile.Rule // that was asked for, for a warning where it does nothing
}

// Measure reads the profiles, however many runs they hold.
func (f *Saved) Measure(ctx context.Context, _ int, _ *Build) (*Measurement, error) {
	r, err := openNamed(ctx, f.Tools, f.Rule, f.Path)
	if err != nil {
		return nil, err
	}
	return &Measurement{Head: *r, finished: true}, nil
}

const savedMode = "--saved"

func init() { confine.Register(savedMode, savedFiles.read) }

// savedFiles are saved reports, and with Benchmarks results of harnesses too, whose rows a filter of jq may give.
type savedFiles struct {
	Files      []string
	Benchmarks bool
	Rows       string
}

// savedFile is one of them: results of one process, or the JSON of a report as nsgate writes it.
type savedFile struct {
	Results *model.Session
	Report  string
}

// ReadSaved reads reports in a confined child, with benchmarks also results, whose rows a filter may give, one by one.
func ReadSaved(ctx context.Context, files []string, benchmarks bool, rows string,
	each func(file string, results *model.Session, r *result.Report)) error {
	next := 0
	asked := savedFiles{files, benchmarks, rows}
	err := confine.Ask(ctx, savedMode, confine.Report(files...), asked, func(x savedFile) (err error) {
		file, r := files[next], (*result.Report)(nil)
		if x.Results == nil {
			r, err = saved.Read(strings.NewReader(x.Report), file)
		}
		if err == nil {
			each(file, x.Results, r)
		}
		next++
		return err
	})
	if err == nil {
		return nil
	}
	return confine.Refused(err, files[min(next, len(files)-1)])
}

// read sends what the files hold.
func (s savedFiles) read(_ context.Context, send func(savedFile) error) error {
	for _, file := range s.Files {
		var x savedFile
		var err error
		if s.Benchmarks {
			x.Results, err = profile.Benchmarks(file, s.Rows)
		}
		if err == nil && x.Results == nil {
			x.Report, err = rewritten(file)
		}
		if err == nil {
			err = send(x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewritten is the JSON of a saved report that is whole.
func rewritten(file string) (string, error) {
	f, err := input.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r, err := saved.Read(f, file)
	if err != nil {
		return "", err
	}
	return saved.JSON(saved.Lossless(r))
}
