package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/report"
)

func reportCommand() *command {
	return &command{
		name:    "report",
		usage:   "[flags] REPORT",
		summary: "render a saved JSON report in any format",
		own:     1,
		wants:   "one saved report",
		bind: func(fs *pflag.FlagSet) action {
			var out outputFlags
			out.bind(fs)
			return func(_ context.Context, e *env, args arguments) error {
				if err := out.check(report.Formats()); err != nil {
					return err
				}
				r, err := readReport(args.own[0])
				if err != nil {
					return err
				}
				rows := !slices.ContainsFunc(r.Each(), func(w *gate.Report) bool { return !filepath.IsLocal(w.Baseline) })
				return out.publish(e, r, rows, findUp(policyFile), "")
			}
		},
	}
}

func readReport(file string) (*gate.Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.ReadJSON(f, file)
}
