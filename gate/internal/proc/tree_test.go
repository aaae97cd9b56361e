//go:build linux

package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tree starts a shell and waits until it says that it is ready.
func tree(t *testing.T, script string) (*Tree, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	Isolate(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for line := ""; line != "ready\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	x := NewTree(cmd.Process.Pid)
	t.Cleanup(func() {
		endAll(func() processes {
			Look(x)
			living := make(processes)
			for _, s := range x.living {
				living[s.process] = true
			}
			return living
		})
		cmd.Wait()
	})
	return x, r
}

// states are the states of the living processes of a tree, as in /proc/PID/stat: T for stopped, D for a shell that
// waits until a command has left vfork, and stops then.
func states(x *Tree) (out string) {
	Look(x)
	for _, s := range x.living {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
		if at := bytes.LastIndex(text, []byte(") ")); at > 0 {
			out += string(text[at+2])
		}
	}
	return out
}

// A tree is stopped with its new processes and its daemons; processes that it had stopped itself stay so.
func TestTree(t *testing.T) {
	defer Adopt().Release()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x, out := tree(t, `sleep 60 & kill -STOP $!; setsid sh -c "exec 9<`+file+
		`; sleep 60 & echo ready; wait" & while :; do sleep 0.01; echo $((n += 1)); done`)
	Look(x)
	if !x.Opened(file) || x.Opened(file+"2") {
		t.Error("the open file of a child was not seen, or another one")
	}
	if m := x.Memory(); m < 100<<10 || m > 1<<30 {
		t.Errorf("%d bytes", m)
	}
	for end := time.Now().Add(5 * time.Second); !strings.Contains(states(x), "T") && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the first sleep stops when it is scheduled
	}
	for range 3 {
		x.Stop()
		s := states(x)
		for end := time.Now().Add(5 * time.Second); strings.Trim(s, "TD") != "" &&
			time.Now().Before(end); s = states(x) {
			time.Sleep(time.Millisecond) // a runnable process stops when it is scheduled
		}
		if strings.Trim(s, "TD") != "" || len(s) < 4 {
			t.Errorf("states %q after Stop", s)
		}
		out.Discard(out.Buffered())
		x.Continue()
		if s := states(x); strings.Count(s, "T") != 1 {
			t.Errorf("states %q after Continue", s)
		}
		if _, err := out.ReadString('\n'); err != nil {
			t.Error(err)
		}
	}
	if living := (Children{}).Without(x).Living(); len(living) > 1 { // one sleep that was started since the last look
		t.Errorf("%v are children beside the tree", living)
	}
}

// A parent that waits for its child to leave vfork cannot be stopped before; Stop does not wait for it.
func TestTreeStopsSoon(t *testing.T) {
	defer Adopt().Release()
	x, _ := tree(t, `echo ready; while :; do /bin/true; done`)
	for range 20 {
		began := time.Now()
		x.Stop()
		x.Continue()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("Stop took %v", took)
		}
	}
}

// A program whose first thread has ended is alive while another runs, as one that closes its GPU after a kill; it is
// ended with the rest.
func TestZombieWithThreads(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: a program without its first thread is not tested")
	}
	children := Adopt()
	defer children.Release()
	cmd := exec.Command(python, "-c", `import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
print("ready", flush=True)
ctypes.CDLL(None).pthread_exit(None)`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewReader(out).ReadString('\n')
	stat := fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)
	for range 500 {
		text, _ := os.ReadFile(stat)
		if bytes.Contains(text, []byte(") Z ")) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := len(children.Living()); n != 1 {
		t.Errorf("%d processes live, want 1", n)
	}
	children.End()
	if n := len(children.Living()); n != 0 {
		t.Errorf("%d processes live after the end, want none", n)
	}
	cmd.Wait()
}
