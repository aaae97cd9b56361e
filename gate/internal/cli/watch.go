package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const (
	watchRuns = 3       // of a round at most, unless --runs says it
	watched   = "watch" // the local baseline of a first round that has no other
)

// watchable refuses a watch where none can be followed.
func (v *checkOptions) watchable(e *env) error {
	if v.watch && (inCI(e) || v.format != "text") {
		return usageError("--watch prints lines of text until Ctrl-C: leave it out in CI, and write the last report " +
			"with --output FILE")
	}
	return nil
}

// watching checks again whenever watched files changed, and prints a line a round. After a signal it publishes the last
// report, with its exit code; a round that the signal ended does not count. Files that change in three rounds while
// the program runs are its own, and are dropped.
func (v *checkOptions) watching(ctx context.Context, e *env, args arguments) error {
	var last *result.Report
	var x publication
	var programs, files []string
	first, moved := map[string]bool{}, map[string]int{}
	for {
		v.looser = nil
		checks, failed := v.request(ctx, e, args.workload)
		if failed == nil {
			programs, files = v.prepare(ctx, e, checks, first, last == nil)
		} else if last == nil {
			return failed
		}
		before := app.Stamps(files)
		var all []*result.Report
		for _, c := range checks {
			r, err := c.Run(ctx)
			all, failed = append(all, r), cmp.Or(failed, err)
		}
		switch {
		case ctx.Err() != nil && last == nil:
			return failed
		case ctx.Err() != nil:
		case failed != nil:
			e.complain(failed, ExitUsage)
		default:
			last, x = v.gated(e, all, checks, nil), publication{root: checks[0].Root}
			v.complete(e, last, checks, &x)
			failed = v.round(e, last, first)
		}
		for name, stamp := range app.Stamps(files) {
			if moved[name]++; before[name] == stamp {
				moved[name] = 0
			} else if moved[name] == 3 {
				fmt.Fprintln(e.Err, "nsgate:", report.Clean(name), "changed in three rounds: it is watched no longer")
			}
			if moved[name] > 2 {
				delete(before, name)
			}
		}
		app.Await(ctx, before, programs)
		if ctx.Err() != nil {
			e.ctx = context.WithoutCancel(ctx) // the signal is how a watch ends
			fmt.Fprintln(e.Out)
			return cmp.Or(v.publish(e, &v.judging, last, x), failed)
		}
	}
}

// prepare sets the checks of a round, with the first round as a missing baseline, and gives the files to watch.
func (v *checkOptions) prepare(ctx context.Context, e *env, checks []*app.Check, first map[string]bool, tell bool) (
	programs, files []string) {
	for _, c := range checks {
		if !v.fs.Changed("runs") {
			c.Looks = []int{min(c.Looks[0], watchRuns)}
		}
		if !v.fs.Changed("explain") {
			c.Explain = app.ExplainNever
		}
		if root, err := app.KeptRoot(watched); first[c.Workload] && len(c.Baselines) == 0 && err == nil {
			c.Baselines, _ = app.ReadBaselines(ctx, root, cmp.Or(c.Workload, "default"))
			v.against = watched
		}
		own, others := c.Watched(ctx)
		programs, files = append(programs, own...), slices.Concat(files, own, others)
	}
	if tell && !v.quiet {
		fmt.Fprintf(e.Err, "nsgate: watching %s; Ctrl-C ends with the last report\n", measure.Count(len(files), "file"))
	}
	return programs, append(files, cmp.Or(v.policy, findPolicy(), policyFile))
}

// round prints the lines of a round, one a workload, and keeps what later rounds are compared with.
func (v *checkOptions) round(e *env, r *result.Report, first map[string]bool) (failed error) {
	for _, w := range r.Each() {
		note := ""
		if w.Measured != nil && len(w.HeadSessions) > 0 {
			_, err := app.Keep(watched, w)
			failed, first[w.Workload], note = cmp.Or(failed, err), true, "later rounds are compared with this one"
		}
		io.WriteString(printer(e, v.options(e)), report.Round(w, time.Now(), note, v.options(e)))
	}
	return failed
}
