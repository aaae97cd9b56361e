package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
	"github.com/nsgate/nsgate/thresholds"
)

// Inputs are the files that a program is made of or reads, and the settings of its measurement.
type Inputs struct {
	Patterns []string // relative to the directory of the workload
	hashed   string   // both hashes before the measurement, "" where a file could not be read
	setup    string
	files    int
	// inherited is that of [model.Session].
	inherited string
}

// Begin hashes the files in dir and the settings before the measurement. The settings are a workload and more.
func (in *Inputs) Begin(dir string, w thresholds.Workload, more any) error {
	w.Runs, w.Budget, w.ExplainTime, w.Timeout, w.Threshold, w.SkipUnchanged = thresholds.Runs{}, 0, 0, 0, nil, false
	w.Where, w.Places = "", nil
	if w.Launcher != nil || w.Gather != "" {
		return errors.New("a launcher may start processes on other hosts")
	}
	set, err := inherited()
	if err != nil {
		return err
	}
	command, err := json.Marshal([]any{w, more})
	if err != nil {
		return err
	}
	if err := in.mentioned(dir, command, set); err != nil {
		return err
	}
	in.inherited = prints(set)
	text, err := json.Marshal([]any{w, more, set})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	in.setup = hex.EncodeToString(sum[:])
	in.hashed, err = in.hash(dir)
	return err
}

func (in *Inputs) hash(dir string) (string, error) {
	all := sha256.New()
	in.files = 0
	err := in.each(dir, func(pattern, file string) error {
		sum, err := input.Hash(input.Open(file))
		name, outside := filepath.Rel(dir, file)
		if outside != nil {
			name = file
		}
		fmt.Fprintf(all, "%q %q %x\n", pattern, filepath.ToSlash(name), sum)
		in.files++
		return err
	})
	return hex.EncodeToString(all.Sum(nil)) + " " + in.setup, err
}

// each calls a function for every input file, until it returns an error.
func (in *Inputs) each(dir string, do func(pattern, file string) error) error {
	for _, pattern := range in.Patterns {
		files, err := devicecode.Files(dir, pattern)
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("%s: there is no such file; build it first, or correct the path", pattern)
		}
		for _, file := range files {
			err = cmp.Or(err, do(pattern, file))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mostSearched is how much of an input is searched for names of variables.
const mostSearched = 64 << 20

// mentioned adds to settings the variables of a job that the command or an input names: by these the program may run.
func (in *Inputs) mentioned(dir string, command []byte, to map[string]string) error {
	of := map[string]*regexp.Regexp{}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); perJob(v) && strings.Contains(strings.Trim(name, "_"), "_") {
			of[name] = regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
		}
	}
	find := func(text []byte) {
		for name, word := range of {
			if bytes.Contains(text, []byte(name)) && word.Match(text) {
				to[name] = os.Getenv(name)
				delete(of, name)
			}
		}
	}
	find(command)
	return in.each(dir, func(_, file string) error {
		f, err := input.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := input.All(io.LimitReader(f, mostSearched), mostSearched)
		find(text)
		return err
	})
}

// stored are the hashes for a baseline: "" where the files changed since [Inputs.Begin], or cannot be read.
func (in Inputs) stored(dir string) string {
	if in.hashed == "" {
		return ""
	}
	if now, err := in.hash(dir); err != nil || now != in.hashed {
		return ""
	}
	return in.hashed
}

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
		r := insight.JudgeCode(decide.Input{Baseline: base, Head: head, Policy: c.Policy}, &said)
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
