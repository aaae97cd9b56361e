package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
)

// watchRuns is how many runs a round of a watch has, unless --runs says it or the policy has fewer.
const watchRuns = 3

// watched is the local baseline of the first round of a watch that has no other baseline.
const watched = "watch"

// watchable refuses a watch where none can be followed.
func (v *checkOptions) watchable(e *env) error {
	switch {
	case !v.watch:
		return nil
	case inCI(e):
		return usageError("--watch ends with Ctrl-C, which no job has: leave it out in CI")
	case v.format != "text":
		return usageError("--watch prints lines of text: write the last report with --output FILE")
	}
	return nil
}

// watching checks again whenever watched files changed, and prints a line a round. After a signal it publishes the last
// report, with its exit code. A round that the signal ended does not count.
func (v *checkOptions) watching(ctx context.Context, e *env, args arguments) error {
	var last *result.Report
	var x publication
	var failed error
	first, busy, dropped := map[string]bool{}, []string(nil), map[string]bool{}
	if !v.fs.Changed("explain") {
		v.explain = string(app.ExplainNever)
	}
	for ctx.Err() == nil {
		v.looser = nil
		checks, err := v.request(ctx, e, args.workload)
		if err != nil && last == nil {
			return err
		}
		programs, files, about := v.prepare(ctx, checks, first)
		files = slices.DeleteFunc(files, func(name string) bool { return dropped[name] })
		if last == nil && failed == nil && !v.quiet {
			fmt.Fprintf(e.Err, "nsgate: watching %s; Ctrl-C ends with the last report\n", about)
		}
		before := app.StampsOf(files)
		r := (*result.Report)(nil)
		if err == nil {
			r, err = v.judge(ctx, e, checks, nil)
		}
		if ctx.Err() != nil {
			break
		}
		failed = err
		if err != nil {
			e.complain(err, ExitUsage)
		} else {
			last, x = r, publication{root: checks[0].Root}
			v.complete(e, r, checks, &x)
			failed = v.round(e, r, first)
		}
		changed := app.StampsOf(files).Differing(before)
		for _, name := range changed {
			if slices.Contains(busy, name) {
				dropped[name] = true
				delete(before, name)
				fmt.Fprintf(e.Err, "nsgate: %s changes while the program runs: it is not watched any longer\n", name)
			}
		}
		busy = changed
		before.Await(ctx, programs)
	}
	if last == nil {
		return cmp.Or(failed, ctx.Err())
	}
	e.ctx = context.WithoutCancel(ctx) // the signal is how a watch ends
	fmt.Fprintln(e.Out)
	return cmp.Or(failed, v.publish(e, &v.judging, last, x))
}

// prepare sets the checks of a round, with the first round as the baseline of a workload that has none, and gives the
// files to watch.
func (v *checkOptions) prepare(ctx context.Context, checks []*app.Check, first map[string]bool) (
	programs, files []string, about string) {
	var each []string
	for _, c := range checks {
		if !v.fs.Changed("runs") {
			c.Looks = []int{min(c.Looks[0], watchRuns)}
		}
		tell := c.Observe
		c.Observe = func(ev app.Event) {
			if ev.Stage != run.Spent {
				tell(ev)
			}
		}
		if root, err := app.KeptRoot(watched); first[c.Workload] && len(c.Baselines) == 0 && err == nil {
			c.Baselines, _ = app.ReadBaselines(ctx, root, cmp.Or(c.Workload, "default"))
			v.against = watched
		}
		w := c.Watched(ctx)
		programs, files = append(programs, w.Programs...), slices.Concat(files, w.Programs, w.Others)
		each = append(each, w.About)
	}
	return programs, files, strings.Join(slices.Compact(each), "; ")
}

// round prints the lines of a round, one a workload, and keeps what later rounds are compared with.
func (v *checkOptions) round(e *env, r *result.Report, first map[string]bool) error {
	for _, w := range r.Each() {
		begins := w.Measured != nil && len(w.HeadSessions) > 0
		if begins {
			if _, err := app.Keep(watched, w); err != nil {
				return err
			}
			first[w.Workload] = true
		}
		fmt.Fprint(e.Out, report.Round(w, time.Now(), begins, v.options(e)))
	}
	return nil
}
