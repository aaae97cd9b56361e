//go:build linux

package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// lab is a directory in which nsgate runs as a user runs it. It keeps what was done as lines of shell, so that a
// failure can be pasted.
type lab struct {
	t      *testing.T
	dir    string
	env    []string // variables of the CI host, of all commands
	lines  []string
	header string // description of the row, for violations
	found  *violations
	inside *insider // that runs commands which measure nothing, nil before the first
}

// answer is what one command of nsgate said and did.
type answer struct {
	args     []string
	code     int
	out, err string
	at       int // lines of the lab up to the command
}

func (a answer) said() string { return a.out + a.err }

// labVariables are of all labs: neither the CI host nor the user is to be seen.
func labVariables(tmp string) []string {
	env := []string{"TMPDIR=" + tmp, "COLUMNS=100", "GIT_TEMPLATE_DIR=", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.com", "NSGATE_FAKE_AGENT=none"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name == "PATH" || name == "HOME" || name == "HOST_ROOT" || name == "GOMAXPROCS" {
			env = append(env, v)
		}
	}
	return env
}

func newLab(t *testing.T, found *violations, header string) *lab {
	t.Helper()
	dir := t.TempDir()
	l := &lab{t: t, dir: filepath.Join(dir, "lab"), header: header, found: found, env: labVariables(dir)}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l.run(".", "git", "init", "-q", "-b", "main", ".")
	return l
}

// quoted is a word for a shell.
func quoted(word string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_./=:%@,+-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func quotedAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quoted(w)
	}
	return strings.Join(out, " ")
}

// write writes a file of the lab.
func (l *lab) write(name, text string) {
	l.t.Helper()
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	file := filepath.Join(l.dir, name)
	old, err := os.ReadFile(file)
	if err == nil && string(old) == text {
		return
	}
	if mode == 0o755 {
		writeProgram(l.t, file, text)
	} else {
		l.must(os.MkdirAll(filepath.Dir(file), 0o755))
		l.must(os.WriteFile(file, []byte(text), mode))
	}
	l.lines = append(l.lines, fmt.Sprintf("mkdir -p %s; printf '%%s' %s >%[3]s; chmod %o %[3]s",
		quoted(filepath.Dir(name)), quoted(text), quoted(name), mode))
}

// copied copies a directory of inputs into the lab; the files are links where that is possible.
func (l *lab) copied(from, to string) {
	l.t.Helper()
	target := filepath.Join(l.dir, to)
	l.must(os.RemoveAll(target))
	l.must(os.MkdirAll(target, 0o755))
	entries, err := os.ReadDir(from)
	l.must(err)
	for _, e := range entries {
		source := filepath.Join(from, e.Name())
		if os.Link(source, filepath.Join(target, e.Name())) != nil {
			data, err := os.ReadFile(source)
			l.must(err)
			l.must(os.WriteFile(filepath.Join(target, e.Name()), data, 0o644))
		}
	}
	l.lines = append(l.lines, fmt.Sprintf("rm -rf %[2]s; mkdir -p %[2]s; cp \"$INPUTS\"/%[1]s/* %[2]s",
		filepath.Base(from), quoted(to)))
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// run runs a program that has to succeed, in a directory of the lab.
func (l *lab) run(in, name string, args ...string) {
	l.t.Helper()
	if a := l.command(in, nil, name, args...); a.code != 0 {
		l.t.Fatalf("%s %q: exit code %d\n%s\n%s", name, args, a.code, a.said(), l.paste(a.at))
	}
}

// nsgate runs the command with further variables.
func (l *lab) nsgate(in string, env []string, args ...string) answer {
	l.t.Helper()
	a := l.command(in, env, "nsgate", args...)
	if strings.Contains(a.said(), "goroutine ") || strings.Contains(a.said(), "panic:") {
		l.violation(a, 0, "panic", "a stack trace")
	}
	return a
}

func (l *lab) command(in string, env []string, name string, args ...string) answer {
	l.t.Helper()
	call := insideCall{filepath.Join(l.dir, in), slices.Concat(l.env, env), args}
	var a insideAnswer
	if name == "nsgate" && runsInside(args) {
		if l.inside == nil {
			l.inside = newInsider(l.t)
		}
		a = l.inside.run(l.t, call)
	} else {
		a = l.process(name, call)
	}
	line := quotedAll(append([]string{name}, args...))
	if len(env) > 0 {
		line = quotedAll(append([]string{"env"}, env...)) + " " + line
	}
	if in != "." {
		line = "(cd " + quoted(in) + " && " + line + ")"
	}
	l.lines = append(l.lines, line+fmt.Sprintf("   # exit %d", a.Code))
	return answer{args, a.Code, a.Out, a.Err, len(l.lines)}
}

func (l *lab) process(name string, call insideCall) insideAnswer {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, call.Args...)
	cmd.Dir, cmd.Env = call.Dir, call.Env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		l.t.Fatalf("%s %q: %v\n%s", name, call.Args, err, l.paste(len(l.lines)))
	}
	return insideAnswer{cmd.ProcessState.ExitCode(), out.String(), said.String()}
}

