package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

type checkOptions struct {
	running
	launches
	reported
	baseCommand string `flag:"base-cmd,single"`
	baseRef     string `flag:"base-ref,single"`
	script      string `flag:"build,single"`
	baseDir     string `flag:"base-dir,single"`
	paired      bool   `flag:"paired"`
	profiler    string `flag:"profiler" words:"profilers"`
	explain     string `flag:"explain" words:"auto always never"`
	noGPU       string `flag:"no-gpu" words:"fail code skip"`
	noBaseline  string `flag:"no-baseline" words:"show pass fail"`
	bisecting   bool   `flag:"bisect"`
	shadow      bool   `flag:"shadow"`
	skip        bool   `flag:"skip-unchanged"`
	save        string `flag:"save,single"`
	against     string `flag:"against,single"`
	watch       bool   `flag:"watch"`
}

// last is the local baseline of the last check or comparison.
const last = "last"

// check takes a local baseline in place of the committed ones.
func (v *checkOptions) check(e *env, g *given) error {
	err := cmp.Or(v.reported.check(e, g), v.watchable(e))
	if v.save != "" && err == nil {
		err = new(thresholds.Workload).Set("name", v.save, "")
	}
	if v.save == last || v.save == watched {
		return usageError("--save: nsgate itself keeps measurements as %s; choose another name", v.save)
	}
	if name := cmp.Or(v.save, v.against); name != "" && err == nil { // before anything is measured
		if _, err = app.KeptRoot(name); err != nil {
			return usageError("%s is kept in the user's cache: %v; set one of them", name, err)
		}
	}
	if err != nil || v.against == "" {
		return err
	}
	if v.baseline != "" {
		return usageError("--against takes a local baseline: leave out %s", source(v.fs, "baseline"))
	}
	v.baseline, err = app.KeptRoot(v.against)
	if v.against == last {
		r := (*result.Report)(nil)
		if r, _, err = e.savedReport(arguments{}); err == nil {
			err = os.RemoveAll(v.baseline) // of an earlier report
		}
		if err == nil {
			_, err = app.Keep(last, r)
		}
		return err
	}
	if kept := app.Kept(); !slices.Contains(kept, v.against) {
		return usageError("--against: nothing is kept as %q; %snsgate check --save NAME keeps a measurement", v.against,
			meant("", v.against, kept))
	}
	return err
}

func (v *checkOptions) run(ctx context.Context, e *env, args arguments) (failed error) {
	r := (*result.Report)(nil)
	if v.bisecting {
		defer func() { failed = forGit(ctx, r, failed) }()
	}
	e.reviewed() // before the code of the change runs
	if v.watch {
		return v.watching(ctx, e, args)
	}
	checks, err := v.request(ctx, e, args.workload)
	if err != nil {
		return err
	}
	if dry, err := shown(ctx, e, &v.trial, len(checks) > 1, checks...); dry {
		return err
	}
	x := publication{root: checks[0].Root}
	if v.posts() {
		models, _ := checks[0].Live.Models(ctx)
		x.gpu = strings.Join(slices.Compact(slices.Clone(models)), ", ")
	}
	lacking := (*result.Report)(nil)
	if v.noGPU != "fail" && checks[0].Way().Live {
		lacking = app.NoGPU(ctx)
	}
	if lacking != nil && v.noGPU == "skip" && !inCI(e) && !v.bisecting {
		return v.skipped(e, lacking, checks, x)
	}
	keep := v.shadowed(e, checks[0]) // before the code of the change runs
	var all []*result.Report
	checks[len(checks)-1].Decided = func(ctx context.Context, r *result.Report) (context.Context, func()) {
		return v.decided(ctx, e, r, len(checks) > 1)
	}
	for _, c := range checks {
		c.Estimate = func(r *result.Report) string { return report.Lead(r, v.options(e)) }
		judge := c.Run
		if lacking != nil && v.noGPU == "code" {
			judge = c.RunCode
		} else if len(checks) > 1 {
			c.Begin("workload " + c.Workload)
		}
		if r, err = judge(ctx); err != nil {
			break
		}
		all = append(all, r)
	}
	r = v.gated(e, all, checks, err)
	if r == nil {
		return err
	}
	keep(r)
	if err := v.saved(e, r); err != nil {
		return err
	}
	v.complete(e, r, checks, &x)
	return v.publish(e, &v.judging, r, x)
}

