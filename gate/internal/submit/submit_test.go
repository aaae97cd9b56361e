package submit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary a job where its arguments say so: the command line "code 5" prints and ends with 5, "killed" dies.
func TestMain(m *testing.M) {
	dir, ok := Ordered(os.Args[1:])
	if !ok {
		os.Exit(m.Run())
	}
	os.Exit(Serve(context.Background(), dir, os.Stderr, func(ctx context.Context, args []string, out, errs io.Writer) int {
		switch args[0] {
		case "killed":
			os.Exit(9)
		case "waits":
			fmt.Fprintln(errs, "waiting")
			<-ctx.Done()
			os.WriteFile(os.Getenv("SUBMIT_TEST_END"), []byte(context.Cause(ctx).Error()), 0o600)
			return 7
		}
		wd, _ := os.Getwd()
		fmt.Fprintln(out, "out", args[1], os.Getenv("SUBMIT_TEST"), filepath.Base(wd))
		fmt.Fprintln(errs, "errs")
		return 5
	}))
}

// direct is a scheduler that runs a command line here.
var direct = []string{"env"}

func submit(ctx context.Context, t *testing.T, dir string, job Job) (code int, out, errs string, err error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("schedulers of GPU clusters run elsewhere")
	}
	var o, e bytes.Buffer
	job.Dir, job.Out, job.Err = dir, &o, &e
	code, err = job.Run(ctx)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	return code, o.String(), e.String(), err
}

func TestRun(t *testing.T) {
	wd, _ := os.Getwd()
	code, out, errs, err := submit(t.Context(), t, t.TempDir(), Job{Submit: direct, Args: []string{"code", "a b"}, Env: []string{"SUBMIT_TEST=x=y"}})
	if code != 5 || out != "out a b x=y "+filepath.Base(wd)+"\n" || errs != "errs\n" || err != nil {
		t.Errorf("code %d, out %q, errs %q, %v", code, out, errs, err)
	}
}

// A job that does not say how it ended is none that ended well.
func TestNoCode(t *testing.T) {
	defer func(d time.Duration) { late = d }(late)
	late = 0
	for _, tt := range []struct {
		submit []string
		args   string
		want   string
	}{
		{direct, "killed", "came to no end that nsgate could tell, and the command failed (exit status 9)"},
		{[]string{"true"}, "code", `"true" ended well before a job started nsgate: it has to wait for its job`},
		{[]string{"false"}, "code", `"false" failed (exit status 1), and no job started nsgate: see what it says above`},
	} {
		if _, _, _, err := submit(t.Context(), t, t.TempDir(), Job{Submit: tt.submit, Args: []string{tt.args}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v %s: %v, want %q", tt.submit, tt.args, err, tt.want)
		}
	}
}

// Who stops waiting ends the job, also one that the scheduler would let run on.
func TestUnwanted(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	time.AfterFunc(time.Second, func() { cancel(stop) })
	detached := []string{"sh", "-c", `"$@" & trap '' TERM; wait`, "sh"}
	if _, _, _, err := submit(ctx, t, t.TempDir(), Job{Submit: detached, Args: []string{"waits"}, Env: []string{"SUBMIT_TEST_END=" + end}}); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	for range 100 {
		if why, err := os.ReadFile(end); err == nil {
			if string(why) != errUnwanted.Error() {
				t.Errorf("the job ended because %s", why)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the job goes on")
}
