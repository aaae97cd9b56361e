// Package collect runs workloads under the profilers and hands back what was recorded.
//
// A session is one nsys process around N fresh processes of the workload, or of two builds of it by turns. nsys starts
// the nsgate binary itself in a hidden mode, the runner, which runs the workload N times, one after the other, and
// keeps a journal. Whatever happens, nothing of it remains: every process is ended, and the private directory with the
// raw report, which holds the workload's environment variables, is removed. So is the worktree of a base build. Where
// nsgate itself is killed a guard does that, and where the guard is killed too, the next nsgate.
package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/nsys"
)

// Build is one build of the workload.
type Build struct {
	Command []string // the workload and its arguments
	Dir     string   // its working directory, "" for the current one
}

// Plan says what to run and how.
type Plan struct {
	Head    Build
	Base    *Build        // measured by turns with the head, in the same session; nil for the head alone
	Runs    int           // fresh processes of each build, at least 1
	Timeout time.Duration // of one run, 0 for none
	Nsys    string        // the nsys executable, "" for "nsys" on the PATH
	Self    string        // the executable that nsys starts as the runner, "" for this one
	// TraceArgs are further arguments of nsys profile, such as --nvtx-domain-exclude=TSL.
	TraceArgs []string
	// MemoryUsage traces allocations of device memory as well.
	MemoryUsage bool
	// KeepProfiles is a directory, created with mode 0700, that keeps the raw report; "" deletes it. A raw report
	// holds the environment variables of the workload.
	KeepProfiles string
	// AllowBusy measures although something else uses the GPU; what was seen becomes a warning.
	AllowBusy bool
	// Patience is how long nsys may take to start the first run, and to finish after the last; 0 means ten minutes.
	Patience time.Duration

	clock clock // of the session
}

// Run is what became of one fresh process of the workload.
type Run struct {
	Base     bool          `json:"base"` // of the base build
	Pid      int           `json:"pid"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration"`
	ExitCode int           `json:"exit_code"` // -1 where a signal ended it
	Signal   string        `json:"signal"`    // that ended it, such as "segmentation fault"; "" for none
	TimedOut bool          `json:"timed_out"`
	// Left is the number of processes that it left behind and that were ended.
	Left int `json:"left"`
	// Output is standard output and standard error as they came, valid UTF-8, without its middle where it was long.
	Output string `json:"output"`
	// Error says why the run could not be started, "" where it was.
	Error string `json:"error"`
}

func (r Run) failed() bool { return r.Error != "" || r.ExitCode != 0 || r.Signal != "" || r.TimedOut }

// Result is a finished session.
type Result struct {
	// TraceArgs are Plan.TraceArgs, and what had to be added: further sessions of one comparison are given the same.
	TraceArgs []string
	// Repeated is the warning that the session was measured twice, and why; "" where it was not.
	Repeated string
	// Traces holds, for each run in order, its processes that launched kernels: one, or one a rank.
	Traces   [][]measure.Trace
	Runs     []Run
	GPU      Watch
	Warnings []string
	Elapsed  time.Duration
}

// Split returns the traces of the base's runs and of the head's, each in the order of the runs.
func (r *Result) Split() (base, head []measure.Trace) {
	for i, traces := range r.Traces {
		if r.Runs[i].Base {
			base = append(base, traces...)
		} else {
			head = append(head, traces...)
		}
	}
	return base, head
}

// Stage is a point in the course of a session.
type Stage string

// The stages of a session, in order.
const (
	Starting    Stage = "starting"     // nsys is being started
	RunStarted  Stage = "run started"  // Event.Run says which
	RunFinished Stage = "run finished" // Event.Run says which
	Finishing   Stage = "finishing"    // nsys writes its report
	Exporting   Stage = "exporting"    // nsys turns the report into SQLite
	Reading     Stage = "reading"
	Repeating   Stage = "repeating" // nsys lost events: the whole session once more, without the NVTX domain TSL
)

// Event is a step of progress.
type Event struct {
	Stage     Stage
	Run, Runs int           // run i of N, counted from 1
	Elapsed   time.Duration // since the session began
	Expected  time.Duration // until the last run ends, extrapolated from finished runs; 0 before the first
}

// WorkloadError is a session that ended because a run failed. It wraps a *measure.Refusal and carries what the
// workload printed, which is untrusted.
type WorkloadError struct {
	Run     Run
	Index   int // of the run, counted from 1
	Runs    int
	refusal error
}

