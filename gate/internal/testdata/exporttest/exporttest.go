// Package exporttest holds what tests of several readers share: checks of how a profiler exports a report, and lists of
// calls.
package exporttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// Export has a tool export a report to a file of the directory dir.
type Export func(ctx context.Context, tool, report, dir string) (file string, err error)

// File writes an executable file into a directory of its own: a report, or a shell script in the place of a tool.
func File(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// Fails wants a refusal in one line that says want and next, names no user's directory, and leaves nothing behind.
func Fails(t *testing.T, export Export, tool, report, want, next string) {
	t.Helper()
	dir := t.TempDir()
	_, err := export(t.Context(), tool, report, dir)
	var refusal *model.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, want) || !strings.Contains(refusal.Next, next) {
		t.Fatalf("error %v\nwant %q and %q", err, want, next)
	}
	if strings.Contains(err.Error(), "someone") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q names a directory, or has two lines", err)
	}
	empty(t, dir)
}

// Interrupted ends the context while the tool, which is made of a script, runs.
func Interrupted(t *testing.T, export Export, fake func(t *testing.T, script string) (tool string), report string) {
	t.Helper()
	dir, tool := t.TempDir(), fake(t, "touch \"$0.started\"\nsleep 60\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(tool + ".started"); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := export(ctx, tool, report, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	empty(t, dir)
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Calls holds CUDA calls in any order.
func Calls(calls ...model.Call) (c model.Calls) {
	for _, x := range calls {
		c.Add(x)
	}
	c.Settle(nil)
	return c
}
