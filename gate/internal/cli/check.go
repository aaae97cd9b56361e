package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/verdict"
	"github.com/nsgate/nsgate/thresholds"
)

func check(ctx context.Context, e *env, v *flags, args arguments) (failed error) {
	r := (*result.Judgement)(nil)
	if v.bisecting {
		defer func() { failed = forGit(ctx, r, failed) }()
	}
	e.reviewed() // before the code of the change runs
	checks, err := v.request(ctx, e, args.workload)
	if err != nil {
		return err
	}
	if v.dryRun {
		for _, c := range checks {
			err = errors.Join(err, printCommands(e, len(checks) > 1, c.Workload, c.Commands()))
		}
		return err
	}
	v.root = checks[0].Root
	keep := v.shadowed(e, checks[0]) // before the code of the change runs
	lacking := (*result.Judgement)(nil)
	if v.noGPU != "fail" && v.from == "" {
		lacking = app.NoGPU(ctx)
	}
	if lacking != nil && v.noGPU == "skip" && !inCI(e) && !v.bisecting {
		v.exits = new(ExitPass)
		return v.publish(e, lacking)
	}
	var all []*result.Judgement
	for _, c := range checks {
		if c.CodeOnly = lacking != nil && v.noGPU == "code"; len(checks) > 1 && !c.CodeOnly {
			c.Begin("workload " + c.Workload)
		}
		if r, err = c.Run(ctx); err != nil {
			return err
		}
		r.Workload = c.Workload
		all = append(all, r)
	}
	if len(all) > 1 {
		r = verdict.Several(all)
	} else {
		verdict.Alone(r)
	}
	v.complete(e, r, checks)
	v.withoutBaseline(e, r, checks[0])
	v.accepted(e, r)
	keep(r)
	return v.publish(e, r)
}

// shadowed takes the exit code from a verdict, and keeps the verdict where the job is of the default branch. A program
// that failed keeps its exit code and does not count.
func (v *flags) shadowed(e *env, c *app.Check) func(*result.Judgement) {
	if v.bisecting || !v.shadow && (!c.Policy.Shadow || v.fs.Changed("shadow")) {
		return func(*result.Judgement) {}
	}
	commit, unknown := app.DefaultCommit(e.ctx, e.getenv)
	return func(r *result.Judgement) {
		code := r.Report(nil).ExitCode()
		if v.exits != nil {
			code = *v.exits
		}
		r.Shadow = true
		for _, w := range r.Each() {
			w.Shadow = true
		}
		if code == ExitProgram || e.ctx.Err() != nil {
			return
		}
		v.exits = new(ExitPass)
		score, err := app.Score{}, unknown
		switch {
		case err != nil:
		case commit == "" || e.reviewed() != nil:
			score, err = app.ReadScore(c.Root)
		default:
			verdict := map[int]string{ExitPass: "pass", ExitFail: "fail"}[code]
			score, err = app.KeepScore(e.ctx, c.Root, commit, cmp.Or(verdict, "no-verdict"))
		}
		if err != nil {
			r.Warnings = append(r.Warnings, "the score of the gate in shadow is not kept: "+err.Error())
		}
		said := result.Say(app.InShadow{Failed: score.Failed, Commits: score.Commits, Bound: result.Number(score.Bound())})
		if code == ExitPass {
			r.Note(said)
		} else {
			r.Warn(said)
		}
	}
}

