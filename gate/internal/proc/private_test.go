//go:build linux

package proc

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// abandon makes a private directory as a killed nsgate leaves it.
func abandon(t *testing.T, name string, o *owner) (dir string) {
	t.Helper()
	dir = filepath.Join(os.TempDir(), Prefix+name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if o != nil {
		text, _ := json.Marshal(o)
		if err := os.WriteFile(ownerIn(dir), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A guard is started once: neither by a child of nsgate nor by a test binary, whose tests would begin anew.
func TestGuardOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	script, log := filepath.Join(dir, "guard"), filepath.Join(dir, "log")
	text := "#!/bin/sh\necho $" + ChildMark + " $2 >" + log + "\nexec cat >/dev/null\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	own, _ := os.Executable()
	for _, x := range []struct {
		program, mark string
		guarded       bool
	}{{script, "", true}, {script, "1", false}, {own, "", false}} {
		t.Setenv(ChildMark, x.mark)
		p, err := NewPrivate(x.program)
		if err != nil {
			t.Fatal(err)
		}
		if (p.guard != nil) != x.guarded {
			t.Errorf("%s, %q: guarded %v", x.program, x.mark, p.guard != nil)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if said, _ := os.ReadFile(log); string(said) != "1 "+GuardArg+"\n" {
		t.Errorf("the guard was started with %q", said)
	}
}

// Sweep removes directories of surely dead nsgates, and no others.
func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	here := &owner{Boot: bootID()}
	long := time.Now().Add(-2 * elsewhere)
	abandon(t, "dead", here)
	locked := abandon(t, "locked", here)
	lock, err := lockDir(locked, true)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	abandon(t, "beginning", nil) // its owner has not said so yet
	abandon(t, "elsewhere", &owner{Boot: "another machine"})
	abandon(t, "unknown", &owner{})
	old := abandon(t, "long-ago", &owner{Boot: "another machine"})
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	open := abandon(t, "open", here)
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(os.TempDir(), "somebody-elses")
	if err := os.Rename(abandon(t, "target", here), target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(os.TempDir(), Prefix+"link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(os.TempDir(), Prefix+"file"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	// A process of the dead one; nsys leaves daemons behind.
	dead := filepath.Join(os.TempDir(), Prefix+"dead")
	var ended sync.WaitGroup
	for _, mark := range []string{dead, dead + ofGuard} {
		daemon := exec.Command("sleep", "300")
		daemon.Env = (&Private{Path: mark}).Mark(os.Environ())
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		daemon.Process.Signal(syscall.SIGSTOP)
		ended.Go(func() { daemon.Wait() })
	}

	Sweep()
	ended.Wait()
	var left []string
	entries, _ := os.ReadDir(os.TempDir())
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{"nsgate-beginning", "nsgate-elsewhere", "nsgate-file", "nsgate-link", "nsgate-locked",
		"nsgate-open", "nsgate-unknown", "somebody-elses"}
	if !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	if _, err := os.Stat(ownerIn(target)); err != nil {
		t.Error(err)
	}
}
