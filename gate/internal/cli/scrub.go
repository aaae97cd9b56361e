package cli

import (
	"context"
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
)

func scrub(ctx context.Context, e *env, v *flags, args arguments) error {
	if v.dir == "" {
		return usageError("--output is needed: name a directory that is not there yet")
	}
	rule, err := v.rule()
	if err != nil {
		return err
	}
	sessions, err := app.Scrub(ctx, profile.Tools{Exe: v.Exe}, rule, args.own[0], v.dir)
	if err != nil {
		return noVerdict(e, "scrubbed", err)
	}
	fmt.Fprintf(e.Out, "%s holds %s\n", report.Clean(v.dir), recorded(sessions))
	return nil
}