// gated is the report of one gate on all workloads, of those before a signal where that ended it; nil for another err.
func (v *checkOptions) gated(e *env, all []*result.Report, checks []*app.Check, err error) *result.Report {
	if len(all) == 0 || err != nil && e.ctx.Err() == nil {
		return nil
	}
	for i, r := range all {
		r.Append(result.Addition{Workload: checks[i].Workload})
	}
	r := all[0]
	if len(all) > 1 {
		r = verdict.Several(all)
	} else {
		verdict.Alone(r)
	}
	v.excused(e, r, checks[0])
	if len(all) < len(checks) {
		warn(r, "interrupted before a verdict on "+checks[len(all)].Workload+": check again for all workloads")
	}
	return r
}

// skipped publishes a gate that passes unmeasured on a machine without a GPU.
func (v *checkOptions) skipped(e *env, lacking *result.Report, checks []*app.Check, x publication) error {
	unmeasured := result.Addition{Gate: result.Gate{Way: result.NotMeasured},
		Warnings: []string{"the gate passes with exit code 0 (--no-gpu skip)"}}
	if len(checks) == 1 {
		unmeasured.Workload = checks[0].Workload
	}
	lacking.Append(unmeasured)
	if err := v.saved(e, lacking); err != nil {
		return err
	}
	return v.publish(e, &v.judging, lacking, x)
}

// saved keeps what was measured under the name of --save, and says so or that nothing was measured.
func (v *checkOptions) saved(e *env, r *result.Report) error {
	if v.save == "" {
		return nil
	}
	kept, err := app.Keep(v.save, r)
	if err == nil && kept == 0 {
		warn(r, "nothing was measured, so nothing is kept as "+v.save+" (--save)")
	} else if err == nil {
		fmt.Fprintf(e.Err, "nsgate: kept as %s: nsgate check --against %[1]s compares with it\n", v.save)
	}
	return err
}

// shadowed takes the exit code from a verdict, which it keeps on the default branch, unless the program failed.
func (v *checkOptions) shadowed(e *env, c *app.Check) func(*result.Report) {
	if v.bisecting || !v.shadow && (!c.Policy.Shadow || v.fs.Changed("shadow")) {
		return func(*result.Report) {}
	}
	commit, unknown := app.DefaultCommit(e.ctx, e.getenv)
	return func(r *result.Report) {
		if e.ctx.Err() != nil {
			return
		}
		code := r.Shown(nil).Gate.Code
		for _, w := range r.Each() {
			w.Append(result.Addition{Gate: result.Gate{Way: result.InShadow}})
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
			warn(r, "the score of the gate in shadow is not kept: "+err.Error())
		}
		said := result.Say(app.InShadow{Failed: score.Failed, Commits: score.Commits,
			Bound: result.Number(score.Bound())})
		if code == ExitPass {
			r.Note(said)
		} else {
			r.Warn(said)
		}
	}
}

