// Package submit runs the command itself as a job of a scheduler, and brings back what it prints and its exit code.
package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/thresholds"
)

// Job is a command line to run elsewhere. What it prints and how it ended comes back through files, for schedulers keep the output
// to themselves, and `sbatch --wait` has been seen to end with 0 after a job that failed.
type Job struct {
	Submit []string // what submits a job and waits for it: "sbatch", "--wait", "-N2"
	Args   []string // of this program
	Env    []string // NAME=VALUE, beside what the scheduler hands on
	Dir    string   // a directory that both this host and that of the job see
	Out    io.Writer
	Err    io.Writer // also of what submits
}

// hidden is the argument by which a job runs this program. The directory of the job follows.
const hidden = "__job"

// The files of a job, in a directory that this user alone can read. The order is there for as long as somebody waits.
const (
	orderFile   = "order.json"
	startedFile = "started"
	againFile   = "again" // there where the job was started a second time
	outFile     = "stdout"
	errFile     = "stderr"
	codeFile    = "code"
	scriptFile  = "job.sh"
)

// order is what a job is to do.
type order struct {
	Args []string `json:"args"`
	Dir  string   `json:"dir"` // to work in
	Env  []string `json:"env"`
}

// late is how much later than the end of a job its files may be seen on this host.
var late = 15 * time.Second

const (
	lookEvery = 300 * time.Millisecond
	// grace is how long what submits may take to end after a signal.
	grace = 10 * time.Second
)

// Run submits the job, waits for it and returns its exit code. An error says why there is none; [ErrTwice] where the job was
// started more than once.
func (j Job) Run(ctx context.Context) (code int, err error) {
	dir, err := os.MkdirTemp(j.Dir, ".nsgate-job-") // mode 0700
	if err != nil {
		return 0, fmt.Errorf("the job needs a directory that all hosts see: %w", err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return 0, err
	}
	words, err := j.prepare(dir)
	if err != nil {
		return 0, err
	}
	j.Err = &shared{to: j.Err}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = j.Err, j.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%q cannot be started: %w", j.Submit[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	out, errs := &tail{file: filepath.Join(dir, outFile), to: j.Out}, &tail{file: filepath.Join(dir, errFile), to: j.Err}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var failed error
	var end <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			os.RemoveAll(dir) // by which the job learns of it, wherever it is
			if ended != nil {
				<-ended
			}
			return 0, context.Cause(ctx)
		case failed = <-ended:
			ended, end = nil, time.After(j.patience(dir, failed))
		case <-end:
			return 0, j.lost(dir, failed)
		case <-look.C:
		}
		code := readCode(dir) // before what it printed, so that nothing of that is missed
		errs.follow()
		out.follow()
		switch {
		case exists(filepath.Join(dir, againFile)):
			return 0, ErrTwice
		case code != nil && ended == nil:
			return *code, nil
		}
	}
}

// ErrTwice is the error of a job that was started more than once.
var ErrTwice = errors.New("the job was started more than once, and one nsgate measures: submit one task (srun --ntasks=1), and let the launcher start the ranks")

// patience is how long to wait for the files of a job that is over. One that never started leaves none.
func (j Job) patience(dir string, failed error) time.Duration {
	if failed != nil && !exists(filepath.Join(dir, startedFile)) {
		return 2 * lookEvery
	}
	return late
}

// lost is the error of a job that left no exit code.
func (j Job) lost(dir string, failed error) error {
	line, started := thresholds.JoinCommand(j.Submit), exists(filepath.Join(dir, startedFile))
	how := "ended well"
	if failed != nil {
		how = "failed (" + failed.Error() + ")"
	}
	needs := fmt.Sprintf("the job has to find %s and %s on its host; look at what the scheduler wrote of it", self(), j.Dir)
	switch {
	case started:
		return fmt.Errorf("the job that %q submits came to no end that nsgate could tell, and the command %s: a time limit, scancel or a lost host ends it so; "+
			"look at what the scheduler says of it", line, how)
	case failed != nil:
		return fmt.Errorf("%q %s, and no job started nsgate: see what it says above; %s", line, how, needs)
	}
	return fmt.Errorf("%q %s before a job started nsgate: it has to wait for its job (sbatch --wait, bsub -K, qsub -sync y), and %s", line, how, needs)
}

// prepare writes what the job is to do, and returns the words that submit it.
func (j Job) prepare(dir string) ([]string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(order{Args: j.Args, Dir: wd, Env: j.Env})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, orderFile), data, 0o600); err != nil {
		return nil, err
	}
	call := []string{self(), hidden, dir}
	if !takesScript(j.Submit[0]) {
		return append(j.Submit[:len(j.Submit):len(j.Submit)], call...), nil
	}
	script := filepath.Join(dir, scriptFile)
	text := "#!/bin/sh\nexec " + thresholds.JoinCommand(call) + "\n"
	return append(j.Submit[:len(j.Submit):len(j.Submit)], script), os.WriteFile(script, []byte(text), 0o700)
}

