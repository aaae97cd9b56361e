package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/judge/align"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Accept takes what a report says has changed into the baseline. What has not changed stays as it was measured before.
type Accept struct {
	Judgement *result.Report // of a [Check] that measured something: it has HeadSessions
	// Reason says why the change is wanted, for those who review the baseline. Only Improved has a default.
	Reason string
	// Root is the directory of the baselines, "" for that of the report. Home is the one beside whose policy file they
	// lie where the report names none, "" for the working directory.
	Root, Home string
	Own        bool   // a report of this user, whose baseline may lie anywhere
	Anchor     string // name of the session from which drift is measured, "" for none
	Force      bool   // accepts in spite of [Accept.Doubts]
	// Improved accepts what is faster, and slower parts forgiven for it, of a report that passes, after [Accept.Again].
	Improved bool

	claim   *result.Report // of the file whose sessions were judged again, nil where that was not done
	claimed map[comparison]bool
	first   bool // the baseline held nothing to judge by
}

type comparison struct {
	measure.Subject
	metric string
}

func comparisonOf(f *result.Finding) comparison { return comparison{f.Subject(), f.Metric} }

// Accepted is what [Accept.Run] wrote.
type Accepted struct {
	Workload string   `json:"workload"`
	Files    []string `json:"files"` // that were written, or that hold the very same already
	Lines    []string `json:"lines"` // accepted changes, worst first, with reason and commit
}

// Dir is the directory of the baseline that takes the report's measurement. A report is a file from elsewhere: the
// directory that it names must be of its own workload and GPU, in this tree, and hold no part of git and no link.
func (a Accept) Dir() (string, error) {
	head := a.Judgement.HeadSessions
	workload, gpu := cmp.Or(a.Judgement.Workload, "default"), head[len(head)-1].GPU
	named := filepath.FromSlash(a.Judgement.Baseline)
	if basis := a.Judgement.Basis; named == "" && basis != nil && basis.Root != "" {
		named = baseline.Dir(filepath.FromSlash(basis.Root), workload, gpu)
	}
	switch {
	case a.Root != "" || named == "":
		return baseline.Dir(cmp.Or(a.Root, filepath.Join(a.Home, DefaultRoot)), workload, gpu), nil
	case a.Own:
		return At(named), nil
	}
	root := filepath.Dir(filepath.Dir(named))
	inGit := slices.ContainsFunc(strings.Split(filepath.ToSlash(named), "/"),
		func(part string) bool { return strings.EqualFold(part, ".git") })
	switch {
	case !filepath.IsLocal(named), inGit, baseline.Dir(root, workload, gpu) != filepath.Clean(named):
		return "", fmt.Errorf("the report names %q as its baseline, which is none of workload %q on %s; "+
			"name the directory of the baselines", named, workload, gpu)
	case linked(cmp.Or(Repository(), "."), filepath.ToSlash(named)) != "":
		return "", fmt.Errorf("the report's baseline %q lies behind a symbolic link; "+
			"name the directory of the baselines", named)
	}
	return At(named), nil
}

func notAcceptable(next, format string, args ...any) error {
	return model.Refuse(model.NotAcceptable, next+", or accept the report nevertheless", format, args...)
}

