package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
)

func reportCommand() *command {
	return &command{
		name:    "report",
		usage:   "[flags] REPORT",
		summary: "render a saved JSON report in any format",
		own:     1,
		wants:   "one saved report",
		bind: func(fs *pflag.FlagSet) action {
			var policy policyFlags
			var out outputFlags
			limits := policy.bindTyped(fs)
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) error {
				if err := out.check(report.Formats()); err != nil {
					return err
				}
				r, err := readReport(args.own[0])
				if err != nil {
					return err
				}
				if slices.ContainsFunc(limits, fs.Changed) {
					if r, err = again(ctx, e, r, args.own[0], &policy); err != nil {
						return err
					}
				}
				rows := !slices.ContainsFunc(r.Each(), func(w *result.Report) bool { return !filepath.IsLocal(w.Baseline) })
				return out.publish(e, r, rows, findUp(policyFile), "")
			}
		},
	}
}

// again judges a saved report by other limits, against its baseline as it is now.
func again(ctx context.Context, e *env, r *result.Report, file string, policy *policyFlags) (*result.Report, error) {
	switch {
	case len(r.Workloads) > 0:
		return nil, usageError("%s is on several workloads, and only a report on one is judged again: check again with --threshold …", file)
	case r.Paired:
		return nil, usageError("the base build of %s is not kept: check again with --threshold …", file)
	case r.Baseline == "":
		return nil, usageError("%s names no baseline to be judged by again: nsgate compare BASE HEAD --threshold …", file)
	}
	p, err := policy.load()
	if err != nil {
		return nil, err
	}
	c := app.Compare{Base: filepath.Join(home(p.File), filepath.FromSlash(r.Baseline)), Head: file, Policy: p, Home: home(p.File), Observe: newProgress(e, false).event}
	judged, err := c.Run(ctx)
	if err != nil {
		return nil, err
	}
	judged.Workload, judged.Baseline, judged.Reproduce = r.Workload, r.Baseline, e.again
	return judged, nil
}

func readReport(file string) (*result.Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.ReadJSON(f, file)
}
