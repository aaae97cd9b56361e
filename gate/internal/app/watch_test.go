package app

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/run"
)

// A script is watched with what git tracks, a program that was built here alone, or with the inputs of the policy.
func TestWatched(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"train.py", "lib.py", "app", "data.bin"} {
		if err := os.WriteFile(name, []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "train.py", "lib.py"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	for _, c := range []struct {
		command, inputs, want []string
	}{
		{[]string{"python3", "train.py"}, nil, []string{"train.py", "lib.py"}},
		{[]string{"./app", "--steps", "60"}, nil, []string{"app"}},
		{[]string{"./app", "train.py"}, nil, []string{"app", "train.py", "lib.py"}},
		{[]string{"./app"}, []string{"data.*"}, []string{"app", "data.bin"}},
		{[]string{"./missing"}, nil, []string{"missing"}},
	} {
		check := &Check{Job: Job{Live: &Live{Head: run.Build{Command: c.command}}}}
		check.Code.Dir, check.Code.Inputs.Patterns = ".", c.inputs
		programs, others := check.Watched(t.Context())
		got := measure.Map(slices.Concat(programs, others), filepath.Base)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q with inputs %q: %q, want %q", c.command, c.inputs, got, c.want)
		}
	}
}

// A watch waits until changed files are quiet and the program is there, and ends with its context.
func TestAwait(t *testing.T) {
	dir := t.TempDir()
	program, other := filepath.Join(dir, "app"), filepath.Join(dir, "other")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		write(program, "1")
		write(other, "1")
		before, begun := Stamps([]string{program, other}), time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			os.Remove(program)
			write(other, "22")
			time.Sleep(5 * time.Second)
			write(program, "4444")
		}()
		Await(t.Context(), before, []string{program})
		if took := time.Since(begun); took < 8*time.Second || took > 9*time.Second {
			t.Errorf("the watch went on after %v, the program was there after 8s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun = time.Now()
		Await(ctx, Stamps([]string{program}), []string{program})
		if took := time.Since(begun); took < time.Minute || took > time.Minute+watchEvery {
			t.Errorf("unchanged files were awaited for %v, want a minute", took)
		}
	})
}
