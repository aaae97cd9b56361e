package cli

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/measure"
)

func bisectCommand() *command {
	return &command{
		name:     "bisect",
		usage:    "[flags] GOOD BAD [-- WORKLOAD…]",
		summary:  "find the commit that made the workload slower",
		workload: true,
		own:      2,
		wants:    "two git revisions, the good one first",
		bind: func(fs *pflag.FlagSet) action {
			var m measureFlags
			var policy policyFlags
			var out outputFlags
			m.bind(fs)
			build := fs.String("build", "", "shell command that builds the worktree of a commit, run where nsgate runs here")
			kernel := fs.String("kernel", "", "follow this kernel, by the name that reports have or its short one (default: what matters most of what regressed)")
			metric := fs.String("metric", "", "follow this metric, such as time, total, gpu_time or step_time")
			most := fs.Duration("max-time", 0, "stop when so much time is over, such as 30m; the same command goes on from there")
			explain := fs.String("explain", "auto", "say from Nsight Compute why the commit is slower: auto, always or never")
			policy.bind(fs)
			out.bindShown(fs, report.BisectionFormats())
			return func(ctx context.Context, e *env, args arguments) error {
				if err := out.check(report.BisectionFormats()); err != nil {
					return err
				}
				if err := oneOf("explain", *explain, autoAlwaysNever...); err != nil {
					return err
				}
				if _, known := measure.MetricByName(*metric); *metric != "" && !known {
					return usageError("--metric: %q is not measured; nsgate compare --format json names metrics", *metric)
				}
				j, err := m.single(e, &policy, args.workload, model.Nsys, out.quiet)
				if err != nil {
					return err
				}
				machine, ok := j.measurer.(*app.Machine)
				if !ok {
					return usageError("bisect runs the workload: leave out --from")
				}
				if m.dryRun {
					return printCommands(e, machine.Commands(j.looks, &j.build))
				}
				b, err := app.Bisect{
					Workload: j.name, Build: j.build, Good: args.own[0], Bad: args.own[1], Script: *build, Policy: j.policy, Looks: j.looks, Rule: j.rule,
					Kernel: *kernel, Metric: *metric, MaxTime: max(*most, 0*time.Second), Explain: app.Explain(*explain), Getenv: e.getenv, Observe: j.progress,
					Measurer: func(head app.Build) app.Measurer {
						one := *machine
						one.Head = head
						return &one
					},
				}.Run(ctx)
				if err != nil {
					return err
				}
				if err := report.RenderBisection(out.format, e.Out, b, out.options(e)); err != nil {
					return err
				}
				if len(b.Culprits) == 0 || !b.Complete || b.Refuted() {
					return &exit{code: ExitNoVerdict}
				}
				return nil
			}
		},
	}
}
