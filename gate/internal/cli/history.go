package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
)

type historyVerb struct {
	viewer
	policy         policyFlags
	workload, root string
}

func (v *historyVerb) bind(fs *pflag.FlagSet) {
	fs.StringVarP(&v.workload, "workload", "w", "", "name of the workload, as in nsgate.toml and in the baseline")
	fs.StringVar(&v.root, "baseline", "", baselineUsage)
	v.policy.bindFile(fs)
	v.out.bindLook(fs, report.Formats(report.History))
}

func (v *historyVerb) run(ctx context.Context, e *env, args arguments) error {
	p, err := v.policy.load()
	if err != nil {
		return err
	}
	if v.workload == "" && len(p.Workloads) > 1 {
		return usageError("%s has several workloads: choose one with --workload (%s)", p.File, names(p.Workloads))
	}
	workload := cmp.Or(v.workload, names(p.Workloads), "default")
	var results []app.Result
	for _, file := range args.own {
		x := app.Result{File: file}
		if x.Session, err = profile.Benchmarks(file); err == nil && x.Session == nil {
			x.Report, err = readReport(file)
		}
		if err != nil {
			return err
		}
		results = append(results, x)
	}
	all, shallow, err := app.Histories(ctx, baselineRoot(v.root, p.File), workload, results)
	if err != nil {
		return err
	}
	if shallow {
		fmt.Fprintln(e.Err, "nsgate: this clone is shallow: what its log does not hold is missing (git fetch --unshallow)")
	}
	switch {
	case len(all) == 0:
		return &exit{code: ExitNoVerdict, err: fmt.Errorf("no session of workload %q was recorded yet, and no file is given",
			workload)}
	case len(all) > 1 && v.out.format != "text":
		return usageError("there are several models of GPU: give --baseline a directory with one, or take --format text")
	}
	for i, h := range all {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		if err := report.Render(v.out.format, e.Out, h, v.out.options(e)); err != nil {
			return err
		}
	}
	return nil
}

// maxReports is how many files a history may take.
const maxReports = 10000
