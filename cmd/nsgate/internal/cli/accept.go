package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
)

func acceptCommand() *command {
	return &command{
		name:    "accept",
		usage:   "[flags] [REPORT]",
		summary: "take what a report says has changed into the baseline",
		own:     1, optional: true,
		wants: "one saved report",
		bind: func(fs *pflag.FlagSet) action {
			var a check.Accept
			fs.StringVar(&a.Reason, "reason", "", "why the change is wanted (required)")
			fs.StringVar(&a.Root, "baseline", "", "directory of the committed baselines (default: where the report's baseline is, else "+check.DefaultRoot+")")
			fs.BoolVar(&a.Force, "force", false, "accept a report that does not fail, is of another commit, or of changes that were not committed")
			bindAnchor(fs, &a.Anchor)
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
				return accept(e, a)
			}
		},
	}
}

// bindAnchor declares the flag that begins anew what is held against for creep.
func bindAnchor(fs *pflag.FlagSet, to *string) {
	fs.StringVar(to, "anchor", "", "hold what follows against this state for how far it crept; the name of a release, or nothing")
	fs.Lookup("anchor").NoOptDefVal = "yes"
}

// accept writes the baseline and says what was accepted.
func accept(e *env, a check.Accept) error {
	if len(a.Report.HeadSessions) == 0 {
		return errors.New("the report holds no measured sessions; check again, or name another report")
	}
	if a.Force {
		for _, doubt := range a.Doubts() {
			if r := (*measure.Refusal)(nil); errors.As(doubt, &r) {
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
func acceptLine(r *gate.Report, file string, saved bool) string {
	words := "nsgate accept"
	switch {
	case file != "":
		words += " " + file
	case !saved:
		return ""
	}
	if r.OverCreep() {
		words += " --anchor"
	}
	return words + " --reason 'WHY'"
}
