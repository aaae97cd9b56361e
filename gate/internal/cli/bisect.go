package cli

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/bisect"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

func findCommit(ctx context.Context, e *env, v *flags, args arguments) error {
	if _, known := measure.MetricByName(v.metric); v.metric != "" && !known {
		return usageError("--metric: %q is not measured; nsgate compare --format json names metrics", v.metric)
	}
	j, err := v.single(e, args.workload)
	if err != nil {
		return err
	}
	if v.dryRun {
		return printCommands(e, false, j.Workload, j.Live.Commands(j.looks, &j.build))
	}
	b, err := bisect.Bisect{
		Job: j.Job, Build: j.build, Good: args.own[0], Bad: args.own[1], Script: v.script, Looks: j.looks,
		Kernel: v.one, Metric: v.metric, MaxTime: max(v.most, 0), Explain: app.Explain(v.explain), Getenv: e.getenv,
	}.Run(ctx)
	if err != nil {
		return err
	}
	if err := render(e, v, b); err != nil {
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
