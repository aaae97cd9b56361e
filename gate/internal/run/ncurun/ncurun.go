// Package ncurun runs Nsight Compute: the command line of ncu, and the reading of its output.
package ncurun

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Ncu is the counter of Nsight Compute.
type Ncu struct{}

// Tool is the name and the files of ncu.
func (Ncu) Tool() profiler.Tool {
	return profiler.Tool{Name: "ncu", Product: "Nsight Compute", Origin: "it comes with the CUDA toolkit",
		Suffix: ".csv"}
}

// Environment is the version of an ncu, and how it is always run. Clocks are left as they are, because a gate may not
// change a machine; caches are flushed, and kernels replayed, so that single launches are alike.
func (Ncu) Environment(ctx context.Context, exe string) (tool, mode string) {
	return strings.TrimSpace("ncu " + ncu.Version(ctx, exe)), "clock none, cache all, replay kernel"
}

// whySections matches the sections with the metrics that package why reads, by their names in all versions: a section
// that a version lacks is no error, as it would be by its own name.
const whySections = profiler.Regex +
	"^(SpeedOfLight|SpeedOfLight_RooflineChart|SpeedOfLight_Hierarchical(Half|Tensor)" +
	"RooflineChart|ComputeWorkloadAnalysis|MemoryWorkloadAnalysis(_Tables)?|LaunchStats|Occupancy|InstructionStats|" +
	"WarpStateStats|SourceCounters)$"

// Command names what configuration files, versions and the locale might decide otherwise. The sets of sections exist in
// every version and on every chip, while a single metric that is unknown or that only a section defines ends ncu.
func (Ncu) Command(exe string, p profiler.Selection, file string, workload []string) []string {
	argv := []string{exe, "--csv", "--page", "raw", "--print-units", "base", "--log-file", file,
		"--config-file", "off", "--clock-control", "none", "--cache-control", "all", "--replay-mode", "kernel",
		"--target-processes", "all"}
	metrics := p.Metrics
	if p.Why {
		p.Set, p.Sections = "", []string{whySections}
	}
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
	several := p.Kill && len(p.Kernels) > 1
	switch {
	case several: // the invocation of each kernel
		argv = append(argv, "--kernel-name-base", "function", "--kernel-id",
			fmt.Sprintf("::%s^(%s)$:%d", profiler.Regex, strings.Join(measure.Map(p.Kernels, regexp.QuoteMeta), "|"),
				p.Skip+1))
	case len(p.Kernels) > 0:
		argv = append(argv, "--kernel-name-base", "function", "-k", pattern(p.Kernels))
	}
	if p.Range != "" {
		argv = append(argv, "--nvtx", "--nvtx-include", p.Range)
	}
	switch {
	case several:
		return slices.Concat(argv, []string{"--kill", "yes", "--launch-count", strconv.Itoa(len(p.Kernels))}, workload)
	case p.Kill:
		argv = append(argv, "--kill", "yes")
	default:
		argv = append(argv, "--filter-mode", "per-launch-config")
	}
	return slices.Concat(argv, []string{"--launch-skip", strconv.Itoa(p.Skip),
		"--launch-count", strconv.Itoa(cmp.Or(p.Count, profiler.LaunchCount))}, workload)
}

// Read reads the raw page that ncu wrote.
func (Ncu) Read(file string, s profiler.Selection) (*counters.Profile, error) {
	// maxLog bounds what is read of a program that was ended: three launches are well below 1 MB.
	const maxLog = 64 << 20
	log, err := input.Open(file)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if !s.Ended {
		return ncu.Read(log, "the output of ncu", s.Metrics...)
	}
	text, err := io.ReadAll(io.LimitReader(log, maxLog))
	if err != nil {
		return nil, err
	}
	return ncu.Read(bytes.NewReader(ending().ReplaceAll(text, nil)), "the output of ncu", s.Metrics...)
}

// ending matches what ncu says of a program that was ended.
var ending = input.Pattern(`(?m)^==(?:PROF== (?:Received signal|Trying to shutdown)|` +
	`ERROR== (?:The application returned an error code|The application received signal)).*\n?`)

// Known asks an ncu for the metrics of this host's GPUs.
func (Ncu) Known(ctx context.Context, exe string) func(string) error {
	return ncu.Query(ctx, exe).Check
}

// pattern matches exactly these names, and those that an expression matches, also where ncu writes what
// [measure.NormalizeName] takes out: the tags of Numba, the hashes of Rust, device and inode of OpenMP.
func pattern(kernels []string) string {
	var quoted, all []string
	for _, k := range kernels {
		if expression, ok := strings.CutPrefix(k, profiler.Regex); ok {
			all = append(all, expression)
			continue
		}
		quoted = append(quoted, strings.Replace(regexp.QuoteMeta(k), "__omp_offloading_#_#_",
			"__omp_offloading_[0-9a-f]+_[0-9a-f]+_", 1))
	}
	if len(quoted) > 0 {
		all = append(all, "^("+strings.Join(quoted, "|")+`)(\[(abi:)?v[0-9A-Za-z_,:]*\]|\$[0-9]+|::h[0-9a-f]{16})*$`)
	}
	return profiler.Regex + strings.Join(all, "|")
}

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
