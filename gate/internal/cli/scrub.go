package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
)

type scrubVerb struct {
	sampleFlags
	out string
}

func (v *scrubVerb) bind(fs *pflag.FlagSet) {
	v.sampleFlags.bind(fs)
	fs.StringVarP(&v.out, "output", "o", "", "directory to write the session to, in the form of a baseline (required)")
}

func (v *scrubVerb) run(ctx context.Context, e *env, args arguments) error {
	if v.out == "" {
		return usageError("--output is needed: name a directory that is not there yet")
	}
	rule, err := v.rule()
	if err != nil {
		return err
	}
	sessions, err := app.Scrub(ctx, profile.Tools{Exe: v.exe}, rule, args.own[0], v.out)
	if err != nil {
		return noVerdict(e, "scrubbed", err)
	}
	fmt.Fprintf(e.Out, "%s holds %s\n", report.Clean(v.out), recorded(sessions))
	return nil
}