// Doubts are the reasons not to accept the report.
func (a Accept) Doubts(ctx context.Context) (out []error) {
	here, _ := commit(ctx)
	of := a.Judgement.Head.Commit
	r := cmp.Or(a.claim, a.Judgement)
	if a.Improved && a.Judgement.Verdict == result.Fail {
		r = a.Judgement
	}
	switch {
	case a.Improved && answer(r) != string(result.Pass):
		out = append(out, notAcceptable("check again when it passes",
			"the verdict is %s: the sums that are stored with faster values may hold slower ones", answer(r)))
	case !a.Improved && Broken(r) >= 0:
		out = append(out, notAcceptable("mend it, or change the bound (at_most, at_least)",
			"the report fails by %s, and no baseline lifts an absolute limit", r.Findings[Broken(r)].Rule))
	case !a.Improved && !Changed(r) && r.Measured == nil:
		out = append(out, notAcceptable("record what is to be the baseline",
			"the report says %s: nothing in it has to be accepted", answer(r)))
	}
	if outdated := a.outdated(); outdated != nil {
		out = append(out, outdated)
	}
	if strings.HasSuffix(of, dirty) {
		out = append(out, notAcceptable("commit and check again", "what the report measured was not committed: "+
			"changes to %s that nobody can review", strings.TrimSuffix(of, dirty)))
	}
	if of, here := strings.TrimSuffix(of, dirty), strings.TrimSuffix(here, dirty); of != "" && here != "" &&
		!strings.HasPrefix(here, of) && !strings.HasPrefix(of, here) {
		out = append(out, notAcceptable("check again here",
			"the report is of commit %s, and %s is checked out", of, here))
	}
	return out
}

// Run writes the baseline, all of it or nothing. The error joins the *model.Refusal values of [Accept.Doubts].
func (a Accept) Run(ctx context.Context) (*Accepted, error) {
	if doubts := a.Doubts(ctx); len(doubts) > 0 && !a.Force {
		return nil, errors.Join(doubts...)
	}
	dir, err := a.Dir()
	if err != nil {
		return nil, err
	}
	return a.write(dir)
}

const maxReason = 500

// reason normalises a reason to one line, and refuses one that is empty or too long.
func reason(s string) (string, error) {
	s = measure.NormalizeLine(s)
	n := utf8.RuneCountInString(s)
	switch {
	case n == 0:
		return "", errors.New("a reason is needed; say why the change is wanted, for those who review the baseline")
	case n > maxReason:
		return "", fmt.Errorf("the reason has %d characters; say it in %d", n, maxReason)
	}
	return s, nil
}

func (a Accept) write(dir string) (*Accepted, error) {
	why, err := reason(cmp.Or(a.Reason, a.gotFaster()))
	if err != nil {
		return nil, err
	}
	out := &Accepted{Workload: a.Judgement.Workload}
	whole := false // nothing has changed, and the measurement replaces the sessions before it
	entries, err := baseline.Add(dir, func(b *baseline.Baseline) ([]baseline.Entry, error) {
		var entries []baseline.Entry
		for _, s := range a.Judgement.HeadSessions {
			e := a.entry(b, s)
			e.Reason, e.Anchor = why, measure.NormalizeLine(a.Anchor)
			whole = whole || !e.Accepted
			entries = append(entries, e)
		}
		return entries, nil
	})
	out.Files = measure.Map(entries, func(e baseline.Entry) string { return e.File })
	out.Lines = a.lines(why, whole)
	return out, err
}

// entry is the part of a session of the head that replaces the baseline: the series of subjects that changed, and all
// sums over kernels. If nothing changed, or the head does another number of steps, it is the whole session.
func (a Accept) entry(b *baseline.Baseline, s model.Session) baseline.Entry {
	live := s.Profiler().Pick(b.InEffect())
	m := a.moves(&s, live)
	e := baseline.Entry{Session: s, Workload: a.Judgement.Workload, Replaces: map[measure.Subject][]string{}}
	e.ID = ""
	whole := len(live) == 0 || len(m.moved)+len(m.gone) == 0
	if !whole {
		_, _, scaled := align.SameWork(live, []model.Session{s})
		whole = len(scaled) > 0
	}
	if whole {
		e.Supersedes = measure.Map(live, func(o model.Session) string { return o.ID })
		e.Accepted = false
		return e
	}
	e.Accepted = true
	e.Series = slices.DeleteFunc(slices.Clone(s.Series), func(x model.Series) bool { return !m.takes(x.Subject) })
	for _, o := range live {
		for x := range Subjects(o) {
			if m.takes(x) || m.gone[x] {
				e.Replaces[x] = append(e.Replaces[x], o.ID)
			}
		}
	}
	return e
}

