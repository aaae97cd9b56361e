package run

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/read/nsysjax"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
)

// The most programs of a dump that are read, the largest first, and the most bytes of all of them.
const (
	mostDumps   = 100
	mostDumpMiB = 64
)

// dumpRoomMiB is how much room a dump may take: more of it is removed while the program runs.
const dumpRoomMiB = 1024

// flagsOfXLA is the variable with the flags of XLA, which JAX uses.
const flagsOfXLA = "XLA_FLAGS"

func dumpIn(dir string, base bool) string {
	if base {
		return filepath.Join(dir, "xla-base")
	}
	return filepath.Join(dir, "xla-head")
}

var userDump = input.Pattern(`(?:^|\s)--?xla_dump_to=["']?([^"'\s]*)`)

// dumping is an environment in which XLA dumps its programs to a directory, beside the user's flags. A directory of the
// user's stays.
func dumping(env []string, dir string) []string {
	flags := os.Getenv(flagsOfXLA)
	if userDump().MatchString(flags) {
		return env
	}
	return append(env, strings.TrimSpace(flagsOfXLA+"="+flags)+" --xla_dump_to="+dir+" --xla_dump_hlo_as_text")
}

// boundDump removes a dump that outgrows its room until the run has ended: XLA goes on without where a file is in its
// place.
func boundDump(dir string, room int64, ended <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		files, _ := os.ReadDir(dir)
		size := int64(0)
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				size += info.Size()
			}
		}
		if size > room {
			os.RemoveAll(dir)
			output.Text(dir, 0o600, nil)
		}
	}
}

// dumps are the optimised programs of a run, and the directories below which files are the repository's own.
type dumps struct{ Files, Roots []string }

const dumpsMode = "--dumps"

func init() { confine.Register(dumpsMode, dumps.read) }

// readDumps reads what the runs dumped, and removes it. What cannot be read is a warning: kernels are then known by
// their names.
func (p Plan) readDumps(ctx context.Context, private string, res *Result) {
	for i, build := range []*Build{p.Base, &p.Head} {
		if build == nil || !p.Dump {
			continue
		}
		here, _ := filepath.Abs(cmp.Or(build.Dir, "."))
		dir, since := dumpIn(private, i == 0), time.Time{}
		if users := userDump().FindStringSubmatch(os.Getenv(flagsOfXLA)); users != nil && p.Base == nil {
			// The files of two builds would be mixed; the clock of a file system is up to a tick behind.
			dir, since = users[1], res.Runs[0].Start.Add(-10*time.Millisecond)
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(here, dir)
			}
		} else {
			defer os.RemoveAll(dir)
		}
		asked := dumps{Files: dumped(dir, since)}
		if len(asked.Files) == 0 {
			continue
		}
		for _, root := range []string{here, git.Top(here)} {
			if real, err := filepath.EvalSymlinks(root); root != "" && err == nil {
				asked.Roots = append(asked.Roots, root, real)
			}
		}
		err := confine.Ask(ctx, dumpsMode, confine.For(asked.Files...), asked, func(found []model.Operation) error {
			res.Operations[i] = found
			return nil
		})
		if err := confine.Refused(err, "the dump of XLA"); err != nil {
			res.Warnings = append(res.Warnings, "kernels of XLA are known by their names alone: "+err.Error())
		}
	}
}

// dumped are the optimised programs in a directory that were written since then, the largest first.
func dumped(dir string, since time.Time) (files []string) {
	names, _ := new(input.Search).Paths(dir, "*after_optimizations.txt")
	sizes := map[string]int64{}
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && !info.ModTime().Before(since) {
			sizes[name] = info.Size()
			files = append(files, name)
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) })
	room := int64(mostDumpMiB << 20)
	end := slices.IndexFunc(files, func(name string) bool { room -= sizes[name]; return room < 0 })
	if end >= 0 {
		files = files[:end]
	}
	return files[:min(len(files), mostDumps)]
}

// read sends the operations of all programs, each place of a kernel's name once.
func (x dumps) read(_ context.Context, send func([]model.Operation) error) error {
	own := func(file string) string {
		if file != "" && !filepath.IsAbs(file) && !strings.HasPrefix(file, "<") && len(x.Roots) > 0 {
			file = filepath.Join(x.Roots[0], file)
		}
		name, file := "", filepath.Clean(file)
		for _, root := range x.Roots { // the repository's comes last
			if rest, ok := strings.CutPrefix(file, root+"/"); ok && !strings.Contains(rest, "-packages/") &&
				rest[0] != '.' {
				name = rest
			}
		}
		return name
	}
	var all []model.Operation
	type place struct{ kernel, path, file, function string }
	seen := map[place]bool{}
	for _, name := range x.Files {
		f, err := input.Open(name)
		if err != nil {
			return err
		}
		found, err := nsysjax.Operations(f, own)
		f.Close()
		if err != nil {
			return err
		}
		for _, op := range found {
			at := place{op.Kernel, op.Path, op.File, op.Function}
			if !seen[at] && len(all) < model.MostOperations {
				seen[at] = true
				all = append(all, op)
			}
		}
	}
	return send(all)
}