func (e *WorkloadError) Error() string { return e.refusal.Error() }

// Unwrap returns the *measure.Refusal.
func (e *WorkloadError) Unwrap() error { return e.refusal }

// CommandLines are the command lines that Collect executes: nsys profile and nsys export. XXXXXX stands for what
// makes the private directory unique.
func (p Plan) CommandLines() [][]string {
	p = p.withDefaults()
	dir := filepath.Join(os.TempDir(), "nsgate-XXXXXX")
	export := append([]string{p.Nsys}, nsys.ExportArgs(reportIn(dir), filepath.Join(dir, "session-XXXXXX.sqlite"))...)
	return [][]string{p.profileCommand(dir), export}
}

func (p Plan) withDefaults() Plan {
	if p.Nsys == "" {
		p.Nsys = "nsys"
	}
	if p.Self == "" {
		p.Self, _ = os.Executable()
	}
	if p.Patience == 0 {
		p.Patience = 10 * time.Minute
	}
	return p
}

func (p Plan) profileCommand(dir string) []string {
	args := []string{p.Nsys, "profile"}
	for _, x := range []struct{ option, short, value string }{
		{"--trace", "-t", "cuda,nvtx"}, {"--sample", "-s", "none"}, {"--cpuctxsw", "", "none"},
		{"--cuda-graph-trace", "", "node"}, {"--force-overwrite", "-f", "true"},
	} {
		// nsys takes no option twice.
		if !slices.ContainsFunc(p.TraceArgs, func(arg string) bool {
			return arg == x.option || strings.HasPrefix(arg, x.option+"=") || x.short != "" && strings.HasPrefix(arg, x.short)
		}) {
			args = append(args, x.option+"="+x.value)
		}
	}
	if p.MemoryUsage {
		args = append(args, "--cuda-memory-usage=true")
	}
	args = append(args, p.TraceArgs...)
	output := strings.TrimSuffix(reportIn(dir), reportExt)
	return append(args, "--output="+output, "--", p.Self, RunnerArg, specIn(dir))
}

// turns says of each run, in order, whether it is one of the base. Two builds are run as A B B A, over and over (A is
// the base), so that a drift of the machine adds as much to the one as to the other.
func (p Plan) turns() []bool {
	if p.Base == nil {
		return make([]bool, max(p.Runs, 0))
	}
	var out []bool
	for i := range p.Runs {
		out = append(out, i%2 == 0, i%2 == 1)
	}
	return out
}

// Order names the build of each run, in order: "base" or "head".
func (p Plan) Order() []string {
	var out []string
	for _, base := range p.turns() {
		name := "head"
		if base {
			name = "base"
		}
		out = append(out, name)
	}
	return out
}

const reportExt = ".nsys-rep"

func reportIn(dir string) string  { return filepath.Join(dir, "session"+reportExt) }
func specIn(dir string) string    { return filepath.Join(dir, "spec.json") }
func journalIn(dir string) string { return filepath.Join(dir, "journal") }
func tmpIn(dir string) string     { return filepath.Join(dir, "tmp") }

// Collect runs each build p.Runs times in one nsys session and reads what was recorded. progress, where not nil, is
// called from the calling goroutine. Only one Collect may run at a time in a process.
//
// Where the importer of nsys fails on NVTX strings, as it does with those of JAX, Collect measures once more without
// them, unless p.TraceArgs choose the domains already.
//
// A measurement that must not be judged is a *measure.Refusal, a failing workload a *[WorkloadError] around one; a
// cancelled ctx is its cause. In each case no process and no file is left.
func Collect(ctx context.Context, p Plan, progress func(Event)) (*Result, error) {
	if !supported {
		return nil, errUnsupported
	}
	if len(p.Head.Command) == 0 || p.Base != nil && len(p.Base.Command) == 0 || p.Runs < 1 {
		return nil, errors.New("no workload to run: give its command after --, and at least one run")
	}
	p = p.withDefaults()
	var err error
	if p.Nsys, err = exec.LookPath(p.Nsys); err != nil {
		// The workload's own mistakes come first: they do not depend on the machine.
		if _, err := p.spec(); err != nil {
			return nil, err
		}
		return nil, measure.Refuse("nsys was not found",
			"install Nsight Systems (it comes with the CUDA toolkit), or name it with --nsys")
	}
	start := time.Now()
	note := func(e Event) {
		e.Elapsed, e.Runs = time.Since(start), len(p.turns())
		if progress != nil {
			progress(e)
		}
	}
	res, err := p.collect(ctx, note)
	if err != nil && p.losesStrings(err) {
		note(Event{Stage: Repeating})
		res, err = p.repeat(ctx, err, note)
	}
	if err != nil {
		return nil, err
	}
	res.Elapsed = time.Since(start)
	return res, nil
}

