package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/report"
)

type baselineRename struct{ storeFlags }

func (r *baselineRename) bind(fs *pflag.FlagSet) {
	fs.StringVar(&r.Root, "baseline", "", baselineUsage)
	r.policy.bindFile(fs)
}

func (r *baselineRename) run(ctx context.Context, e *env, args arguments) error {
	if _, err := r.load(e); err != nil {
		return err
	}
	before, after, err := r.Rename(ctx, args.own[0], args.own[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "renamed %s to %s; commit it, and use the name in nsgate.toml and CI\n", report.Clean(before),
		report.Clean(after))
	return nil
}