// paste is what a person runs to see what the lab saw, up to a line. Commands that only look are left out but for the
// last.
func (l *lab) paste(at int) string {
	var b strings.Builder
	fmt.Fprintln(&b, "NSGATE_PAIRS_INPUTS=/tmp/pairs go test ./gate/command -run '^TestPairInputs$'\n"+
		"export INPUTS=/tmp/pairs PATH=/tmp/pairs/bin:$PATH NSGATE_FAKE_AGENT=none")
	fmt.Fprintln(&b, `cd "$(mktemp -d)"`)
	for _, v := range l.env {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GITHUB_") && !strings.Contains(value,
			"127.0.0.1") {
			fmt.Fprintf(&b, "export %s=%s\n", name, strings.ReplaceAll(quoted(value), l.dir, `"$PWD"`))
		}
	}
	for i, line := range l.lines[:at] {
		if at-i > 40 && strings.Contains(line, "nsgate check") {
			continue
		}
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// read is the text of a file of the lab, "" where it is not there.
func (l *lab) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(l.dir, name))
	return string(data)
}

// files are the texts of all files below a directory of the lab but those of git and those that are called judged.
func (l *lab) files(in string) map[string]string {
	out := map[string]string{}
	root := filepath.Join(l.dir, in)
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.Name() == ".git" || d.IsDir() && strings.HasPrefix(d.Name(), "in-"):
			return fs.SkipDir
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), "judged"):
			data, _ := os.ReadFile(path)
			name, _ := filepath.Rel(root, path)
			out[name] = string(data)
		}
		return nil
	})
	return out
}

// violation is a broken invariant: its number in the list of invariants, a key by which the same violation of many rows
// is one, and the commands that show it.
type violation struct {
	invariant        int
	key, text, paste string
	header           string
	rows             int
}

// violations are those of all rows.
type violations struct {
	all   map[string]*violation
	order []string
}

// violation keeps a violation that the command a shows.
func (l *lab) violation(a answer, invariant int, key, format string, args ...any) {
	if l.found.all == nil {
		l.found.all = map[string]*violation{}
	}
	name := fmt.Sprintf("%d %s", invariant, key)
	v := l.found.all[name]
	if v == nil {
		v = &violation{invariant, key, fmt.Sprintf(format, args...), l.paste(a.at), l.header, 0}
		l.found.all[name] = v
		l.found.order = append(l.found.order, name)
	}
	v.rows++
}

// report fails the test with each violation.
func (v *violations) report(t *testing.T) {
	t.Helper()
	for _, name := range v.order {
		x := v.all[name]
		t.Errorf("invariant %d, %s (%d rows, first: %s)\n%s\n%s", x.invariant, x.key, x.rows, x.header, x.text, x.paste)
	}
}

// first is the first lines of a text.
func first(n int, text string) string {
	lines := strings.SplitAfterN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}
