package run

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/device"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/ncu"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// NcuPlan says which kernels of a build to profile with Nsight Compute.
type NcuPlan struct {
	Build   Build
	Kernels []string      // short names, see [measure.ShortName], or expressions behind [ncu.Regex]; none for all kernels
	Ncu     string        // the ncu executable, "" for "ncu" on the PATH
	Timeout time.Duration // of one run, 0 for ten minutes
	// Of each launch configuration of a kernel the first Skip launches are let by, because clocks and caches settle,
	// and the next Count are profiled (0: [NcuCount]).
	Skip, Count int
	Range       string   // restricts it to launches within this NVTX range, in ncu's own notation ("step/")
	Set         string   // of sections, "" for full unless there are sections
	Sections    []string // to collect beside the set
	Metrics     []string // to collect by their names
	Device      device.Tool
	AllowBusy   bool // measures although something else uses the GPU
}

// The launches that are skipped and profiled unless somebody says otherwise. One launch is replayed for about two
// seconds (an H200, all sections), and the run is the unit of replication: more launches of one run would tell little
// more.
const (
	NcuSkip  = 5
	NcuCount = 1
)

// ncuMode is how ncu is always run: [model.Environment.Mode]. Clocks are left as they are, because a gate may not
// change a machine; caches are flushed, and kernels replayed, so that single launches are alike.
const ncuMode = "clock none, cache all, replay kernel"

// ncuLimit is the size to which the output of ncu is read, in bytes; a launch takes 20 kB.
const ncuLimit = 128 << 20

// command names what configuration files, versions and the locale might decide otherwise. The sets of sections exist in
// every version and on every chip, while a single metric that is unknown or that only a section defines ends ncu.
func (p NcuPlan) command(dir string, workload []string) []string {
	argv := []string{cmp.Or(p.Ncu, "ncu"), "--csv", "--page", "raw", "--print-units", "base", "--log-file", ncuLogIn(dir),
		"--config-file", "off", "--clock-control", "none", "--cache-control", "all", "--replay-mode", "kernel",
		"--target-processes", "all"}
	metrics := p.Metrics
	if p.Set != "" || p.Sections != nil {
		metrics = slices.Concat([]string{"gpu__time_duration.sum"}, metrics)
	}
	if p.Set != "" || p.Sections == nil {
		argv = append(argv, "--set", cmp.Or(p.Set, "full"))
	}
	for _, s := range p.Sections {
		argv = append(argv, "--section", s)
	}
	if len(metrics) > 0 {
		argv = append(argv, "--metrics", strings.Join(metrics, ","))
	}
	if len(p.Kernels) > 0 {
		argv = append(argv, "--kernel-name-base", "function", "-k", pattern(p.Kernels))
	}
	if p.Range != "" {
		argv = append(argv, "--nvtx", "--nvtx-include", p.Range)
	}
	return slices.Concat(argv, []string{"--filter-mode", "per-launch-config", "--launch-skip", strconv.Itoa(p.Skip),
		"--launch-count", strconv.Itoa(cmp.Or(p.Count, NcuCount))}, workload)
}

// CommandLine is the command that [Profile] runs, with DIR for its private directory.
func (p NcuPlan) CommandLine() []string { return p.command("DIR", p.Build.Command) }

func ncuLogIn(dir string) string { return filepath.Join(dir, "ncu.csv") }

// pattern matches exactly these names, and those that an expression matches, also where ncu writes what
// [measure.NormalizeName] takes out: the tags of Numba, the hashes of Rust, device and inode of OpenMP.
func pattern(kernels []string) string {
	var quoted, all []string
	for _, k := range kernels {
		if expression, ok := strings.CutPrefix(k, ncu.Regex); ok {
			all = append(all, expression)
			continue
		}
		quoted = append(quoted, strings.Replace(regexp.QuoteMeta(k), "__omp_offloading_#_#_", "__omp_offloading_[0-9a-f]+_[0-9a-f]+_", 1))
	}
	if len(quoted) > 0 {
		all = append(all, "^("+strings.Join(quoted, "|")+`)(\[(abi:)?v[0-9A-Za-z_,:]*\]|\$[0-9]+|::h[0-9a-f]{16})*$`)
	}
	return ncu.Regex + strings.Join(all, "|")
}

