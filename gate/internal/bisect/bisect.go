// Package bisect searches the commits between two for those that made a workload slower.
package bisect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
)

// Commands are the commands of a pair of builds that Run measures.
func (b *Bisect) Commands(context.Context) []string { return b.Live.Commands(b.Looks, &b.Build) }

// Run searches. A [history.Bisection] whose ends do not differ, or cannot be measured, has no finding to follow; their
// report says why. The error is a mistake of the caller or the end of ctx; the next Run goes on from there.
func (c Bisect) Run(ctx context.Context) (*history.Bisection, error) {
	b := &bisection{Bisect: &c, out: &history.Bisection{Schema: history.BisectSchema, Workload: c.Workload,
		Culprits: []history.Culprit{}}}
	if c.MaxTime > 0 {
		b.until = time.Now().Add(c.MaxTime)
	}
	if err := b.findLine(ctx); err != nil {
		return nil, err
	}
	err := b.between(ctx)
	if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) && b.out.Ends == nil {
		var refused *result.Report
		refused, err = app.Refused(nil, err)
		b.out.Ends = refused.Shown(nil)
	}
	b.out.Complete = !errors.Is(err, errTime)
	if err != nil && b.out.Complete {
		return nil, err
	}
	b.fill()
	b.out.Seconds = b.state.took()
	if b.out.Complete {
		os.Remove(b.state.file)
	}
	return b.out, nil
}

func (b *bisection) between(ctx context.Context) error {
	good, remove, err := b.at(ctx, b.out.Good.ID)
	defer remove()
	if err != nil {
		return err
	}
	bad, remove, err := b.at(ctx, b.out.Bad.ID)
	defer remove()
	if err != nil {
		return err
	}
	b.good, b.bad = good, bad
	if err := b.prove(ctx); err != nil || b.out.Followed == nil {
		return err
	}
	for {
		i, ok := b.search.Next()
		if !ok {
			return b.confirm(ctx)
		}
		if err := b.read(ctx, i); err != nil {
			return err
		}
	}
}

func (b *bisection) findLine(ctx context.Context) error {
	good, err := run.FindRevision(ctx, b.Good)
	bad, failed := run.FindRevision(ctx, b.Bad)
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	if good.Commit == bad.Commit {
		return fmt.Errorf("%s and %s are the same commit: there is nothing between them", b.Good, b.Bad)
	}
	const format = "--format=%H%x00%an%x00%cI%x00%s"
	lines := app.Ask(ctx, "", "log", "--reverse", "--first-parent", "--ancestry-path", format,
		good.Commit+".."+bad.Commit)
	all := app.Ask(ctx, "", "log", "-1", format, good.Commit)
	if lines == "" {
		return fmt.Errorf("%s is no ancestor of %s, or the clone is too shallow to tell: git fetch --unshallow", b.Good,
			b.Bad)
	}
	for line := range strings.SplitSeq(all+"\n"+lines, "\n") {
		if cells := strings.SplitN(line, "\x00", 4); len(cells) == 4 {
			date, _ := time.Parse(time.RFC3339, cells[2])
			b.line = append(b.line, history.Commit{ID: cells[0], Author: cells[1], Date: date, Subject: cells[3]})
		}
	}
	b.out.Good, b.out.Bad = b.line[0], b.line[len(b.line)-1]
	key, err := b.key()
	b.state = readState(ctx, key)
	return err
}

