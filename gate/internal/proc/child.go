// Package proc runs a profiler's own tools: in English, with what they write on the way kept private, and none of their
// processes outliving the wait for them.
package proc

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Run runs a program to its end, or until ctx ends: then its children are killed too. Its temporary files go to the
// directory tmp, to where others lie with "". The errors are those of [exec.Cmd.Run].
func Run(ctx context.Context, tmp string, stdout, stderr io.Writer, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if tmp != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = 5 * time.Second // a process that it left behind may hold the output open
	killGroup(cmd)
	return cmd.Run()
}

// Tail keeps the end of what a program writes, at least 16 KiB of it.
type Tail struct{ kept bytes.Buffer }

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	const least = 16 << 10
	t.kept.Write(p)
	if over := t.kept.Len() - least; over > least {
		t.kept.Next(over)
	}
	return len(p), nil
}

// String is what was kept.
func (t *Tail) String() string { return t.kept.String() }

// directories are an absolute path up to its last component, which says enough.
var directories = regexp.MustCompile(`(?:[A-Za-z]:)?[/\\](?:[^/\\\s'":]+[/\\])*`)

// Said is what a program says went wrong, without what names the machine: the last line with words of the first output
// that has one, shortened; "" where none has. It is untrusted text.
func Said(outputs ...string) string {
	const longest = 200
	for _, output := range outputs {
		lines := strings.Split(output, "\n")
		for _, line := range slices.Backward(lines) {
			line = strings.Join(strings.Fields(directories.ReplaceAllString(line, "")), " ")
			if !strings.ContainsFunc(line, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }) {
				continue
			}
			if runes := []rune(line); len(runes) > longest {
				line = string(runes[:longest]) + "…"
			}
			return strings.TrimRight(line, ".")
		}
	}
	return ""
}
