package nvidia

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
	"github.com/nsgate/nsgate/gate/internal/run/host"
)

// Examine looks at the GPUs, at the right to read their performance counters, and for DCGM.
func (s *SMI) Examine(ctx context.Context) (gpus []device.GPU, seen doctor.Observations) {
	gpus, err := s.GPUs(ctx)
	if err != nil {
		seen.Add(doctor.Bad, "GPU", "nvidia-smi shows none: "+
			"install the NVIDIA driver, or start the container with --gpus all")
	} else {
		s.examine(ctx, gpus, &seen)
	}
	examineCounters(host.Own, &seen)
	examineDCGM(host.Own, &seen)
	return gpus, seen
}

func (s *SMI) examine(ctx context.Context, gpus []device.GPU, seen *doctor.Observations) {
	processes, err := s.Processes(ctx)
	if err != nil {
		seen.Add(doctor.Note, "processes", "nvidia-smi does not list them: "+
			"nothing else should compute on the GPU while nsgate measures")
	}
	seen.Add(doctor.Good, "driver", gpus[0].Driver)
	persistence := s.settings(ctx, "persistence_mode")
	clocks := s.settings(ctx, "clocks.applications.graphics", "clocks.default_applications.graphics")
	free := 0
	for _, g := range gpus {
		what := fmt.Sprintf("GPU %d", g.Index)
		if examineUse(g, what, processes, seen) {
			free++
		}
		lowered := 0.0
		if own := clocks[g.Index]; own != nil && number(own[0]) < number(own[1]) { // until somebody resets it
			lowered = number(own[0])
		}
		examineClock(g, what, lowered, seen)
		if g.MIG {
			seen.Add(doctor.Note, what+" MIG",
				"is on: a program has a slice of the GPU, and is compared with the same "+
					"slice only; who computes on the others costs it clocks and bandwidth")
		}
		if slices.Equal(persistence[g.Index], []string{"Disabled"}) {
			seen.Add(doctor.Note, what+" driver", "is unloaded while nothing runs: every run starts slower, and "+
				"clocks that were locked are lost; as root:", fmt.Sprintf("nvidia-smi -i %d -pm 1", g.Index))
		}
	}
	if free == 0 {
		seen.Add(doctor.Bad, "GPU", "none is free: what is measured beside other work is no basis for a verdict")
	}
}

// examineUse reports whether a GPU is free of other programs.
func examineUse(g device.GPU, what string, processes []device.Process, seen *doctor.Observations) (free bool) {
	var others []string
	for _, p := range processes {
		if p.UUID == g.UUID {
			others = append(others, cmp.Or(p.Name, "a process of another container"))
		}
	}
	detail := g.Name
	if g.PState != "" {
		detail += ", " + g.PState
	}
	const advice = ": wait for it, or measure on another GPU (CUDA_VISIBLE_DEVICES)"
	switch {
	case len(others) > 0:
		slices.Sort(others)
		seen.Add(doctor.Note, what, detail+"; in use by "+strings.Join(slices.Compact(others), ", ")+advice)
	case g.Utilization > 10:
		seen.Add(doctor.Note, what, fmt.Sprintf("%s; busy (%.0f %%)%s", detail, g.Utilization, advice))
	default:
		seen.Add(doctor.Good, what, detail+", idle")
		return true
	}
	return false
}

// examineClock tells what holds a GPU's clock down. lowered is its application clock in MHz where that was set below
// its default, else 0.
func examineClock(g device.GPU, what string, lowered float64, seen *doctor.Observations) {
	what += " clock"
	reset := fmt.Sprintf("nvidia-smi -i %d -rac", g.Index)
	clock := fmt.Sprintf("%.0f of %.0f MHz", g.ClockMHz, g.MaxClockMHz)
	switch {
	case math.IsNaN(g.ClockMHz):
		seen.Add(doctor.Note, what, "unknown: nvidia-smi does not show it")
	case g.Throttle.Slows() != "":
		seen.Add(doctor.Note, what,
			clock+", held down by "+g.Throttle.Slows()+": let it cool, or ask for more power or air")
	case g.Throttle&device.Locked != 0 && g.ClockMHz < g.MaxClockMHz:
		seen.Add(doctor.Note, what, clock+", locked by another user or an earlier job: baselines at other clocks do "+
			"not compare; to free it, as root:", fmt.Sprintf("nvidia-smi -i %d -rgc", g.Index), reset)
	case lowered > 0:
		seen.Add(doctor.Note, what,
			fmt.Sprintf("the application clock is set to %.0f MHz, below its default, by another "+
				"user or an earlier job; to reset it, as root:", lowered), reset)
	default:
		seen.Add(doctor.Good, what, clock+" now; nvidia-smi -lgc locks it, which makes long comparisons steadier")
	}
}

// examineCounters tells who may read the performance counters, which Nsight Compute needs and nsys does not.
func examineCounters(here host.Host, seen *doctor.Observations) {
	const what = "counters"
	adminOnly := regexp.MustCompile(`(?m)^RmProfilingAdminOnly: (\d+)`)
	denied := adminOnly.FindStringSubmatch(here.Read("proc/driver/nvidia/params"))
	switch {
	case denied == nil:
		seen.Add(doctor.Note, what,
			"whether ncu may read them is unknown: the driver's parameters are not visible here")
	case denied[1] == "0":
		seen.Add(doctor.Good, what, "open to every user")
	case here.Administers():
		seen.Add(doctor.Good, what, "for administrators only, and this process is one (CAP_SYS_ADMIN)")
	case here.Container():
		seen.Add(doctor.Note, what, "for administrators only, and this container has no CAP_SYS_ADMIN: for ncu start "+
			"it with --cap-add SYS_ADMIN (Kubernetes: securityContext: {capabilities: {add: [SYS_ADMIN]}}); nsys does "+
			"not need them")
	default:
		seen.Add(doctor.Note, what, "for administrators only; nsys does not need them. "+
			"For ncu as another user, as root and with a restart:",
			"echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf")
	}
}

// examineDCGM looks for NVIDIA's Data Center GPU Manager, which is in the way only while it profiles. A container shows
// only its own processes.
func examineDCGM(here host.Host, seen *doctor.Observations) {
	for _, name := range here.Find("proc/[0-9]*/comm") {
		if comm := strings.TrimSpace(input.System(name)); comm == "nv-hostengine" || comm == "dcgm-exporter" {
			seen.Add(doctor.Note, "DCGM", comm+" runs here: while it reads the counters neither ncu nor the sampling "+
				"of GPU metrics can; around a measurement:", "dcgmi profile --pause", "dcgmi profile --resume")
			return
		}
	}
}
