package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report"
)

func showCommand() *command {
	return &command{
		name:    "show",
		usage:   "[flags] PATH",
		summary: "say what was recorded, without a judgement",
		own:     1,
		wants:   "one recording",
		bind: func(fs *pflag.FlagSet) action {
			var cut sampleFlags
			var out outputFlags
			cut.bind(fs)
			out.bindLook(fs, report.SummaryFormats())
			return func(ctx context.Context, e *env, args arguments) error {
				if err := out.check(report.SummaryFormats()); err != nil {
					return err
				}
				s := app.Show{Path: args.own[0]}
				s.Tools.Nsys = cut.nsys
				var err error
				if s.Rule, err = cut.rule(); err != nil {
					return err
				}
				summary, err := s.Run(ctx)
				if err != nil {
					return noVerdict(e, "shown", err)
				}
				return report.RenderSummary(out.format, e.Out, summary, out.options(e))
			}
		},
	}
}
