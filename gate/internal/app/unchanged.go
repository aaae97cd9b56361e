package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
	"github.com/nsgate/nsgate/thresholds"
)

var _ = result.Keyed("unchanged", Unchanged{}, "Nothing was measured, because nothing changed.")

// Unchanged is the reason of a check that passes without measuring.
type Unchanged struct{ Kernels, Files int }

func (r Unchanged) String() string {
	return fmt.Sprintf("not measured: device code (%s), %s, settings and driver equal the baseline's",
		measure.Count(r.Kernels, "kernel"), measure.Count(r.Files, "input file"))
}

// unchanged is the report of a check that need not measure; nil where it has to, which it says with the reason.
func (c *Check) unchanged(ctx context.Context) *result.Report {
	if !c.SkipUnchanged {
		return nil
	}
	base, kernels, why := c.same(ctx)
	if why == "" {
		said := result.Say(Unchanged{len(kernels), c.Code.Inputs.files})
		head := []model.Session{{Code: kernels}}
		r := insight.JudgeCode(decide.Input{Baseline: base, Head: head, Policy: c.Policy}, &said, nil)
		if r.Verdict == result.Pass {
			return r
		}
		why = r.Reason
	}
	c.Warn("measuring although unchanged checks are skipped: " + why)
	return nil
}

// same are the sessions of the baseline for this GPU and the device code, or why the check has to measure.
func (c *Check) same(ctx context.Context) (base []model.Session, kernels []devicecode.Kernel, why string) {
	inputs := &c.Code.Inputs
	m := c.Live
	switch {
	case !m.Way.Live:
		return nil, nil, "finished profiles are judged"
	case c.Base != nil || m.Way.Counts || m.GPUMetrics:
		return nil, nil, "a base build, counters or GPU metrics are measured"
	case len(c.Code.Patterns) == 0 || len(inputs.Patterns) == 0:
		return nil, nil, "the [[workload]] needs both keys, code and inputs"
	case inputs.hashed == "":
		return nil, nil, "the inputs are not known"
	case slices.ContainsFunc(c.Policy.Rules, func(r thresholds.Rule) bool {
		return r.AtMost != nil || r.AtLeast != nil || r.Drift != nil
	}):
		return nil, nil, "a rule with at_most, at_least or drift may fail an unchanged program"
	}
	gpu, why := oneKind(ctx)
	if why != "" {
		return nil, nil, why
	}
	b, ok := c.Baselines.ForGPU(gpu.Name)
	base = c.pick(b.Sessions)
	if !ok || len(base) == 0 {
		return nil, nil, "there is no baseline of this GPU"
	}
	kernels, err := c.Code.read(ctx)
	if err != nil {
		return nil, nil, err.Error()
	}
	for i := range base {
		if why := otherwise(&base[i], gpu, inputs, kernels); why != "" {
			return nil, nil, why
		}
	}
	return base, kernels, ""
}

// oneKind is a GPU of this machine where all are alike, with the hardware of them all, or why that is not known.
func oneKind(ctx context.Context) (gpu device.GPU, why string) {
	tool := tools.GPUs()
	gpus, err := tool.GPUs(ctx)
	if err != nil || len(gpus) == 0 {
		return gpu, "the GPU of this machine is not known"
	}
	boards := tool.Hardware(ctx)
	gpu = gpus[0]
	for i, g := range gpus {
		if g.MIG || g.Name != gpu.Name || g.Driver != gpu.Driver || g.Driver == "" {
			return gpu, "the GPUs of this machine are of several kinds or drivers, or parts (MIG)"
		}
		gpus[i].Hardware = boards[g.UUID]
	}
	gpu.Hardware = device.Hardware(gpus)
	return gpu, ""
}

