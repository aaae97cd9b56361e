package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/device"
	"github.com/nsgate/nsgate/gate/internal/host"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/ncu"
	"github.com/nsgate/nsgate/gate/internal/nsysrun"
	"github.com/nsgate/nsgate/gate/internal/nvidia"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Mark is the meaning of an observation.
type Mark string

// The three marks: well, worth knowing, and in the way of measuring.
const (
	Good Mark = "good"
	Note Mark = "note"
	Bad  Mark = "bad"
)

// Observation is one thing that was looked at.
type Observation struct {
	Mark   Mark   `json:"mark"`
	What   string `json:"what"`   // "nsys", "GPU 0 clock"
	Detail string `json:"detail"` // how it is, and what to do about it
	// Do are commands for a shell that do it, in this order.
	Do []string `json:"do,omitempty"`
}

// Examine looks at what measuring on this machine takes: the profilers, the GPUs, the right to read performance
// counters, the room for reports. nsys is the executable, "" for that on the PATH. models are those of the GPUs, as
// baselines call them.
func Examine(ctx context.Context, nsys string) (seen []Observation, models []string) {
	var x examination
	smi := nvidia.New()
	gpus, err := smi.GPUs(ctx)
	for _, g := range gpus {
		if !slices.Contains(models, g.Name) {
			models = append(models, g.Name)
		}
	}
	here := surroundings{"/"}
	x.nsys(ctx, nsys, here)
	x.ncu(ctx)
	x.gpus(ctx, smi, gpus, err)
	x.counters(here)
	x.gpuMetrics(ctx, nsys)
	x.dcgm(here)
	x.host(host.Here())
	x.room(os.TempDir())
	return x, models
}

type examination []Observation

func (x *examination) add(mark Mark, what, detail string) {
	*x = append(*x, Observation{Mark: mark, What: what, Detail: detail})
}

// by adds to the last observation the commands that mend it.
func (x examination) by(commands ...string) { x[len(x)-1].Do = commands }

// NVIDIA's own pages on how to install the profilers, which know every system and version.
const (
	nsysGuide = "https://docs.nvidia.com/nsight-systems/InstallationGuide"
	ncuGuide  = "https://docs.nvidia.com/nsight-compute/"
)

func (x *examination) nsys(ctx context.Context, exe string, here surroundings) {
	version, err := nsysrun.Version(ctx, cmp.Or(exe, "nsys"))
	switch there := here.nsys(); {
	case err != nil && exe != "":
		x.add(Bad, "nsys", err.Error()+": name another, or leave it out for the one on the PATH")
	case err != nil && there != "":
		x.add(Bad, "nsys", fmt.Sprintf("cannot be used; %s is there: put its directory on the PATH, or say where it is", there))
	case err != nil:
		x.add(Bad, "nsys", "cannot be used: install Nsight Systems (it comes with the CUDA toolkit), at least as new as the driver, or say where it is: "+nsysGuide)
	default:
		x.add(Good, "nsys", version)
	}
}

// ncu is needed only to find reasons.
func (x *examination) ncu(ctx context.Context) {
	const advice = "install Nsight Compute to see why a kernel got slower (" + ncuGuide + "); verdicts do not need it"
	path, err := exec.LookPath("ncu")
	if err != nil {
		x.add(Note, "ncu", "not found: "+advice)
		return
	}
	version := ncu.Version(ctx, path)
	if version == "" {
		x.add(Note, "ncu", "is there and names no version: "+advice)
		return
	}
	x.add(Good, "ncu", version)
}

func (x *examination) gpus(ctx context.Context, smi *nvidia.SMI, gpus []device.GPU, err error) {
	if err != nil {
		x.add(Bad, "GPU", "nvidia-smi shows none: install the NVIDIA driver, or start the container with --gpus all")
		return
	}
	others, err := smi.Others(ctx)
	if err != nil {
		x.add(Note, "processes", "nvidia-smi does not list them: nothing else should compute on the GPU while nsgate measures")
	}
	x.add(Good, "driver", gpus[0].Driver)
	persistent, lowered := smi.Persistent(ctx), smi.Lowered(ctx)
	free := 0
	for _, g := range gpus {
		what := fmt.Sprintf("GPU %d", g.Index)
		detail := g.Name
		if g.PState != "" {
			detail += ", " + g.PState
		}
		const advice = ": wait for it, or measure on another GPU (CUDA_VISIBLE_DEVICES)"
		switch names := others[g.UUID]; {
		case len(names) > 0:
			for i, n := range names {
				names[i] = cmp.Or(n, "a process of another container")
			}
			x.add(Note, what, detail+"; in use by "+list(names)+advice)
		case g.Utilization > 10:
			x.add(Note, what, fmt.Sprintf("%s; busy (%.0f %%)%s", detail, g.Utilization, advice))
		default:
			free++
			x.add(Good, what, detail+", idle")
		}
		switch clock := fmt.Sprintf("%.0f of %.0f MHz", g.ClockMHz, g.MaxClockMHz); {
		case math.IsNaN(g.ClockMHz):
			x.add(Note, what+" clock", "unknown: nvidia-smi does not show it")
		case g.Throttle.Slows() != "":
			x.add(Note, what+" clock", clock+", held down by "+g.Throttle.Slows()+": let it cool, or ask for more power or air")
		case g.Throttle&device.Locked != 0 && g.ClockMHz < g.MaxClockMHz:
			x.add(Note, what+" clock", clock+", locked by another user or an earlier job: baselines at other clocks do not compare; to free it, as root:")
			x.by(fmt.Sprintf("nvidia-smi -i %d -rgc", g.Index), fmt.Sprintf("nvidia-smi -i %d -rac", g.Index))
		case lowered[g.Index] > 0:
			x.add(Note, what+" clock", fmt.Sprintf("the application clock is set to %.0f MHz, below its default, by another user or an earlier job; to reset it, as root:", lowered[g.Index]))
			x.by(fmt.Sprintf("nvidia-smi -i %d -rac", g.Index))
		default:
			x.add(Good, what+" clock", clock+" now; nvidia-smi -lgc locks it, which makes long comparisons steadier")
		}
		if g.MIG {
			x.add(Note, what+" MIG", "is on: a program has a slice of the GPU, and is compared with the same slice only; who computes on the others costs it clocks and bandwidth")
		}
		if on, known := persistent[g.Index]; known && !on {
			x.add(Note, what+" driver", "is unloaded while nothing runs: every run starts slower, and clocks that were locked are lost; as root:")
			x.by(fmt.Sprintf("nvidia-smi -i %d -pm 1", g.Index))
		}
	}
	if free == 0 {
		x.add(Bad, "GPU", "none is free: what is measured beside other work is no basis for a verdict")
	}
}