var sessions atomic.Int64 // that this process has measured

// collect is one session, from the look at the GPU to the traces.
func (p Plan) collect(ctx context.Context, note func(Event)) (res *Result, err error) {
	start := time.Now()
	watch := newWatcher()
	p.clock = watch.clock
	sp, err := p.spec()
	if err != nil {
		return nil, err
	}
	if err := p.keepable(); err != nil {
		return nil, err
	}
	note(Event{Stage: Starting})
	if err := watch.before(ctx, p.AllowBusy); err != nil {
		return nil, err
	}

	private, err := newPrivate(p.Self, "")
	if err != nil {
		return nil, err
	}
	defer func() {
		if why := private.close(); why != nil {
			why = fmt.Errorf("the private directory with the raw report was not removed: %w; remove it", why)
			res, err = nil, errors.Join(err, why)
		}
	}()
	dir := private.path
	if err := sp.write(dir); err != nil {
		return nil, privateError(err)
	}

	before, restore := adopt()
	defer restore()
	watch.start(ctx)
	lead := time.Since(start) // until nsys is started
	runs, err := p.record(ctx, dir, before, func(e Event) {
		if e.Expected > 0 {
			e.Expected += lead
		}
		note(e)
	})
	watch.stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if keepErr := p.keep(dir); err == nil {
		err = keepErr
	}
	if err != nil {
		return nil, err
	}
	busy := make(chan error, 1)
	go func() { busy <- watch.after(ctx, p.AllowBusy) }()
	traces, err := p.read(ctx, dir, note)
	if err := <-busy; err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	res = &Result{Runs: runs, TraceArgs: p.TraceArgs}
	if res.Traces, err = assign(traces, runs); err != nil {
		return nil, err
	}
	res.GPU, res.Warnings = watch.result(res.Traces, runs)
	session := sessions.Add(1)
	for i := range res.Traces {
		for j := range res.Traces[i] {
			t := &res.Traces[i][j]
			t.Source = fmt.Sprintf("run %d of %d", i+1, len(runs))
			if session > 1 { // two sessions have nothing to do with each other
				t.Source += fmt.Sprintf(" in session %d", session)
			}
			t.ClockMHz = res.GPU.ClockMHz
			if t.Driver == "" && len(res.GPU.GPUs) > 0 {
				t.Driver = res.GPU.GPUs[0].Driver
			}
		}
	}
	for i, r := range runs {
		if r.Left > 0 {
			res.Warnings = append(res.Warnings, fmt.Sprintf("processes that run %d of %d left behind were ended: %d",
				i+1, len(runs), r.Left))
		}
	}
	return res, nil
}

var errUnsupported = errors.New("workloads can be measured on Linux only; record there and use compare here")

// causeOr returns the reason for which ctx ended, or else err.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// read exports and reads the report in dir.
func (p Plan) read(ctx context.Context, dir string, note func(Event)) ([]measure.Trace, error) {
	note(Event{Stage: Exporting})
	export, err := nsys.Export(ctx, p.Nsys, reportIn(dir), dir)
	if err != nil {
		return nil, causeOr(ctx, blameRoom(err, room(dir), ""))
	}
	note(Event{Stage: Reading})
	traces, err := nsys.Read(ctx, export)
	if r := (*measure.Refusal)(nil); errors.As(err, &r) {
		r.Reason = strings.ReplaceAll(r.Reason, filepath.Base(export), "the profile")
		err = blameRoom(err, room(dir), "")
	}
	return traces, causeOr(ctx, err)
}

// How long nsys may take to end after SIGINT, which lets it end the workload and finalise, and after SIGTERM.
var (
	interruptGrace = 5 * time.Second
	terminateGrace = 2 * time.Second
)

