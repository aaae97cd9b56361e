package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// DefaultRoot is the default directory of the baselines, below the working directory.
const DefaultRoot = ".nsgate"

// Baseline is the committed sessions of a workload on one model of GPU.
type Baseline struct {
	Dir         string          // where they are committed
	Sessions    []model.Session // in effect, oldest first, at least one
	SinceAnchor []model.Session // since the anchor, oldest first, for drift

	files   result.Basis // that it was read from
	kernels []string     // that are judged, none for all
}

// basis completes the basis of a judgement by the baseline.
func (b Baseline) basis(of *result.Basis) {
	files := b.files
	files.Policy, files.Looks, files.Look, files.Kernels = of.Policy, of.Looks, of.Look, b.kernels
	*of = files
}

// Baselines are those of one workload, by directory.
type Baselines []Baseline

// ReadBaselines reads the baselines of a workload below root, one for each GPU model. A damaged one is an error.
func ReadBaselines(ctx context.Context, root, workload string) (Baselines, error) {
	all, err := openBaselines(ctx, BaselinesOf(root, workload), (*baseline.Baseline).ReadSinceAnchor)
	var out Baselines
	for _, b := range all {
		if sessions := b.InEffect(); len(sessions) > 0 {
			basis := result.Basis{Against: againstBaseline, Root: Placed(root)}
			basis.Files, basis.Anchor = b.Known()
			out = append(out, Baseline{b.Dir, sessions, b.SinceAnchor(), basis, nil})
		}
	}
	return out, err
}

// openBaselines reads the baselines of a workload with their release tags, and of their sessions those that read does.
func openBaselines(ctx context.Context, workload string,
	read func(*baseline.Baseline) error) (out []*baseline.Baseline, err error) {
	dirs, err := subdirectories(workload)
	for _, dir := range dirs {
		b, err := baseline.Open(dir, func(b *baseline.Baseline) error { anchorTags(ctx, b); return read(b) })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		}
		out = append(out, b)
	}
	return out, err
}

// subdirectories are the directories in another, none where that is no directory.
func subdirectories(dir string) (out []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	directories := measure.Where(entries, fs.DirEntry.IsDir)
	return measure.Map(directories, func(e fs.DirEntry) string { return filepath.Join(dir, e.Name()) }), nil
}

// BaselinesOf is the directory of the baselines of a workload below root.
func BaselinesOf(root, workload string) string {
	return filepath.Dir(baseline.Dir(root, workload, "x"))
}

// BaselineAt is the directory of all baselines, and the workload, of a directory with those of one workload alone, or
// with its baseline on the GPU of a directory's name; "" for any other. A session in no directory of a workload and a
// GPU is an error: any in a directory that was not named, or that has baselines of workloads too.
func BaselineAt(dir string, named bool) (root, workload, gpu string, err error) {
	file := ""
	holds := func(pattern string) bool {
		found, _ := new(input.Search).Paths(dir, pattern)
		found = append(measure.Where(found, func(f string) bool { return baseline.IsFile(filepath.Base(f)) }), "")
		file = found[0]
		return file != ""
	}
	abs, err := filepath.Abs(dir)
	switch {
	case err != nil || !holds("*/*.csv") && !holds("*.csv"):
		return "", "", "", err
	case !named || len(WorkloadsIn(dir)) > 0:
		return "", "", "", fmt.Errorf("%s lies in no directory of a workload and a GPU: move it into %s/WORKLOAD/GPU, "+
			"or remove it", file, dir)
	case filepath.Dir(file) == filepath.Clean(dir):
		dir, gpu = filepath.Join(dir, ".."), filepath.Base(abs)
	}
	return filepath.Join(dir, ".."), baseline.Workload(dir), gpu, nil
}