// otherwise is what a session of the baseline has otherwise, "" for nothing.
func otherwise(s *model.Session, gpu device.GPU, inputs *Inputs, kernels []devicecode.Kernel) string {
	sorted := func(k []devicecode.Kernel) []devicecode.Kernel {
		return slices.SortedFunc(slices.Values(k), devicecode.Kernel.Compare)
	}
	files, setup, _ := strings.Cut(s.Inputs, " ")
	nowFiles, nowSetup, _ := strings.Cut(inputs.hashed, " ")
	switch {
	case s.Code == nil || s.Inputs == "":
		return "the baseline holds no device code or no inputs; record it with the keys code and inputs"
	case s.GPU != gpu.Name || s.MIG != "":
		return "the baseline is of another GPU"
	case s.Driver != gpu.Driver:
		return "the driver is another one than the baseline's"
	case s.Hardware != gpu.Hardware:
		return "the GPU's board, memory clock or power limit, or the CPU is another one than the baseline's"
	case !slices.Equal(sorted(s.Code), sorted(kernels)):
		return "device code changed"
	case files != nowFiles:
		return "inputs changed"
	case setup != nowSetup:
		return "the command, its settings or the environment changed" + changedPrints(s.Inherited, inputs.inherited)
	}
	return ""
}

// RunCode compares the device code here with that of the baselines' newest session, without a GPU.
func (c *Check) RunCode(ctx context.Context) (*result.Report, error) {
	base := slices.DeleteFunc(c.Baselines.sessions(), func(s model.Session) bool { return s.Code == nil })
	in := decide.Input{Baseline: base, Policy: c.Policy}
	kernels, err := c.Code.read(ctx)
	if err == nil && kernels == nil {
		err = model.Refuse(model.NoCode, `add code = ["FILE", …] to the [[workload]]`,
			"workload %s names no files with device code", c.Workload)
	}
	switch {
	case model.KindOf(err) != "":
		return insight.Refuse(in, err), nil
	case err != nil:
		return nil, err
	}
	in.Head = []model.Session{{Code: kernels}}
	if len(base) == 0 {
		err = model.Refuse(model.NoCode, "record a baseline with this code (nsgate record)",
			"no baseline of workload %s holds device code", c.Workload)
	}
	return insight.JudgeCode(in, nil, err), nil
}

const (
	watchEvery  = 400 * time.Millisecond // between two looks at files, which are quiet where both are equal
	mostWatched = 2000                   // files of git that a watch looks at
)

// Watched are the files whose change has a check measure again: programs, those of its command, and others, the inputs
// and the device code that the policy names. Where it names none, and the program was not built in this repository,
// others are what git tracks at the workload's directory.
func (c *Check) Watched(ctx context.Context) (programs, others []string) {
	build, dir, built := &c.Live.Head, cmp.Or(c.Live.Head.Dir, "."), false
	for i, name := range slices.Concat(build.Server, build.Command) {
		awaited := i == 0 && strings.Contains(name, "/") // also where it is not built yet
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if info, err := os.Stat(name); awaited || err == nil && info.Mode().IsRegular() {
			programs = append(programs, name)
			built = built || git.Within(Repository(), name) != ""
		}
	}
	for _, pattern := range slices.Concat(c.Code.Inputs.Patterns, c.Code.Patterns) {
		files, _ := devicecode.Files(c.Code.Dir, pattern)
		others = append(others, files...)
	}
	if len(others) > 0 {
		return programs, others
	}
	listed, _ := git.Output(ctx, dir, "ls-files", "-z")
	for _, name := range strings.FieldsFunc(listed, func(r rune) bool { return r == 0 }) {
		name = filepath.Join(dir, name)
		if slices.Contains(programs, name) {
			built = false
		} else if len(others) < mostWatched {
			others = append(others, name)
		}
	}
	if built {
		return programs, nil
	}
	return programs, others
}

// Stamps are size, mode and time of files, "" for one that is missing.
func Stamps(files []string) map[string]string {
	out := map[string]string{}
	for _, name := range files {
		out[name] = ""
		if info, err := os.Stat(name); err == nil {
			out[name] = fmt.Sprint(info.Size(), info.Mode(), info.ModTime().UnixNano())
		}
	}
	return out
}

// Await returns when files have other stamps than before, the programs are there, and all are quiet; or when ctx ends.
func Await(ctx context.Context, before map[string]string, programs []string) {
	for last := before; ctx.Err() == nil; {
		time.Sleep(watchEvery)
		now := Stamps(slices.Collect(maps.Keys(before)))
		missing := slices.ContainsFunc(programs, func(name string) bool { return now[name] == "" })
		if maps.Equal(now, last) && !maps.Equal(now, before) && !missing {
			return
		}
		last = now
	}
}
