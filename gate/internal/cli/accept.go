package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

func acceptCommand() *command {
	return &command{
		name:    "accept",
		usage:   "[flags] [REPORT]",
		summary: "take what a report says has changed into the baseline",
		own:     1, optional: true,
		wants: "one saved report",
		bind: func(fs *pflag.FlagSet) action {
			var a app.Accept
			fs.StringVar(&a.Reason, "reason", "", "why the change is wanted (required)")
			fs.StringVar(&a.Root, "baseline", "", "directory of the committed baselines (default: where the report's baseline is, else "+app.DefaultRoot+" beside nsgate.toml)")
			fs.BoolVar(&a.Force, "force", false, "accept a report that does not fail, is of another commit, or of changes that were not committed")
			bindAnchor(fs, &a.Anchor)
			var only words
			fs.VarP(&only, "workload", "w", "of a report on several workloads only these, repeatable; * and ? are wildcards (default: all that failed or have no baseline)")
			return func(_ context.Context, e *env, args arguments) error {
				if a.Reason == "" {
					return usageError("--reason is needed: say why the change is wanted, for those who review the baseline")
				}
				var err error
				if len(args.own) > 0 {
					a.Report, err = readReport(args.own[0])
				} else {
					a.Report, a.Directory, err = lastReport(a.Root)
				}
				if err != nil {
					return err
				}
				accepted, err := toAccept(a.Report, only)
				if err != nil {
					return err
				}
				for _, w := range accepted {
					one := a
					if one.Report, one.Home = w, home(findUp(policyFile)); len(a.Report.Workloads) > 0 {
						one.Directory = ""
					}
					if err := accept(e, one); err != nil {
						return err
					}
				}
				return nil
			}
		},
	}
}

// toAccept are the reports whose measurement becomes the baseline: of one workload the report itself, of several those that are
// named, else those that fail or have no baseline yet.
func toAccept(r *result.Report, only words) ([]*result.Report, error) {
	if len(r.Workloads) == 0 && len(only) == 0 {
		return []*result.Report{r}, nil
	}
	var all []string
	var out []*result.Report
	for _, w := range r.Each() {
		all = append(all, w.Workload)
		named := slices.ContainsFunc(only, func(p string) bool { return thresholds.Glob(p).Match(w.Workload) })
		if named || len(only) == 0 && (w.Verdict == result.Fail || w.Measured != nil) {
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

// bindAnchor declares the flag that begins anew what is held against for creep.
func bindAnchor(fs *pflag.FlagSet, to *string) {
	fs.StringVar(to, "anchor", "", "hold what follows against this state for how far it crept; the name of a release, or nothing")
	fs.Lookup("anchor").NoOptDefVal = "yes"
}

// accept writes the baseline and says what was accepted.
func accept(e *env, a app.Accept) error {
	if len(a.Report.HeadSessions) == 0 {
		return errors.New("the report holds no measured sessions; check again, or name another report")
	}
	if a.Force {
		for _, doubt := range a.Doubts() {
			if r := (*model.Refusal)(nil); errors.As(doubt, &r) {
				fmt.Fprintln(e.Err, "nsgate: accepted nevertheless:", report.Clean(r.Reason))
			}
		}
	}
	done, err := a.Run()
	if err != nil {
		return noVerdict(e, "accepted", err)
	}
	fmt.Fprintln(e.Out, "accepted into the baseline:")
	for _, line := range done.Lines() {
		fmt.Fprintln(e.Out, "  "+report.Clean(line))
	}
	for _, file := range done.Files {
		fmt.Fprintf(e.Out, "wrote %s; review and commit it\n", file)
	}
	if a.Report.OverCreep() && a.Anchor == "" {
		fmt.Fprintln(e.Err, "nsgate: what crept since the anchor stays too much; --anchor begins anew from here")
	}
	return nil
}

// acceptLine is the command that accepts a report, "" where there is none that would work as it stands.
func acceptLine(r *result.Report, file string, saved, several bool) string {
	words := "nsgate accept"
	switch {
	case file != "":
		words += " " + file
	case !saved:
		return ""
	}
	if several {
		words += " --workload " + thresholds.JoinCommand([]string{r.Workload})
	}
	if r.OverCreep() {
		words += " --anchor"
	}
	return words + " --reason 'WHY'"
}
