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
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/verdict"
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
			err = errors.Join(err, printCommands(e, len(checks) > 1, c.Workload, c.Commands(ctx)))
		}
		return err
	}
	v.root = checks[0].Root
	if v.posts() {
		models, _ := checks[0].Live.Models(ctx)
		v.gpu = strings.Join(slices.Compact(slices.Clone(models)), ", ")
	}
	keep := v.shadowed(e, checks[0]) // before the code of the change runs
	lacking := (*result.Judgement)(nil)
	if v.noGPU != "fail" && v.from == "" {
		lacking = app.NoGPU(ctx)
	}
	if lacking != nil && v.noGPU == "skip" && !inCI(e) && !v.bisecting {
		if len(checks) == 1 {
			lacking.Workload = checks[0].Workload
		}
		lacking.Gate.Way = result.NotMeasured
		lacking.Warnings = append(lacking.Warnings, "the gate passes with exit code 0 (--no-gpu skip)")
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
	v.excused(e, r, checks[0])
	keep(r)
	v.complete(e, r, checks)
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
		if e.ctx.Err() != nil {
			return
		}
		code := r.Report(nil).Gate.Code
		for _, w := range r.Each() {
			w.Gate.Way = result.InShadow
		}
		if code == ExitProgram {
			return
		}
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

func (v *flags) request(ctx context.Context, e *env, workload []string) ([]*app.Check, error) {
	v.by = model.Profiler(v.profiler)
	if err := v.checkCounts(); err != nil {
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
			Job: j.Job, Looks: j.looks, Budget: j.set.Budget, Profiler: v.by, Kernels: v.counts.Kernels,
			Explain: app.Explain(v.explain), Draw: v.draws(),
		}
		v.skips(e, c, j)
		if c.Base, err = v.baseOf(ctx, e, j); err != nil {
			return nil, err
		}
		c.Paired = v.paired && c.Base != nil
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
				if err := v.counted(ctx, c, j); err != nil {
					return nil, err
				}
			}
		}
		if err := cmp.Or(v.asked(c, j), v.judgeable(ctx, c)); err != nil {
			return nil, err
		}
		checks = append(checks, c)
	}
	return checks, nil
}

// skips says whether a check measures nothing where nothing changed, and notes what flags loosen in its settings.
func (v *flags) skips(e *env, c *app.Check, j *job) {
	of := "workload " + j.Workload
	if !v.fs.Changed("skip-unchanged") {
		v.skip = j.set.SkipUnchanged
	}
	if v.skip && !j.set.SkipUnchanged {
		v.looser = append(v.looser, looser(source(v.fs, "skip-unchanged"), "true", "skip_unchanged", of, "false"))
	}
	if v.runs.Most > 0 && v.runs.Most < j.set.Runs.Most {
		v.looser = append(v.looser, looser(source(v.fs, "runs"), v.runs.String(), "runs", of, j.set.Runs.String()))
	}
	c.SkipUnchanged = v.skip && !v.bisecting
	review, why := e.reviewed(), ""
	switch {
	case e.editsBaselines(j.Root):
		why = "the change edits baselines"
	case review != nil && review.Branch != "":
		why = "the CI host names no base commit"
	}
	if c.SkipUnchanged && why != "" {
		c.SkipUnchanged = false
		c.Warn(why + ": measuring although unchanged checks are skipped")
	}
}

// counted makes a check one of counters, with the rules that they can judge.
func (v *flags) counted(ctx context.Context, c *app.Check, j *job) error {
	policy, without := j.Policy.OfCounters()
	if len(without) > 0 {
		c.Warn(strings.Join(without, ", ") + ": not judged by counters, a check without " + counting + " judges it")
	}
	j.Policy, c.Policy, j.Live.Counters = policy, policy, &v.counts
	return v.countPolicy(ctx, policy, !v.dryRun)
}

// complete adds what only the command knows: how to reproduce and accept it, and where its baseline is.
func (v *flags) complete(e *env, r *result.Judgement, checks []*app.Check) {
	several := len(checks) > 1
	var committed []string // baselines that decide; in a review ownEdits looks at them
	for i, w := range r.Each() {
		if w.Baseline != "" && checks[i].Base == nil && e.reviewed() == nil {
			committed = append(committed, w.Baseline)
		}
		if w.Measured != nil && v.patch != "" && len(w.Next) > 0 {
			w.Next[0] = withWay(v.apply(), w.Next[0])
		}
		w.Next = append(w.Next, others(w, checks[i])...)
		if c := checks[i]; w.Verdict == result.Fail && c.Base != nil && !c.Screens() {
			w.Next = append(w.Next, againstBuild)
		}
		if several {
			w.Reproduce = e.again(checks[i].Workload)
			w.Calls = v.settling(e, w.Reproduce, checks[i].Policy, w.Workload)
		}
	}
	showWays(r)
	if r.Reproduce = e.again(""); !several {
		r.Reproduce, v.reproduce = e.repeat(checks[0])
		p := checks[0].Policy
		r.Calls, v.calls = v.settling(e, r.Reproduce, p, r.Workload), v.settling(e, v.reproduce, p, r.Workload)
	}
	if warning := app.Uncommitted(e.ctx, committed); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	for _, w := range r.Each() {
		w.Baseline = app.Placed(w.Baseline) // the report does not depend on where nsgate was started
	}
	saved := saveLast(e.ctx, r)
	v.saved = saved
	for _, w := range r.Each() {
		offerAccept(w, "", v, saved, several)
	}
}

