package nsysrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
	"github.com/nsgate/nsgate/gate/internal/run/host"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Examine looks for nsys, and asks it whether it can sample the metrics of the GPUs.
func (n Nsys) Examine(ctx context.Context, exe string) (seen doctor.Observations) {
	const guide = "https://docs.nvidia.com/nsight-systems/InstallationGuide"
	// least is the first version of nsys that has every option of a recording. Versions begin with their year.
	const least = "2021.5"
	name := n.Tool().Name
	version, err := askVersion(ctx, cmp.Or(exe, name))
	there := elsewhere(host.Own)
	switch {
	case err != nil && exe != "":
		seen.Add(doctor.Bad, name, err.Error()+": name another, or leave it out for the one on the PATH")
	case err != nil && there != "":
		seen.Add(doctor.Bad, name, fmt.Sprintf(
			"cannot be used; %s is there: put its directory on the PATH, or say where it is", there))
	case err != nil:
		seen.Add(doctor.Bad, name, "cannot be used: install Nsight Systems (it comes with the CUDA toolkit), "+
			"at least as new as the driver, or say where it is: "+guide)
	case version < least:
		seen.Add(doctor.Bad, name, version+" is older than "+least+", the first that traces the nodes of CUDA graphs: "+
			"install a newer one, or say where it is: "+guide)
	default:
		seen.Add(doctor.Good, name, version)
	}
	if seen[0].Mark == doctor.Bad {
		seen[0].Kind = model.NoProfiler
	}
	examineMetrics(ctx, cmp.Or(exe, name), &seen)
	return seen
}

// examineMetrics asks nsys itself: besides the right to read the counters it takes that nothing else, such as DCGM,
// holds them.
func examineMetrics(ctx context.Context, exe string, seen *doctor.Observations) {
	const what = "GPU metrics"
	said, _ := ask(ctx, exe, "profile", "--gpu-metrics-devices=help") // its status says nothing
	refusal := gpuMetricsRefused(said)
	switch {
	case sampleable().MatchString(said):
		seen.Add(doctor.Good, what, "nsys can sample them")
	case refusal != nil:
		seen.Add(doctor.Note, what, refusal.Reason+"; only sampling them needs that: "+refusal.Next)
	default:
		seen.Add(doctor.Note, what, "whether nsys can sample them is unknown: only sampling them needs that")
	}
}

// elsewhere finds an nsys that is not on the PATH, the last one in its directory's order; "" for none.
func elsewhere(here host.Host) string {
	for _, pattern := range []string{"opt/nvidia/nsight-systems-cli/*/bin/nsys", "opt/nvidia/nsight-systems/*/bin/nsys",
		"usr/local/cuda*/bin/nsys"} {
		if found := here.Find(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

var (
	metricsTaken = model.Refuse(model.NoGPUMetrics,
		"end it, or pause it while you measure (DCGM: dcgmi profile --pause, then --resume); or measure without them",
		"nsys cannot sample the GPU's metrics: another profiler holds its counters")
	metricsDenied = model.Refuse(model.NoGPUMetrics,
		"measure as root, in a container with --cap-add SYS_ADMIN; or load the driver with "+
			"NVreg_RestrictProfilingToAdminUsers=0; or measure without them",
		"nsys may not sample the GPU's metrics: they are for administrators only")
	metricsUnsupported = model.Refuse(model.NoGPUMetrics,
		"measure without them; GPUs before Turing have none, and newer ones may need a newer nsys",
		"nsys cannot sample the metrics of this GPU")
)

// gpuMetricsRefusals lists the messages of an nsys that cannot sample the GPU's metrics, with their refusals.
var gpuMetricsRefusals = []struct {
	text    string
	refusal *model.Refusal
}{
	{"Already under profiling", metricsTaken},
	{"Insufficient privilege", metricsDenied},
	{"ERR_NVGPUCTRPERM", metricsDenied},
	{"None of the installed GPUs are supported", metricsUnsupported},
	{"Unsupported architecture", metricsUnsupported},
}

// gpuMetricsRefused is the refusal that the output of nsys stands for, nil for none.
func gpuMetricsRefused(said string) *model.Refusal {
	for _, x := range gpuMetricsRefusals {
		if strings.Contains(said, x.text) {
			return x.refusal
		}
	}
	return nil
}

var unknownOption = input.Pattern(`(?i)unrecogni[sz]ed option '?(--?[a-z][a-z0-9-]*)`)

// optionError is the refusal of an option that nsys does not know.
type optionError struct {
	error
	name string
}

func (e *optionError) Unwrap() error { return e.error }

// Refusal is nsys's reason for starting nothing, nil for none.
func (Nsys) Refusal(o profiler.Options, printed string) error {
	if refused := gpuMetricsRefused(printed); o.GPUMetrics && refused != nil {
		return refused
	}
	if m := unknownOption().FindStringSubmatch(printed); m != nil {
		return &optionError{model.Refuse(model.ProfilerOption,
			"update nsys, or leave the option out of its further arguments",
			"this nsys does not know the option %s", m[1]), m[1]}
	}
	return nil
}

// sampleable matches a GPU in nsys's list of GPUs with samples of metrics: "0: NVIDIA H200 PCI[0000:19:00.0]". Other
// GPUs have a reason behind the name.
var sampleable = input.Pattern(`(?m)^\s*\d+: .*\]\s*$`)

// askVersion asks an nsys executable for its version, such as "2025.3.2".
func askVersion(ctx context.Context, exe string) (string, error) {
	said, err := ask(ctx, exe, "--version")
	if err != nil {
		return "", err
	}
	if m := version().FindStringSubmatch(said); m != nil {
		return m[1], nil
	}
	return "", fmt.Errorf("%s --version says %q, which names no version", filepath.Base(exe), proc.Said(said))
}

// ask runs an nsys executable for half a minute at most, and returns what it prints.
func ask(ctx context.Context, exe string, args ...string) (said string, err error) {
	path, err := exec.LookPath(exe)
	if err != nil {
		return "", errors.New(proc.Missing(exe, err))
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var out proc.Output
	if err = proc.Run(ctx, "", &out, &out, path, args...); err != nil {
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(exe), strings.Join(args, " "), err, proc.Said(out.String()))
	}
	return out.String(), err
}

var version = input.Pattern(`version (\d+\.\d+(?:\.\d+)?)`)
