package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
)

type recordOptions struct {
	running
	launches
	printed
	reason  string `flag:"reason"`
	replace bool   `flag:"replace"`
	due     bool   `flag:"if-due"`
	anchor  string `flag:"anchor"`
	done    []*app.Recorded
}

// Recordings is the JSON of record, whose workloads are in the order of the policy.
type Recordings struct {
	Recorded []*app.Recorded `json:"recorded"`
}

func (v *recordOptions) run(ctx context.Context, e *env, args arguments) error {
	if v.dryRun {
		v.format = "text"
	}
	told := e.aside(v.format)
	_, err := v.all(ctx, e, args.workload)
	return cmp.Or(err, told(len(v.done) > 0, Recordings{v.done}))
}

// all records the workloads, and suggests outputs of the last one.
func (v *recordOptions) all(ctx context.Context, e *env, workload []string) (suggested []measure.Output, err error) {
	if err := v.checkCounts(); err != nil {
		return nil, err
	}
	jobs, err := v.resolve(e, workload)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if j.looks[0] == 1 && j.Way().Live {
			return nil,
				usageError("a baseline of one run has no spread to judge by: record at least 2 runs, better 5 (--runs)")
		}
		if v.count && j.Way().Unprofiled && len(v.counts.Kernels) == 0 {
			return nil, usageError("workload %q is not profiled: name kernels to count with --kernel", j.Workload)
		}
		if err := v.countPolicy(ctx, &v.trial, j.Policy, v.count); err != nil {
			return nil, err
		}
	}
	// A workload that cannot be recorded does not keep the others from being recorded.
	failed := &exit{}
	for _, j := range jobs {
		suggested, err = v.record(ctx, e, j, len(jobs) > 1)
		if x := (*exit)(nil); errors.As(err, &x) && x.code >= ExitNoVerdict {
			failed.code = max(failed.code, x.code)
		} else if err != nil {
			return nil, err
		}
	}
	if failed.code == ExitPass {
		return suggested, nil
	}
	return nil, failed
}

// record records one workload; several is true if it is one of several.
func (v *recordOptions) record(ctx context.Context, e *env, j *job, several bool) ([]measure.Output, error) {
	c := &app.Record{Job: j.Job, Runs: j.looks[0], Reason: v.reason, Replace: v.replace, Anchor: v.anchor}
	if v.count {
		c.Counters = &v.counts
	}
	if v.due {
		why := c.Due(ctx, time.Now())
		if why == "" {
			v.done = append(v.done, &app.Recorded{Workload: j.Workload, Files: []string{}, Kept: true})
			fmt.Fprintf(e.Out, "kept   the baseline of workload %s, which is not due\n",
				report.Clean(cmp.Or(j.Workload, "default")))
			return nil, nil
		}
		c.Reason = cmp.Or(c.Reason, why)
	}
	if dry, err := shown(ctx, e, &v.trial, several, c); dry {
		return nil, err
	}
	if several {
		j.Begin("workload " + j.Workload)
	}
	done, err := c.Run(ctx)
	if err != nil {
		saved := done != nil && done.Unwritten != nil && saveLast(e.ctx, done.Unwritten)
		err = noVerdict(e, "recorded", err)
		if saved {
			fmt.Fprintln(e.Err, "nsgate: to take this measurement:", acceptLine(done.Unwritten, "", true, false)+
				result.Given(v.anchor, " --anchor=", commandWord(v.anchor)))
		}
		return nil, err
	}
	v.done = append(v.done, done)
	if several && !v.quiet {
		fmt.Fprintln(e.Out, report.Rule(j.Workload, width(e)))
	}
	printRecorded(e.Out, done, width(e), v.quiet)
	return done.Suggested, nil
}

func recorded(sessions []model.Session) string {
	found := map[measure.Scope]int{}
	for x := range app.Subjects(sessions...) {
		found[x.Scope]++
	}
	s, unit, also := insight.Describe(sessions), "per run", ""
	gpu := cmp.Or(report.Clean(s.Environment.GPU), "an unknown GPU")
	if s.Runs == 0 {
		rows, of := found[measure.ScopeBenchmark], "benchmark"
		if rows == 0 {
			rows, of = found[measure.ScopeOutput], "output"
		}
		return fmt.Sprintf("%s of %s on %s: %s", measure.Count(s.Sessions, "session"),
			measure.Count(s.Unprofiled, "unprofiled run"), gpu, measure.Count(rows, of))
	}
	switch {
	case s.Environment.Counted():
		unit = "counters of single launches"
	case s.Step != "":
		unit = fmt.Sprintf("per step of %q", report.Clean(s.Step))
	case s.Repeats > 0:
		unit += fmt.Sprintf(", steps found by kernels, which repeat %s", measure.Count(int(s.Repeats), "time"))
	}
	if s.Unprofiled > 0 {
		also = fmt.Sprintf(" and %d unprofiled", s.Unprofiled)
	}
	return fmt.Sprintf("%s of %s%s on %s: %s, %s", measure.Count(s.Sessions, "session"), measure.Count(s.Runs, "run"),
		also, gpu, measure.Count(found[measure.ScopeKernel], "kernel"), unit)
}

func printRecorded(w io.Writer, done *app.Recorded, width int, quiet bool) {
	for _, sessions := range done.Sessions {
		fmt.Fprintln(w, "recorded", recorded(sessions))
	}
	if !quiet {
		printDifferences(w, done, width)
	}
	for _, file := range done.Files {
		fmt.Fprintf(w, "wrote %s\n", report.Clean(file))
	}
	fmt.Fprintf(w, "%s now holds %s; commit it\n", report.Clean(done.Dir), measure.Count(done.Total, "session"))
	if done.Ignored != "" {
		fmt.Fprintf(w,
			"! git ignores it (%s), so that a checkout has no baseline: add the line !**/%s/** to .gitignore\n",
			report.Clean(done.Ignored), report.Clean(input.Quote(filepath.Base(filepath.Dir(filepath.Dir(done.Dir))))))
	}
}

func printDifferences(w io.Writer, done *app.Recorded, width int) {
	if len(done.Noise) > 0 {
		times := done.Sessions[0]
		fmt.Fprintln(w, strings.TrimPrefix(report.NoiseTable(done.Noise, times[len(times)-1].Step, app.DefaultRuns,
			report.Options{Width: width}), "\n"))
	}
	tell := func(format string, args ...any) { fmt.Fprintln(w, report.Clean(fmt.Sprintf(format, args...))) }
	if len(done.Sessions) > 0 {
		if last := insight.Describe(done.Sessions[0][len(done.Sessions[0])-1:]); last.Warmup != "" {
			tell("warm-up %s: %s", last.Warmup, last.Skipped)
		}
	}
	for _, x := range done.Changes {
		tell("differs from the sessions before: %s", x)
	}
	if len(done.New) > 0 {
		tell("new: %s", report.Elide(strings.Join(done.New, ", "), 300))
	}
	if len(done.Gone) > 0 {
		tell("gone: %s", report.Elide(strings.Join(done.Gone, ", "), 300))
	}
	for _, o := range done.Replaced {
		tell("in place of %s, of %s%s", o.ID, o.Start.UTC().Format("2006-01-02 15:04"),
			result.Given(o.Reason, " (", o.Reason, ")"))
	}
}