type moves struct {
	moved map[measure.Subject]bool // the head has them
	gone  map[measure.Subject]bool // the head has them no longer
	roles []string                 // paths of ranges around these kernels
	// improved leaves out outputs and benchmarks that did not change: they are no sums of kernels.
	improved bool
}

func (a Accept) moves(head *model.Session, live []model.Session) moves {
	m := moves{moved: map[measure.Subject]bool{}, gone: map[measure.Subject]bool{}, improved: a.Improved}
	has, had := Subjects(*head), Subjects(live...)
	old := map[string]bool{} // names of kernels that others replaced
	for _, f := range a.changed() {
		m.moved[f.Subject()] = true
		if f.Match != "exact" {
			old[f.Name] = true
			for _, name := range f.BaseNames {
				old[name] = true
			}
		}
	}
	for x := range had {
		if !has[x] && (m.moved[x] || x.Scope == measure.ScopeKernel && old[x.Name]) {
			m.gone[x] = true
		}
	}
	maps.DeleteFunc(m.moved, func(x measure.Subject, _ bool) bool { return !has[x] })
	for x := range has {
		if x.Scope == measure.ScopeKernel && !had[x] && len(live) > 0 && !a.Improved {
			m.moved[x] = true
		}
	}
	for _, s := range append(slices.Clone(live), *head) {
		for _, x := range s.Series {
			if (m.moved[x.Subject] || m.gone[x.Subject]) && x.Role != "" {
				m.roles = measure.Once(m.roles, x.Role)
			}
		}
	}
	return m
}

// Subjects are those that sessions have values of.
func Subjects(sessions ...model.Session) map[measure.Subject]bool {
	out := map[measure.Subject]bool{}
	for i := range sessions {
		for _, x := range sessions[i].Series {
			out[x.Subject] = true
		}
	}
	return out
}

// differs reports whether a finding says that something is not as it was.
func differs(f *result.Finding) bool {
	switch f.Outcome {
	case result.Slower, result.Faster, result.New, result.Gone:
		return true
	}
	zero := f.Scope == measure.ScopeBenchmark && f.Base.Known() != f.Head.Known() // on one side
	beyond := zero || f.Undecided && math.Abs(float64(f.Change)) > float64(f.Limit)
	return beyond || f.Doubted || f.Match != "exact" && f.Match != ""
}

// takes reports whether a subject is written: one that changed, a range around one, or the whole program.
func (m moves) takes(x measure.Subject) bool {
	switch {
	case m.moved[x]:
		return true
	case x.Scope == measure.ScopeRange:
		return slices.ContainsFunc(m.roles, func(role string) bool {
			return strings.Contains("/"+role+"/", "/"+x.Name+"/")
		})
	case x.Scope == measure.ScopeWorkload:
		return x == measure.Workload
	case x.Scope == measure.ScopeOutput || x.Scope == measure.ScopeBenchmark:
		return !m.improved
	}
	return x.Scope != measure.ScopeKernel
}

