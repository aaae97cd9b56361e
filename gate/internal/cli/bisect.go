package cli

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/bisect"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
)

type bisectVerb struct {
	measureFlags
	printed
	build, kernel, metric, explain string
	most                           time.Duration
}

func (v *bisectVerb) bind(fs *pflag.FlagSet) {
	v.measureFlags.bind(fs)
	fs.StringVar(&v.build, "build", "", "shell command that builds the worktree of a commit, run where nsgate runs here")
	fs.StringVar(&v.kernel, "kernel", "",
		"follow this kernel, by the name that reports have or its short one (default: what matters most of what got slower)")
	fs.StringVar(&v.metric, "metric", "", "follow this metric, such as time, total, gpu_time or step_time")
	fs.DurationVar(&v.most, "max-time", 0, "stop when so much time is over, such as 30m; the same command goes on from there")
	bindExplain(fs, &v.explain, "the commit is slower: auto, always or never")
	v.policy.bind(fs)
	v.out.bindShown(fs, report.Formats(report.Bisection))
}

func (v *bisectVerb) run(ctx context.Context, e *env, args arguments) error {
	if _, known := measure.MetricByName(v.metric); v.metric != "" && !known {
		return usageError("--metric: %q is not measured; nsgate compare --format json names metrics", v.metric)
	}
	j, err := v.single(e, args.workload, v.out.quiet)
	if err != nil {
		return err
	}
	if v.dryRun {
		return printCommands(e, false, j.Workload, j.Live.Commands(j.looks, &j.build))
	}
	b, err := bisect.Bisect{
		Job: j.Job, Build: j.build, Good: args.own[0], Bad: args.own[1], Script: v.build, Looks: j.looks,
		Kernel: v.kernel, Metric: v.metric, MaxTime: max(v.most, 0), Explain: app.Explain(v.explain), Getenv: e.getenv,
	}.Run(ctx)
	if err != nil {
		return err
	}
	if err := report.Render(v.out.format, e.Out, b, v.out.options(e)); err != nil {
		return err
	}
	if len(b.Culprits) == 0 || !b.Complete || b.Refuted() {
		code := ExitNoVerdict
		if b.Ends != nil {
			code = refused(b.Ends.ReasonKey)
		}
		return &exit{code: code}
	}
	return nil
}
