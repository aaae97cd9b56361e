//go:build unix

package nsys

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe or a device is not waited for.
func TestNoFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.sqlite")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	unread(t, pipe)
	unread(t, "/dev/zero")
	unread(t, "/dev/null")
}

// A file is being written while another program holds a write lock; a read lock does not matter.
func TestLocked(t *testing.T) {
	const reserved, shared = 0x40000001, 0x40000002
	if file := os.Getenv("NSGATE_TEST_LOCK"); file != "" { // the other program
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: reserved, Len: 1}
		if os.Getenv("NSGATE_TEST_SHARED") != "" {
			lock = syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart, Start: shared, Len: 510}
		}
		if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("locked\n")
		io.Copy(io.Discard, os.Stdin)
		return
	}
	file := build(t, base...)
	for _, env := range []string{"NSGATE_TEST_SHARED=1", "NSGATE_TEST_EXCLUSIVE=1"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLocked$")
		cmd.Env = append(os.Environ(), "NSGATE_TEST_LOCK="+file, env)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
			t.Fatalf("the other program: %q, %v", line, err)
		}
		if env == "NSGATE_TEST_SHARED=1" {
			if _, err := Read(t.Context(), file); err != nil {
				t.Errorf("another program reads it: %v", err)
			}
		} else {
			refused(t, file, "being-written", "another program holds a lock")
		}
		in.Close()
		io.Copy(io.Discard, out)
		cmd.Wait()
	}
	if _, err := Read(t.Context(), file); err != nil {
		t.Errorf("after the other program ended: %v", err)
	}
}
