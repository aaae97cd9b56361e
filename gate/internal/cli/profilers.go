package cli

import (
	"context"
	"slices"
	"strings"

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

// checkCounts refuses a selection of launches that cannot be counted.
func (v *flags) checkCounts() error {
	f := &v.counts
	switch {
	case f.Skip < 0:
		return usageError("--launch-skip: %d is negative", f.Skip)
	case f.Count < 1:
		return usageError("--launch-count: at least one launch is profiled, not %d", f.Count)
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

// countPolicy adds the raw metrics of the policy, and refuses those that the profiler of this host does not know.
func (v *flags) countPolicy(ctx context.Context, p *thresholds.Resolved, query bool) error {
	v.counts.Metrics = p.RawMetrics()
	if len(v.counts.Metrics) == 0 || !query {
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