// WorkloadsIn are the names of the workloads that have a baseline below root, in the order of their directories.
func WorkloadsIn(root string) (names []string) {
	found, _ := new(input.Search).Paths(root, "*/*/*.csv")
	dirs := measure.Map(found, func(f string) string { return filepath.Dir(filepath.Dir(f)) })
	for _, dir := range slices.Compact(dirs) {
		name := baseline.Workload(dir)
		if new(thresholds.Workload).Set("name", name, "") == nil { // directories of others may have any name
			names = append(names, name)
		}
	}
	return names
}

var release = input.Pattern(`^v?\d+(\.\d+)+$`)

// anchorTags makes an anchor of the newest session that the last release before HEAD holds, and of sessions whose own
// commit is a release, as far as git knows tags here.
func anchorTags(ctx context.Context, b *baseline.Baseline) {
	for i := range b.Entries {
		e := &b.Entries[i]
		e.Anchor = cmp.Or(e.Anchor, tagsHere().byCommit[e.Commit])
	}
	for _, tag := range tagsHere().before {
		files := strings.Fields(Ask(ctx, b.Dir, "ls-tree", "--name-only", tag))
		for i := range slices.Backward(b.Entries) {
			if e := &b.Entries[i]; slices.Contains(files, e.ID+".csv") {
				e.Anchor = cmp.Or(e.Anchor, tag)
				return
			}
		}
	}
}

type tags struct {
	byCommit map[string]string // by the first 12 digits of the commit, as sessions hold it
	before   []string          // those that HEAD descends from, the newest first
}

// tagsHere are those of the working directory, which git is asked for once, whichever call is the first.
var tagsHere = sync.OnceValue(func() (out tags) {
	ctx := context.Background()
	out.byCommit = map[string]string{}
	for line := range strings.Lines(Ask(ctx, "", "for-each-ref",
		"--format=%(objectname:short=12) %(*objectname:short=12) %(refname:short)", "refs/tags")) {
		words := strings.Split(strings.TrimSpace(line), " ")
		if name := words[len(words)-1]; release().MatchString(name) {
			for _, commit := range words[:len(words)-1] {
				out.byCommit[commit] = name
			}
		}
	}
	if len(out.byCommit) == 0 {
		return out
	}
	for name := range strings.Lines(Ask(ctx, "", "for-each-ref", "--merged=HEAD", "--sort=-version:refname",
		"--sort=-creatordate", "--format=%(refname:short)", "refs/tags")) {
		name = strings.TrimSpace(name)
		if release().MatchString(name) && len(out.before) < maxReleases {
			out.before = append(out.before, name)
		}
	}
	return out
})

// maxReleases is how many releases back a session is looked for.
const maxReleases = 20

// ForGPU is the baseline of a model.
func (b Baselines) ForGPU(model string) (Baseline, bool) {
	if i := slices.IndexFunc(b, func(x Baseline) bool { return x.Sessions[0].GPU == model }); i >= 0 {
		return b[i], true
	}
	return Baseline{}, false
}

// Here are the baselines for the models of [Live.Models]: that of the first with one, or those of each and of all
// together where the first is not known; all where no model is.
func (b Baselines) Here(models []string, first bool) (out Baselines) {
	if len(models) == 0 {
		return b
	}
	models = append(slices.Clip(models), model.Models(models))
	for i, name := range models {
		if found, ok := b.ForGPU(name); ok && !slices.Contains(models[:i], name) && (len(out) == 0 || !first) {
			out = append(out, found)
		}
	}
	return out
}

// Near are the baselines [Baselines.Here] where there are several: asking for the GPU takes time.
func (b Baselines) Near(ctx context.Context, m *Live) Baselines {
	if len(b) < 2 {
		return b
	}
	return b.Here(m.Models(ctx))
}

// sessions are those of all baselines.
func (b Baselines) sessions() []model.Session {
	return slices.Concat(measure.Map(b, func(x Baseline) []model.Session { return x.Sessions })...)
}

// Profilers names what the baselines were measured with.
func (b Baselines) Profilers() string {
	return List(measure.Map(model.Profilers(b.sessions()), func(p model.Profiler) string { return string(p) }))
}

