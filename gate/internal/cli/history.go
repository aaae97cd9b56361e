package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/profile"
)

func showHistory(ctx context.Context, e *env, v *flags, args arguments) error {
	p, err := v.load()
	if err != nil {
		return err
	}
	if v.one == "" && len(p.Workloads) > 1 {
		return usageError("%s has several workloads: choose one with --workload (%s)", p.File, names(p.Workloads))
	}
	workload := cmp.Or(v.one, names(p.Workloads), "default")
	var saved []history.Moment
	for _, file := range args.own {
		s, err := profile.Benchmarks(file)
		if err != nil {
			return err
		}
		if s != nil {
			m := history.MomentOf(s)
			m.File = filepath.Base(file)
			saved = append(saved, m)
			continue
		}
		r, err := readReport(file)
		if err != nil {
			return err
		}
		if r.Workload == "" || r.Workload == workload {
			saved = append(saved, history.MomentOfReport(r))
		}
	}
	all, shallow, err := app.Histories(ctx, baselineRoot(v.baseline, p.File), workload, saved)
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
	case len(all) > 1 && v.format != "text":
		return usageError("there are several models of GPU: give --baseline a directory with one, or take --format text")
	}
	for i, h := range all {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		if err := render(e, v, h); err != nil {
			return err
		}
	}
	return nil
}

// maxReports is how many files a history may take.
const maxReports = 10000
