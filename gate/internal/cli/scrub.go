package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
)

func scrubCommand() *command {
	return &command{
		name:    "scrub",
		usage:   "[flags] PATH",
		summary: "reduce a recording to what is judged, to hand it to another job",
		own:     1,
		wants:   "one recording",
		bind: func(fs *pflag.FlagSet) action {
			var cut sampleFlags
			cut.bind(fs)
			out := fs.StringP("output", "o", "", "directory to write the session to, in the form of a baseline (required)")
			return func(ctx context.Context, e *env, args arguments) error {
				if *out == "" {
					return usageError("--output is needed: name a directory that is not there yet")
				}
				s := app.Scrub{Path: args.own[0], Out: *out}
				s.Tools.Nsys = cut.nsys
				var err error
				if s.Rule, err = cut.rule(); err != nil {
					return err
				}
				sessions, err := s.Run(ctx)
				if err != nil {
					return noVerdict(e, "scrubbed", err)
				}
				fmt.Fprintf(e.Out, "%s holds %s\n", *out, recorded(sessions))
				return nil
			}
		},
	}
}