// Timeout is how long a run may take: ten times the longest of the baselines, at least five minutes; 0 if unknown.
func (b Baselines) Timeout() time.Duration {
	const times, least = 10, 5 * time.Minute
	return measure.Either(b.Longest() == 0, 0, max(times*b.Longest(), least))
}

// Longest is how long the longest run of the baselines took, 0 where that is not known.
func (b Baselines) Longest() time.Duration {
	return measure.Most(b.sessions(), func(s model.Session) time.Duration { return s.Longest })
}

// Alike is the step and the warm-up of a head that is judged against the newest session: see [profile.Rule.Alike].
func (b Baselines) Alike(r profile.Rule) (step, warmup string) {
	if s := b.Newest(); s.Profiled() > 0 {
		return r.Alike(&s)
	}
	return r.Step, r.Warmup
}

// Newest is the newest session of all, the zero value where there is none.
func (b Baselines) Newest() (newest model.Session) {
	for _, s := range b.sessions() {
		if !s.Start.Before(newest.Start) {
			newest = s
		}
	}
	return newest
}

// Histories follow a workload, by model of GPU, over the sessions of its baselines below root, those that the git log
// of the baselines still holds, and further moments. shallow is true where the clone may lack a part of the log.
func Histories(ctx context.Context, root, workload string, further []history.Moment) (histories []*history.History,
	shallow bool, err error) {
	baselines, err := openBaselines(ctx, BaselinesOf(root, workload), (*baseline.Baseline).ReadAll)
	if err != nil {
		return nil, false, err
	}
	moments := map[string][]history.Moment{} // by model of GPU
	seen := map[string]bool{}
	anchors := map[string]string{} // by session
	add := func(sessions []model.Session) {
		for i := range sessions {
			s := &sessions[i]
			id := s.GPU + "\x00" + s.GPUHash + "\x00" + s.Start.UTC().Format(time.RFC3339Nano) + "\x00" + s.Tool
			if !seen[id] {
				seen[id] = true
				m := history.MomentOf(s)
				m.Anchor = anchors[s.ID]
				moments[s.GPU] = append(moments[s.GPU], m)
			}
		}
	}
	for _, b := range baselines {
		for _, e := range b.Entries {
			anchors[e.ID] = e.Anchor
		}
		if len(b.InEffect()) > 0 {
			add(b.All())
		}
	}
	past, err := pastBaselines(ctx, BaselinesOf(root, workload))
	if err != nil {
		return nil, false, err
	}
	for _, sessions := range past {
		add(sessions)
	}
	for _, m := range further {
		moments[m.Environment.GPU] = append(moments[m.Environment.GPU], m)
	}
	for _, of := range moments {
		h := history.NewHistory(of)
		h.Workload = workload
		histories = append(histories, h)
	}
	measure.Sort(histories, func(a, b *history.History) int { return strings.Compare(a.GPU, b.GPU) })
	return histories, Ask(ctx, "", "rev-parse", "--is-shallow-repository") == "true", nil
}

// pastBaselines are the sessions below a directory as each commit left them, without unreadable commits.
func pastBaselines(ctx context.Context, dir string) (out [][]model.Session, err error) {
	dir = Here(dir)
	log := Ask(ctx, "", "log", "--format=%H", "--", dir)
	if log == "" {
		return nil, nil
	}
	err = proc.InPrivate(func(private string) error {
		for _, id := range strings.Fields(log) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			at := filepath.Join(private, id)
			if (committed{revision: id}).extract(ctx, filepath.ToSlash(dir), at) != nil {
				continue
			}
			filepath.WalkDir(at, func(path string, entry fs.DirEntry, _ error) error {
				if entry != nil && entry.IsDir() {
					if sessions, err := baseline.Read(path); err == nil {
						out = append(out, sessions)
					}
				}
				return nil
			})
		}
		return nil
	})
	return out, err
}