// takesScript reports whether a scheduler's command wants a script, where others take a command line.
func takesScript(name string) bool {
	name = filepath.Base(name)
	return name == "sbatch" || name == "qsub"
}

// Shown are the words that submit a command line, for a reader.
func Shown(submit, line []string) string {
	if takesScript(submit[0]) {
		return thresholds.JoinCommand(submit) + " SCRIPT  # which runs " + thresholds.JoinCommand(line)
	}
	return thresholds.JoinCommand(append(submit[:len(submit):len(submit)], line...))
}

// Allocation is the variable by which a scheduler tells its jobs who they are, and its value here; "" outside of a job.
func Allocation(getenv func(string) string) (variable, job string) {
	for _, v := range []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"} {
		if job := getenv(v); job != "" {
			return v, job
		}
	}
	return "", ""
}

// self is this program's file.
func self() string {
	file, err := os.Executable()
	return cmp.Or(map[bool]string{true: file}[err == nil], os.Args[0])
}

func exists(file string) bool {
	f, err := os.Open(file) // a network file system may keep in mind what stat says
	if err == nil {
		f.Close()
	}
	return err == nil
}

// readCode is the exit code of a job, nil before its end.
func readCode(dir string) *int {
	data, err := os.ReadFile(filepath.Join(dir, codeFile))
	if err != nil {
		return nil
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return nil
	}
	return &code
}

// shared is a writer of several goroutines: what submits and the job both have something to say.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// tail copies what is added to a file.
type tail struct {
	file string
	to   io.Writer
	at   int64
}

func (t *tail) follow() {
	f, err := os.Open(t.file)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.Seek(t.at, io.SeekStart); err == nil {
		n, _ := io.Copy(t.to, f)
		t.at += n
	}
}

// Ordered is the directory of the job that this process is, where its arguments say that it is one.
func Ordered(args []string) (dir string, ok bool) {
	if len(args) != 2 || args[0] != hidden {
		return "", false
	}
	return args[1], true
}

// errUnwanted is the cause of the end of a job that nobody waits for.
var errUnwanted = errors.New("nobody waits for this job any more")

// Serve is the job: it runs what was ordered, leaves what that prints and its exit code where the one who waits finds it, and returns
// the code. Once nobody waits, the context of run ends.
func Serve(ctx context.Context, dir string, errs io.Writer, run func(ctx context.Context, args []string, out, errs io.Writer) int) int {
	const notRun = 3
	code, err := serve(ctx, dir, run)
	if err != nil {
		fmt.Fprintln(errs, "nsgate:", err)
		return notRun
	}
	return code
}

func serve(ctx context.Context, dir string, run func(ctx context.Context, args []string, out, errs io.Writer) int) (int, error) {
	var o order
	data, err := os.ReadFile(filepath.Join(dir, orderFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("%w, or this host does not see %s", errUnwanted, dir)
	case err != nil:
		return 0, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return 0, fmt.Errorf("%s: %w", orderFile, err)
	}
	started, err := os.OpenFile(filepath.Join(dir, startedFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, errors.Join(ErrTwice, os.WriteFile(filepath.Join(dir, againFile), nil, 0o600))
	} else if err != nil {
		return 0, err
	}
	started.Close()
	if err := os.Chdir(o.Dir); err != nil {
		return 0, fmt.Errorf("the job works where nsgate was called, which this host does not see: %w", err)
	}
	for _, v := range o.Env {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	out, err := os.OpenFile(filepath.Join(dir, outFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	errs, err := os.OpenFile(filepath.Join(dir, errFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer errs.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go attend(ctx, dir, cancel)
	code := run(ctx, o.Args, out, errs)
	part := filepath.Join(dir, "."+codeFile)
	if err := errors.Join(out.Sync(), errs.Sync(), os.WriteFile(part, []byte(strconv.Itoa(code)), 0o600), os.Rename(part, filepath.Join(dir, codeFile))); err != nil {
		return 0, fmt.Errorf("how the job ended cannot be said: %w", err)
	}
	return code, nil
}

// attend ends a job that nobody waits for.
func attend(ctx context.Context, dir string, cancel context.CancelCauseFunc) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if !exists(filepath.Join(dir, orderFile)) || exists(filepath.Join(dir, againFile)) {
				cancel(errUnwanted)
				return
			}
		}
	}
}
