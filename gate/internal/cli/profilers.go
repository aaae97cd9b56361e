package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/profiler"
	"github.com/nsgate/nsgate/gate/internal/tools"
	"github.com/nsgate/nsgate/thresholds"
)

// The flags of single profilers, without their hyphens. Every other file of this package names them by these constants.
const (
	exeFlag   = "nsys"
	argFlag   = "nsys-arg"
	countFlag = "ncu"
	pagesFlag = "ncu-pages"
	// counting is how a check is asked for counters of single launches.
	counting = "--profiler ncu"
)

// countTitle is the section on counters in --help all, countFlags are its flags.
const countTitle = "Nsight Compute"

var countFlags = []string{countFlag, "profiler", "kernel", "launch-skip", "launch-count", "nvtx-range", "set",
	"section", "explain", pagesFlag}

// bindProfiler declares the flag of the program that records and exports.
func bindProfiler(fs *pflag.FlagSet, exe *string) {
	fs.StringVar(exe, exeFlag, "", "the nsys executable (default nsys on the PATH)")
}

func bindProfilerArgs(fs *pflag.FlagSet, args *[]string) {
	fs.StringArrayVar(args, argFlag, nil, "further argument of nsys profile, repeatable: "+
		"--nsys-arg=--nvtx-domain-exclude=TSL")
}

// bindChoice declares the flag that chooses between times and counters.
func bindChoice(fs *pflag.FlagSet, name *string) {
	bindWord(fs, name, "profiler", "what to measure with: nsys (times) or ncu (counters of single launches)",
		tools.Names()...)
}

// bindExplain declares the flag that asks for causes; why says of what, and when.
func bindExplain(fs *pflag.FlagSet, to *string, why string) {
	bindWord(fs, to, "explain", "say from Nsight Compute why "+why, autoAlwaysNever...)
}

func bindCount(fs *pflag.FlagSet, count *bool) {
	fs.BoolVar(count, countFlag, false, "profile the heaviest kernels with Nsight Compute as well")
}

// bindPages declares the flag of counters that were printed before.
func bindPages(fs *pflag.FlagSet, pages *string) {
	fs.StringVar(pages, pagesFlag, "", "say why kernels got slower from output of ncu --csv --page raw: BASE.csv,HEAD.csv")
}

// bothPages are the pages of baseline and head in the value of [pagesFlag].
func bothPages(value string) (pages [2]string, err error) {
	base, head, _ := strings.Cut(value, ",")
	if base == "" || head == "" || strings.Contains(head, ",") {
		return pages, usageError("--ncu-pages: %q is not BASE.csv,HEAD.csv, two files that "+
			"ncu --csv --page raw printed", value)
	}
	return [2]string{base, head}, nil
}

// secretArg reports whether a further argument of the profiler may set variables (--env-var).
func secretArg(flag, value string) bool {
	return flag == argFlag && (!strings.HasPrefix(value, "--") || strings.HasPrefix(value, "--env-var"))
}

// counterFlags say which launches to count, and what.
type counterFlags struct{ profiler.Selection }

func (f *counterFlags) bind(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.Kernels, "kernel", nil, "for ncu: profile and judge this kernel only, by its short name or as "+
		"regex:EXPRESSION, repeatable (default those of the baseline)")
	fs.IntVar(&f.Skip, "launch-skip", profiler.LaunchSkip,
		"for ncu: let the first launches of each kernel and geometry by")
	fs.IntVar(&f.Count, "launch-count", profiler.LaunchCount,
		"for ncu: profile so many launches of each kernel and geometry")
	fs.StringVar(&f.Set, "set", "",
		"for ncu: collect this set of sections (default full, or none where there is --section)")
	fs.StringArrayVar(&f.Sections, "section", nil, "for ncu: collect this section, repeatable")
	fs.StringVar(&f.Range, "nvtx-range", "", "for ncu: only launches within this NVTX range, "+
		`as ncu's --nvtx-include has it ("step/")`)
}

func (f *counterFlags) check(counted bool) error {
	switch {
	case f.Skip < 0:
		return usageError("--launch-skip: %d is negative", f.Skip)
	case f.Count < 1:
		return usageError("--launch-count: at least one launch is profiled, not %d", f.Count)
	case len(f.Kernels) > 0 && !counted:
		return usageError("--kernel says what ncu profiles; add --profiler ncu, or --ncu to record")
	case (len(f.Sections) > 0 || f.Set != "") && !counted:
		return usageError("--section and --set say what ncu collects; add --profiler ncu, or --ncu to record")
	case slices.Contains(f.Kernels, ""):
		return usageError("--kernel is empty; leave it out to profile what the baseline has")
	}
	for _, k := range f.Kernels {
		if err := profiler.CheckSelector(k); err != nil {
			return usageError("--kernel: %v", err)
		}
	}
	return nil
}

// measured adds the raw metrics of the policy, and refuses those that the profiler of this host does not know.
func (f *counterFlags) measured(ctx context.Context, p *thresholds.Policy, query bool) error {
	f.Metrics = p.RawMetrics()
	if len(f.Metrics) == 0 || !query {
		return nil
	}
	known := tools.Counter.Known(ctx, tools.Counter.Tool().Name)
	for _, r := range p.Rules {
		if name, raw := strings.CutPrefix(string(r.Metric), measure.RawPrefix); raw {
			if err := known(name); err != nil {
				return usageError("%s: %w", r.Where, err)
			}
		}
	}
	return nil
}
