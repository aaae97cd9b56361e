package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/git"
)

const (
	watchEvery  = 400 * time.Millisecond // between two looks at files, which are quiet where both are equal
	mostWatched = 2000                   // files of git that a watch looks at
)

// Watched are the files whose change has a check measure again: programs, those of its command, and others, the inputs
// and the device code that the policy names. Where it names none, and the program was not built in this repository,
// others are what git tracks at the workload's directory.
func (c *Check) Watched(ctx context.Context) (programs, others []string) {
	build, dir, built := &c.Live.Head, cmp.Or(c.Live.Head.Dir, "."), false
	for i, name := range slices.Concat(build.Server, build.Command) {
		awaited := i == 0 && strings.Contains(name, "/") // also where it is not built yet
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if info, err := os.Stat(name); awaited || err == nil && info.Mode().IsRegular() {
			programs = append(programs, name)
			built = built || git.Within(Repository(), name) != ""
		}
	}
	for _, pattern := range slices.Concat(c.Code.Inputs.Patterns, c.Code.Patterns) {
		files, _ := devicecode.Files(c.Code.Dir, pattern)
		others = append(others, files...)
	}
	if len(others) > 0 {
		return programs, others
	}
	listed, _ := git.Output(ctx, dir, "ls-files", "-z")
	for _, name := range strings.FieldsFunc(listed, func(r rune) bool { return r == 0 }) {
		name = filepath.Join(dir, name)
		if slices.Contains(programs, name) {
			built = false
		} else if len(others) < mostWatched {
			others = append(others, name)
		}
	}
	if built {
		return programs, nil
	}
	return programs, others
}

// Stamps are size, mode and time of files, "" for one that is missing.
func Stamps(files []string) map[string]string {
	out := map[string]string{}
	for _, name := range files {
		out[name] = ""
		if info, err := os.Stat(name); err == nil {
			out[name] = fmt.Sprint(info.Size(), info.Mode(), info.ModTime().UnixNano())
		}
	}
	return out
}

// Await returns when files have other stamps than before, the programs are there, and all are quiet; or when ctx ends.
func Await(ctx context.Context, before map[string]string, programs []string) {
	for last := before; ctx.Err() == nil; {
		time.Sleep(watchEvery)
		now := Stamps(slices.Collect(maps.Keys(before)))
		missing := slices.ContainsFunc(programs, func(name string) bool { return now[name] == "" })
		if maps.Equal(now, last) && !maps.Equal(now, before) && !missing {
			return
		}
		last = now
	}
}