// excused sets why the gate does something else than the verdicts say: a signal, --no-baseline, a label. A missing
// baseline is not the first where the change under review has deleted or renamed one.
func (v *flags) excused(e *env, r *result.Judgement, c *app.Check) {
	var known []string // directories of baselines
	for _, w := range c.Policy.Workloads {
		known = append(known, app.BaselinesOf(c.Root, w.Name))
	}
	for _, w := range r.Each() {
		known = append(known, app.BaselinesOf(c.Root, w.Workload))
	}
	other := func(name string) bool { return !slices.Contains(known, app.BaselinesOf(c.Root, name)) }
	passes := v.noBaseline == "pass" && !v.bisecting && !e.editsBaselines(c.Root) &&
		!slices.ContainsFunc(app.WorkloadsIn(c.Root), other)
	label := v.labelled(e)
	for _, w := range r.Each() {
		kind := model.Kind(w.ReasonKey)
		switch {
		case e.ctx.Err() != nil:
			w.Gate = result.Gate{Way: result.Interrupted, Code: e.signalled()}
		case passes && kind == model.NoBaseline:
			w.Gate.Way = result.FirstPasses
		case v.noBaseline == "fail" && (kind == model.NoBaseline || kind == model.NoBaselineHere):
			w.Gate.Way = result.FirstFails
		case label != "" && w.Verdict == result.Fail:
			w.Gate.Way = result.Accepted
			v.patchReason = cmp.Or(v.patchReason, label)
		}
	}
	if slices.ContainsFunc(r.Each(), func(w *result.Judgement) bool { return w.Gate.Way == result.Accepted }) {
		r.Warnings = append(r.Warnings, "accepted ("+label+
			"): the gate passes with exit code 0, and its patch takes the change into the baseline")
	}
}

func inCI(e *env) bool { ci := e.getenv("CI"); return ci != "" && ci != "false" && ci != "0" }

// missing refuses a directory of baselines that was named and is not there.
func (v *flags) missing() error {
	if _, err := os.Stat(v.baseline); v.baseline == "" || err == nil {
		return nil
	}
	return usageError("%s: %s is not there: name the directory of the committed baselines, or leave it out",
		source(v.fs, "baseline"), v.baseline)
}

// asked refuses a check whose baseline was asked for, by its directory or by a name that the policy lacks, and is not
// there. What is measured then is of use only where a patch or --no-baseline wants it.
func (v *flags) asked(c *app.Check, j *job) error {
	if c.Base != nil || c.Screens() {
		return nil
	}
	if err := v.missing(); err != nil && (v.patch == "" || v.noBaseline == "pass") {
		return err
	}
	switch unknown := len(v.workload) > 0 && j.set.Where == ""; {
	case v.dryRun, v.from != "" || v.patch != "" || v.fs.Changed("no-baseline"), v.baseline == "" && !unknown:
		return nil
	case c.Profiler.ByLaunch() && len(c.Baselines) > 0: // it holds times alone
		return nil
	case len(c.Baselines) > 0:
		return usageError("the baseline of workload %q in %s is of %s alone: check with --profiler %[3]s, or record one of "+
			"times with nsgate record", j.Workload, j.Root, c.Baselines.Profilers())
	}
	others := ""
	if have := app.WorkloadsIn(j.Root); len(have) > 0 {
		others = fmt.Sprintf("%sit has %s; ", meant("--workload ", j.Workload, have), strings.Join(have, ", "))
	}
	return usageError("no baseline of workload %q in %s; %swrite one with nsgate record, on the code to compare with, "+
		"or take what is measured with --patch FILE", j.Workload, j.Root, others)
}

// judgeable refuses a check that cannot have a verdict, before anything is measured.
func (v *flags) judgeable(ctx context.Context, c *app.Check) error {
	if err := c.Valid(ctx); err != nil {
		return usageError("--kernel: %w", err)
	}
	lone := c.Looks[0] == 1 && !c.Profiler.ByLaunch() && v.from == ""
	switch first := c.Base == nil && !c.Screens(); {
	case first && c.Profiler.ByLaunch() && v.from == "" && len(c.Kernels) == 0:
		lacks := "no baseline"
		if len(c.Baselines) > 0 {
			lacks = "no counters in the baseline"
		}
		return usageError("%s of workload %q in %s; write one with nsgate record --%s, on the code to compare with, or name "+
			"kernels with --kernel", lacks, c.Workload, c.Root, countFlag)
	case lone && (first || !c.Screens()):
		return usageError("one run has no spread to judge by: measure at least 2 runs, better 5 (--runs)")
	}
	if few := c.Spread(ctx); lone && c.Base == nil && few != "" {
		return usageError("one run is judged by the spread of %d or more baseline runs, and %s has fewer: measure at least 2 runs (--runs)",
			decide.SpreadRuns, few)
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
