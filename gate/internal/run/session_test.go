//go:build linux

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/nsysrun"
	"github.com/nsgate/nsgate/gate/internal/run/nvidia"
)

// recordings are three runs of one program, each in an export of its own, 362 launches a run.
const recordings = "../../../testdata/h200/kernels/base"

// TestMain makes the test binary the runner and a victim too, by its name in the call.
func TestMain(m *testing.M) {
	if os.Getenv("HOST_ROOT") == "" { // a runner has that of its test
		os.Setenv("HOST_ROOT", "no host")
	}
	runGrace, leftGrace = 200*time.Millisecond, 100*time.Millisecond
	interruptGrace, terminateGrace = 150*time.Millisecond, 150*time.Millisecond
	shortStart, proc.EndGrace = 500*time.Millisecond, 400*time.Millisecond
	tools := map[string]func() int{"nsgate": func() int { return RunnerMain(os.Args[2:]) }, "victim": victim,
		"reader": reader}
	if main := tools[filepath.Base(os.Args[0])]; main != nil {
		os.Exit(main())
	}
	os.Exit(testMain(m, slices.Collect(maps.Keys(tools))))
}

func testMain(m *testing.M, tools []string) int {
	device.BusyInterval, device.SampleEvery = time.Millisecond, 200*time.Millisecond
	dir, err := os.MkdirTemp("", "tools")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	for _, name := range tools {
		err = errors.Join(err, os.Symlink(self, filepath.Join(dir, name)))
	}
	if err != nil {
		panic(err)
	}
	// of go run, unlike go build, the build cache keeps the executable
	for _, tool := range []string{"nsys", "ncu", "nvidia-smi"} {
		run := exec.Command("go", "run", "-exec", "cp", "../../../testdata/tools/"+tool, dir)
		if tool != "nsys" { // which holds SQLite: built as the tests of other packages are, that is compiled once
			run.Env = append(os.Environ(), "CGO_ENABLED=0")
		}
		if out, err := run.CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// session prepares a machine with fake tools and a plan for it. What it starts carries a marker, and when the test
// ends no process with it may live and nothing may lie in the temporary directory.
func session(t *testing.T, runs int, command ...string) Plan {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(recordings, "base.*.sqlite"))
	if len(files) == 0 {
		t.Fatal("the recordings are missing: " + recordings)
	}
	self, err := exec.LookPath("nsgate")
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	marker := fmt.Sprintf("NSGATE_TEST_MARKER=%d-%d", os.Getpid(), time.Now().UnixNano())
	name, value, _ := strings.Cut(marker, "=")
	t.Setenv(name, value)
	t.Setenv("TMPDIR", tmp)
	t.Setenv("NSGATE_FAKE_PROFILES", strings.Join(files, string(os.PathListSeparator)))
	os.Unsetenv("CUDA_VISIBLE_DEVICES")
	t.Cleanup(func() {
		left := marked(marker)
		for range 100 { // a killed process takes a moment to end
			if len(left) == 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
			left = marked(marker)
		}
		if len(left) > 0 {
			t.Errorf("processes are left: %q", left)
		}
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
			t.Errorf("files are left: %q", left)
		}
	})
	return Plan{Options: Options{Profiler: nsysrun.Nsys{}}, Device: nvidia.New(), Head: Build{Command: command},
		Runs: runs, Self: self}
}

