package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
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
			var explain, profiler string
			var bisecting bool
			m.bind(fs)
			m.bindMetrics(fs)
			base.bind(fs)
			fs.StringVar(&profiler, "profiler", "nsys", "what to measure with: nsys (times) or ncu (counters of single launches)")
			counters.bind(fs)
			fs.StringVar(&explain, "explain", "auto",
				"say from Nsight Compute why a kernel got slower: auto (what fails the gate), always (all that is slower) or never")
			fs.BoolVar(&bisecting, "bisect", false, "for git bisect run: exit with 0 for a pass, 1 for a regression, and 125 where that cannot be told")
			policy.bind(fs)
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) (failed error) {
				r := (*gate.Report)(nil)
				if bisecting {
					defer func() { failed = forGit(ctx, r, failed) }()
				}
				by := measure.Profiler(profiler)
				if err := cmp.Or(out.check(report.Formats()), oneOf("explain", explain, autoAlwaysNever...),
					oneOf("profiler", profiler, "nsys", "ncu"), counters.check(by.ByLaunch())); err != nil {
					return err
				}
				j, err := m.resolve(e, &policy, args.workload, by, out.quiet)
				if err != nil {
					return err
				}
				c := &check.Check{
					Workload: j.name, Measurer: j.measurer, Policy: j.policy, Looks: j.looks, Paired: base.paired, Profiler: by,
					Kernels: counters.Kernels, Rule: j.rule, Explain: check.Explain(explain), Observe: j.progress,
				}
				if c.Base, err = base.resolve(ctx, e, m.from, j); err != nil {
					return err
				}
				if c.Baselines, err = check.ReadBaselines(m.baseline, j.name); err != nil {
					return err
				}
				if m.from != "" && !fs.Changed("profiler") {
					c.Profiler = "" // finished profiles say what measured them
				}
				if err := c.Valid(); err != nil {
					return usageError("--kernel: %w", err)
				}
				if machine, ok := c.Measurer.(*check.Machine); ok && by.ByLaunch() {
					machine.Counters = &counters.Counters
				}
				if m.dryRun {
					return printCommands(e, c.Commands())
				}
				if !c.Screens() && c.Base == nil {
					return usageError("no baseline of workload %q in %s; write one with %s, on the code to compare with",
						j.name, m.baseline, map[bool]string{false: "nsgate record", true: "nsgate record --ncu"}[by.ByLaunch()])
				}
				if r, err = c.Run(ctx); err != nil {
					return err
				}
				r.Reproduce = e.again
				offerAccept(r, &out, saveLast(r))
				return out.publish(e, r, true, j.policy.File)
			}
		},
	}
}

// untestable is the exit code by which git bisect run skips a commit. All others under 128 but 0 say that it is bad.
const untestable = 125

// forGit is the error with the exit code that git bisect run wants: whatever is neither a pass nor a regression is skipped.
func forGit(ctx context.Context, r *gate.Report, err error) error {
	switch failed := (*exit)(nil); {
	case ctx.Err() != nil || errors.As(err, &failed) && failed.code == ExitFail:
		return err
	case err == nil && !r.Undecided:
		return nil
	case errors.As(err, &failed):
		return &exit{code: untestable, err: failed.err}
	}
	return &exit{code: untestable, err: err}
}

// offerAccept puts the command that takes what a failing report says has changed into the report.
func offerAccept(r *gate.Report, out *outputFlags, saved bool) {
	if r.Verdict != gate.Fail || r.Baseline == "" {
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
		r.Next = append(r.Next, "to accept it with the patch that is written beside: "+thresholds.JoinCommand([]string{"git", "apply", out.patch}))
	}
	if r.Accept = acceptLine(r, file, saved); r.Accept == "" {
		r.Next = append(r.Next, "to accept the change, check again with --report json=report.json")
	}
}
