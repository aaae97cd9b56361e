package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report"
)

func compareCommand() *command {
	return &command{
		name:    "compare",
		usage:   "[flags] BASE HEAD",
		summary: "judge from profiles or saved sessions, no GPU needed",
		own:     2,
		wants:   "two sides, BASE and HEAD,",
		sides:   []string{"BASE", "HEAD"},
		bind: func(fs *pflag.FlagSet) action {
			var policy policyFlags
			var cut sampleFlags
			var out outputFlags
			var explain string
			policy.bind(fs)
			cut.bind(fs)
			fs.StringVar(&explain, "explain", "", "say why kernels got slower from output of ncu --csv --page raw: BASE.csv,HEAD.csv")
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) error {
				if err := out.check(report.Formats()); err != nil {
					return err
				}
				p, err := policy.load()
				if err != nil {
					return err
				}
				c := app.Compare{Base: args.own[0], Head: args.own[1], Policy: p, Home: home(p.File), Draw: out.draws(), Observe: newProgress(e, false).event}
				c.Tools.Nsys = cut.nsys
				if c.Rule, err = cut.rule(); err != nil {
					return err
				}
				if explain != "" && !slices.Contains(autoAlwaysNever, explain) { // what the variable says to nsgate check has no meaning here
					pages := strings.Split(explain, ",")
					if len(pages) != 2 || pages[0] == "" || pages[1] == "" {
						return usageError("--explain: %q is not BASE.csv,HEAD.csv, two files that ncu --csv --page raw printed", explain)
					}
					c.Counters = [2]string(pages)
				}
				r, err := c.Run(ctx)
				if err != nil {
					return err
				}
				r.Reproduce = e.again
				return out.publish(e, r, false, p.File, "")
			}
		},
	}
}
