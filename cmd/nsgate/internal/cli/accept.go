package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/thresholds"
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
			root := fs.String("baseline", "", "directory of the committed baselines (default: where the report's baseline is, else "+check.DefaultRoot+" beside nsgate.toml)")
			var only words
			fs.VarP(&only, "workload", "w", "of a report on several workloads only these, repeatable; * and ? are wildcards (default: all that failed or have no baseline)")
			return func(_ context.Context, e *env, args arguments) error {
				if *reason == "" {
					return usageError("--reason is needed: say why the change is wanted, for those who review the baseline")
				}
				r, err := readReport(args.own[0])
				if err != nil {
					return err
				}
				accepted, err := toAccept(r, only)
				if err != nil {
					return err
				}
				for _, w := range accepted {
					a := check.Accept{Report: w, Reason: *reason, Root: *root, Home: home(findUp(policyFile))}
					if err := a.Run(); err != nil {
						return noVerdict(e, "recorded", err)
					}
					fmt.Fprintf(e.Out, "%s now holds what %s measured; review the change and commit it\n", a.Dir(), args.own[0])
				}
				return nil
			}
		},
	}
}

// toAccept are the reports whose measurement becomes the baseline: of one workload the report itself, of several those that are
// named, else those that fail or have no baseline yet.
func toAccept(r *gate.Report, only words) ([]*gate.Report, error) {
	if len(r.Workloads) == 0 && len(only) == 0 {
		return []*gate.Report{r}, nil
	}
	var all []string
	var out []*gate.Report
	for _, w := range r.Each() {
		all = append(all, w.Workload)
		named := slices.ContainsFunc(only, func(p string) bool { return thresholds.Glob(p).Match(w.Workload) })
		if named || len(only) == 0 && (w.Verdict == gate.Fail || w.Measured != nil) {
			out = append(out, w)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(only) > 0:
		return nil, usageError("the report is not about workload %q; %sit is about %s", only.String(), meant("", only[0], all), strings.Join(all, ", "))
	}
	return nil, usageError("no workload of the report failed: name those to accept with --workload (%s)", strings.Join(all, ", "))
}