// Profile runs a build once under ncu, for a few launches of each of the kernels, and reads their counters. Times under
// ncu, which runs the launches one by one, are not those of [Session].
//
// What ncu cannot do is a *model.Refusal; a cancelled ctx is its cause. In each case no process and no file is left.
// As with [Session], only one may run at a time in a process.
func Profile(ctx context.Context, p NcuPlan) (*ncu.Profile, error) {
	if !proc.Supported {
		return nil, errUnsupported
	}
	if len(p.Build.Command) == 0 {
		return nil, errors.New("nothing to profile: give a workload")
	}
	if p.Timeout == 0 {
		p.Timeout = 10 * time.Minute
	}
	workload, err := p.Build.program("the workload", buildFirst)
	if err != nil {
		return nil, err
	}
	private, err := proc.NewPrivate("", "")
	if err != nil {
		return nil, err
	}
	defer private.Close()
	dir := private.Path
	env, err := private.Env()
	if err != nil {
		return nil, err
	}
	argv := p.command(dir, append([]string{workload.Path}, p.Build.Command[1:]...))
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, model.Refuse(model.NoNcu, "install Nsight Compute, it comes with the CUDA toolkit",
			"ncu was not found")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Timeout, model.Refuse(model.NcuHangs, "make the workload shorter, or name fewer kernels; kernels of NCCL, which wait for each other, hang under ncu",
		"ncu did not finish within %s", p.Timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir = workload.Dir
	cmd.Env = env
	cmd.WaitDelay = terminateGrace // a process that outlives ncu may hold its output open
	proc.Finish(cmd)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case cmd.ProcessState == nil:
		return nil, model.Refuse(model.NcuFailed, "check the ncu installation", "ncu could not be started")
	}
	log, err := input.Open(ncuLogIn(dir))
	if err != nil {
		return nil, model.Refuse(model.NcuFailed, ncuByHand, "ncu wrote nothing (%s)", cmd.ProcessState)
	}
	defer log.Close()
	profile, err := ncu.Read(io.LimitReader(log, ncuLimit), "the output of ncu", p.Metrics...)
	if err == nil && !cmd.ProcessState.Success() {
		err = model.Refuse(model.NcuFailed, ncuByHand, "ncu failed (%s)", cmd.ProcessState)
	}
	if err != nil {
		return nil, err
	}
	return profile, nil
}

// Counters is what ncu measured of a build and, by schedule with it, of a base build.
type Counters struct {
	Base, Head  []*ncu.Profile // one a run
	Environment model.Environment
	Warnings    []string
}

// Count profiles the head, and the base beside it where there is one, in runs fresh processes each. started is called
// before each of them. The errors are those of [Profile], and a *model.Refusal where something else uses the GPU.
func Count(ctx context.Context, p NcuPlan, base *Build, runs int, started func(base bool, index, of int)) (*Counters, error) {
	watch := device.Watch(p.Device, time.Now, false)
	if err := watch.Before(ctx, p.AllowBusy); err != nil {
		return nil, err
	}
	c := &Counters{Environment: model.Environment{Tool: strings.TrimSpace("ncu " + ncu.Version(ctx, cmp.Or(p.Ncu, "ncu"))), Mode: ncuMode, Start: time.Now().UTC()}}
	var uuids []string
	for _, g := range watch.GPUs() {
		uuids = append(uuids, g.UUID)
		c.Environment.Driver = g.Driver
	}
	c.Environment.GPUHash, c.Environment.Hardware = model.HashUUID(uuids...), device.Hardware(watch.GPUs())
	schedule := Plan{Head: p.Build, Base: base, Runs: runs}.schedule()
	for i := range schedule {
		isBase := schedule[i].Base
		started(isBase, i, len(schedule))
		one := p
		if isBase {
			one.Build = *base
		}
		profile, err := Profile(ctx, one)
		if err != nil {
			return nil, err
		}
		if isBase {
			c.Base = append(c.Base, profile)
		} else {
			c.Head = append(c.Head, profile)
		}
	}
	c.Warnings = watch.Warnings()
	return c, watch.After(ctx, p.AllowBusy)
}
