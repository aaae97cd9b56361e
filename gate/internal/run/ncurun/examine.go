package ncurun

import (
	"context"
	"os/exec"

	"github.com/nsgate/nsgate/gate/internal/read/ncu"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
)

// Examine looks for ncu, which only explanations need.
func (n Ncu) Examine(ctx context.Context) (seen doctor.Observations) {
	const advice = "install Nsight Compute to see why a kernel got slower " +
		"(https://docs.nvidia.com/nsight-compute/); verdicts do not need it"
	name := n.Tool().Name
	path, err := exec.LookPath(name)
	if err != nil {
		seen.Add(doctor.Note, name, "not found: "+advice)
		return seen
	}
	if version := ncu.Version(ctx, path); version != "" {
		seen.Add(doctor.Good, name, version)
	} else {
		seen.Add(doctor.Note, name, "is there and names no version: "+advice)
	}
	return seen
}
