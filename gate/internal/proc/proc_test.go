//go:build unix

package proc

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var stdout, stderr Output
	if err := Run(t.Context(), dir, &stdout, &stderr, "/bin/sh", "-c",
		"echo $LC_ALL $TMPDIR; echo no >&2; exit 7"); err == nil || err.Error() != "exit status 7" ||
		stdout.String() != "C "+dir+"\n" || stderr.String() != "no\n" {
		t.Errorf("%v, %q and %q", err, &stdout, &stderr)
	}
	t.Setenv("TMPDIR", "as it was")
	stdout = Output{}
	if err := Run(t.Context(), "", &stdout, &stderr, "/bin/sh", "-c", "echo $TMPDIR"); err != nil ||
		stdout.String() != "as it was\n" {
		t.Errorf("%v, %q", err, &stdout)
	}
}

// The end of the context ends the program and what it started.
func TestRunInterrupted(t *testing.T) {
	// A pipe ends when no process can write to it any more.
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Run(ctx, "", out, out, "/bin/sh", "-c", "sleep 60 & echo started; wait") }()
	r := bufio.NewReader(in)
	if line, err := r.ReadString('\n'); line != "started\n" {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
	out.Close()
	in.SetReadDeadline(time.Now().Add(20 * time.Second))
	if rest, err := r.ReadString('\n'); rest != "" || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v: a child of the program lives on", rest, err)
	}
}

// A program of Run is no child that a session ends.
func TestRunIsNoChild(t *testing.T) {
	if !Supported {
		t.Skip("children are known on Linux only")
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	children := Adopt()
	defer children.Release()
	ended := make(chan error)
	go func() {
		ended <- Run(t.Context(), "", out, out, "/bin/sh", "-c", "sleep 0.2 & echo started; wait; echo done")
	}()
	r := bufio.NewReader(in)
	if line, err := r.ReadString('\n'); line != "started\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if living := children.Living(); len(living) > 0 {
		t.Errorf("%v are children", living)
	}
	children.End()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A chatty program fills neither memory nor disk.
func TestOutput(t *testing.T) {
	var x Output
	x.Write([]byte("the beginning"))
	for range 10000 {
		x.Write([]byte(strings.Repeat("a", 1000)))
	}
	x.Write([]byte("the end"))
	if got := x.String(); len(got) < 16<<10 || len(got) > 1<<20 || !strings.HasPrefix(got, "the beginningaaa") ||
		!strings.HasSuffix(got, "aaathe end") || !strings.Contains(got, " bytes left out]") {
		t.Errorf("%d bytes, %q", len(got), got[len(got)-20:])
	}
}

func TestSaid(t *testing.T) {
	for _, c := range []struct {
		outputs []string
		want    string
	}{
		{nil, ""},
		{[]string{"", "\n 42 \n"}, ""},
		{[]string{"first\nlast.\n\n", "other"}, "last"},
		{[]string{"100 %\n", "other"}, "other"},
		{[]string{"cannot  read /home/someone/secret/run.nsys-rep"}, "cannot read run.nsys-rep"},
		{[]string{`no C:\Users\someone\x.ncu-rep here`}, "no x.ncu-rep here"},
		{[]string{"cannot write /tmp/nsgate-1/session.qdstrm, see /home/user name /usr/lib/x.so"},
			"cannot write session.qdstrm, see user name x.so"},
		{[]string{"bad \x1b[31mred\a"}, "bad \uFFFD[31mred\uFFFD"},
		{[]string{strings.Repeat("ä", 199) + "xyz"}, strings.Repeat("ä", 199) + "x…"},
	} {
		if got := Said(c.outputs...); got != c.want {
			t.Errorf("%q: %q, want %q", c.outputs, got, c.want)
		}
	}
}