// Patch is what [Accept.Run] would change, as a patch for git apply at the root of the repository, with what is
// accepted above it. It is an error where the baseline lies outside of the repository, or the report has none.
func (a Accept) Patch(ctx context.Context, repository string) (patch string, err error) {
	if a.Judgement.Baseline == "" && a.Judgement.Measured == nil || len(a.Judgement.HeadSessions) == 0 {
		return "", errors.New("this report has no committed baseline that could be updated")
	}
	if outdated := a.outdated(); outdated != nil {
		return "", outdated
	}
	dir, err := a.Dir()
	if err != nil {
		return "", err
	}
	name := git.Within(repository, dir)
	if repository == "" || name == "" {
		return "", fmt.Errorf("the baseline %s lies outside the repository; keep it inside", dir)
	}
	err = proc.InPrivate(func(private string) error {
		before, after := filepath.Join(private, "a", name), filepath.Join(private, "b", name)
		for _, side := range []string{before, after} {
			if err := os.MkdirAll(side, 0o700); err != nil {
				return err
			}
			if err := output.Tree(side, input.Tree(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		done, err := a.write(after)
		if err != nil {
			return err
		}
		if patch, err = git.Patch(ctx, private); err == nil {
			// No line of the text above a patch looks like a line of a patch.
			patch = "nsgate accepts a change of performance:\n  " + strings.Join(done.Lines, "\n  ") + "\n\n" + patch
		}
		return err
	})
	return patch, err
}

func (a Accept) lines(why string, whole bool) (out []string) {
	const most = 20
	all := a.changes()
	out = measure.Map(all[:min(len(all), most)], changeLine)
	if len(all) > most {
		out = append(out, fmt.Sprintf("and %d more", len(all)-most))
	}
	if whole {
		out = append(out, "the measurement as it is, as a whole")
	}
	out = append(out, "reason: "+why)
	if commit := a.Judgement.Head.Commit; commit != "" {
		out = append(out, "commit: "+measure.NormalizeLine(commit))
	}
	return out
}

// Broken is the place of the first finding that fails by an absolute bound, which no baseline lifts; -1 for none.
func Broken(r *result.Report) int {
	return slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Fails() && f.Bounded() })
}

// Changed reports whether a gate does not pass because of a change that the baseline can take.
func Changed(r *result.Report) bool {
	lacks := r.ReasonKey == string(model.RowGone) || r.ReasonKey == string(model.RankGone)
	same := r.ReasonKey == result.KeyCodeLimit && (r.Code == nil || r.Code.Equal()) || // beyond a bound
		r.ReasonKey == string(model.BoundBroken)
	return r.Verdict == result.Fail && Broken(r) < 0 && !same || r.Verdict == result.NoVerdict && lacks
}

// Faster reports whether a gate passes and has something to accept with [Accept.Improved].
func Faster(r *result.Report) bool {
	return answer(r) == string(result.Pass) &&
		slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Outcome == result.Faster })
}

// takes reports whether a finding says what is to be accepted. A slower part that a gain forgave goes with the gain,
// which the baseline has afterwards, and nothing would forgive the part.
func (a Accept) takes(f *result.Finding) bool {
	if a.Improved {
		return f.Outcome == result.Faster || f.Forgiven()
	}
	return differs(f)
}

// changed are the findings that differ, worst first.
func (a Accept) changed() (out []*result.Finding) {
	for i := range a.Judgement.Findings {
		if f := &a.Judgement.Findings[i]; a.takes(f) || a.claimed[comparisonOf(f)] {
			out = append(out, f)
		}
	}
	return out
}

// changes are the findings that differ, worst first, one for each subject.
func (a Accept) changes() (out []*result.Finding) {
	seen := map[measure.Subject]bool{}
	for _, f := range a.changed() {
		if !seen[f.Subject()] {
			seen[f.Subject()] = true
			out = append(out, f)
		}
	}
	return out
}

// gotFaster is the reason of improvements that nobody gave one for, "" for others.
func (a Accept) gotFaster() string {
	if !a.Improved {
		return ""
	}
	var faster, slower []string
	for _, f := range a.changes() {
		if f.Forgiven() {
			slower = append(slower, changeName(f))
		} else {
			faster = append(faster, changeName(f))
		}
	}
	text := []rune("faster: " + result.Few(faster) +
		result.Given(result.Few(slower), "; slower for it: ", result.Few(slower)))
	return string(text[:min(len(text), maxReason)])
}

func changeName(f *result.Finding) string {
	return measure.Either(f.Scope == measure.ScopeRange, "range ", "") + measure.NormalizeLine(f.Kernel)
}

// changeLine is a change on one line: "saxpy time 84.55 → 88.60 µs (+4.8 %)".
func changeLine(f *result.Finding) string {
	switch f.Outcome {
	case result.New:
		return changeName(f) + " is new"
	case result.Gone:
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
