// Package nsysrun runs Nsight Systems: the command lines of nsys, and the meaning of its messages.
package nsysrun

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/nsys"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Nsys is the profiler of Nsight Systems.
type Nsys struct{}

// Tool is the name and the files of nsys.
func (Nsys) Tool() profiler.Tool {
	return profiler.Tool{
		Name: "nsys", Product: "Nsight Systems", Origin: "it comes with the CUDA toolkit", Suffix: ".nsys-rep",
		// Without it MPI may hang in a job with only some ranks profiled.
		SomeRanks: "NSYS_MPI_STORE_TEAMS_PER_RANK",
	}
}

// Commands are nsys profile and nsys export.
func (n Nsys) Commands(t profiler.Task) [][]string {
	record := append([]string{t.Exe, "profile"}, profileArgs(t.Options)...)
	record = append(append(record, "--output="+t.Stem, "--"), t.Program...)
	export := nsys.ExportArgs(t.Stem+n.Tool().Suffix, t.Stem+"-XXXXXX.sqlite")
	return [][]string{record, append([]string{t.Exe}, export...)}
}

// profileArgs are the options of nsys profile that say what to record.
func profileArgs(o profiler.Options) []string {
	trace, sample := "cuda,nvtx", "none"
	var args []string
	if o.NoNVTX {
		trace = "cuda"
	}
	if excludesTSL(o) {
		args = append(args, excludeTSL)
	}
	if o.Forks {
		args = append(args, forksOption+"=true")
	}
	if o.MemoryUsage {
		args = append(args, "--cuda-memory-usage=true")
	}
	if o.GPUMetrics {
		args = append(args, "--gpu-metrics-devices=cuda-visible", "--gpu-metrics-frequency=10000")
	}
	if o.Stacks {
		sample = "process-tree"                      // nsys records no stacks without
		args = append(args, "--cudabacktrace=all:0") // of kinds in a list nsys 2025.3 takes the last alone
		if o.Python {                                // other programs end at their first CUDA call (nsys 2025.3)
			args = append(args, "--python-backtrace=cuda")
		}
	}
	return defaults(trace, sample, append(args, o.Args...))
}

// defaults are these options behind those that [nsys.Read] needs, unless they say otherwise. trace and sample are the
// values of --trace and --sample unless they say those.
func defaults(trace, sample string, further []string) []string {
	var args []string
	for _, x := range []struct{ option, short, value string }{
		{"--trace", "-t", trace}, {"--sample", "-s", sample}, {"--cpuctxsw", "", "none"},
		{"--cuda-graph-trace", "", "node"}, {"--force-overwrite", "-f", "true"},
	} {
		// nsys takes no option twice.
		if !slices.ContainsFunc(further, func(arg string) bool {
			return arg == x.option || strings.HasPrefix(arg, x.option+"=") || x.short != "" &&
				strings.HasPrefix(arg, x.short)
		}) {
			args = append(args, x.option+"="+x.value)
		}
	}
	return append(args, further...)
}

// Export runs nsys export.
func (Nsys) Export(ctx context.Context, exe, report, dir string) (string, error) {
	return nsys.Export(ctx, exe, report, dir)
}

// Read reads an export.
func (Nsys) Read(ctx context.Context, file, name string) ([]model.Trace, error) {
	return nsys.ReadAs(ctx, file, name)
}

// The importer of nsys (2025.3) fails on strings that the profiler library of JAX and TensorFlow hands to NVTX, and
// loses most events, kernels too. Without the domain of that library it keeps them all.
const (
	domainArg     = "--nvtx-domain-"
	excludeOption = domainArg + "exclude"
	excludeTSL    = excludeOption + "=TSL"
)

// excludesTSL reports whether nsgate leaves out the domain TSL: not where the user chooses the domains or does not
// trace NVTX.
func excludesTSL(o profiler.Options) bool {
	kinds, given := traced(o.Args)
	return !o.AllDomains && !o.NoNVTX && (!given || slices.Contains(strings.Split(kinds, ","), "nvtx")) &&
		!slices.ContainsFunc(o.Args, func(arg string) bool { return strings.HasPrefix(arg, domainArg) })
}

// traced is the value of --trace among the arguments.
func traced(args []string) (value string, given bool) {
	for i, arg := range args {
		if (arg == "--trace" || arg == "-t") && i+1 < len(args) {
			return args[i+1], true
		}
		for _, prefix := range []string{"--trace=", "-t"} {
			value, given = strings.CutPrefix(arg, prefix)
			if given {
				return value, true
			}
		}
	}
	return "", false
}

// forksOption has nsys record processes between fork and exec as well. It is off by default, because a program of
// several threads may hang with it (nsys --help; docs.vllm.ai, contributing/profiling: engines are forked).
const forksOption = "--trace-fork-before-exec"

// Repeat records with all domains where nsys does not know the option that leaves one out, without NVTX where its
// importer failed on the strings of ranges, and with forked processes where there were no kernels. A user who chooses
// domains, --trace or forks has decided already.
func (Nsys) Repeat(o profiler.Options, lost error) (*profiler.Repetition, error) {
	unknown, refusal := (*optionError)(nil), (*model.Refusal)(nil)
	if errors.As(lost, &unknown) && unknown.name == excludeOption && excludesTSL(o) {
		o.AllDomains = true
		return &profiler.Repetition{Options: o}, nil
	}
	given := func(prefix string) bool {
		return slices.ContainsFunc(o.Args, func(arg string) bool { return strings.HasPrefix(arg, prefix) })
	}
	switch {
	case !errors.As(lost, &refusal):
		return nil, lost
	case refusal.Kind == model.NoKernels && !o.Forks && !given(forksOption):
		o.Forks = true
		return &profiler.Repetition{Options: o,
			Doing: "nsys recorded no kernels: measuring again with processes that are forked",
			Warning: "the kernels are those of a forked process, so the runs were measured twice; give nsys " +
				forksOption + "=true to measure once",
		}, nil
	case refusal.Kind != model.ImporterString || o.NoNVTX:
		return nil, lost
	}
	if _, chosen := traced(o.Args); chosen || given(domainArg) {
		return nil, lost
	}
	next := "give nsys " + excludeOption + "=DOMAIN to leave out the domain that they come from and keep the others"
	if o.AllDomains {
		next = "a newer nsys, which knows " + excludeOption + ", keeps those of other libraries than JAX"
	}
	o.NoNVTX = true
	return &profiler.Repetition{Options: o,
		Doing:   "nsys lost events because of NVTX ranges: measuring again without NVTX",
		Warning: "the importer of nsys lost events because of NVTX ranges; measured again without NVTX; " + next,
	}, nil
}
