package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"

	"github.com/nsgate/nsgate/gate/internal/collect"
	"github.com/nsgate/nsgate/gate/internal/ncu"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/measure"
)

// Mark says how an observation is meant.
type Mark string

// The three marks: well, worth knowing, and in the way of measuring.
const (
	Good Mark = "good"
	Note Mark = "note"
	Bad  Mark = "bad"
)

// Observation is one thing that was looked at.
type Observation struct {
	Mark   Mark
	What   string // "nsys", "GPU 0 clock"
	Detail string // how it is, and what to do about it
}

// Examine looks at what measuring on this machine takes: the profilers, the GPUs, the right to read performance counters,
// the room for reports. nsys is the executable.
func Examine(ctx context.Context, nsys string) []Observation {
	var x examination
	x.nsys(ctx, nsys)
	x.ncu(ctx)
	x.gpus(ctx)
	x.counters("/proc/driver/nvidia/params")
	x.gpuMetrics(ctx, nsys)
	x.room(os.TempDir())
	return x
}

type examination []Observation

func (x *examination) good(what, detail string) { *x = append(*x, Observation{Good, what, detail}) }
func (x *examination) note(what, detail string) { *x = append(*x, Observation{Note, what, detail}) }
func (x *examination) bad(what, detail string)  { *x = append(*x, Observation{Bad, what, detail}) }

func (x *examination) nsys(ctx context.Context, exe string) {
	version, err := collect.NsysVersion(ctx, exe)
	if err != nil {
		x.bad("nsys", "cannot be used: install Nsight Systems (it comes with the CUDA toolkit), or name it with --nsys")
		return
	}
	x.good("nsys", version)
}

// ncu is needed only to find reasons.
func (x *examination) ncu(ctx context.Context) {
	const install = "install Nsight Compute to see why a kernel got slower; verdicts do not need it"
	path, err := exec.LookPath("ncu")
	if err != nil {
		x.note("ncu", "not found: "+install)
		return
	}
	version := ncu.Version(ctx, path)
	if version == "" {
		x.note("ncu", "is there and names no version: "+install)
		return
	}
	x.good("ncu", version)
}

func (x *examination) gpus(ctx context.Context) {
	gpus, err := collect.Probe(ctx)
	if err != nil {
		x.bad("GPU", "nvidia-smi shows none: install the NVIDIA driver, or start the container with --gpus all")
		return
	}
	others, err := collect.Others(ctx)
	if err != nil {
		x.note("processes", "nvidia-smi does not list them: nothing else should compute on the GPU while nsgate measures")
	}
	x.good("driver", gpus[0].Driver)
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
			x.note(what, detail+"; in use by "+list(names)+advice)
		case g.Utilization > 10:
			x.note(what, fmt.Sprintf("%s; busy (%.0f %%)%s", detail, g.Utilization, advice))
		default:
			free++
			x.good(what, detail+", idle")
		}
		switch clock := fmt.Sprintf("%.0f of %.0f MHz", g.ClockMHz, g.MaxClockMHz); {
		case math.IsNaN(g.ClockMHz):
			x.note(what+" clock", "unknown: nvidia-smi does not show it")
		case g.Throttle.Slows() != "":
			x.note(what+" clock", clock+", held down by "+g.Throttle.Slows()+": let it cool, or ask for more power or air")
		default:
			x.good(what+" clock", clock+" now; nvidia-smi -lgc locks it, which makes long comparisons steadier")
		}
	}
	if free == 0 {
		x.bad("GPU", "none is free: what is measured beside other work is no basis for a verdict")
	}
}

var adminOnly = regexp.MustCompile(`(?m)^RmProfilingAdminOnly: (\d+)`)

// counters reads the driver's parameters: Nsight Compute needs the right to read performance counters.
func (x *examination) counters(params string) {
	const what = "counters"
	text, err := os.ReadFile(params)
	m := adminOnly.FindSubmatch(text)
	switch {
	case err != nil || m == nil:
		x.note(what, "whether ncu may read them is unknown: the driver's parameters are not visible here")
	case string(m[1]) == "0":
		x.good(what, "open to every user")
	case os.Geteuid() == 0:
		x.note(what, "for administrators only: in a container ncu needs --cap-add SYS_ADMIN; nsys does not need them")
	default:
		x.note(what, "for administrators only: for ncu load the driver with NVreg_RestrictProfilingToAdminUsers=0; nsys does not need them")
	}
}

// gpuMetrics asks nsys itself: besides the right to read the counters it takes that nothing else, such as DCGM, holds them.
func (x *examination) gpuMetrics(ctx context.Context, nsys string) {
	const what = "GPU metrics"
	known, err := collect.GPUMetrics(ctx, nsys)
	var refusal *measure.Refusal
	switch {
	case errors.As(err, &refusal):
		x.note(what, refusal.Reason+"; only --gpu-metrics needs that: "+refusal.Next)
	case known:
		x.good(what, "nsys can sample them (--gpu-metrics)")
	default:
		x.note(what, "whether nsys can sample them is unknown: only --gpu-metrics needs that")
	}
}

// What a session may need on disk, in bytes: tens of megabytes for a short workload, a gigabyte for a long one.
const (
	minRoom  = 200 << 20
	goodRoom = 2 << 30
)

func (x *examination) room(dir string) {
	probe, err := os.MkdirTemp(dir, "nsgate-")
	if err != nil {
		x.bad("TMPDIR", "cannot be written to: set TMPDIR to a local directory of your own")
		return
	}
	os.Remove(probe)
	free := proc.Room(dir)
	detail := measure.Quantity(measure.Round(float64(free)), "B") + " free"
	switch {
	case free == math.MaxInt64:
		x.note("TMPDIR", "can be written to; its free space is unknown")
	case free < minRoom:
		x.bad("TMPDIR", detail+": too little for a report; clean up, or set TMPDIR to a larger disk")
	case free < goodRoom:
		x.note("TMPDIR", detail+": enough for short workloads")
	default:
		x.good("TMPDIR", detail)
	}
}
