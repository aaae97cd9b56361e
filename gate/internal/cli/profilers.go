package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
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

// reading are the options of a command that reads recordings.
type reading struct {
	exe string `flag:"nsys"`
}

func (v *reading) tools(p *thresholds.Policy) profile.Tools {
	return profile.Tools{Exe: v.exe, Metrics: p.RawMetrics()}
}

// profiling are the options of a command that starts the profiler.
type profiling struct {
	reading
	traceArgs []string `flag:"nsys-arg"`
	count     bool     `flag:"ncu"`
}

// paged is the option of a command that explains by pages of counters.
type paged struct {
	pages string `flag:"ncu-pages"`
}

// launches say which launches are counted.
type launches struct{ counts profiler.Selection }

func (v *launches) values() map[string]any {
	v.counts.Skip, v.counts.Count = profiler.LaunchSkip, profiler.LaunchCount
	return map[string]any{"kernel": &v.counts.Kernels, "launch-skip": &v.counts.Skip, "launch-count": &v.counts.Count,
		"nvtx-range": &v.counts.Range, "set": &v.counts.Set, "section": &v.counts.Sections}
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

// checkCounts refuses a selection of launches that cannot be counted.
func (v *launches) checkCounts() error {
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
func (v *launches) countPolicy(ctx context.Context, t *trial, p *thresholds.Resolved, counted bool) error {
	v.counts.Metrics = p.RawMetrics()
	if len(v.counts.Metrics) == 0 || !counted {
		return nil
	}
	return t.really(func() error {
		known := tools.Counter.Known(ctx, tools.Counter.Tool().Name)
		for _, r := range p.Rules {
			if name, raw := strings.CutPrefix(string(r.Metric), measure.RawPrefix); raw {
				if err := known(name); err != nil {
					return usageError("%s: %w", r.Where, err)
				}
			}
		}
		return nil
	})
}
