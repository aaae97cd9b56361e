//go:build linux

package command_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// world is a machine with nsgate and the fake tools. A mark identifies all processes that it starts.
type world struct {
	*testing.T
	work, tmp string
	env       []string
	mark      string
}

const testMark = "NSGATE_TEST_MARK="

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := &world{T: t, work: filepath.Join(dir, "work"), tmp: filepath.Join(dir, "tmp")}
	for _, d := range []string{w.work, w.tmp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.mark = fmt.Sprintf("%s%d-%s", testMark, os.Getpid(), dir)
	recordings := filepath.Join(root, "testdata", "h200")
	for _, v := range os.Environ() { // what a CI host or a developer has set is not to be seen
		if name, _, _ := strings.Cut(v, "="); name == "PATH" || name == "HOME" || strings.HasPrefix(name, "GO") {
			w.env = append(w.env, v)
		}
	}
	w.env = append(w.env, w.mark, "TMPDIR="+w.tmp, "WORK="+w.work, "H200="+recordings, "KERNELS="+recordings+"/kernels",
		"NSGATE_FAKE_PROFILES="+recordings+"/kernels/base", "NSGATE_FAKE_LOSSY="+recordings+"/jax-lossy.sqlite",
		"GIT_TEMPLATE_DIR=", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	t.Cleanup(func() {
		for pid := range w.find("") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return w
}

// like copies the files of another world, so that what they take to make is spent once.
func (w *world) like(seed *world) {
	w.Helper()
	syscall.ForkLock.RLock() // as in writeProgram
	defer syscall.ForkLock.RUnlock()
	if err := os.CopyFS(filepath.Dir(w.work), os.DirFS(filepath.Dir(seed.work))); err != nil {
		w.Fatal(err)
	}
}

// set changes a variable for what is started from now on.
func (w *world) set(name, value string) { w.env = append(w.env, name+"="+value) }

// get is the value of a variable.
func (w *world) get(name string) (value string) {
	for _, v := range w.env {
		if n, x, _ := strings.Cut(v, "="); n == name {
			value = x
		}
	}
	return value
}

// script writes an executable shell script to the working directory.
func (w *world) script(name, text string) {
	w.Helper()
	writeProgram(w.T, filepath.Join(w.work, name), "#!/bin/sh\n"+text+"\n")
}

// writeProgram writes a file that can be started, and its directory. No process is forked meanwhile: a child would hold
// the file open for writing until it executes its program, and the system starts no such file ("text file busy").
func writeProgram(t *testing.T, file, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (w *world) exists(name string) bool {
	_, err := os.Stat(filepath.Join(w.work, name))
	return err == nil
}

// job is a command that was started.
type job struct {
	*world
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer
	done   chan struct{}
}

func (w *world) start(name string, args ...string) *job {
	w.Helper()
	j := &job{world: w, cmd: exec.Command(name, args...), done: make(chan struct{})}
	j.cmd.Dir, j.cmd.Env = w.work, w.env
	j.cmd.Stdout, j.cmd.Stderr = &j.stdout, &j.stderr
	j.cmd.WaitDelay = 20 * time.Second // what holds the output open keeps a CI job from ending
	if err := j.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	go func() { j.cmd.Wait(); close(j.done) }()
	return j
}

// limit is how long a test waits for what must happen: a machine may be busy.
const limit = time.Minute

// wait waits for the end of a command and returns its exit code, -1 where a signal ended it.
func (j *job) wait() int {
	j.Helper()
	select {
	case <-j.done:
	case <-time.After(limit):
		j.Fatalf("%q hangs; it said:\n%s%s", j.cmd.Args, &j.stdout, &j.stderr)
	}
	if out := j.said(); strings.Contains(out, "goroutine ") || strings.Contains(out, "panic:") {
		j.Errorf("a stack trace was printed:\n%s", out)
	}
	return j.cmd.ProcessState.ExitCode()
}

func (j *job) said() string { return j.stdout.String() + j.stderr.String() }

// run runs a command to its end and wants an exit code.
func (w *world) run(code int, name string, args ...string) *job {
	w.Helper()
	j := w.start(name, args...)
	if got := j.wait(); got != code {
		w.Fatalf("%q: exit code %d, want %d\n%s", j.cmd.Args, got, code, j.said())
	}
	return j
}

// says wants a pattern in the output of a command.
func (j *job) says(pattern string) {
	j.Helper()
	if !regexp.MustCompile(pattern).MatchString(j.said()) {
		j.Errorf("%q does not say %q:\n%s", j.cmd.Args, pattern, j.said())
	}
}

// find returns the marked processes whose command line has the words in it.
func (w *world) find(words string) map[int]string {
	found := make(map[int]string)
	proc, err := os.Open("/proc")
	if err != nil {
		w.Fatal(err)
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, _ := os.ReadFile("/proc/" + name + "/environ")
		confined := bytes.Contains(env, []byte("TMPDIR="+w.tmp+"\x00")) // a child that reads has few variables
		if !confined && !bytes.Contains(env, []byte(w.mark+"\x00")) {
			continue
		}
		line, _ := os.ReadFile("/proc/" + name + "/cmdline")
		if command := strings.ReplaceAll(string(line), "\x00", " "); strings.Contains(command, words) {
			found[pid] = command
		}
	}
	return found
}

// until waits for something to happen.
func (w *world) until(what string, happened func() bool) {
	w.Helper()
	for end := time.Now().Add(limit); !happened(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s does not happen; there are the processes %v", what, w.find(""))
		}
	}
}

// entries are the names in a directory.
func entries(dir string) (names []string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// gone wants no process and no private directory to be left, at once or shortly after.
func (w *world) gone() {
	w.Helper()
	w.until("that all ends", func() bool { return len(w.find("")) == 0 && len(entries(w.tmp)) == 0 })
}

// snapshot is the content of every file below a directory.
func snapshot(dir string) map[string]string {
	files := make(map[string]string)
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			files[path] = string(text)
		}
		return nil
	})
	return files
}

func (w *world) same(what string, before, after map[string]string) {
	w.Helper()
	if len(before) != len(after) {
		w.Errorf("%s: %d files, there were %d", what, len(after), len(before))
	}
	for name, text := range before {
		if after[name] != text {
			w.Errorf("%s: %s has changed", what, name)
		}
	}
}
