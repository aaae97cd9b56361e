// Package ncurun runs Nsight Compute: the command line of ncu, and the reading of its output.
package ncurun

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/counters"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/ncu"
	"github.com/nsgate/nsgate/gate/internal/profiler"
)

// Ncu is the counter of Nsight Compute.
type Ncu struct{}

// Tool is the name and the files of ncu.
func (Ncu) Tool() profiler.Tool {
	return profiler.Tool{Name: "ncu", Product: "Nsight Compute", Origin: "it comes with the CUDA toolkit", Suffix: ".csv"}
}

// Environment is the version of an ncu, and how it is always run. Clocks are left as they are, because a gate may not
// change a machine; caches are flushed, and kernels replayed, so that single launches are alike.
func (Ncu) Environment(ctx context.Context, exe string) (tool, mode string) {
	return strings.TrimSpace("ncu " + ncu.Version(ctx, exe)), "clock none, cache all, replay kernel"
}

// Command names what configuration files, versions and the locale might decide otherwise. The sets of sections exist in
// every version and on every chip, while a single metric that is unknown or that only a section defines ends ncu.
func (Ncu) Command(exe string, p profiler.Selection, file string, workload []string) []string {
	argv := []string{exe, "--csv", "--page", "raw", "--print-units", "base", "--log-file", file,
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
		"--launch-count", strconv.Itoa(cmp.Or(p.Count, profiler.LaunchCount))}, workload)
}

// Read reads the raw page that ncu wrote.
func (Ncu) Read(file string, s profiler.Selection) (*counters.Profile, error) {
	log, err := input.Open(file)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return ncu.Read(log, "the output of ncu", s.Metrics...)
}

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
		quoted = append(quoted, strings.Replace(regexp.QuoteMeta(k), "__omp_offloading_#_#_", "__omp_offloading_[0-9a-f]+_[0-9a-f]+_", 1))
	}
	if len(quoted) > 0 {
		all = append(all, "^("+strings.Join(quoted, "|")+`)(\[(abi:)?v[0-9A-Za-z_,:]*\]|\$[0-9]+|::h[0-9a-f]{16})*$`)
	}
	return profiler.Regex + strings.Join(all, "|")
}
