package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Store is the committed baselines: list them, show and compare sessions, remove one.
type Store struct {
	Root     string // directory of the baselines
	Workload string // only the baselines of this one, "" for all
}

type StoredBaseline struct {
	Dir      string          `json:"dir"`
	GPU      string          `json:"gpu"`
	Sessions []StoredSession `json:"sessions"` // oldest first
}

// StoredSession is one file of a baseline.
type StoredSession struct {
	ID      string    `json:"id"`
	File    string    `json:"file"`
	What    string    `json:"what"` // "record", "accept" or "remove"
	Start   time.Time `json:"start,omitempty,omitzero"`
	Commit  string    `json:"commit,omitempty"`
	GPUHash string    `json:"gpu_hash,omitempty"`
	Driver  string    `json:"driver,omitempty"`
	CUDA    string    `json:"cuda,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Runs    int       `json:"runs"`
	Kernels int       `json:"kernels"`
	Reason  string    `json:"reason,omitempty"`
	Anchor  string    `json:"anchor,omitempty"`
	Removes string    `json:"removes,omitempty"`
	State   string    `json:"state"` // "in effect", "in part", "replaced" or "removed"
	// Unmeasured is the number of its kernels and sums that another branch also changed, without a measured merge.
	Unmeasured int `json:"unmeasured,omitempty"`
}

func (s Store) open(ctx context.Context, read func(*baseline.Baseline) error) (out []*baseline.Baseline, err error) {
	workloads := []string{BaselinesOf(s.Root, s.Workload)}
	if s.Workload == "" {
		if workloads, err = subdirectories(s.Root); err != nil {
			return nil, err
		}
	}
	for _, w := range workloads {
		found, err := openBaselines(ctx, w, read)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if have := WorkloadsIn(s.Root); len(out) == 0 && s.Workload != "" && len(have) > 0 {
		return nil, fmt.Errorf("no baseline of workload %q in %s; it has %s", s.Workload, s.Root,
			strings.Join(have, ", "))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no baseline in %s; write one with nsgate record, on the code to compare with", s.Root)
	}
	return out, nil
}

func (s Store) List(ctx context.Context) ([]StoredBaseline, error) {
	all, err := s.open(ctx, (*baseline.Baseline).ReadKept)
	if err != nil {
		return nil, err
	}
	var out []StoredBaseline
	for _, b := range all {
		kept := StoredBaseline{Dir: b.Dir}
		kernels, err := b.Kernels()
		if err != nil {
			return nil, err
		}
		for i, standing := range b.Standings() {
			kept.GPU = cmp.Or(kept.GPU, b.Entries[i].GPU)
			kept.Sessions = append(kept.Sessions, storedSession(&b.Entries[i], standing, kernels[i]))
		}
		out = append(out, kept)
	}
	return out, nil
}

func storedSession(e *baseline.Entry, standing baseline.Standing, kernels int) StoredSession {
	s := StoredSession{ID: e.ID, File: e.File, What: e.Kind(), Start: e.Start, Commit: e.Commit, GPUHash: e.GPUHash,
		Driver: e.Driver, CUDA: e.CUDA, Tool: e.Tool, Runs: cmp.Or(e.Profiled(), len(e.Runs)), Kernels: kernels,
		Reason: e.Reason, Anchor: e.Anchor, Removes: e.Removes, State: "in effect", Unmeasured: standing.Apart}
	switch {
	case standing.Removed:
		s.State = "removed"
	case e.Removes == "" && standing.Of > 0 && standing.Live == 0:
		s.State = "replaced"
	case standing.Live < standing.Of:
		s.State = "in part"
	}
	return s
}

// find is the one session of all baselines whose ID is, or begins or ends with, id. Several are an error.
func (s Store) find(ctx context.Context, id string) (*baseline.Baseline, *baseline.Entry, error) {
	all, err := s.open(ctx, func(*baseline.Baseline) error { return nil })
	if err != nil {
		return nil, nil, err
	}
	var in *baseline.Baseline
	var found *baseline.Entry
	var matches []string
	search := func(fits func(of string) bool) {
		for _, b := range all {
			for i := range b.Entries {
				if e := &b.Entries[i]; fits(e.ID) {
					in, found, matches = b, e, append(matches, e.ID+" in "+b.Dir)
				}
			}
		}
	}
	search(func(of string) bool { return of == id })
	if len(matches) == 0 && id != "" {
		search(func(of string) bool { return strings.HasPrefix(of, id) || strings.HasSuffix(of, "-"+id) })
	}
	switch len(matches) {
	case 0:
		return nil, nil, fmt.Errorf("no session %q below %s; nsgate baseline lists them", id, s.Root)
	case 1:
		return in, found, in.ReadOne(found)
	}
	return nil, nil, fmt.Errorf("%q fits %d sessions: %s; name the workload, or write more of it", id, len(matches),
		strings.Join(matches, ", "))
}

// measured is [Store.find] of a session that holds a measurement.
func (s Store) measured(ctx context.Context, id string) (*baseline.Baseline, *baseline.Entry, error) {
	b, e, err := s.find(ctx, id)
	if err == nil && e.Removes != "" {
		err = fmt.Errorf("%s takes %s back and holds nothing itself: %s", e.ID, e.Removes, e.Reason)
	}
	return b, e, err
}

// Session is the summary of one session.
func (s Store) Session(ctx context.Context, id string) (*result.Summary, error) {
	b, e, err := s.measured(ctx, id)
	if err != nil {
		return nil, err
	}
	out, err := insight.Summarize([]model.Session{e.Session})
	if err == nil {
		out.Workload = baseline.Workload(filepath.Dir(b.Dir))
	}
	return out, err
}

// Diff judges one session against another, by the subjects of both and the policy for the directory of a workload.
func (s Store) Diff(ctx context.Context, base, head string,
	policy func(workload string) *thresholds.Resolved) (*result.Report, error) {
	var sides [2][]model.Session
	workload := ""
	for i, id := range []string{base, head} {
		b, e, err := s.measured(ctx, id)
		if err != nil {
			return nil, err
		}
		workload, sides[i] = filepath.Base(filepath.Dir(b.Dir)), []model.Session{e.Session}
	}
	if b, h := &sides[0][0], &sides[1][0]; b.Accepted || h.Accepted {
		only := func(s, of *model.Session) []model.Series {
			return slices.DeleteFunc(slices.Clone(s.Series), func(x model.Series) bool {
				_, ok := of.Find(x.Subject, x.Metric.Name)
				return !ok
			})
		}
		b.Series, h.Series = only(b, h), only(h, b)
	}
	return insight.Judge(decide.Input{Baseline: sides[0], Head: sides[1], Policy: policy(workload)}), nil
}

// Remove takes a session back, with a reason: replaced sessions hold again. Its file stays, and one is added.
func (s Store) Remove(ctx context.Context, id, why string, now time.Time) (file string, err error) {
	if why, err = reason(why); err != nil {
		return "", err
	}
	b, found, err := s.find(ctx, id)
	if err != nil {
		return "", err
	}
	id = found.ID
	here, _ := commit(ctx)
	added, err := baseline.Add(b.Dir, func(b *baseline.Baseline) ([]baseline.Entry, error) {
		for i, standing := range b.Standings() {
			if b.Entries[i].ID == id && standing.Removed {
				return nil, fmt.Errorf("%s is removed already", id)
			}
		}
		at := model.Environment{Start: now.UTC().Truncate(time.Second)}
		return []baseline.Entry{{Removes: id, Session: model.Session{Environment: at, Commit: here, Reason: why}}}, nil
	})
	if err != nil {
		return "", err
	}
	return added[0].File, nil
}

// Rename gives the baselines of a workload another name, and returns their directory before and after. It must be free.
func (s Store) Rename(ctx context.Context, from, to string) (before, after string, err error) {
	if err := new(thresholds.Workload).Set("name", to, ""); err != nil {
		return "", "", err
	}
	before, after = BaselinesOf(s.Root, from), BaselinesOf(s.Root, to)
	info, err := os.Lstat(before)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("no baseline of workload %q in %s; nsgate baseline lists them", from, s.Root)
	case err != nil:
		return "", "", err
	case !info.IsDir():
		return "", "", fmt.Errorf("%s is no directory; rename it by hand", before)
	}
	if _, err := os.Lstat(after); !errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("%s is there already: choose another name, or remove it", after)
	}
	if err := cmp.Or(git.Outward(ctx, before), git.Outward(ctx, after)); err != nil {
		return "", "", err
	}
	return before, after, os.Rename(before, after)
}

// KeptRoot is the directory of a local baseline, in the user's cache by repository; of all of them for "".
func KeptRoot(name string) (string, error) {
	cache, err := os.UserCacheDir()
	at, wrong := filepath.Abs(cmp.Or(Repository(), "."))
	sum := sha256.Sum256([]byte(at))
	return filepath.Join(cache, "nsgate", "kept", hex.EncodeToString(sum[:8]), name), cmp.Or(err, wrong)
}

// Kept are the names of the local baselines of this repository.
func Kept() []string {
	root, _ := KeptRoot("")
	dirs, _ := subdirectories(root)
	return measure.Map(dirs, filepath.Base)
}

// fresh is a session as a new entry of a baseline.
func fresh(s model.Session) baseline.Entry {
	s.ID = ""
	return baseline.Entry{Session: s}
}

// Keep makes what a report measured the local baseline of a name, by workload and GPU, and counts the workloads. The
// one before stays until the new one is whole.
func Keep(name string, r *result.Report) (kept int, err error) {
	root, err := KeptRoot(name)
	staged := filepath.Dir(root) + ".new"
	for _, w := range r.Each() {
		if err != nil || len(w.HeadSessions) == 0 {
			continue
		}
		workload, gpu := cmp.Or(w.Workload, "default"), w.HeadSessions[len(w.HeadSessions)-1].GPU
		from, to := baseline.Dir(staged, workload, gpu), baseline.Dir(root, workload, gpu)
		err = os.RemoveAll(staged)
		if err == nil {
			_, err = baseline.Add(from, func(*baseline.Baseline) ([]baseline.Entry, error) {
				return measure.Map(w.HeadSessions, fresh), nil
			})
		}
		if err == nil {
			err = cmp.Or(os.MkdirAll(filepath.Dir(to), 0o755), output.Exchange(from, to))
			kept++
		}
		os.RemoveAll(staged) // with the one of before
	}
	return kept, err
}
