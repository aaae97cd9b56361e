package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/check"
)

func acceptCommand() *command {
	return &command{
		name:    "accept",
		usage:   "[flags] REPORT",
		summary: "take what a saved report measured as the new baseline",
		own:     1,
		wants:   "one saved report",
		bind: func(fs *pflag.FlagSet) action {
			reason := fs.String("reason", "", "why the change is wanted (required)")
			root := fs.String("baseline", "", "directory of the committed baselines (default: where the report's baseline is, else "+check.DefaultRoot+")")
			return func(_ context.Context, e *env, args arguments) error {
				if *reason == "" {
					return usageError("--reason is needed: say why the change is wanted, for those who review the baseline")
				}
				r, err := readReport(args.own[0])
				if err != nil {
					return err
				}
				a := check.Accept{Report: r, Reason: *reason, Root: *root}
				if err := a.Run(); err != nil {
					return noVerdict(e, "recorded", err)
				}
				fmt.Fprintf(e.Out, "%s now holds what %s measured; review the change and commit it\n", a.Dir(), args.own[0])
				return nil
			}
		},
	}
}