// marked returns the command lines of the processes that have the marker in their environment.
func marked(marker string) (out []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if env, _ := os.ReadFile(f); bytes.Contains(env, []byte(marker+"\x00")) &&
			!strings.Contains(f, strconv.Itoa(os.Getpid())) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			out = append(out, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// sampled is shell code that returns once nvidia-smi has been asked for the GPU and has answered meanwhile.
const sampled = `calls() { wc -l <"$NSGATE_FAKE_GPU_CALLS"; }; n=$(calls)
	until [ $(calls) -gt $((n + 4)) ]; do sleep 0.02; done`

func TestSession(t *testing.T) {
	p := session(t, 3, "sh", "-c", `echo "$LC_ALL|$0|$TMPDIR" >&2; `+sampled, "a word")
	t.Setenv("NSGATE_FAKE_GPU_CALLS", filepath.Join(t.TempDir(), "calls"))
	t.Setenv("LC_ALL", "C.UTF-8")
	var events []Event
	res, err := Session(t.Context(), p, func(e Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Traces) != 3 || len(res.Runs) != 3 {
		t.Fatalf("%d traces of %d runs, want 3 of 3", len(res.Traces), len(res.Runs))
	}
	for i, r := range res.Runs {
		if len(res.Traces[i]) != 1 {
			t.Fatalf("run %d has %d traces", i+1, len(res.Traces[i]))
		}
		tr := res.Traces[i][0]
		if tr.Process != r.Pid || len(tr.Launches) != 362 || tr.ClockMHz != 1980 || tr.Driver == "" ||
			!strings.HasPrefix(tr.Source, fmt.Sprintf("run %d of 3", i+1)) {
			t.Errorf("run %d, pid %d: trace of %d with %d launches, clock %d, driver %q, source %q", i+1, r.Pid,
				tr.Process, len(tr.Launches), tr.ClockMHz, tr.Driver, tr.Source)
		}
		if want := "C.UTF-8|a word|" + os.Getenv("TMPDIR") + "\n"; r.Output != want {
			t.Errorf("run %d printed %q, want %q", i+1, r.Output, want)
		}
		if r.Duration <= 0 || r.Start.IsZero() {
			t.Errorf("run %d took %v from %v", i+1, r.Duration, r.Start)
		}
	}
	if len(res.Warnings) > 0 {
		t.Errorf("warnings: %q", res.Warnings)
	}
	if res.GPU.Samples == 0 || len(res.GPU.GPUs) != 1 || res.GPU.GPUs[0].Name != "NVIDIA H200" {
		t.Errorf("GPU: %+v", res.GPU)
	}
	want := []Event{
		{Stage: Starting}, {Stage: RunStarted, Run: 1}, {Stage: RunFinished, Run: 1}, {Stage: RunStarted, Run: 2},
		{Stage: RunFinished, Run: 2}, {Stage: RunStarted, Run: 3}, {Stage: RunFinished, Run: 3},
		{Stage: Finishing, Run: 3}, {Stage: Exporting}, {Stage: Reading},
	}
	if d := cmp.Diff(want, events, cmpopts.IgnoreFields(Event{}, "Profiler", "Elapsed", "Expected", "Runs")); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
	if e := events[len(events)-4]; e.Expected == 0 || e.Runs != 3 {
		t.Errorf("no expected time in %+v", e)
	}
}

// Two builds take turns, each in its own directory, and get their traces back.
func TestSessionPair(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	script := `echo "$0 ${PWD##*/}"; echo "$0" >>` + log
	p := session(t, 3, "sh", "-c", script, "head")
	base, head := filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "h")
	for _, dir := range []string{base, head} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.Head.Dir = head
	p.Base = &Build{Command: []string{"sh", "-c", script, "base"}, Dir: base}
	t.Setenv("NSGATE_FAKE_BASE_PROFILES", "../../../testdata/h200/kernels/extra_20")
	var last Event
	res, err := Session(t.Context(), p, func(e Event) { last = e })
	if err != nil {
		t.Fatal(err)
	}
	if last.Runs != 6 {
		t.Errorf("progress counts %d runs, want 6", last.Runs)
	}
	text, _ := os.ReadFile(log)
	want := []string{"base", "head", "head", "base", "base", "head"}
	if d := cmp.Diff(want, strings.Fields(string(text))); d != "" {
		t.Errorf("order of the runs (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, p.Order()); d != "" {
		t.Errorf("Order (-want +got):\n%s", d)
	}
	for i, r := range res.Runs {
		wantOutput := map[bool]string{true: "base b\n", false: "head h\n"}[want[i] == "base"]
		if r.Base != (want[i] == "base") || r.Output != wantOutput {
			t.Errorf("run %d: base %v, output %q", i+1, r.Base, r.Output)
		}
	}
	// The recordings of extra_20 have more launches.
	b, h := res.Split()
	if len(b) != 3 || len(h) != 3 {
		t.Fatalf("%d traces of the base, %d of the head, want 3 of each", len(b), len(h))
	}
	for i := range 3 {
		if len(h[i].Launches) != 362 || len(b[i].Launches) <= 362 {
			t.Errorf("pair %d: %d launches in the base, %d in the head", i+1, len(b[i].Launches), len(h[i].Launches))
		}
	}
	var pids []int
	for _, tr := range []model.Trace{b[0], h[0], h[1], b[1], b[2], h[2]} {
		pids = append(pids, tr.Process)
	}
	for i, r := range res.Runs {
		if pids[i] != r.Pid {
			t.Errorf("run %d was process %d and has the trace of %d", i+1, r.Pid, pids[i])
		}
	}
}

// Every other pair is turned around, whatever their number.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		runs, bare int
		base       *Build
		want       string // small letters are unprofiled
	}{
		{1, 0, &Build{}, "AB"}, {2, 0, &Build{}, "ABBA"}, {3, 0, &Build{}, "ABBAAB"}, {5, 0, &Build{}, "ABBAABBAAB"},
		{3, 0, nil, "BBB"}, {3, 3, nil, "BbBbBb"}, {4, 2, nil, "BBbBBb"}, {2, 4, nil, "bBbbBb"}, {5, 1, nil, "BBBBBb"},
		{2, 2, &Build{}, "ABabBAba"}, {4, 2, &Build{}, "ABBAabABBAba"}, {0, 2, &Build{}, "abba"},
	} {
		got := ""
		for _, t := range (Plan{Runs: c.runs, Unprofiled: c.bare, Base: c.base}).schedule() {
			got += map[slot]string{{Base: true}: "A", {}: "B", {Base: true, Unprofiled: true}: "a",
				{Unprofiled: true}: "b"}[t]
		}
		if got != c.want {
			t.Errorf("%d profiled and %d unprofiled runs of each: %s, want %s", c.runs, c.bare, got, c.want)
		}
	}
}

// A runner that ends late, on a busy host, sees that the session lives: it leaves the private directory alone.
func TestLifelineGoesFirst(t *testing.T) {
	p := session(t, 1, "sleep", "0.1")
	p.Unprofiled = 1
	left := make(chan bool, 2)
	_, err := Session(t.Context(), p, func(e Event) {
		if e.Stage == RunStarted {
			lifeline, _ := filepath.Glob(filepath.Join(os.TempDir(), proc.Prefix+"*", "lifeline"))
			released := proc.Released(lifeline[0])
			go func() {
				<-released
				_, err := os.Lstat(lifeline[0])
				left <- err == nil
			}()
		}
	})
	if err != nil || <-left || <-left {
		t.Errorf("%v; a runner would have removed the private directory", err)
	}
}

// TestRefusals wants a refusal without a result; session checks that nothing is left.
func TestRefusals(t *testing.T) {
	host := t.TempDir()
	if err := os.Mkdir(host+"/proc", 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		command string // of sh
		env     string
		change  func(*Plan)
		want    string // in the message
	}{
		{name: "exit code", command: `echo oops; exit 3`, want: "the workload exited with 3 in run 1 of 3"},
		{name: "second run", command: `echo oops; mkdir d 2>/dev/null || { rmdir d; exit 7; }`,
			want: "the workload exited with 7 in run 2 of 3"},
		{name: "signal", command: `echo oops; kill -9 $$`,
			want: "the workload was killed (SIGKILL), often for want of memory, in run 1 of 3"},
		{name: "killed in a shell", command: `sh -c 'kill -9 $$'; exit $?`,
			want: "was killed (SIGKILL), often for want of memory"},
		{name: "out of memory", command: "echo oops; echo oom_kill 3 >" + host + "/proc/vmstat; kill -9 $$",
			env: "HOST_ROOT=" + host,
			want: "the workload was killed (SIGKILL) in run 1 of 3 while the kernel ended 3 processes for want of " +
				"memory"},
		{name: "timeout", command: `echo oops; sleep 60`, change: func(p *Plan) { p.Timeout = 300 * time.Millisecond },
			want: "did not end within 300ms in run 1 of 3"},
		{name: "stubborn", command: `trap '' TERM INT; echo oops; while :; do setsid sleep 60; done`,
			change: func(p *Plan) { p.Timeout = 300 * time.Millisecond },
			want:   "did not end within 300ms in run 1 of 3"},
		{name: "no workload", change: func(p *Plan) { p.Head.Command = []string{"./nothing-here"} },
			want: `the workload "./nothing-here" cannot be run: no such file or directory`},
		{name: "no base", command: `:`, change: func(p *Plan) { p.Base = &Build{Command: []string{"./nothing-here"}} },
			want: `the base build's workload "./nothing-here" cannot be run: no such file or directory`},
		{name: "base fails", command: `:`, change: func(p *Plan) { p.Base = &Build{Command: []string{"false"}} },
			want: "the workload exited with 1 in run 1 of 6 (base build)"},
		{name: "not executable",
			change: func(p *Plan) { p.Head.Command = []string{"./file"}; os.WriteFile(p.Head.Dir+"/file", nil, 0o644) },
			want:   `the workload "./file" cannot be run: permission denied`},
		{name: "exec format", change: func(p *Plan) {
			p.Head.Command = []string{"./file"}
			os.WriteFile(p.Head.Dir+"/file", []byte("\x7fELF"), 0o755)
		}, want: "the workload could not be started in run 1 of 3: exec format error"},
		{name: "no nsys", change: func(p *Plan) { p.Exe = "/not/there/nsys" },
			want: "/not/there/nsys cannot be run: no such file or directory"},
		{name: "nsys does not start", command: `:`, change: func(p *Plan) {
			p.Exe = p.Head.Dir + "/nsys"
			os.WriteFile(p.Exe, []byte("\x7fELF"), 0o755)
		}, want: "nsys could not be started: "},
		{name: "crash", env: "NSGATE_FAKE_NSYS_FAULT=crash", command: `sleep 60`,
			want: "nsys ended after 0 of 3 runs (signal: killed"},
		{name: "no report", env: "NSGATE_FAKE_NSYS_FAULT=no-report", command: `:`,
			want: "nsys wrote no report: No reports were generated"},
		{name: "hang", env: "NSGATE_FAKE_NSYS_FAULT=hang", command: `:`,
			change: func(p *Plan) { p.FinishLimit = 300 * time.Millisecond },
			want:   "nsys did not finish within 300ms, after 3 of 3 runs"},
		{name: "runner stopped", command: `kill -STOP $PPID`, change: func(p *Plan) {
			p.StartLimit, p.FinishLimit, p.Timeout = 300*time.Millisecond, 300*time.Millisecond, 100*time.Millisecond
		}, want: "within 300ms"}, // by when the runner said that it started the workload, or that this ended
		{name: "stuck", env: "NSGATE_FAKE_NSYS_FAULT=stuck", command: `:`,
			change: func(p *Plan) { p.StartLimit = 300 * time.Millisecond },
			want:   "nsys did not start the workload within 300ms"},
		{name: "slow export", env: "NSGATE_FAKE_NSYS_FAULT=slow-export", command: `:`,
			change: func(p *Plan) { p.FinishLimit = 400 * time.Millisecond },
			want:   "nsys did not export its report within 400ms"},
		{name: "no kernels", env: "NSGATE_FAKE_NSYS_FAULT=no-kernels", command: `:`,
			want: "the profile holds no kernels: "},
		{name: "importer", env: "NSGATE_FAKE_NSYS_FAULT=importer", command: `:`,
			want: "the profile: the importer of nsys failed on "},
		{name: "option", env: "NSGATE_FAKE_NSYS_FAULT=old", command: `:`,
			change: func(p *Plan) { p.Args = []string{"--nvtx-domain-exclude=TSL"} },
			want:   "this nsys does not know the option --nvtx-domain-exclude"},
		{name: "truncated", env: "NSGATE_FAKE_NSYS_FAULT=truncated", command: `:`, want: "Section Table Reference"},
		{name: "lost run", env: "NSGATE_FAKE_NSYS_FAULT=lost-run", command: `:`,
			want: "run 3 of 3 has no kernels in the profile"},
		{name: "busy", env: "NSGATE_FAKE_GPU=busy", command: `:`,
			want: "GPU 0 is busy: utilisation is 87 % before the workload starts"},
		{name: "other process", env: "NSGATE_FAKE_GPU=process", command: `:`,
			want: "GPU 0 is busy: another process uses it (train, really, pid 999999)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := session(t, 3, "sh", "-c", tt.command)
			p.Head.Dir = t.TempDir()
			if name, value, ok := strings.Cut(tt.env, "="); ok {
				t.Setenv(name, value)
			}
			if tt.change != nil {
				tt.change(&p)
			}
			_, err := Session(t.Context(), p, nil)
			var refusal *model.Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("%v is no refusal", err)
			}
			if !strings.Contains(refusal.Reason, tt.want) {
				t.Errorf("reason %q, want %q", refusal.Reason, tt.want)
			}
			if refusal.Next == "" {
				t.Error("the refusal knows no way out")
			}
			if tt.name == "runner stopped" && !strings.HasPrefix(refusal.Next, "where the workload stops no process") {
				t.Errorf("the profiler is blamed: %s", refusal.Next)
			}
			if strings.Contains(err.Error(), os.Getenv("TMPDIR")) {
				t.Errorf("%q names a directory of this machine", err)
			}
			if strings.Contains(tt.command, "oops") {
				var failure *WorkloadError
				if !errors.As(err, &failure) || failure.Run.Output != "oops\n" {
					t.Errorf("the workload's output is missing: %+v", failure)
				}
			}
		})
	}
}