// record runs one nsys session in dir and returns the runs, all of which succeeded. When it returns, no descendant
// lives that is not in the set before.
func (p Plan) record(ctx context.Context, dir string, before processes, note func(Event)) ([]Run, error) {
	runtime.LockOSThread() // the session dies with the thread that started it
	defer runtime.UnlockOSThread()
	lifeline, err := hold(dir)
	if err != nil {
		return nil, privateError(err)
	}
	defer lifeline.Close()

	tmp := tmpIn(dir)
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, privateError(err)
	}
	var log excerpt
	argv := p.profileCommand(dir)
	cmd := exec.Command(argv[0], argv[1:]...)
	// The runner gives the workload its own values back.
	cmd.Env = setenv(os.Environ(), "LC_ALL", new("C"))
	cmd.Env = mark(setenv(cmd.Env, "TMPDIR", &tmp), dir)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.WaitDelay = terminateGrace // a process that outlives nsys may hold its output open
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		return nil, measure.Refuse("nsys could not be started: "+clean(err.Error(), dir), "check the nsys installation")
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	defer end(before)
	defer stop(cmd, done, lifeline)

	journal := journal{path: journalIn(dir)}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	begun, quiet := time.Now(), time.Now() // quiet: since when nsys is on its own
	low, looked := room(dir), time.Now()   // the least room; nsys makes room again when it gives up
	hung := false
wait:
	for {
		select {
		case <-done:
			break wait
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
		if time.Since(looked) > 100*time.Millisecond {
			low, looked = min(low, room(dir)), time.Now()
		}
		if lines := journal.next(); len(lines) > 0 {
			quiet = time.Now()
			report(lines, &journal, len(p.turns()), time.Since(begun), note)
		}
		// The runner ends a run that takes too long; without a timeout a run may take for ever.
		limit := p.Patience
		if journal.running {
			limit += p.Timeout
		}
		if (!journal.running || p.Timeout > 0) && time.Since(quiet) > limit {
			hung = true
			break wait
		}
	}
	report(journal.next(), &journal, len(p.turns()), time.Since(begun), note)
	runs, err := p.judge(ctx, &journal, cmd, hung, clean(log.String(), dir), reportIn(dir))
	if err != nil {
		err = blameRoom(err, min(low, room(dir)), log.String())
	}
	return runs, err
}

// report turns journal lines into progress.
func report(lines []line, j *journal, runs int, elapsed time.Duration, note func(Event)) {
	for _, l := range lines {
		e := Event{Stage: RunStarted, Run: l.Index}
		if l.Done {
			e.Stage = RunFinished
		}
		if n := len(j.runs); n > 0 {
			e.Expected = time.Duration(float64(elapsed) / float64(n) * float64(runs))
		}
		note(e)
		if l.Done && l.Index == runs {
			note(Event{Stage: Finishing, Run: runs})
		}
	}
}

// judge says whether the session that has ended can be read.
func (p Plan) judge(ctx context.Context, j *journal, cmd *exec.Cmd, hung bool, log, report string) ([]Run, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if n := len(j.runs); n > 0 && j.runs[n-1].failed() {
		return nil, p.workloadError(n, j.runs[n-1])
	}
	done := fmt.Sprintf("after %d of %d runs", len(j.runs), len(p.turns()))
	said := ""
	if s := lastLine(log); s != "" {
		said = ": " + s
	}
	const next = "check the nsys installation with nsgate doctor"
	switch {
	case hung:
		return nil, measure.Refuse(fmt.Sprintf("nsys did not finish within %v, %s%s", p.Patience, done, said), next)
	case len(j.runs) == 0 && unknownOption.MatchString(log):
		name := unknownOption.FindStringSubmatch(log)[1]
		return nil, &optionError{measure.Refuse("this nsys does not know the option "+name,
			"update nsys, or leave the option out of --nsys-arg"), name}
	case len(j.runs) < len(p.turns()):
		return nil, measure.Refuse(fmt.Sprintf("nsys ended %s (%s)%s", done, cmd.ProcessState, said), next)
	case !cmd.ProcessState.Success():
		return nil, measure.Refuse(fmt.Sprintf("nsys failed %s (%s)%s", done, cmd.ProcessState, said), next)
	}
	if info, err := os.Stat(report); err != nil || info.Size() == 0 {
		return nil, measure.Refuse("nsys wrote no report"+said, next)
	}
	return j.runs, nil
}

var unknownOption = regexp.MustCompile(`(?i)unrecogni[sz]ed option '?(--?[a-z][a-z0-9-]*)`)

// optionError is the refusal of an option that nsys does not know.
type optionError struct {
	error
	name string
}

func (e *optionError) Unwrap() error { return e.error }

