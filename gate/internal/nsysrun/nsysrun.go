// Package nsysrun runs Nsight Systems: the command lines of nsys, and the meaning of what it prints.
package nsysrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/nsys"
	"github.com/nsgate/nsgate/gate/internal/profiler"
)

// Nsys is the profiler of Nsight Systems.
type Nsys struct{}

// Tool is the name and the files of nsys.
func (Nsys) Tool() profiler.Tool {
	return profiler.Tool{
		Name: "nsys", Product: "Nsight Systems", Origin: "it comes with the CUDA toolkit", Suffix: ".nsys-rep",
		// Without it a job of which only some ranks are profiled may hang in MPI.
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
	sample := "none"
	var args []string
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
	return defaults(sample, append(args, o.Args...))
}

// defaults are these options behind those that [nsys.Read] needs, unless they say otherwise. sample is what --sample is
// unless they say that.
func defaults(sample string, further []string) []string {
	var args []string
	for _, x := range []struct{ option, short, value string }{
		{"--trace", "-t", "cuda,nvtx"}, {"--sample", "-s", sample}, {"--cpuctxsw", "", "none"},
		{"--cuda-graph-trace", "", "node"}, {"--force-overwrite", "-f", "true"},
	} {
		// nsys takes no option twice.
		if !slices.ContainsFunc(further, func(arg string) bool {
			return arg == x.option || strings.HasPrefix(arg, x.option+"=") || x.short != "" && strings.HasPrefix(arg, x.short)
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
	domainArg  = "--nvtx-domain-"
	excludeTSL = domainArg + "exclude=TSL"
)

// Repeat leaves out the NVTX domain TSL after a session that failed for its strings. A user who chooses the domains has
// decided already.
func (Nsys) Repeat(o profiler.Options, lost error) *profiler.Repetition {
	var first *model.Refusal
	if !errors.As(lost, &first) || first.Kind != model.ImporterString ||
		slices.ContainsFunc(o.Args, func(arg string) bool { return strings.HasPrefix(arg, domainArg) }) {
		return nil
	}
	return &profiler.Repetition{
		Args:  append(slices.Clone(o.Args), excludeTSL),
		Doing: "nsys lost events of JAX's NVTX ranges: measuring again without the domain TSL",
		Warning: "the importer of nsys lost events of JAX's NVTX ranges; measured again without the domain TSL; give nsys " +
			excludeTSL + " to save the first attempt",
		Failed: func(err error) error {
			var second *model.Refusal
			switch unknown := (*optionError)(nil); {
			case errors.As(err, &unknown) && strings.HasPrefix(unknown.name, domainArg):
				return model.Refuse(model.OldNsys, fmt.Sprintf("update nsys: this one does not know the option %s, "+
					"by which the ranges of JAX are left out", unknown.name), "%s", first.Reason)
			case errors.As(err, &second) && second.Kind == model.ImporterString:
				return model.Refuse(model.ImporterString, "give nsys --nvtx-domain-exclude=DOMAIN to leave out the domain that "+
					"the strings come from, or --trace=cuda to measure without NVTX ranges",
					"%s, also without the NVTX domain TSL", second.Reason)
			}
			return err
		},
	}
}
