//go:build linux

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/run/device"
)

// opened is a GPU with a file that programs open.
type opened struct {
	device.Tool
	file string
}

func (o opened) File() string { return o.file }

// slow skips a test that waits for seconds, but in CI.
func slow(t *testing.T) {
	t.Helper()
	if os.Getenv("NSGATE_TEST_FULL") == "" {
		t.Skip("NSGATE_TEST_FULL=1, as in .ci/run, waits for processes that start slowly")
	}
}

// overlapping prepares a session of a program that takes start, opens the GPU and then works. Each process writes a
// line to the log for each of these.
func overlapping(t *testing.T, runs, unprofiled int, script string) (p Plan, log func() []string) {
	t.Helper()
	dir := t.TempDir()
	gpu, file := filepath.Join(dir, "gpu"), filepath.Join(dir, "log")
	if err := os.WriteFile(gpu, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p = session(t, runs, "sh", "-c", script)
	p.Device, p.Unprofiled, p.Starts, p.Timeout = opened{p.Device, gpu}, unprofiled, 8, 30*time.Second
	t.Setenv("STARTS", "8")
	t.Setenv("ALL", strconv.Itoa(runs+unprofiled))
	t.Setenv("GPU_FILE", gpu)
	t.Setenv("LOG", file)
	return p, func() []string {
		text, _ := os.ReadFile(file)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// startScript is a program that opens the GPU after a while. All but the first wait until they have been stopped and
// continued. In its turn each waits until as many of ALL runs have started as STARTS allows beside it.
const startScript = `trap 'held=1' CONT; echo start >>$LOG; sleep 0.6; exec 9<$GPU_FILE
	mkdir $LOG.first 2>/dev/null && held=1; until [ "$held" ]; do sleep 0.02; done; echo go $$ >>$LOG
	want=$(($(grep -c go $LOG) + STARTS)); [ $want -le $ALL ] || want=$ALL
	until [ $(grep -c start $LOG) -ge $want ]; do sleep 0.02; done; echo end $$ >>$LOG`

// Runs start from when the first has opened the GPU, no more than are allowed, and go on one after the other in the
// order of the schedule.
func TestStarts(t *testing.T) {
	for _, starts := range []int{8, 2} {
		t.Run(fmt.Sprint(starts), func(t *testing.T) { testStarts(t, starts) })
	}
}

func testStarts(t *testing.T, starts int) {
	p, log := overlapping(t, 3, 3, startScript)
	p.Starts = starts
	t.Setenv("STARTS", strconv.Itoa(starts))
	res, err := Session(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var turns, want []string
	begun, ended := 0, 0
	for _, said := range log() {
		switch {
		case said == "start":
			begun++
		default:
			turns = append(turns, said)
			ended += strings.Count(said, "end")
		}
		if begun-ended > starts+1 {
			t.Errorf("%d runs at once", begun-ended)
		}
	}
	for i, r := range res.Runs {
		want = append(want, fmt.Sprintf("go %d", r.Pid), fmt.Sprintf("end %d", r.Pid))
		if (r.Held != nil) != (i > 0) || r.Left != 0 {
			t.Errorf("run %d: held %+v, left %d", i+1, r.Held, r.Left)
		}
		if r.Duration < 600*time.Millisecond || r.Held != nil && r.Duration > r.Held.Spent+r.end().Sub(r.Start) {
			t.Errorf("run %d took %v", i+1, r.Duration)
		}
		if i > 0 && r.Start.Before(res.Runs[i-1].end()) {
			t.Errorf("run %d began at %v, before the end of the one before", i+1, r.Start)
		}
		for _, tr := range res.Traces[i] {
			if tr.Overlapped != (i > 0) {
				t.Errorf("run %d: overlapped %v", i+1, tr.Overlapped)
			}
		}
	}
	if d := cmp.Diff(want, turns); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	first := res.Runs[0]
	if first.Opened < 600*time.Millisecond || first.Memory < 100<<10 || first.Together != starts {
		t.Errorf("the first run: %+v", first)
	}
	if in := res.InRuns(); in < time.Second || in > res.Elapsed {
		t.Errorf("%v in runs", in)
	}
	if res.Base != nil || len(res.Head) != 3 || !res.Head[0].Overlapped {
		t.Errorf("unprofiled runs: %+v", res.Head)
	}
}

// wantAlone reports the faults of a session whose starts were to overlap and did not: no run waited.
func wantAlone(t *testing.T, res *Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res.Runs {
		if r.Held != nil {
			t.Errorf("run %d waited: %+v", i+1, r.Held)
		}
	}
}

// Where nothing is gained the runs are as ever: a program that opens the GPU at once or not at all, two builds, one
// start.
func TestStartsAlone(t *testing.T) {
	slow(t)
	for name, script := range map[string]string{"at once": `exec 9<$GPU_FILE; sleep 0.5`, "no GPU": `sleep 0.2`} {
		t.Run(name, func(t *testing.T) {
			p, _ := overlapping(t, 3, 1, script)
			res, err := Session(t.Context(), p, nil)
			wantAlone(t, res, err)
			if opened := res.Runs[0].Opened > 0; opened != (name == "at once") {
				t.Errorf("opened after %v", res.Runs[0].Opened)
			}
		})
	}
	t.Run("two builds", func(t *testing.T) {
		p, _ := overlapping(t, 2, 0, `sleep 0.6; exec 9<$GPU_FILE; sleep 0.5`)
		p.Base = &p.Head
		res, err := Session(t.Context(), p, nil)
		wantAlone(t, res, err)
	})
	t.Run("off", func(t *testing.T) {
		p, _ := overlapping(t, 2, 0, `sleep 0.6; exec 9<$GPU_FILE; sleep 0.5`)
		p.Starts = 1
		res, err := Session(t.Context(), p, nil)
		wantAlone(t, res, err)
		if res.Runs[0].Opened != 0 {
			t.Error("a session without overlapping starts watches its runs")
		}
	})
}

// A run that used no GPU, or that was over before it was held, has not waited for its turn: the session is measured
// again.
func TestStartsRepeated(t *testing.T) {
	slow(t)
	p, log := overlapping(t, 2, 1,
		`echo start >>$LOG; sleep 0.6; mkdir $LOG.first 2>/dev/null && exec 9<$GPU_FILE; sleep 0.5; exit 0`)
	var said []string
	res, err := Session(t.Context(), p, func(e Event) {
		if e.Stage == Repeating {
			said = append(said, e.Text)
		}
	})
	wantAlone(t, res, err)
	if len(said) != 1 || !strings.Contains(said[0], "used the GPU before its turn") || res.Starts != 1 ||
		len(log()) != 6 {
		t.Errorf("said %q, starts %d, %d runs", said, res.Starts, len(log()))
	}
}

// Programs that take a port or a file at their start fail beside others: the session is measured again.
func TestStartsInTheWay(t *testing.T) {
	for name, script := range map[string]string{
		"of the second": `mkdir $LOG.port || exit 98; sleep 0.6; exec 9<$GPU_FILE; sleep 0.3; rmdir $LOG.port`,
		"of the first":  `echo $$ >$LOG.port; sleep 0.6; exec 9<$GPU_FILE; sleep 0.5; [ "$(cat $LOG.port)" = $$ ]`,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "of the first" {
				slow(t)
			}
			p, _ := overlapping(t, 2, 0, script)
			var said []string
			res, err := Session(t.Context(), p, func(e Event) {
				if e.Stage == Repeating {
					said = append(said, e.Text)
				}
			})
			wantAlone(t, res, err)
			want := []string{"a run failed while others started: measuring again, one start after the other"}
			if d := cmp.Diff(want, said); d != "" || res.Starts != 1 {
				t.Errorf("starts %d (-want +got):\n%s", res.Starts, d)
			}
		})
	}
}

// A run that fails beside others fails again alone, one that takes too long is not repeated. Nothing is left stopped.
func TestStartsFail(t *testing.T) {
	slow(t)
	const first = `mkdir $LOG.first 2>/dev/null && sleep 0.5 || `
	for _, tt := range []struct{ name, script, want string }{
		{"crash before the GPU", `sleep 0.6; mkdir $LOG.first 2>/dev/null || exit 7; exec 9<$GPU_FILE; sleep 0.5`,
			"the workload exited with 7 in run 1 of 4"},
		{"crash of the first", `echo start >>$LOG; sleep 0.6; exec 9<$GPU_FILE
			until [ $(grep -c start $LOG) -ge 4 ]; do sleep 0.02; done; exit 7`,
			"the workload exited with 7 in run 1 of 4"},
		{"crash in its turn", `trap 'held=1' CONT; sleep 0.6; exec 9<$GPU_FILE; ` + first +
			`{ [ -e $LOG.again ] && exit 7; until [ "$held" ]; do sleep 0.02; done; touch $LOG.again; exit 7; }`,
			"the workload exited with 7 in run 1 of 4"},
		{"time limit in its turn", `trap 'held=1' CONT; sleep 0.6; exec 9<$GPU_FILE; ` + first +
			`{ until [ "$held" ]; do sleep 0.02; done; while :; do sleep 1; done; }`,
			"the workload did not end within 5s in run 2 of 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := overlapping(t, 3, 1, tt.script)
			p.Timeout = 5 * time.Second
			_, err := Session(t.Context(), p, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// Daemons of a run, from before it waited and from after that, end with it, and no other run with them.
func TestStartsDaemons(t *testing.T) {
	const daemon = `setsid sleep 60 >/dev/null 2>&1 &`
	p, log := overlapping(t, 3, 1, daemon+startScript+"\n"+daemon+" exit 0")
	res, err := Session(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res.Runs {
		if r.Left != 2 || (r.Held != nil) != (i > 0) {
			t.Errorf("run %d left %d behind, held %+v", i+1, r.Left, r.Held)
		}
	}
	if n := strings.Count(strings.Join(log(), "\n"), "end"); n != 4 {
		t.Errorf("%d runs came to their end", n)
	}
}

// A run that is killed while it waits, perhaps for want of memory, is measured again alone.
func TestStartsKilledRun(t *testing.T) {
	slow(t)
	// The first run goes on until one of the others, which wait for it, was killed.
	p, log := overlapping(t, 3, 0, `echo $$ >>$LOG; sleep 0.6; exec 9<$GPU_FILE
		mkdir $LOG.first 2>/dev/null && until [ -e $LOG.killed ]; do sleep 0.02; done; sleep 0.1`)
	go func() {
		for ; t.Context().Err() == nil; time.Sleep(5 * time.Millisecond) {
			for _, held := range log() {
				if text, _ := os.ReadFile("/proc/" + held + "/stat"); strings.Contains(string(text), ") T ") {
					pid, _ := strconv.Atoi(held)
					syscall.Kill(pid, syscall.SIGKILL)
					os.WriteFile(os.Getenv("LOG")+".killed", nil, 0o600)
					return
				}
			}
		}
	}()
	res, err := Session(t.Context(), p, nil)
	wantAlone(t, res, err)
	if n := len(log()); n < 5 {
		t.Errorf("%d runs started: none was killed", n)
	}
}

// The waiting time of a run is outside of its time limit.
func TestStartsTimeLimit(t *testing.T) {
	slow(t)
	p, _ := overlapping(t, 4, 0, startScript+`; sleep 1.5`)
	p.Timeout = 5 * time.Second
	res, err := Session(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last := res.Runs[3]; last.Held == nil || last.Start.Sub(last.Held.At) < 3*time.Second {
		t.Errorf("the last run did not wait: %+v", last.Held)
	}
}

// stubbornScript is startScript that ignores what can be ignored, and does not end but in the first run.
const stubbornScript = `trap '' TERM HUP INT; ` + startScript + `; mkdir $LOG.ended 2>/dev/null || sleep 60`

// The end of a session ends runs that wait, those included that ignore signals.
func TestStartsInterrupted(t *testing.T) {
	p, log := overlapping(t, 3, 2, stubbornScript)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	_, err := Session(ctx, p, func(e Event) {
		if e.Stage == RunStarted && e.Run == 2 {
			cancel(stopped)
		}
	})
	if !errors.Is(err, stopped) || strings.Count(strings.Join(log(), "\n"), "start") != 5 {
		t.Errorf("%v after %q", err, log())
	}
}

// SIGKILL of nsgate ends runs that wait.
func TestStartsKilled(t *testing.T) {
	p, log := overlapping(t, 4, 0, "true")
	kill(t, p)
	if n := strings.Count(strings.Join(log(), "\n"), "start"); n != 4 {
		t.Errorf("%d runs had started", n)
	}
}
