package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

type historyOptions struct{ listOptions }

func (v *historyOptions) run(ctx context.Context, e *env, args arguments) error {
	p, err := v.load()
	if err != nil {
		return err
	}
	root := baselineRoot(v.baseline, p.File)
	all, of, gpu, err := app.BaselineAt(root, v.baseline != "")
	if err != nil {
		return usageError("%w", err)
	}
	root = cmp.Or(all, root)
	workload, err := v.oneWorkload(p, root, v.one, of)
	if err != nil {
		return err
	}
	w, _ := p.Workload(workload)
	rows, err := rowsOf(p, cmp.Or(w, &thresholds.Workload{}))
	if err != nil {
		return err
	}
	saved, others, err := moments(ctx, args.own, workload, rows)
	switch {
	case err != nil:
		return err
	case len(others) > 0:
		fmt.Fprintln(e.Err, "nsgate: left out: reports on other workloads,", strings.Join(others, ", "))
	}
	histories, shallow, err := app.Histories(ctx, root, workload, saved)
	if err != nil {
		return err
	}
	var dirs []string
	histories = slices.DeleteFunc(histories, func(h *history.History) bool {
		dir := baseline.Dir(root, workload, h.GPU)
		if _, err := os.Stat(dir); err == nil {
			dirs = append(dirs, "--baseline "+commandWord(dir))
		}
		return gpu != "" && filepath.Base(dir) != gpu
	})
	if shallow {
		fmt.Fprintln(e.Err,
			"nsgate: this clone is shallow: what its log does not hold is missing (git fetch --unshallow)")
	}
	switch {
	case len(histories) == 0:
		known := strings.Join(app.WorkloadsIn(root), ", ")
		err := fmt.Errorf("no session of workload %q was recorded yet (nsgate record), and no file is given%s",
			workload, result.Given(known, "; ", root, " has ", known))
		return cmp.Or(v.missing(), error(&exit{code: ExitNoVerdict, err: err}))
	case len(histories) > 1 && v.format != "text":
		dirs = append(dirs, "--format text has all")
		return usageError("there are several models of GPU: choose one (%s)", strings.Join(dirs, ", "))
	}
	for i, h := range histories {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		if err := render(e, &v.printed, h); err != nil {
			return err
		}
		if what := slices.Compact(slices.Sorted(slices.Values(h.LeftOut))); len(what) > 0 {
			fmt.Fprintln(e.Err, "nsgate: left out, unlike the last session:", report.Clean(strings.Join(what, ", ")))
		}
	}
	return nil
}

// oneWorkload is the workload of --workload (one), of a directory of its baselines (of, "" for none), or the only one.
func (v *stored) oneWorkload(p *thresholds.Policy, root, one, of string) (string, error) {
	var names words
	switch {
	case one != "":
		names = words{one}
	case of != "":
		return of, nil
	}
	chosen, err := v.choose(p, names, true)
	if err != nil {
		return "", err
	}
	if name := chosen[0].Name; of == "" || app.BaselinesOf(root, name) == app.BaselinesOf(root, of) {
		return name, nil
	}
	return "", usageError("--workload %s: %s is of workload %s: leave out one of them", chosen[0].Name, v.baseline, of)
}

// moments are those of reports on a workload and of benchmark files; reports on others alone are an error, else named.
func moments(ctx context.Context, files []string, workload, rows string) (out []history.Moment, others []string,
	err error) {
	err = app.ReadSaved(ctx, files, true, rows, func(file string, s *model.Session, r *result.Report) {
		if s != nil {
			m := history.MomentOf(s)
			m.File = filepath.Base(file)
			out = append(out, m)
			return
		}
		for _, w := range r.Each() {
			if w.Workload == "" || w.Workload == workload {
				out = append(out, history.MomentOfReport(w))
			} else if !slices.Contains(others, w.Workload) {
				others = append(others, w.Workload)
			}
		}
	})
	if err == nil && len(out) == 0 && len(others) > 0 {
		err = usageError("no report is about workload %q; choose one of theirs with --workload (%s)", workload,
			strings.Join(others, ", "))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; name saved reports or results, and a workload with --workload", err)
	}
	return out, others, err
}

const maxReports = 10000