// The importer of nsys fails on strings of NVTX ranges: those of JAX are never recorded, where nsys can leave them out,
// and those of others are left out in a second session.
func TestRepeat(t *testing.T) {
	lossy, err := filepath.Abs("../../../testdata/h200/jax-lossy.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	lost := "the importer of nsys failed on an NVTX string and lost events"
	tests := []struct {
		name, fault string
		args        []string
		runs        int    // in all
		want        string // of the refusal, "" for none
		next        string
	}{
		{"JAX", "jax", nil, 2, "", ""},
		{"other arguments", "jax", []string{"--cuda-flush-interval=100"}, 2, "", ""},
		{"given", "jax", []string{"--nvtx-domain-exclude=TSL"}, 2, "", ""},
		{"chosen otherwise", "jax", []string{"--nvtx-domain-include", "mine"}, 2, lost,
			"record with --nvtx-domain-exclude=TSL"},
		{"without NVTX", "jax", []string{"--trace", "cuda"}, 2, "", ""},
		{"old", "old", nil, 2, "", ""},
		{"old, JAX", "jax-old", nil, 4, "", ""},
		{"another domain", "jax-other", nil, 4, "", ""},
		{"in vain", "jax-always", nil, 4, lost, ""},
		{"forked", "forks", nil, 4, "", ""},
		{"forked, given", "forks", []string{"--trace-fork-before-exec=true"}, 2, "", ""},
		{"not forked", "forks", []string{"--trace-fork-before-exec=false"}, 2, "no activity of it was recorded", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.want != "" {
				t.Skip("slow")
			}
			log := filepath.Join(t.TempDir(), "log")
			p := session(t, 2, "sh", "-c", "echo run >>"+log)
			p.Args = slices.Clip(tt.args)
			t.Setenv("NSGATE_FAKE_NSYS_FAULT", tt.fault)
			t.Setenv("NSGATE_FAKE_LOSSY", lossy)
			repeated := 0
			res, err := Session(t.Context(), p, func(e Event) {
				if e.Stage == Repeating {
					repeated++
				}
			})
			text, _ := os.ReadFile(log)
			if n := strings.Count(string(text), "run"); n != tt.runs {
				t.Errorf("%d runs, want %d", n, tt.runs)
			}
			if tt.want != "" {
				var refusal *model.Refusal
				if !errors.As(err, &refusal) || !strings.HasSuffix(refusal.Reason, tt.want) ||
					!strings.Contains(refusal.Next, tt.next) {
					t.Fatalf("%v, want %q; … %q", err, tt.want, tt.next)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again := tt.runs > 2
			if (res.Repeated != "") != again || (repeated == 1) != again {
				t.Errorf("repeated %d times, and says %q", repeated, res.Repeated)
			}
			forked := tt.fault == "forks"
			if old := strings.HasSuffix(tt.fault, "old"); res.Recorded.AllDomains != old ||
				res.Recorded.NoNVTX != (again && !forked) || res.Recorded.Forks != (again && forked) {
				t.Errorf("recorded with %+v", res.Recorded)
			}
			if mode := map[bool]string{true: model.WithoutNVTX}[again && !forked]; res.Traces[0][0].Mode != mode {
				t.Errorf("mode %q, want %q", res.Traces[0][0].Mode, mode)
			}
			// The next session begins with the options that worked.
			p.AllDomains, p.NoNVTX, p.Forks = res.Recorded.AllDomains, res.Recorded.NoNVTX, res.Recorded.Forks
			if res, err = Session(t.Context(), p, nil); err != nil || res.Repeated != "" {
				t.Errorf("the next session: %v, %+v", err, res)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, p := range []Plan{
		{Runs: 1},
		{Head: Build{Command: []string{"true"}}},
		{Head: Build{Command: []string{"true"}, Dir: "no/such"}, Runs: 1},
		{Head: Build{Command: []string{"true"}}, Base: &Build{}, Runs: 1},
		{Head: Build{Command: []string{"true"}}, Base: &Build{Command: []string{"true"}, Dir: "no/such"}, Runs: 1},
	} {
		p.Profiler = nsysrun.Nsys{}
		_, err := Session(t.Context(), p, nil)
		if refusal := (*model.Refusal)(nil); err == nil || errors.As(err, &refusal) {
			t.Errorf("%+v: %v is no usage error", p, err)
		}
	}
}

func TestCancel(t *testing.T) {
	p := session(t, 3, "sh", "-c", `setsid sleep 60 & sleep 60`)
	p.KeepProfiles = filepath.Join(t.TempDir(), "kept")
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := Session(ctx, p, func(e Event) {
		if e.Stage == RunStarted {
			cancel(stopped)
		}
	})
	if !errors.Is(err, stopped) {
		t.Errorf("error %v, want the cause of the cancellation", err)
	}
	if kept, _ := os.ReadDir(p.KeepProfiles); len(kept) > 0 {
		t.Errorf("a report of an interrupted session was kept: %v", kept)
	}
}

// victim is a program that measures and is killed meanwhile.
func victim() int {
	p := Plan{Options: Options{Profiler: nsysrun.Nsys{}}, Device: nvidia.New(),
		Head: Build{Command: []string{"sh", "-c", "sleep 60 & sleep 60"}}, Runs: 1, Self: os.Args[1]}
	last := 1
	if gpu := os.Getenv("GPU_FILE"); gpu != "" {
		p.Device, p.Starts, p.Runs, last = opened{p.Device, gpu}, 8, 4, 2
		p.Head.Command[2] = stubbornScript
	}
	Session(context.Background(), p, func(e Event) {
		if e.Stage == RunStarted && e.Run == last {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	return 0
}

// A SIGKILL gives nsgate no chance to clean up: the processes around it must see to it.
func TestKilled(t *testing.T) {
	kill(t, session(t, 1, "true"))
}

// kill measures in a process that is killed meanwhile, and waits for the end of its processes.
func kill(t *testing.T, p Plan) {
	t.Helper()
	defer proc.Adopt().Release() // so that what is left can be seen from here
	if err := exec.Command("victim", p.Self).Run(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the victim ended with %v", err)
	}
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
		if len(left) == 0 && len(proc.Children{}.Living()) == 0 {
			return
		}
	}
	proc.Children{}.End()
	t.Error("processes or files outlive nsgate") // session says which files
}

func TestDaemon(t *testing.T) {
	p := session(t, 2, "sh", "-c", `setsid sleep 60 >/dev/null 2>&1 & setsid sh -c 'sleep 60; :' & exit 0`)
	res, err := Session(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"processes that run 1 of 2 left behind were ended: 3", "processes that run 2 of 2 left behind were ended: 3",
	}
	if d := cmp.Diff(want, res.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

func TestKeepProfiles(t *testing.T) {
	p := session(t, 1, "true")
	p.KeepProfiles = filepath.Join(t.TempDir(), "a", "kept")
	for range 2 {
		if _, err := Session(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(p.KeepProfiles); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, want 0700 (%v)", info.Mode(), err)
	}
	files, _ := os.ReadDir(p.KeepProfiles)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%s: %v, %d bytes (%v)", f.Name(), info.Mode(), info.Size(), err)
		}
	}
	if d := cmp.Diff([]string{"session-001.nsys-rep", "session-002.nsys-rep"}, names); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
}

func TestBoundedOutput(t *testing.T) {
	p := session(t, 1, "sh", "-c", `echo first; head -c 20000000 /dev/zero; echo; echo last; exit 1`)
	_, err := Session(t.Context(), p, nil)
	var failure *WorkloadError
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	out := failure.Run.Output
	if len(out) > 1<<20 || !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "\nlast\n") ||
		!strings.Contains(out, "bytes left out]") {
		t.Errorf("%d bytes were kept: %.20q … %.20q", len(out), out, out[max(0, len(out)-20):])
	}
}

func TestAssign(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1_700_000_000+int64(s), 0) }
	trace := func(pid, start int, device int32) model.Trace {
		tr := model.Trace{Process: pid, Launches: []model.Launch{{Device: device}}}
		if start >= 0 {
			tr.Start = at(start)
		}
		return tr
	}
	runs := []Run{{Pid: 10, Start: at(0), Duration: 9 * time.Second},
		{Pid: 20, Start: at(10), Duration: 9 * time.Second}}
	tests := []struct {
		name   string
		traces []model.Trace
		want   string // pids by run, or an error
	}{
		{"by pid", []model.Trace{trace(10, -1, 0), trace(20, -1, 0)}, "[10] [20]"},
		{"pid before time", []model.Trace{trace(20, 1, 0), trace(10, 12, 0)}, "[10] [20]"},
		{"ranks by time, in order of devices",
			[]model.Trace{trace(12, 2, 1), trace(11, 3, 0), trace(21, 12, 0), trace(22, 13, 1)}, "[11 12] [21 22]"},
		{"lost run", []model.Trace{trace(20, 12, 0)}, "run 1 of 2 has no kernels"},
		{"lost rank", []model.Trace{trace(11, 2, 0), trace(12, 3, 0), trace(22, 13, 1)},
			"run 2 of 2 has 1 processes with kernels, run 1 has 2"},
		{"stranger", []model.Trace{trace(10, 2, 0), trace(20, 12, 0), trace(5, -1, 0)},
			"process 5 launched kernels and belongs to no run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := assign(tt.traces, runs)
			got := ""
			for _, ts := range out {
				var pids []int
				for _, tr := range ts {
					pids = append(pids, tr.Process)
				}
				got += fmt.Sprint(pids) + " "
			}
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCommandLines(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp")
	p := Plan{Head: Build{Command: []string{"./app"}}, Runs: 2, Self: "nsgate",
		Options: Options{Profiler: nsysrun.Nsys{}}}
	p.MemoryUsage, p.Args = true, []string{"--nvtx-domain-exclude=TSL"}
	got := strings.Join(p.CommandLines()[0], " ")
	want := "nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node " +
		"--force-overwrite=true --cuda-memory-usage=true --nvtx-domain-exclude=TSL " +
		"--output=/tmp/nsgate-XXXXXX/session -- nsgate __run /tmp/nsgate-XXXXXX/spec.json"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// The user's own settings are not repeated: nsys refuses that.
	for _, args := range [][]string{{"--trace=cuda"}, {"-t", "cuda"}, {"-tcuda", "--sample", "process-tree"}} {
		p.Args = args
		got := strings.Join(p.CommandLines()[0], " ")
		if strings.Contains(got, "cuda,nvtx") || !strings.Contains(got, strings.Join(args, " ")) ||
			len(args) == 3 && strings.Contains(got, "--sample=none") {
			t.Errorf("with %q: %s", args, got)
		}
	}
}
