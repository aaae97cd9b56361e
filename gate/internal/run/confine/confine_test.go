//go:build linux

package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// TestMain is the child as well: it does its arguments' task and exits with its result.
func TestMain(m *testing.M) {
	Register("--answer", request.read)
	Register("--free", request.read)
	Register("--attempts", attempt.tried)
	if len(os.Args) < 2 || os.Args[1] != proc.HiddenArg {
		os.Exit(m.Run())
	}
	if os.Args[2] == "--parent" {
		proc.UseGuard()
		Ask(context.Background(), "--answer", Limits{}, request("wait"), func(told) error { return nil })
		os.Exit(0)
	}
	if os.Args[2] == "--free" { // of a kernel without a filter
		restrict = func() error { return errors.New("no such call") }
	}
	code, ok := Child(os.Args[2])
	if !ok {
		panic(os.Args[2])
	}
	os.Exit(code)
}

// spend spends what a child may not have.
func spend(do string) {
	switch do {
	case "allocate":
		var kept [][]byte
		for range 64 {
			b := make([]byte, 1<<28)
			b[0] = 1
			kept = append(kept, b)
		}
		fmt.Fprint(os.Stderr, len(kept))
	case "spin":
		for n := 0; ; n++ {
		}
	case "panic":
		panic("a defect")
	case "wait":
		time.Sleep(time.Minute)
	}
}

// told is the child's answer in TestAsk.
type told struct {
	Process int
	Bytes   []byte
}

// request says what a child does, or this process.
type request string

func (r request) read(_ context.Context, send func(told) error) error {
	switch r {
	case "allocate", "spin", "panic", "wait":
		spend(string(r))
	case "refuse":
		return model.Refuse(model.Damaged, "record it again", "it is damaged")
	case "fail":
		return fmt.Errorf("in it: %w", model.Refuse(model.Damaged, "record it again", "it is damaged"))
	case "open":
		_, err := os.Open("/none")
		return err
	}
	for range 3 {
		if err := send(told{os.Getpid(), []byte("\xff\x00")}); err != nil {
			return err
		}
	}
	return nil
}

// A child answers; what becomes of it is an error, and a refusal stays one.
func TestAsk(t *testing.T) {
	proc.UseGuard()
	ask := func(ctx context.Context, what string) (all []told, err error) {
		l := Limits{Memory: 2 << 30, CPU: time.Second}
		err = Ask(ctx, "--answer", l, request(what), func(x told) error {
			all = append(all, x)
			return nil
		})
		return all, err
	}
	all, err := ask(t.Context(), "pid")
	if err != nil || len(all) != 3 || all[2].Process == os.Getpid() || string(all[2].Bytes) != "\xff\x00" {
		t.Fatalf("%+v, %v", all, err)
	}
	if Doubt() != "" {
		t.Error(Doubt())
	}
	for request, want := range map[string]string{"allocate": "takes more memory", "spin": "takes more processor time",
		"panic": "panic: a defect"} {
		_, err := ask(t.Context(), request)
		if ended := (*Ended)(nil); !errors.As(err, &ended) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", request, err)
		}
	}
	if _, err := ask(t.Context(), "refuse"); model.KindOf(err) != model.Damaged ||
		err.Error() != "it is damaged; record it again" {
		t.Errorf("a refusal became %v", err)
	}
	if _, err := ask(t.Context(), "fail"); model.KindOf(err) != model.Damaged ||
		err.Error() != "in it: it is damaged; record it again" {
		t.Errorf("an error with a refusal in it became %v", err)
	}
	if _, err := ask(t.Context(), "open"); !errors.Is(err, fs.ErrNotExist) ||
		err.Error() != "open /none: no such file or directory" {
		t.Errorf("an error of the system became %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if _, err := ask(ctx, "wait"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its context has ended: %v", err)
	}
	confined = true
	defer func() { confined = false }()
	if all, err := ask(t.Context(), "pid"); err != nil || all[0].Process != os.Getpid() {
		t.Errorf("a confined process asked another one: %+v, %v", all, err)
	}
}

// A child ends with its parent, in whatever way that ends, although it has nothing to say.
func TestOrphan(t *testing.T) {
	parent := exec.Command("/proc/self/exe", proc.HiddenArg, "--parent")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child := func() (pid string) {
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range stats {
			text, _ := os.ReadFile(name)
			_, rest, _ := strings.Cut(string(text), ") ")
			if cells := strings.Fields(rest); len(cells) > 1 && cells[1] == fmt.Sprint(parent.Process.Pid) {
				pid = filepath.Dir(name)
			}
		}
		return pid
	}
	pid := ""
	for deadline := time.Now().Add(10 * time.Second); pid == "" && time.Now().Before(deadline); pid = child() {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // it reads
	parent.Process.Kill()
	parent.Wait()
	for deadline := time.Now().Add(10 * time.Second); pid != "" && time.Now().Before(deadline); {
		if text, err := os.ReadFile(pid + "/stat"); err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the child %s outlives its parent", pid)
}

// A kernel that cannot confine is a warning, and the files are read.
func TestDoubt(t *testing.T) {
	proc.UseGuard()
	defer unconfined.Store(nil)
	got := 0
	err := Ask(t.Context(), "--free", Limits{}, request("pid"), func(told) error { got++; return nil })
	if err != nil || got != 3 || !strings.Contains(Doubt(), "read without confinement (no such call)") {
		t.Errorf("%d answers, %v, %q", got, err, Doubt())
	}
}
