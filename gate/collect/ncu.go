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
	"time"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/ncu"
)

// NcuPlan says which kernels of a build to profile with Nsight Compute.
type NcuPlan struct {
	Build   Build
	Kernels []string      // short names, see [measure.ShortName]
	Ncu     string        // the ncu executable, "" for "ncu" on the PATH
	Timeout time.Duration // of the whole, 0 for ten minutes
}

// Of each launch configuration of a kernel the first launches are let by, because clocks and caches settle, and the next
// ones are profiled.
const (
	ncuSkip  = 5
	ncuCount = 3
)

// ncuLimit is the size to which the output of ncu is read, in bytes; a launch takes 20 kB.
const ncuLimit = 128 << 20

// command names what configuration files, versions and the locale might decide otherwise. The sets of sections exist in
// every version and on every chip, while a single metric that is unknown or that only a section defines ends ncu.
func (p NcuPlan) command(dir string, workload []string) []string {
	ncu := p.Ncu
	if ncu == "" {
		ncu = "ncu"
	}
	return slices.Concat([]string{ncu, "--csv", "--page", "raw", "--print-units", "base", "--log-file", ncuLogIn(dir),
		"--config-file", "off", "--clock-control", "none", "--cache-control", "all", "--replay-mode", "kernel",
		"--target-processes", "all", "--set", "full", "--kernel-name-base", "function", "-k", pattern(p.Kernels),
		"--filter-mode", "per-launch-config", "--launch-skip", fmt.Sprint(ncuSkip), "--launch-count", fmt.Sprint(ncuCount)},
		workload)
}

func ncuLogIn(dir string) string { return filepath.Join(dir, "ncu.csv") }

// pattern matches exactly these names.
func pattern(kernels []string) string {
	quoted := make([]string, len(kernels))
	for i, k := range kernels {
		quoted[i] = regexp.QuoteMeta(k)
	}
	return "regex:^(" + strings.Join(quoted, "|") + ")$"
}

// Explain runs a build once under ncu, for a few launches of each of the kernels, and reads their counters. Times under
// ncu, which runs the launches one by one, are not those of [Collect].
//
// What ncu cannot do is a *measure.Refusal; a cancelled ctx is its cause. In each case no process and no file is left.
// As with Collect, only one may run at a time in a process.
func Explain(ctx context.Context, p NcuPlan) (*ncu.Profile, error) {
	if !supported {
		return nil, errUnsupported
	}
	if len(p.Build.Command) == 0 || len(p.Kernels) == 0 {
		return nil, errors.New("nothing to profile: give a workload and its kernels")
	}
	if p.Timeout == 0 {
		p.Timeout = 10 * time.Minute
	}
	workload, err := p.Build.program("the workload", "check its command")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nsgate-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("the private directory: %w; set TMPDIR to a directory that can be written", err)
	}
	defer os.RemoveAll(dir)
	// ncu keeps a lock in the temporary directory, which that of another user blocks.
	tmp := tmpIn(dir)
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, fmt.Errorf("the private directory: %w", err)
	}

	argv := p.command(dir, append([]string{workload.Path}, p.Build.Command[1:]...))
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, measure.Refuse("ncu was not found", "install Nsight Compute, it comes with the CUDA toolkit")
	}
	var output excerpt
	cmd := exec.Command(path, argv[1:]...)
	cmd.Dir = workload.Dir
	cmd.Env = setenv(setenv(os.Environ(), "LC_ALL", new("C")), "TMPDIR", &tmp)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := p.wait(ctx, cmd); err != nil {
		return nil, err
	}
	log, err := os.Open(ncuLogIn(dir))
	if err != nil {
		return nil, measure.Refuse(fmt.Sprintf("ncu wrote nothing (%s)", cmd.ProcessState), "run ncu on the workload by hand")
	}
	defer log.Close()
	profile, err := ncu.Read(io.LimitReader(log, ncuLimit), "the output of ncu")
	if err == nil && !cmd.ProcessState.Success() {
		err = measure.Refuse(fmt.Sprintf("ncu failed (%s)", cmd.ProcessState), "run ncu on the workload by hand")
	}
	if err != nil {
		return nil, err
	}
	return profile, nil
}

// wait runs ncu to its end. When it returns, no process that it started lives.
func (p NcuPlan) wait(ctx context.Context, cmd *exec.Cmd) error {
	runtime.LockOSThread() // ncu dies with the thread that started it
	defer runtime.UnlockOSThread()
	before, restore := adopt()
	defer restore()
	cmd.WaitDelay = terminateGrace // a process that outlives ncu may hold its output open
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		return measure.Refuse("ncu could not be started", "check the ncu installation")
	}
	defer end(before)
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	var why error
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-time.After(p.Timeout):
		why = measure.Refuse(fmt.Sprintf("ncu did not finish within %v", p.Timeout), "make the workload shorter")
	}
	terminateGroup(cmd)
	select {
	case <-done:
	case <-time.After(terminateGrace):
		killGroup(cmd)
		end(before)
		<-done
	}
	return why
}