// key is the hash of all that the measurements of a search depend on: nsgate's version, the job with its policy, and
// the finding that is followed. The time limit and explanations of a culprit change no measurement.
func (b *bisection) key() (string, error) {
	options := b.Live.Options
	options.Profiler, options.Usual, options.Live, options.KeepProfiles = nil, 0, false, ""
	text, err := json.Marshal([]any{b.Version, b.out.Good.ID, b.out.Bad.ID, b.Workload, b.Script, b.Build, b.Looks,
		b.Kernel, b.Metric, b.Rule, b.Policy, options, b.Live.Unprofiled, b.Live.Way.Unprofiled, b.Live.Filter})
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// prove measures both ends and chooses the finding to follow, none if the ends do not differ beyond the limits.
func (b *bisection) prove(ctx context.Context) (err error) {
	b.out.Ends = b.state.Ends
	if b.out.Ends == nil {
		b.Begin("measuring both ends")
		slower := func(f []result.Finding) bool { return b.choose(f) != nil }
		ends, err := b.beside(ctx, b.good, b.bad, b.Looks, app.ExplainNever, slower)
		if err != nil {
			return err
		}
		b.out.Ends = ends.Shown(nil)
		b.state.Ends = b.out.Ends
	}
	if b.chosen() && len(b.near(b.out.Ends)) == 0 && len(b.out.Ends.Findings) > 0 {
		return b.unknown(b.out.Ends)
	}
	b.out.Followed = b.choose(b.out.Ends.Findings)
	if b.out.Followed == nil {
		b.out.Unproven(b.near(b.out.Ends))
		return nil
	}
	b.names = names(b.out.Followed)
	b.search = history.NewSearch(len(b.line)-1, reading(b.out.Followed))
	return b.state.write()
}

func (b *Bisect) chosen() bool { return b.Kernel != "" || b.Metric != "" }

func (b *Bisect) asked(f *result.Finding) bool {
	return (b.Kernel == "" || f.Kernel == b.Kernel || f.Title() == b.Kernel) && (b.Metric == "" || f.Metric == b.Metric)
}

// choose is the finding to follow: the chosen one, else a regression of the whole workload, else of a part.
func (b *Bisect) choose(findings []result.Finding) *result.Finding {
	var best *result.Finding
	for i := range findings {
		f := &findings[i]
		switch {
		case !b.asked(f):
		case f.Outcome != result.Slower || f.Increased() || !b.chosen() && !f.Gates:
		case best == nil || best.Scope != measure.ScopeWorkload && f.Scope == measure.ScopeWorkload:
			best = f
		}
	}
	return best
}

// unknown is the error for a kernel or metric that neither end has, with those that there are.
func (b *Bisect) unknown(r *result.Report) error {
	var kernels, metrics []string
	for i := range r.Findings {
		kernels, metrics = append(kernels, r.Findings[i].Kernel), append(metrics, r.Findings[i].Metric)
	}
	if b.Kernel != "" && !slices.Contains(kernels, b.Kernel) {
		return fmt.Errorf("neither end has a kernel %q; they have %s", b.Kernel, app.List(kernels))
	}
	return fmt.Errorf("what was asked for has no metric %q; measured are %s", b.Metric, app.List(metrics))
}

// near are the candidates to follow, slower or not: the chosen findings, else those of the whole workload.
func (b *Bisect) near(r *result.Report) (out []*result.Finding) {
	for i := range r.Findings {
		if f := &r.Findings[i]; b.asked(f) && (b.chosen() || f.Gates && f.Scope == measure.ScopeWorkload) {
			out = append(out, f)
		}
	}
	return out
}

func (b *bisection) confirm(ctx context.Context) (err error) {
	b.blame()
	for i := range b.out.Culprits {
		c := &b.out.Culprits[i]
		if !b.until.IsZero() && time.Now().After(b.until) {
			return errTime
		}
		before := slices.IndexFunc(b.line, func(x history.Commit) bool { return x.ID == c.Commits[0].ID }) - 1
		id := c.Commits[len(c.Commits)-1].ID
		b.Begin("measuring " + id[:12] + " beside the commit before it")
		judged, err := app.Refused(b.neighbours(ctx, b.line[before].ID, id))
		if err != nil {
			return err
		}
		c.Report = judged.Shown(nil)
		if f := b.follow(c.Report.Findings); f != nil {
			c.Reading = reading(f)
			c.Refuted = !b.shows(c.Report.Findings)
		}
	}
	return nil
}

func (b *bisection) neighbours(ctx context.Context, before, commit string) (*result.Report, error) {
	base, remove, err := b.at(ctx, before)
	defer remove()
	if err != nil {
		return nil, err
	}
	head, remove, err := b.at(ctx, commit)
	defer remove()
	if err != nil {
		return nil, err
	}
	return b.beside(ctx, base, head, b.looks(), b.Explain, b.shows)
}

func (b *bisection) shows(findings []result.Finding) bool {
	f := b.follow(findings)
	return f != nil && (f.Low > 0 || f.High < 0)
}

func (b *bisection) fill() {
	for i, c := range b.line[1:] {
		known := b.state.Readings[c.ID]
		x := history.BisectedCommit{Commit: c, Skipped: known.Skipped, FromGood: known.FromGood, FromBad: known.FromBad}
		if b.search != nil {
			if r := b.search.Readings[i+1]; r != nil {
				x.Change, x.Low, x.High, x.Nearer = &r.Change, &r.Low, &r.High,
					r.Nearer(*b.search.Readings[len(b.line)-1])
			}
		}
		b.out.Commits = append(b.out.Commits, x)
	}
	if b.search != nil && !b.out.Complete && len(b.out.Culprits) == 0 {
		b.blame()
	}
}

func (b *bisection) blame() {
	for _, x := range b.search.Found() {
		b.out.Culprits = append(b.out.Culprits, history.Culprit{Commits: slices.Clone(b.line[x.First : x.Last+1]),
			Reading: x.Reading})
	}
}

// state holds the measurements of a search, kept in the git directory until the search has ended.
type state struct {
	file     string
	began    time.Time
	before   float64 // seconds of interrupted searches
	Key      string
	Ends     *result.Report
	Readings map[string]known // by commit
	Seconds  float64          // until this was written
}

// known is the reading of a commit, or why there is none.
type known struct {
	history.Reading
	// FromGood and FromBad are the distances from each end, interleaved with it; nil without the followed finding.
	FromGood, FromBad *history.Reading
	Skipped           string
}

// readState is the state of an interrupted search of the same key, else a new one.
func readState(ctx context.Context, key string) state {
	fresh := state{Key: key, Readings: map[string]known{}, began: time.Now()}
	if dir := app.GitDir(ctx); dir != "" {
		fresh.file = filepath.Join(dir, "nsgate-bisect.json")
	}
	text, err := input.Read(fresh.file, 64<<20)
	kept := state{}
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Key != key || kept.Readings == nil {
		return fresh
	}
	kept.file, kept.began, kept.before = fresh.file, fresh.began, kept.Seconds
	return kept
}

// took is the duration of the search in seconds, interrupted parts included.
func (s *state) took() float64 { return s.before + time.Since(s.began).Seconds() }

// write keeps the state for the next search. A kill during the write leaves the previous state.
func (s *state) write() error {
	if s.file == "" {
		return nil
	}
	s.Seconds = s.took()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := output.Text(s.file, 0o600, text); err != nil {
		return fmt.Errorf("%s: what the search has measured cannot be kept: %w; make room there or let it be written, "+
			"and start it again", s.file, proc.Cause(err))
	}
	return nil
}