// request is the checks that the flags ask for, one for each workload.
func (v *flags) request(ctx context.Context, e *env, workload []string) ([]*app.Check, error) {
	v.by = model.Profiler(v.profiler)
	if err := v.checkCounts(v.by.ByLaunch()); err != nil {
		return nil, err
	}
	jobs, err := v.resolve(e, workload)
	if err != nil {
		return nil, err
	}
	if v.baseCommand != "" && len(jobs) > 1 {
		return nil, usageError("--base-cmd is the base of one workload: choose one with --workload, or give --base-ref")
	}
	var checks []*app.Check
	for _, j := range jobs {
		c := &app.Check{
			Job: j.Job, Looks: j.looks, Budget: j.set.Budget, Paired: v.paired, Profiler: v.by, Kernels: v.counts.Kernels,
			Explain: app.Explain(v.explain), Draw: v.draws(),
		}
		if !v.fs.Changed("skip-unchanged") {
			v.skip = j.set.SkipUnchanged
		}
		if c.SkipUnchanged = v.skip && !v.bisecting; c.SkipUnchanged && e.editsBaselines(j.Root) {
			c.SkipUnchanged = false
			c.Warn("the change edits baselines: measuring although unchanged checks are skipped")
		}
		if c.Base, err = v.baseOf(ctx, e, j); err != nil {
			return nil, err
		}
		if v.from != "" && !v.fs.Changed("profiler") {
			c.Profiler = "" // finished profiles say what measured them
		}
		j.Policy.Alpha /= float64(len(jobs)) // they are one gate
		if m := j.Live; m != nil {
			m.Partial = len(jobs) == 1
			if !v.by.ByLaunch() && !m.NoProfiler && m.Gather == "" && m.Head.Server == nil {
				m.Bounds, m.Selection = j.Policy.Bounds(measure.ByCounters), v.counts
				m.Selection.Metrics = j.Policy.RawMetrics()
			}
			if v.by.ByLaunch() {
				counted, without := j.Policy.OfCounters()
				if j.Policy = counted; len(without) > 0 {
					c.Warn(strings.Join(without, ", ") + ": not judged by counters, a check without " + counting + " judges it")
				}
				c.Policy = j.Policy
				if err := v.countPolicy(ctx, j.Policy, !v.dryRun); err != nil {
					return nil, err
				}
				m.Counters = &v.counts
			}
		}
		if err := cmp.Or(v.asked(c, j), v.judgeable(c)); err != nil {
			return nil, err
		}
		checks = append(checks, c)
	}
	return checks, nil
}

// complete adds what only the command knows: how to reproduce and accept it, and where its baseline is.
func (v *flags) complete(e *env, r *result.Judgement, checks []*app.Check) {
	several := len(checks) > 1
	saved := !several && saveLast(e.ctx, r)
	for _, w := range r.Each() {
		if w.Baseline != "" { // the report does not depend on where nsgate was started
			w.Baseline = cmp.Or(git.Within(policyDir(checks[0].Policy.File), w.Baseline), w.Baseline)
		}
	}
	saved = saved || several && saveLast(e.ctx, r)
	v.saved = saved
	for i, w := range r.Each() {
		offerAccept(w, "", v, saved, several)
		w.Next = append(w.Next, others(w, checks[i])...)
		if several {
			w.Reproduce = e.again(checks[i].Workload)
			w.Calls = calls(w.Reproduce, checks[i].Policy, false)
		}
	}
	if several {
		r.Reproduce = e.again("")
		return
	}
	r.Reproduce, v.reproduce = e.repeat(checks[0])
	p, command := checks[0].Policy, v.baseCommand != ""
	r.Calls, v.calls = calls(r.Reproduce, p, command), calls(v.reproduce, p, command)
}

// withoutBaseline sets the exit code that --no-baseline asks for.
func (v *flags) withoutBaseline(e *env, r *result.Judgement, c *app.Check) {
	lacks := func(w *result.Judgement) bool {
		return w.ReasonKey == string(model.NoBaseline) || w.ReasonKey == string(model.NoBaselineHere)
	}
	switch {
	case v.noBaseline == "pass" && !v.bisecting && r.Verdict == result.NoVerdict && !e.editsBaselines(c.Root) &&
		firstBaseline(r, c):
		v.exits = new(ExitPass)
	case v.noBaseline == "fail" && slices.ContainsFunc(r.Each(), lacks) && r.Report(nil).ExitCode() == ExitNoVerdict:
		v.exits = new(ExitFail)
	}
}

// firstBaseline reports whether nothing but a first baseline is missing. It is not the first where there is a baseline
// of a name that nothing has any more: the change under review has deleted or renamed it.
func firstBaseline(r *result.Judgement, c *app.Check) bool {
	known := mapped(c.Policy.Workloads, func(w thresholds.Workload) string { return w.Name })
	for _, w := range r.Each() {
		if known = append(known, w.Workload); w.Verdict != result.Pass && w.ReasonKey != string(model.NoBaseline) {
			return false
		}
	}
	return !slices.ContainsFunc(app.WorkloadsIn(c.Root), func(name string) bool { return !slices.Contains(known, name) })
}

