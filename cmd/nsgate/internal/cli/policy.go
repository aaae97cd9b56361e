package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/thresholds"
)

func policyCommand() *command {
	return &command{
		name:    "policy",
		usage:   "[flags] [FILE]",
		summary: "check the policy file and print the rules that it makes",
		long: `
Reads nsgate.toml, or FILE, and prints what applies: the limits, the workloads and the rules in their order. A mistake
in the file is an error with its line and exit code 2. Needs no GPU; the pre-commit hook nsgate-policy runs it.

Examples:

  nsgate policy
  nsgate policy bench/nsgate.toml
  nsgate policy --threshold 1%`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			var flags policyFlags
			flags.bind(fs)
			return func(_ context.Context, e *env, args arguments) error {
				switch len(args.own) {
				case 0:
				case 1:
					flags.file = args.own[0]
				default:
					return usageError("policy takes one file and got %d", len(args.own))
				}
				p, err := flags.load()
				if err != nil {
					return err
				}
				printPolicy(e, p)
				return nil
			}
		},
	}
}

func printPolicy(e *env, p *thresholds.Policy) {
	t := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	defer t.Flush()
	line := func(cells ...string) {
		for i, c := range cells {
			cells[i] = report.Clean(c)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	percent := func(v float64) string { return fmt.Sprintf("%.3g %%", v*100) }
	line("policy", cmp.Or(p.File, "none, the defaults hold"))
	line("threshold", percent(p.Threshold)+" ("+p.TimeRule+")")
	line("alpha", percent(p.Alpha))
	line("impact", percent(p.Impact))
	line("undecided", p.Undecided)
	for _, w := range p.Workloads {
		what := "no command: finished profiles only"
		if w.Command != nil {
			what = quoteAll(append(append([]string{}, w.Launcher...), w.Command...))
		}
		line("workload "+w.Name, what)
	}
	for _, r := range p.Rules {
		var selects []string
		for _, s := range []struct {
			what string
			glob thresholds.Glob
		}{{"kernel", r.Kernel}, {"range", r.Range}, {"copy", r.Copy}, {"metric", r.Metric}} {
			if s.glob != "" {
				selects = append(selects, s.what+" "+string(s.glob))
			}
		}
		var sets []string
		if r.Max != nil {
			sets = append(sets, "max "+percent(*r.Max))
		}
		if r.Floor != nil {
			sets = append(sets, fmt.Sprintf("floor %g %s", r.Floor.Value, r.Floor.Unit))
		}
		for _, b := range []struct {
			what   string
			amount *thresholds.Amount
		}{{"at least", r.AtLeast}, {"at most", r.AtMost}} {
			if b.amount != nil {
				sets = append(sets, strings.TrimSpace(fmt.Sprintf("%s %g %s", b.what, b.amount.Value, b.amount.Unit)))
			}
		}
		if r.Severity != "" {
			sets = append(sets, "severity "+string(r.Severity))
		}
		line("rule "+r.Where, cmp.Or(strings.Join(selects, ", "), "everything")+": "+strings.Join(sets, ", "))
	}
}
