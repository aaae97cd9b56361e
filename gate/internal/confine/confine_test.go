//go:build linux

package confine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

const hidden = "__run"

// TestMain is the child as well: it does its arguments' task and exits with its result.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == hidden && os.Args[2] == "--answer" {
		os.Exit(Answer(answer))
	}
	if len(os.Args) < 4 || os.Args[1] != hidden {
		os.Exit(m.Run())
	}
	stderr, end := Child()
	code := child(os.Args[3], os.Args[4:])
	fmt.Fprintln(stderr, "said by the child")
	end(code)
	os.Exit(code)
}

func child(do string, args []string) int {
	l := Limits{Memory: 2 << 30, CPU: time.Second}
	if do == "write" {
		l.Files = args[:1]
	}
	if err := Self(l); err != nil {
		return 100
	}
	var err error
	switch do {
	case "write":
		err = os.WriteFile(args[1], nil, 0o600)
	case "read":
		_, err = os.ReadFile(args[0])
	case "connect":
		var c net.Conn
		if c, err = net.Dial("tcp", args[0]); err == nil {
			c.Close()
		}
	case "allocate":
		var kept [][]byte
		for range 64 {
			b := make([]byte, 1<<28)
			b[0] = 1
			kept = append(kept, b)
		}
		return len(kept)
	case "spin":
		for n := 0; ; n++ {
		}
	case "panic":
		panic("a defect")
	case "wait":
		time.Sleep(time.Minute)
	case "leave": // as one that does not wait for its work to end
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGTERM)
		<-ended
		os.Exit(143)
	}
	if errors.Is(err, syscall.EACCES) {
		return 13
	} else if err != nil {
		return 99
	}
	return 7
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	named, other := filepath.Join(dir, "named", "file"), filepath.Join(dir, "other")
	if err := os.Mkdir(filepath.Dir(named), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	denied := 13
	if abi, _, _ := syscall.Syscall(444, 0, 0, 1); int(abi) < 4 {
		t.Log("this kernel has no Landlock with a network: writes and connections are not denied")
		denied = 7
	}
	for _, tt := range []struct {
		args []string
		code int
		want string // of the error, "" for none
	}{
		{[]string{"read", other}, 7, ""},
		{[]string{"write", named, named}, 7, ""},
		{[]string{"write", named, other}, denied, ""},
		{[]string{"connect", listening.Addr().String()}, denied, ""},
		{[]string{"allocate"}, 0, "takes more memory"},
		{[]string{"spin"}, 0, "takes more processor time"},
		{[]string{"panic"}, 0, "panic: a defect"},
	} {
		errs, err := os.Create(filepath.Join(dir, "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		code, err := Run(context.Background(), nil, hidden, tt.args, os.Stdout, errs)
		text, _ := os.ReadFile(errs.Name())
		errs.Close()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || code != tt.code {
			t.Errorf("%v: code %d, %v", tt.args, code, err)
		}
		if got := string(text); tt.want == "" && got != "said by the child\n" || tt.want != "" && got != "" {
			t.Errorf("%v: standard error is %q", tt.args, got)
		}
	}
	for _, how := range []string{"wait", "leave"} {
		ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
		code, err := Run(ctx, func() os.Signal { return syscall.SIGTERM }, hidden, []string{how}, os.Stdout, os.Stderr)
		if cancel(); code != 143 || err != nil {
			t.Errorf("%s, after the signal: %d, %v", how, code, err)
		}
	}
}

// told is the child's answer in TestAsk.
type told struct {
	Process int
	Denied  bool
	Bytes   []byte
}

// answer reads what it is asked for as a child, or in this process.
func answer(request string, send func(told) error) error {
	switch request {
	case "allocate", "spin", "panic", "wait":
		child(request, nil)
	case "refuse":
		return model.Refuse(model.Damaged, "record it again", "it is damaged")
	case "fail":
		return fmt.Errorf("in it: %w", model.Refuse(model.Damaged, "record it again", "it is damaged"))
	}
	err := os.WriteFile(request, nil, 0o600)
	for range 3 {
		if err := send(told{os.Getpid(), errors.Is(err, syscall.EACCES), []byte("\xff\x00")}); err != nil {
			return err
		}
	}
	return nil
}

// A child answers without the right to write; what becomes of it is an error, and a refusal stays one.
func TestAsk(t *testing.T) {
	proc.UseGuard()
	ask := func(ctx context.Context, request string) (all []told, err error) {
		l := Limits{Memory: 2 << 30, CPU: time.Second}
		err = Ask(ctx, []string{hidden, "--answer"}, l, request, answer, func(x told) error {
			all = append(all, x)
			return nil
		})
		return all, err
	}
	all, err := ask(t.Context(), filepath.Join(t.TempDir(), "written"))
	if err != nil || len(all) != 3 || all[2].Process == os.Getpid() || string(all[2].Bytes) != "\xff\x00" {
		t.Fatalf("%+v, %v", all, err)
	}
	if abi, _, _ := syscall.Syscall(444, 0, 0, 1); int(abi) >= 1 && !all[0].Denied {
		t.Error("the child may write")
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
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if _, err := ask(ctx, "wait"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its context has ended: %v", err)
	}
	confined = true
	defer func() { confined = false }()
	if all, err := ask(t.Context(), filepath.Join(t.TempDir(), "written")); err != nil || all[0].Process != os.Getpid() {
		t.Errorf("a confined process asked another one: %+v, %v", all, err)
	}
}
