package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// A watch looks at its files every watchEvery, at mostWatched of those that git tracks. They are quiet once they stay
// as they are for watchQuiet: a build writes in pieces.
const (
	watchEvery  = 200 * time.Millisecond
	watchQuiet  = 500 * time.Millisecond
	mostWatched = 2000
)

// Watched are the files whose change has a check measure again.
type Watched struct {
	Programs []string // of the command: they have to be there
	Others   []string
	About    string // both, in words
}

// Watched are the program and the files among its arguments, and the inputs and the device code that the policy names.
// Where it names none, and the program was not built in this repository, git's files at the workload's directory too.
func (c *Check) Watched(ctx context.Context) (w Watched) {
	build, root := &c.Live.Head, Repository()
	dir, built := cmp.Or(build.Dir, "."), false
	for i, word := range slices.Concat(build.Server, build.Command) {
		if found, err := exec.LookPath(word); i == 0 && err == nil && !strings.Contains(word, "/") {
			word = found
		} else if !filepath.IsAbs(word) {
			word = filepath.Join(dir, word)
		}
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			w.Programs = append(w.Programs, word)
			built = built || root != "" && git.Within(root, word) != "" && elf(word)
		}
	}
	about := measure.Map(w.Programs, filepath.Base)
	for _, pattern := range slices.Concat(c.Code.Inputs.Patterns, c.Code.Patterns) {
		files, _ := devicecode.Files(c.Code.Dir, pattern)
		w.Others = append(w.Others, files...)
	}
	if n := len(w.Others); n > 0 {
		about = append(about, measure.Count(n, "file")+" that the policy names")
	} else if tracked, err := git.Output(ctx, dir, "ls-files", "-z"); err == nil && !built {
		names := measure.Map(strings.FieldsFunc(tracked, func(r rune) bool { return r == 0 }),
			func(name string) string { return filepath.Join(dir, name) })
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(w.Programs, name) })
		of := measure.Count(len(names), "file")
		if len(names) > mostWatched {
			names, of = names[:mostWatched], fmt.Sprintf("the first %d of %s", mostWatched, of)
		}
		w.Others = names
		about = append(about, of+" that git tracks")
	}
	w.About = strings.Join(about, ", ")
	return w
}

// elf reports whether a file is an executable in the machine's code.
func elf(name string) bool {
	f, err := input.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	n, _ := f.Read(magic)
	return string(magic[:n]) == "\x7fELF"
}

// Stamps are size, mode and time of files, "" for one that is missing.
type Stamps map[string]string

// StampsOf are those of the files as they are now.
func StampsOf(files []string) Stamps {
	out := Stamps{}
	for _, name := range files {
		out[name] = ""
		if info, err := os.Stat(name); err == nil {
			out[name] = fmt.Sprint(info.Size(), info.Mode(), info.ModTime().UnixNano())
		}
	}
	return out
}

// Differing are the files whose stamps are others, sorted.
func (s Stamps) Differing(from Stamps) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(name string) bool { return s[name] == from[name] })
}

// Await returns when files differ from these stamps, the programs are there, and all are quiet; or when ctx ends.
func (s Stamps) Await(ctx context.Context, programs []string) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last, since := s, time.Now()
	for ctx.Err() == nil {
		now := StampsOf(slices.Collect(maps.Keys(s)))
		if !maps.Equal(now, last) {
			last, since = now, time.Now()
		}
		missing := slices.ContainsFunc(programs, func(name string) bool { return now[name] == "" })
		if !maps.Equal(now, s) && !missing && time.Since(since) >= watchQuiet {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
