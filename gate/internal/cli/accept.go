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

type acceptVerb struct {
	app.Accept
	only words
}

func (v *acceptVerb) bind(fs *pflag.FlagSet) {
	fs.StringVar(&v.Reason, "reason", "", "why the change is wanted (required, but for --improved)")
	fs.BoolVar(&v.Improved, "improved", false, "of a report that passes, accept what is certainly faster, and only that")
	fs.StringVar(&v.Root, "baseline", "", "directory of the committed baselines (default: where the report's baseline is, else "+app.DefaultRoot+" beside nsgate.toml)")
	fs.BoolVar(&v.Force, "force", false, "accept a report that does not fail, is of another commit, or of changes that were not committed")
	bindAnchor(fs, &v.Anchor)
	fs.VarP(&v.only, "workload", "w", "of a report on several workloads only these, repeatable; * and ? are wildcards "+
		"(default: all that failed or have no baseline; with --improved those that pass and are faster)")
}

func (v *acceptVerb) run(_ context.Context, e *env, args arguments) (err error) {
	if v.Reason == "" && !v.Improved {
		return usageError("--reason is needed: say why the change is wanted, for those who review the baseline")
	}
	if v.Judgement, _, err = e.savedReport(args); err != nil {
		return err
	}
	if len(args.own) == 0 && v.Root == "" {
		v.Directory = keptBaseline(v.Judgement)
	}
	accepted, err := v.chosen()
	if err != nil {
		return err
	}
	policy, err := new(policyFlags).load()
	if err != nil {
		return err
	}
	for _, w := range accepted {
		one := v.Accept
		if one.Judgement, one.Home = w, policyDir(findUp(policyFile)); len(v.Judgement.Workloads) > 0 {
			one.Directory = ""
		}
		one, err = one.Again(e.ctx, policy.For(w.Workload))
		if errors.Is(err, app.ErrNothingFaster) {
			return usageError("--improved: %w", err)
		}
		if err != nil {
			return err
		}
		if err := accept(e, one); err != nil {
			return err
		}
	}
	return nil
}

// chosen are the reports whose measurement becomes the baseline: of one workload the report itself, of several those that are
// named, else those that fail or have no baseline yet, or with --improved those that pass and have something faster.
func (v *acceptVerb) chosen() ([]*result.Judgement, error) {
	r := v.Judgement
	if len(r.Workloads) == 0 && r.Workload == "" {
		if len(v.only) != 1 || new(thresholds.Workload).Set("name", v.only[0], "") != nil {
			return nil, usageError("the report is of nsgate compare and names no workload: say whose baseline it goes into with --workload NAME")
		}
		r.Workload = v.only[0]
		return []*result.Judgement{r}, nil
	}
	if len(r.Workloads) == 0 && len(v.only) == 0 {
		return []*result.Judgement{r}, nil
	}
	var all []string
	var out []*result.Judgement
	for _, w := range r.Each() {
		all = append(all, w.Workload)
		named := slices.ContainsFunc(v.only, func(p string) bool { return thresholds.Glob(p).Match(w.Workload) })
		wanted := w.Verdict == result.Fail || w.Measured != nil
		if v.Improved {
			wanted = app.Faster(w)
		}
		if named || len(v.only) == 0 && wanted {
			out = append(out, w)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(v.only) > 0:
		return nil, usageError("the report is not about workload %q; %sit is about %s", v.only.String(), meant("", v.only[0], all), strings.Join(all, ", "))
	}
	if v.Improved {
		return nil, usageError("--improved: no workload of the report passes and is certainly faster (%s)",
			strings.Join(all, ", "))
	}
	return nil, usageError("no workload of the report failed: name those to accept with --workload (%s)", strings.Join(all, ", "))
}

// commandWord is a file as a word of a command.
func commandWord(file string) string {
	if strings.HasPrefix(file, "-") {
		file = "./" + file
	}
	return thresholds.JoinCommand([]string{file})
}

// bindAnchor declares the flag that makes a session the anchor of drift.
func bindAnchor(fs *pflag.FlagSet, to *string) {
	fs.StringVar(to, "anchor", "", "measure drift from this state on; the name of a release, or nothing")
	fs.Lookup("anchor").NoOptDefVal = "yes"
}

func accept(e *env, a app.Accept) error {
	if a.Force {
		for _, doubt := range a.Doubts(e.ctx) {
			if r := (*model.Refusal)(nil); errors.As(doubt, &r) {
				fmt.Fprintln(e.Err, "nsgate: accepted nevertheless:", report.Clean(r.Reason))
			}
		}
	}
	done, err := a.Run(e.ctx)
	if err != nil {
		return noVerdict(e, "accepted", err)
	}
	fmt.Fprintln(e.Out, "accepted into the baseline:")
	for _, line := range done.Lines {
		fmt.Fprintln(e.Out, "  "+report.Clean(line))
	}
	for _, file := range done.Files {
		fmt.Fprintf(e.Out, "wrote %s; review and commit it\n", report.Clean(file))
	}
	if a.Judgement.OverDrift() && a.Anchor == "" {
		fmt.Fprintln(e.Err, "nsgate: the drift since the anchor stays over its limit; --anchor begins anew from here")
	}
	return nil
}

// acceptLine is the command that accepts a report, "" if the report is not saved.
func acceptLine(r *result.Judgement, file string, saved, several bool) string {
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
	if app.Faster(r) {
		return words + " --improved"
	}
	if r.OverDrift() {
		words += " --anchor"
	}
	return words + " --reason 'WHY'"
}

// offerAccept adds the command that accepts what has changed or is faster, or the first measurement of a workload. The
// report may be one of several, and come from a file, "" for none.
func offerAccept(r *result.Judgement, file string, out *outputFlags, saved, several bool) {
	faster := app.Faster(r)
	if r.Measured == nil && (r.Verdict != result.Fail && !faster || r.Baseline == "") {
		return
	}
	if file != "" {
		file = commandWord(file)
	}
	for _, f := range out.files {
		if f.format == "json" && !special(f.name) {
			file = commandWord(f.name)
		}
	}
	r.Accept = acceptLine(r, file, saved, several)
	switch {
	case faster: // the report has the command
	case r.Measured != nil: // the refusal names the way to a first baseline
	case out.patch != "":
		r.Next = append(r.Next, "to accept it with the patch that was written: "+out.apply())
	case r.Accept == "":
		r.Next = append(r.Next, "to accept the change, check again with --report json=report.json")
	}
}
