package nsysrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
)

// guide is NVIDIA's own page on the installation, which knows every system and version.
const guide = "https://docs.nvidia.com/nsight-systems/InstallationGuide"

// Examine looks for nsys, and asks it whether it can sample the metrics of the GPUs.
func (n Nsys) Examine(ctx context.Context, exe string) (seen doctor.Observations) {
	name := n.Tool().Name
	version, err := askVersion(ctx, cmp.Or(exe, name))
	there := elsewhere(doctor.Here)
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

// least is the first version of nsys that has every option of a recording. Versions begin with their year.
const least = "2021.5"

// examineMetrics asks nsys itself: besides the right to read the counters it takes that nothing else, such as DCGM,
// holds them.
func examineMetrics(ctx context.Context, exe string, seen *doctor.Observations) {
	const what = "GPU metrics"
	known, err := askMetrics(ctx, exe)
	var refusal *model.Refusal
	switch {
	case errors.As(err, &refusal):
		seen.Add(doctor.Note, what, refusal.Reason+"; only sampling them needs that: "+refusal.Next)
	case known:
		seen.Add(doctor.Good, what, "nsys can sample them")
	default:
		seen.Add(doctor.Note, what, "whether nsys can sample them is unknown: only sampling them needs that")
	}
}

// elsewhere finds an nsys that is not on the PATH, the last one in its directory's order; "" for none.
func elsewhere(here doctor.System) string {
	for _, pattern := range []string{"opt/nvidia/nsight-systems-cli/*/bin/nsys", "opt/nvidia/nsight-systems/*/bin/nsys",
		"usr/local/cuda*/bin/nsys"} {
		if found := here.Find(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}