// host says what the CPUs are, how many of them the control group allows, and what else uses them at this moment.
func (x *examination) host(h host.Host) {
	name, sockets := h.CPU()
	if name != "" {
		if sockets > 1 {
			name = fmt.Sprintf("%s, %d sockets", name, sockets)
		}
		x.add(Good, "CPU", name)
	}
	before := h.Count()
	time.Sleep(300 * time.Millisecond)
	load := h.Count().Since(before)
	if limit := h.Limit(); limit > 0 {
		x.add(Note, "CPU limit", fmt.Sprintf("the control group allows %.4g CPUs (cpu.max): a program that needs more is held back, which is host time that does not compare", limit))
	}
	switch {
	case load.Throttled > 0:
		x.add(Note, "CPU load", "this control group is at its CPU limit now: wait, or give it more CPUs")
	case load.Steal >= 0.01:
		x.add(Note, "CPU load", fmt.Sprintf("the hypervisor takes %.0f %% of the CPU time: steps that wait for the CPU do not compare", 100*load.Steal))
	case load.Foreign >= 1:
		x.add(Note, "CPU load", fmt.Sprintf("other processes use %.1f CPUs: steps that wait for the CPU get slower; measure on a quiet host", load.Foreign))
	default:
		x.add(Good, "CPU load", "quiet")
	}
}

// counters says who may read the performance counters, which Nsight Compute needs and nsys does not.
func (x *examination) counters(here surroundings) {
	const what = "counters"
	switch open, known := here.profilingForAll(); {
	case !known:
		x.add(Note, what, "whether ncu may read them is unknown: the driver's parameters are not visible here")
	case open:
		x.add(Good, what, "open to every user")
	case here.administers():
		x.add(Good, what, "for administrators only, and this process is one (CAP_SYS_ADMIN)")
	case here.container():
		x.add(Note, what, "for administrators only, and this container has no CAP_SYS_ADMIN: for ncu start it with --cap-add SYS_ADMIN "+
			"(Kubernetes: securityContext: {capabilities: {add: [SYS_ADMIN]}}); nsys does not need them")
	default:
		x.add(Note, what, "for administrators only; nsys does not need them. For ncu as another user, as root and with a restart:")
		x.by("echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf")
	}
}

// dcgm is in the way of ncu and of sampling only while it profiles.
func (x *examination) dcgm(here surroundings) {
	if name := here.dcgm(); name != "" {
		x.add(Note, "DCGM", name+" runs here: while it reads the counters neither ncu nor the sampling of GPU metrics can; around a measurement:")
		x.by("dcgmi profile --pause", "dcgmi profile --resume")
	}
}

// gpuMetrics asks nsys itself: besides the right to read the counters it takes that nothing else, such as DCGM, holds them.
func (x *examination) gpuMetrics(ctx context.Context, nsys string) {
	const what = "GPU metrics"
	known, err := nsysrun.GPUMetrics(ctx, cmp.Or(nsys, "nsys"))
	var refusal *model.Refusal
	switch {
	case errors.As(err, &refusal):
		x.add(Note, what, refusal.Reason+"; only sampling them needs that: "+refusal.Next)
	case known:
		x.add(Good, what, "nsys can sample them")
	default:
		x.add(Note, what, "whether nsys can sample them is unknown: only sampling them needs that")
	}
}

// The free disk space in bytes for a session: tens of megabytes for a short workload, a gigabyte for a long one.
const (
	minRoom  = 200 << 20
	goodRoom = 2 << 30
)

func (x *examination) room(dir string) {
	probe, err := os.MkdirTemp(dir, "nsgate-")
	if err != nil {
		x.add(Bad, "TMPDIR", "cannot be written to: set TMPDIR to a local directory of your own")
		return
	}
	os.Remove(probe)
	free := proc.Room(dir)
	detail := measure.Quantity(measure.Round(float64(free)), "B") + " free"
	switch {
	case free == math.MaxInt64:
		x.add(Note, "TMPDIR", "can be written to; its free space is unknown")
	case free < minRoom:
		x.add(Bad, "TMPDIR", detail+": too little for a report; clean up, or set TMPDIR to a larger disk")
	case free < goodRoom:
		x.add(Note, "TMPDIR", detail+": enough for short workloads")
	default:
		x.add(Good, "TMPDIR", detail)
	}
}