func (v *checkOptions) request(ctx context.Context, e *env, workload []string) ([]*app.Check, error) {
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
			Job: j.Job, Looks: j.looks, Budget: j.set.Budget, Profiler: model.Profiler(v.profiler),
			Kernels: v.counts.Kernels,
			Explain: app.Explain(v.explain), ExplainTime: j.set.ExplainTime, Draw: v.draws(),
			ExplainLess: "leave it out with --explain never", ExplainMore: "allow more with --explain-time",
		}
		v.skips(e, c, j)
		if c.Base, err = v.baseOf(ctx, e, j); err != nil {
			return nil, err
		}
		c.Paired = v.paired && c.Base != nil
		if !j.Way().Live && !v.fs.Changed("profiler") {
			c.Profiler = "" // finished profiles say what measured them
		}
		j.Policy.Alpha /= float64(len(jobs)) // they are one gate
		m := j.Live
		m.Partial = true
		switch {
		case j.Way().Timed:
			if c.Base == nil {
				m.Step, m.Warmup = j.Baselines.Alike(j.Rule)
			}
			if j.Way().Alone && !j.Way().Unprofiled {
				m.Bounds, m.Selection = j.Policy.Bounds(measure.ByCounters), v.counts
				m.Selection.Metrics = j.Policy.RawMetrics()
			}
		case j.Way().Counts:
			if err := v.counted(ctx, c, j); err != nil {
				return nil, err
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
func (v *checkOptions) skips(e *env, c *app.Check, j *job) {
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
func (v *checkOptions) counted(ctx context.Context, c *app.Check, j *job) error {
	policy, without := j.Policy.OfCounters()
	if len(without) > 0 {
		c.Warn(strings.Join(without, ", ") + ": not judged by counters, a check without " + counting + " judges it")
	}
	j.Policy, c.Policy = policy, policy
	err := v.countPolicy(ctx, &v.trial, policy, true)
	j.Live.Selection = v.counts
	return err
}

// complete adds what only the command knows: how to reproduce and accept it, and where its baseline is.
func (v *checkOptions) complete(e *env, r *result.Report, checks []*app.Check, x *publication) {
	several := len(checks) > 1
	var committed []string // baselines that decide; in a review ownEdits looks at them
	for i, w := range r.Each() {
		if w.Baseline != "" && v.against == "" && checks[i].Base == nil && e.reviewed() == nil {
			committed = append(committed, w.Baseline)
		}
		// The report does not depend on where nsgate was started, and accept is about committed baselines.
		add := result.Addition{Next: others(w, checks[i]), Baseline: app.Placed(w.Baseline)}
		if v.against != "" {
			add.Local = &result.Basis{Against: app.AgainstLocal}
		}
		if v.against != "" && w.Measured != nil {
			add.First = func(step string) string { return withWay("nsgate check --save NAME", step) }
		}
		if c := checks[i]; w.Verdict == result.Fail && c.Base != nil && !c.Screens() && !w.OverDrift() {
			add.Next = append(add.Next, againstBuild)
		}
		if several {
			add.Reproduce = e.again(checks[i].Workload)
			add.Calls = v.settling(e, add.Reproduce, checks[i].Policy, w.Workload)
		}
		w.Append(add)
	}
	showWays(r)
	var add result.Addition
	if several {
		add.Reproduce = e.again("")
	} else {
		add.Reproduce, x.reproduce = e.repeat(checks[0])
		p := checks[0].Policy
		add.Calls, x.calls = v.settling(e, add.Reproduce, p, r.Workload), v.settling(e, x.reproduce, p, r.Workload)
	}
	if warning := app.Uncommitted(e.ctx, committed); warning != "" {
		add.Warnings = []string{warning}
	}
	r.Append(add)
	x.saved = saveLast(e.ctx, r)
	for _, w := range r.Each() {
		if v.against == "" {
			offerAccept(w, "", &v.reported, x.saved, several)
		}
	}
}

// excused sets why the gate does something else than the verdicts say: a signal, --no-baseline, a label. A missing
// baseline is not the first where the change under review has deleted or renamed one.
func (v *checkOptions) excused(e *env, r *result.Report, c *app.Check) {
	accepted, known := []string(nil), slices.Concat(
		measure.Map(c.Policy.Workloads, func(w thresholds.Workload) string { return app.BaselinesOf(c.Root, w.Name) }),
		measure.Map(r.Each(), func(w *result.Report) string { return app.BaselinesOf(c.Root, w.Workload) }))
	other := func(name string) bool { return !slices.Contains(known, app.BaselinesOf(c.Root, name)) }
	passes := v.noBaseline == "pass" && !v.bisecting && !e.editsBaselines(c.Root) &&
		!slices.ContainsFunc(app.WorkloadsIn(c.Root), other)
	label := v.labelled(e)
	for _, w := range r.Each() {
		kind, gate := model.Kind(w.ReasonKey), result.Gate{}
		switch {
		case e.ctx.Err() != nil:
			gate = result.Gate{Way: result.Interrupted, Code: e.signalled()}
		case passes && kind == model.NoBaseline:
			gate.Way = result.FirstPasses
		case v.noBaseline == "fail" && (w.Measured != nil || kind == model.NoBaselineHere):
			gate.Way = result.FirstFails
		case label != "" && w.Verdict == result.Fail && app.Changed(w):
			gate.Way, accepted = result.Accepted, append(accepted, w.Workload)
			v.patchReason = cmp.Or(v.patchReason, label)
		}
		w.Append(result.Addition{Gate: gate})
	}
	if len(accepted) > 0 {
		warn(r, "accepted ("+label+"): the gate "+measure.Either(r.Gated().Code == 0, "passes with exit code 0",
			"no longer fails for "+result.Few(accepted))+", and its patch takes the change into the baseline")
	}
}

func inCI(e *env) bool { ci := e.getenv("CI"); return ci != "" && ci != "false" && ci != "0" }

// missing refuses a directory of baselines that was named and is not there.
func (v *stored) missing() error {
	info, err := os.Stat(v.baseline)
	what := "is not there"
	switch {
	case v.baseline == "" || err == nil && info.IsDir():
		return nil
	case err == nil:
		what = "is no directory"
	}
	return usageError("%s: %s %s: name the directory of the committed baselines, or leave it out",
		source(v.fs, "baseline"), v.baseline, what)
}

// asked refuses a check whose baseline was asked for, by its directory or by a name that the policy lacks, and is not
// there. What is measured then is of use only where a patch or --no-baseline wants it.
func (v *checkOptions) asked(c *app.Check, j *job) error {
	if c.Base != nil || c.Screens() {
		return nil
	}
	if err := v.missing(); err != nil && (v.patch == "" || v.noBaseline == "pass") {
		return err
	}
	return v.really(func() error { return v.baselined(c, j) })
}

// baselined refuses a check that lacks the baseline which was asked for, where nothing else wants the measurement.
func (v *checkOptions) baselined(c *app.Check, j *job) error {
	unknown := len(v.workload) > 0 && j.set.Where == ""
	switch {
	case !c.Way().Live, v.against == "" && (v.patch != "" || v.fs.Changed("no-baseline")), v.baseline == "" && !unknown:
		return nil
	case c.Way().Counts && len(c.Baselines) > 0: // it holds times alone
		return nil
	case len(c.Baselines) > 0:
		return usageError("the baseline of workload %q in %s is of %s alone: check with --profiler %[3]s, or record "+
			"one of times with nsgate record", j.Workload, j.Root, c.Baselines.Profilers())
	}
	have := app.WorkloadsIn(j.Root)
	list := strings.Join(have, ", ")
	others := result.Given(list, meant("--workload ", j.Workload, have), "it has ", list, "; ")
	if v.against == last {
		return usageError("--against: the last report has nothing of workload %q; %snsgate check --workload %[1]s "+
			"--save NAME keeps a measurement", j.Workload, others)
	} else if v.against != "" {
		return usageError("--against: nothing of workload %q is kept as %s; %snsgate check --workload %[1]s "+
			"--save %[2]s keeps it", j.Workload, v.against, others)
	}
	return usageError("no baseline of workload %q in %s; %swrite one with nsgate record, on the code to compare with, "+
		"or take what is measured with --patch FILE", j.Workload, j.Root, others)
}

// judgeable refuses a check that cannot have a verdict, before anything is measured.
func (v *checkOptions) judgeable(ctx context.Context, c *app.Check) error {
	if err := c.Valid(ctx); err != nil {
		return usageError("--kernel: %w", err)
	}
	lone := c.Looks[0] == 1 && c.Way().Timed && // a bound needs no second run
		!slices.ContainsFunc(c.Policy.Rules, func(r thresholds.Rule) bool { return r.Bounds() })
	first := c.Base == nil && !c.Screens()
	switch {
	case first && c.Way().Counts && len(c.Kernels) == 0:
		lacks := measure.Either(len(c.Baselines) > 0, "no counters in the baseline", "no baseline")
		return usageError("%s of workload %q in %s; write one with nsgate record --%s, on the code to compare with, "+
			"or name kernels with --kernel", lacks, c.Workload, c.Root, countFlag)
	case lone && (first || !c.Screens()):
		return usageError("one run has no spread to judge by: measure at least 2 runs, better 5 (--runs)")
	}
	if few := c.Spread(ctx); lone && c.Base == nil && few != "" {
		return usageError("one run is judged by the spread of %d or more baseline runs, and %s has fewer: measure at "+
			"least 2 runs (--runs)", decide.SpreadRuns, few)
	}
	return nil
}

// others names the workloads that have a baseline if the checked one has none.
func others(r *result.Report, c *app.Check) []string {
	if r.ReasonKey != string(model.NoBaseline) {
		return nil
	}
	have := app.WorkloadsIn(c.Root)
	for _, dir := range []string{app.Repository(), c.Root} {
		at := app.Here(filepath.Join(dir, app.DefaultRoot))
		if len(have) == 0 && app.WorkloadsIn(at) != nil {
			return []string{"or compare with the baselines in " + at + ": --baseline " + commandWord(at)}
		}
	}
	if r.Measured == nil || len(have) == 0 {
		return nil
	}
	return []string{meant("--workload ", c.Workload, have) + "baselines there are of " + strings.Join(have, ", ")}
}
