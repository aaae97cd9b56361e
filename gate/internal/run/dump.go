package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/read/nsysjax"
	"github.com/nsgate/nsgate/gate/internal/read/torch"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
)

// The most programs of a dump that are read, the largest first, and the most bytes of all of them.
const (
	mostDumps   = 100
	mostDumpMiB = 64
)

// dumpRoomMiB is how much room a dump may take: more of it is removed while the program runs.
const dumpRoomMiB = 1024

// Dump is which compilers write down where the kernels come from that they make while a program runs.
type Dump struct {
	XLA   bool `json:"xla,omitempty"`   // its optimised programs, as of JAX
	Torch bool `json:"torch,omitempty"` // the trace of torch.compile, which then compiles anew
}

// flagsOfXLA is the variable with the flags of XLA, traceOfTorch the one with the directory of PyTorch's trace.
const flagsOfXLA, traceOfTorch = "XLA_FLAGS", "TORCH_TRACE"

func dumpIn(dir string, base bool) string {
	if base {
		return filepath.Join(dir, "dump-base")
	}
	return filepath.Join(dir, "dump-head")
}

// NamesAlone is what a session lacks without its dump, for a warning.
func (d Dump) NamesAlone(why error) error {
	compiler := measure.Either(d.XLA, "XLA", "torch.compile")
	return errors.New("kernels of " + compiler + " are known by their names alone: " + why.Error())
}

var userDump = input.Pattern(`(?:^|\s)--?xla_dump_to=["']?([^"'\s]*)`)

// dumping is an environment in which compilers dump to a directory, beside the user's flags. A directory of the user's
// stays.
func (d Dump) dumping(env []string, dir string) []string {
	if flags := os.Getenv(flagsOfXLA); d.XLA && !userDump().MatchString(flags) {
		env = append(env, strings.TrimSpace(flagsOfXLA+"="+flags)+" --xla_dump_to="+dir+" --xla_dump_hlo_as_text")
	}
	if d.Torch && os.Getenv(traceOfTorch) == "" {
		env = append(env, traceOfTorch+"="+dir, "INDUCTOR_PROVENANCE=1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1")
	}
	return env
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

// dumps are what compilers wrote in a run, and the directories below which files are the repository's own.
type dumps struct{ Files, Roots []string }

const dumpsMode = "--dumps"

func init() { confine.Register(dumpsMode, dumps.read) }

// readDumps reads what the runs dumped, and removes it. Of what cannot be read, kernels are known by their names.
func (p Plan) readDumps(ctx context.Context, private string, res *Result) {
	for i, build := range []*Build{p.Base, &p.Head} {
		if build == nil || p.Dump == (Dump{}) {
			continue
		}
		here, _ := filepath.Abs(cmp.Or(build.Dir, "."))
		dir := dumpIn(private, i == 0)
		defer os.RemoveAll(dir)
		files, left := dumped(dir, time.Time{})
		asked := dumps{Files: files}
		users := userDump().FindStringSubmatch(os.Getenv(flagsOfXLA))
		if users != nil && p.Base == nil && p.Dump.XLA { // the files of two builds would be mixed
			if dir = users[1]; !filepath.IsAbs(dir) {
				dir = filepath.Join(here, dir)
			}
			// the clock of a file system is up to a tick behind
			files, more := dumped(dir, res.Runs[0].Start.Add(-10*time.Millisecond))
			asked.Files, left = append(asked.Files, files...), cmp.Or(left, more)
		}
		if left != nil {
			res.Undumped = fmt.Errorf("some %w", p.Dump.NamesAlone(left))
		}
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
			if len(found) == model.MostOperations {
				left = fmt.Errorf("the compiler wrote more than %d operations", len(found))
				res.Undumped = fmt.Errorf("some %w", p.Dump.NamesAlone(left))
			}
			return nil
		})
		if err := confine.Refused(err, "what the compiler wrote"); err != nil {
			res.Undumped = p.Dump.NamesAlone(err)
		}
	}
}

// logSuffix ends the name of a trace of PyTorch.
const logSuffix = ".log"

// dumped are the optimised programs and the traces in a directory that were written since then, the largest first.
// left says which are too large or too many.
func dumped(dir string, since time.Time) (files []string, left error) {
	if info, err := os.Lstat(dir); err == nil && info.Mode().IsRegular() { // see boundDump
		return nil, fmt.Errorf("the compiler wrote more than %d MiB", dumpRoomMiB)
	}
	names, _ := new(input.Search).Paths(dir, "*after_optimizations.txt")
	logs, _ := new(input.Search).Paths(dir, "*torch_trace_*"+logSuffix)
	names = append(names, logs...)
	sizes := map[string]int64{}
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && !info.ModTime().Before(since) {
			sizes[name] = info.Size()
			files = append(files, name)
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) })
	room, all := int64(mostDumpMiB<<20), len(files)
	files = slices.DeleteFunc(files, func(name string) bool {
		if sizes[name] > room {
			return true
		}
		room -= sizes[name]
		return false
	})
	files = files[:min(len(files), mostDumps)]
	if n := all - len(files); n > 0 {
		left = fmt.Errorf("of %d files that the compiler wrote %d are not read: at most %d are, of %d MiB in all",
			all, n, mostDumps, mostDumpMiB)
	}
	return files, left
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
	seen := map[model.Operation]bool{}
	for _, name := range x.Files {
		f, err := input.Open(name)
		if err != nil {
			return err
		}
		read := measure.Either(strings.HasSuffix(name, logSuffix), torch.Compiled, nsysjax.Operations)
		found, err := read(f, own)
		f.Close()
		if err != nil {
			return err
		}
		for _, op := range found {
			at := op
			at.Parts = ""
			if !seen[at] && len(all) < model.MostOperations {
				seen[at] = true
				all = append(all, op)
			}
		}
	}
	return send(all)
}
