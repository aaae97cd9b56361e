package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

func checkCommand() *command {
	return &command{
		name:     "check",
		usage:    "[flags] [-- WORKLOAD…]",
		summary:  "measure the workload and judge it against the committed baseline or a base build",
		workload: true,
		bind: func(fs *pflag.FlagSet) action {
			var m measureFlags
			var base baseFlags
			var policy policyFlags
			var out outputFlags
			var counters counterFlags
			var explain, profiler, noGPU string
			var bisecting bool
			m.bind(fs)
			m.bindMetrics(fs)
			base.bind(fs)
			fs.StringVar(&profiler, "profiler", "nsys", "what to measure with: nsys (times) or ncu (counters of single launches)")
			counters.bind(fs)
			fs.StringVar(&explain, "explain", "auto",
				"say from Nsight Compute why a kernel got slower: auto (what fails the gate), always (all that is slower) or never")
			fs.StringVar(&noGPU, "no-gpu", "fail", "where there is no GPU: fail (exit 3), or skip (judge nothing, exit 0), for a developer's machine; in CI always fail")
			fs.BoolVar(&bisecting, "bisect", false, "for git bisect run: exit with 0 for a pass, 1 for a regression, and 125 where that cannot be told")
			policy.bind(fs)
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) (failed error) {
				r := (*result.Report)(nil)
				if bisecting {
					defer func() { failed = forGit(ctx, r, failed) }()
				}
				by := model.Profiler(profiler)
				if err := cmp.Or(out.check(report.Formats()), oneOf("explain", explain, autoAlwaysNever...),
					oneOf("profiler", profiler, "nsys", "ncu"),
					oneOf("no-gpu", noGPU, "fail", "skip"), counters.check(by.ByLaunch())); err != nil {
					return err
				}
				jobs, err := m.resolve(e, &policy, args.workload, by, out.quiet)
				if err != nil {
					return err
				}
				if base.command != "" && len(jobs) > 1 {
					return usageError("--base-cmd is the base of one workload: choose one with --workload, or give --base-ref")
				}
				var checks app.Several
				for _, j := range jobs {
					c := &app.Check{
						Workload: j.name, Measurer: j.measurer, Baselines: j.baselines, Policy: j.policy, Looks: j.looks, Paired: base.paired,
						Profiler: by, Kernels: counters.Kernels, Rule: j.rule, Explain: app.Explain(explain), Draw: out.draws(), Observe: j.progress,
					}
					if c.Base, err = base.resolve(ctx, e, m.from, j); err != nil {
						return err
					}
					if m.from != "" && !fs.Changed("profiler") {
						c.Profiler = "" // finished profiles say what measured them
					}
					if machine, ok := c.Measurer.(*app.Machine); ok && by.ByLaunch() {
						machine.Counters = &counters.Counters
					}
					if err := m.judgeable(c, j); err != nil {
						return err
					}
					checks = append(checks, c)
				}
				if m.dryRun {
					for _, c := range checks {
						if len(checks) > 1 {
							fmt.Fprintln(e.Out, "# workload", c.Workload)
						}
						if err := printCommands(e, c.Commands()); err != nil {
							return err
						}
					}
					return nil
				}
				policyFile := jobs[0].policy.File
				if noGPU == "skip" && m.from == "" && !inCI(e) && !bisecting {
					if r := app.NoGPU(ctx); r != nil {
						out.passes = true
						return out.publish(e, r, true, policyFile, jobs[0].root)
					}
				}
				if r, err = checks.Run(ctx); err != nil {
					return err
				}
				saved := len(jobs) == 1 && saveLast(r)
				for _, w := range r.Each() {
					w.Baseline = fromHome(policyFile, w.Baseline)
				}
				saved = saved || len(jobs) > 1 && saveLast(r)
				for i, w := range r.Each() {
					offerAccept(w, &out, saved, len(jobs) > 1)
					offerOthers(w, jobs[i])
				}
				if len(jobs) == 1 {
					r.Reproduce, out.reproduce = e.repeat(jobs[0], jobs[0].policy, args.workload)
				} else {
					r.Reproduce = e.again
					for i, w := range r.Workloads {
						w.Reproduce = e.named(jobs[i].name)
					}
				}
				return out.publish(e, r, true, policyFile, jobs[0].root)
			}
		},
	}
}

// inCI reports whether a CI host runs this.
func inCI(e *env) bool { ci := e.getenv("CI"); return ci != "" && ci != "false" && ci != "0" }

// judgeable refuses what could be told before it is measured that no verdict can come of it.
func (m *measureFlags) judgeable(c *app.Check, j *job) error {
	if err := c.Valid(); err != nil {
		return usageError("--kernel: %w", err)
	}
	lone := j.looks[0] == 1 && c.Profiler != model.Ncu && m.from == ""
	switch first := c.Base == nil && !c.Screens(); {
	case first && c.Profiler.ByLaunch() && m.from == "" && len(c.Kernels) == 0:
		return usageError("no baseline of workload %q in %s; write one with nsgate record --ncu, on the code to compare with, or name kernels with --kernel",
			j.name, j.root)
	case lone && (first || !c.Screens()):
		return usageError("one run has no spread to judge by: measure at least 2 runs, better 5 (--runs)")
	case lone && c.Base == nil && !c.Spread():
		return usageError("one run is held against the spread of the baseline's runs, of which it takes %d or more, and %s has fewer: measure at least 2 runs (--runs)",
			decide.HeldAgainst, c.Baselines[0].Dir)
	}
	return nil
}

// offerOthers names the workloads that have a baseline where the one that was checked has none.
func offerOthers(r *result.Report, j *job) {
	if r.ReasonKey != "no-baseline" || r.Measured == nil {
		return
	}
	if have := app.WorkloadsIn(j.root); len(have) > 0 {
		r.Next = append(r.Next, meant("--workload ", j.name, have)+"baselines there are of "+strings.Join(have, ", "))
	}
}

// untestable is the exit code by which git bisect run skips a commit. All others under 128 but 0 say that it is bad.
const untestable = 125

// forGit is the error with the exit code that git bisect run wants: whatever is neither a pass nor a regression is skipped.
func forGit(ctx context.Context, r *result.Report, err error) error {
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

// offerAccept puts the command that takes what a failing report says has changed, or the first measurement of a workload, into the
// baseline into the report, which may be one of several.
func offerAccept(r *result.Report, out *outputFlags, saved, several bool) {
	if r.Measured == nil && (r.Verdict != result.Fail || r.Baseline == "") {
		return
	}
	file := ""
	for _, f := range out.files {
		if name, ok := strings.CutPrefix(f, "json="); ok && !special(name) {
			file = name
			if strings.HasPrefix(name, "-") {
				file = "./" + name
			}
			file = thresholds.JoinCommand([]string{file})
		}
	}
	if out.patch != "" {
		r.Next = append(r.Next, map[bool]string{true: "the patch that is written beside makes it the first baseline: ",
			false: "to accept it with the patch that is written beside: "}[r.Measured != nil]+thresholds.JoinCommand([]string{"git", "apply", out.patch}))
	}
	if r.Accept = acceptLine(r, file, saved, several); r.Accept == "" {
		r.Next = append(r.Next, map[bool]string{true: "to take it as the first baseline", false: "to accept the change"}[r.Measured != nil]+
			", check again with --report json=report.json")
	}
}