func (p Plan) workloadError(index int, r Run) error {
	where := fmt.Sprintf("in run %d of %d", index, len(p.turns()))
	if r.Base {
		where += " (base build)"
	}
	reason, next := "", "run the workload by itself first, and make it exit with 0"
	switch {
	case r.Error != "":
		reason, next = fmt.Sprintf("the workload could not be started %s: %s", where, r.Error), "check its command"
	case r.TimedOut:
		reason = fmt.Sprintf("the workload did not end within %v %s", p.Timeout, where)
		next = "raise --timeout, or make the workload shorter"
	case r.Signal != "":
		reason = fmt.Sprintf("the workload was ended by a signal (%s) %s", r.Signal, where)
	default:
		reason = fmt.Sprintf("the workload exited with %d %s", r.ExitCode, where)
	}
	return &WorkloadError{Run: r, Index: index, Runs: len(p.turns()), refusal: measure.Refuse(reason, next)}
}

// stop ends nsys, politely at first: it then ends the workload and cleans up after itself.
func stop(cmd *exec.Cmd, done <-chan struct{}, lifeline io.Closer) {
	lifeline.Close()
	for _, s := range []struct {
		signal syscall.Signal
		grace  time.Duration
	}{{syscall.SIGINT, interruptGrace}, {syscall.SIGTERM, terminateGrace}} {
		select {
		case <-done:
			return
		default:
		}
		cmd.Process.Signal(s.signal)
		select {
		case <-done:
			return
		case <-time.After(s.grace):
		}
	}
	killGroup(cmd)
	<-done
}

// assign hands each trace to its run: by pid, and the processes that a run started itself by time.
func assign(traces []measure.Trace, runs []Run) ([][]measure.Trace, error) {
	out := make([][]measure.Trace, len(runs))
	for _, t := range traces {
		i := slices.IndexFunc(runs, func(r Run) bool { return r.Pid == t.Process })
		if i < 0 && !t.Start.IsZero() {
			for k, r := range runs { // the last run that had begun
				if !t.Start.Before(r.Start) {
					i = k
				}
			}
		}
		if i < 0 {
			return nil, measure.Refuse(fmt.Sprintf("process %d launched kernels and belongs to no run", t.Process),
				"let the workload start its processes itself, not through a service")
		}
		out[i] = append(out[i], t)
	}
	for i, ts := range out {
		where := fmt.Sprintf("run %d of %d", i+1, len(runs))
		switch {
		case len(ts) == 0:
			return nil, measure.Refuse(where+" has no kernels in the profile, although other runs have",
				"make sure that every run uses the GPU and ends by itself, not by a signal or _exit, then measure again")
		case len(ts) != len(out[0]):
			return nil, measure.Refuse(fmt.Sprintf("%s has %d processes with kernels, run 1 has %d", where, len(ts), len(out[0])),
				"run the workload once before, so that nothing is compiled or tuned while it is measured")
		}
		slices.SortStableFunc(ts, func(a, b measure.Trace) int { return firstDevice(a) - firstDevice(b) })
	}
	return out, nil
}

func firstDevice(t measure.Trace) int {
	if len(t.Launches) == 0 {
		return 0
	}
	return int(t.Launches[0].Device)
}

var directories = regexp.MustCompile(`(?:/[^\s/'":;,()]+)+/`)

// clean takes the private directory, other directories and control characters out of what nsys said.
func clean(text, dir string) string {
	text = strings.NewReplacer(dir+"/", "", dir, "").Replace(text)
	return directories.ReplaceAllString(measure.NormalizeControl(text), "")
}

// lastLine is the last line with a word in it, shortened.
func lastLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, l := range slices.Backward(lines) {
		if l = strings.Trim(l, " \t*"); l != "" {
			return strings.ToValidUTF8(l[:min(len(l), 300)], "")
		}
	}
	return ""
}

// NsysVersion asks an nsys executable for its version, such as "2025.3.2".
func NsysVersion(ctx context.Context, exe string) (string, error) {
	path, err := exec.LookPath(exe)
	if err != nil {
		return "", fmt.Errorf("%s was not found; install Nsight Systems, or name it with --nsys", filepath.Base(exe))
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w: %s", filepath.Base(exe), err, lastLine(clean(string(out), path)))
	}
	if m := version.FindSubmatch(out); m != nil {
		return string(m[1]), nil
	}
	return "", fmt.Errorf("%s --version says %q, which names no version", filepath.Base(exe), lastLine(string(out)))
}

var version = regexp.MustCompile(`version (\d+\.\d+(?:\.\d+)?)`)
