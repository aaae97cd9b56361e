package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/bisect"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

type bisectOptions struct {
	running
	printed
	script  string        `flag:"build,single"`
	kernel  string        `flag:"kernel"`
	metric  string        `flag:"metric"`
	maxTime time.Duration `flag:"max-time"`
	explain string        `flag:"explain" words:"auto always never"`
}

func (v *bisectOptions) run(ctx context.Context, e *env, args arguments) error {
	if _, known := measure.MetricByName(v.metric); v.metric != "" && !known {
		return usageError("--metric: %q is not measured; nsgate compare --format json names metrics", v.metric)
	}
	j, err := v.single(e, args.workload)
	if err != nil {
		return err
	}
	for _, text := range v.looser {
		fmt.Fprintln(e.Err, "nsgate:", text)
	}
	search := &bisect.Bisect{
		Job: j.Job, Build: j.build, Good: args.own[0], Bad: args.own[1], Script: v.script, Looks: j.looks,
		Kernel: v.kernel, Metric: v.metric, MaxTime: max(v.maxTime, 0), Explain: app.Explain(v.explain),
		Getenv:  e.getenv,
		Version: versionLine(),
	}
	if dry, err := shown(ctx, e, &v.trial, false, search); dry {
		return err
	}
	b, err := search.Run(ctx)
	if err != nil {
		return err
	}
	if err := render(e, &v.printed, b); err != nil {
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

// untestable is the exit code that makes git bisect run skip a commit. Others from 1 to 127 call it bad.
const untestable = 125

// forGit gives an error the exit code for git bisect run, which skips everything but a pass and a regression.
func forGit(ctx context.Context, r *result.Report, err error) error {
	failed := (*exit)(nil)
	switch {
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
	return measure.Either(slices.Contains(line, "--bisect"), error(&exit{code: untestable, err: err}), err)
}
