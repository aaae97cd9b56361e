package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/submit"
	"github.com/nsgate/nsgate/thresholds"
)

// submitted is an action that is a job of a scheduler where the policy or --submit says so.
func (m *measureFlags) submitted(policy *policyFlags, run action) action {
	return func(ctx context.Context, e *env, args arguments) error {
		p, err := policy.load()
		if err != nil || m.from != "" || e.submitted {
			return run(ctx, e, args) // which says what is wrong with the policy
		}
		words := p.Submit
		if m.fs.Changed("submit") {
			if words, err = thresholds.SplitCommand(m.submit); err != nil {
				return usageError("--submit: %v", err)
			}
		}
		variable, job := submit.Allocation(e.getenv)
		switch {
		case len(words) == 0:
			return run(ctx, e, args)
		case variable != "":
			if m.fs.Changed("submit") {
				fmt.Fprintf(e.Err, "nsgate: this is job %s already (%s): --submit is left out\n", strconv.Quote(job), variable)
			}
			return run(ctx, e, args)
		case m.dryRun:
			fmt.Fprintln(e.Out, submit.Shown(words, append([]string{"nsgate"}, slices.DeleteFunc(slices.Clone(e.line), func(w string) bool { return w == "--dry-run" })...)))
			return run(ctx, e, args)
		}
		return m.submitTo(ctx, e, words, p)
	}
}

// submitTo runs the command line that this is as a job.
func (m *measureFlags) submitTo(ctx context.Context, e *env, words []string, p *thresholds.Policy) error {
	look := []string{"COLUMNS=" + strconv.Itoa(width(e)), "FORCE_COLOR=" + map[bool]string{true: "1", false: "0"}[(&outputFlags{color: "auto"}).coloured(e)]}
	for _, v := range e.environ() {
		if strings.HasPrefix(v, "NSGATE_") {
			look = append(look, v)
		}
	}
	code, err := submit.Job{Submit: words, Args: e.line, Env: look, Dir: m.seenByAll(p), Out: e.Out, Err: e.Err}.Run(ctx)
	switch {
	case errors.Is(err, submit.ErrTwice):
		return usageError("submit: %w", err)
	case err != nil:
		return &exit{code: ExitNoVerdict, err: err}
	case code == ExitPass:
		return nil
	}
	return &exit{code: code}
}

// seenByAll is a directory that the hosts of a job see: where its ranks are gathered, else git's own, else this one.
func (m *measureFlags) seenByAll(p *thresholds.Policy) string {
	if m.gather != "" {
		return m.gather
	}
	for _, w := range p.Workloads {
		switch {
		case w.Gather != "" && filepath.IsAbs(w.Gather):
			return w.Gather
		case w.Gather != "":
			return filepath.Join(filepath.Dir(p.File), w.Gather)
		}
	}
	if last := lastFile(); last != "" {
		return filepath.Dir(filepath.Dir(last))
	}
	return "."
}