func inCI(e *env) bool { ci := e.getenv("CI"); return ci != "" && ci != "false" && ci != "0" }

// asked refuses a check whose baseline was asked for, by its directory or by a name that the policy lacks, and is not
// there. What is measured then is of use only where a patch or --no-baseline wants it.
func (v *flags) asked(c *app.Check, j *job) error {
	if c.Base != nil || c.Screens() {
		return nil
	}
	if _, err := os.Stat(v.baseline); v.baseline != "" && err != nil && (v.patch == "" || v.noBaseline == "pass") {
		return usageError("%s: %s is not there: name the directory of the committed baselines, or leave it out",
			source(v.fs, "baseline"), v.baseline)
	}
	switch unknown := len(v.workload) > 0 && j.set.Where == ""; {
	case v.dryRun, v.from != "" || v.patch != "" || v.fs.Changed("no-baseline"), v.baseline == "" && !unknown:
		return nil
	case c.Profiler.ByLaunch() && len(c.Baselines) > 0: // it holds times alone
		return nil
	}
	others := ""
	if have := app.WorkloadsIn(j.Root); len(have) > 0 {
		others = fmt.Sprintf("%sit has %s; ", meant("--workload ", j.Workload, have), strings.Join(have, ", "))
	}
	return usageError("no baseline of workload %q in %s; %swrite one with nsgate record, on the code to compare with, "+
		"or take what is measured "+
		"with --patch FILE", j.Workload, j.Root, others)
}

// judgeable refuses a check that cannot have a verdict, before anything is measured.
func (v *flags) judgeable(c *app.Check) error {
	if err := c.Valid(); err != nil {
		return usageError("--kernel: %w", err)
	}
	lone := c.Looks[0] == 1 && !c.Profiler.ByLaunch() && v.from == ""
	switch first := c.Base == nil && !c.Screens(); {
	case first && c.Profiler.ByLaunch() && v.from == "" && len(c.Kernels) == 0:
		return usageError("no baseline of workload %q in %s; write one with nsgate record --%s, on the code to compare "+
			"with, "+
			"or name kernels with --kernel", c.Workload, c.Root, countFlag)
	case lone && (first || !c.Screens()):
		return usageError("one run has no spread to judge by: measure at least 2 runs, better 5 (--runs)")
	case lone && c.Base == nil && !c.Spread():
		return usageError("one run is judged by the spread of %d or more baseline runs, and %s has fewer: measure at least 2 runs (--runs)",
			decide.SpreadRuns, c.Baselines[0].Dir)
	}
	return nil
}

// others names the workloads that have a baseline if the checked one has none.
func others(r *result.Judgement, c *app.Check) []string {
	have := app.WorkloadsIn(c.Root)
	if r.ReasonKey != string(model.NoBaseline) || r.Measured == nil || len(have) == 0 {
		return nil
	}
	return []string{meant("--workload ", c.Workload, have) + "baselines there are of " + strings.Join(have, ", ")}
}

// untestable is the exit code that makes git bisect run skip a commit. Others from 1 to 127 call it bad.
const untestable = 125

// forGit gives an error the exit code for git bisect run, which skips everything but a pass and a regression.
func forGit(ctx context.Context, r *result.Judgement, err error) error {
	switch failed := (*exit)(nil); {
	case ctx.Err() != nil || errors.As(err, &failed) && failed.code == ExitFail:
		return err
	case err == nil && (r == nil || !r.Undecided):
		return nil
	case errors.As(err, &failed):
		return &exit{code: untestable, err: failed.err}
	}
	return &exit{code: untestable, err: err}
}

// misused is the error of a wrong flag. It is no reason for git bisect run to call a commit bad.
func (e *env) misused(err error) error {
	line := e.line
	if at := slices.Index(line, "--"); at >= 0 { // the workload's flags are its own
		line = line[:at]
	}
	if slices.Contains(line, "--bisect") {
		return &exit{code: untestable, err: err}
	}
	return err
}
