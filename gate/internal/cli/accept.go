package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

type acceptOptions struct {
	stored
	printed
	workload words  `flag:"workload"`
	reason   string `flag:"reason"`
	improved bool   `flag:"improved"`
	force    bool   `flag:"force"`
	anchor   string `flag:"anchor"`
}

// Acceptances is the JSON of accept.
type Acceptances struct {
	Accepted []*app.Accepted `json:"accepted"`
}

func (v *acceptOptions) run(_ context.Context, e *env, args arguments) error {
	if v.reason == "" && !v.improved {
		return usageError("--reason is needed: say why the change is wanted, for those who review the baseline")
	}
	r, _, err := e.savedReport(args)
	if err != nil {
		return err
	}
	a := app.Accept{Reason: v.reason, Improved: v.improved, Root: v.baseline, Force: v.force, Anchor: v.anchor,
		Home: filepath.Dir(findPolicy()), Own: len(args.own) == 0}
	ofCompare := len(r.Workloads) == 0 && r.Workload == ""
	accepted, err := chosen(r, v.workload, v.improved)
	if err != nil {
		return err
	}
	policy, err := readPolicy("")
	if err != nil {
		return err
	}
	root, err := v.baselines(policy)
	if err != nil {
		return err
	}
	if ofCompare && len(policy.Workloads)+len(app.WorkloadsIn(root)) > 0 {
		known, where := v.workloads(policy)
		all := measure.Map(known, func(w thresholds.Workload) string { return w.Name })
		if !slices.Contains(all, r.Workload) {
			return usageError("no workload %q in %s; %sit has %s; nsgate record begins the baseline of another",
				r.Workload, where, meant("", r.Workload, all), strings.Join(all, ", "))
		}
	}
	var refused error
	var done []*app.Accepted
	told := e.aside(v.format)
	for _, w := range accepted {
		a.Judgement = w
		one, err := a.Again(e.ctx, policy.For(w.Workload))
		switch {
		case errors.Is(err, app.ErrNothingFaster):
			return usageError("--improved: %w", err)
		case err != nil:
			return err
		}
		what := "accepted"
		if len(accepted) > 1 {
			what += " for workload " + w.Workload
		}
		took, err := acceptOne(e, one, what)
		if refused = cmp.Or(refused, err); err == nil {
			done = append(done, took)
		}
	}
	return cmp.Or(refused, told(len(done) > 0, Acceptances{done}))
}

// chosen are the reports whose measurement becomes the baseline: of one workload the report itself, of several
// the named ones, else those that fail or have no baseline yet, or with --improved those that pass and are faster.
func chosen(r *result.Report, workloads words, improved bool) ([]*result.Report, error) {
	if len(r.Workloads) == 0 && r.Workload == "" {
		if len(workloads) != 1 || new(thresholds.Workload).Set("name", workloads[0], "") != nil {
			return nil, usageError("the report is of nsgate compare and names no workload: say whose baseline it " +
				"goes into with --workload NAME")
		}
		r.Append(result.Addition{Workload: workloads[0]})
		return []*result.Report{r}, nil
	}
	if len(r.Workloads) == 0 && len(workloads) == 0 {
		return []*result.Report{r}, nil
	}
	var all []string
	var out []*result.Report
	for _, w := range r.Each() {
		all = append(all, w.Workload)
		named := slices.ContainsFunc(workloads, func(p string) bool { return thresholds.Glob(p).Match(w.Workload) })
		wanted := measure.Either(improved, app.Faster(w), app.Changed(w) || w.Measured != nil)
		if named || len(workloads) == 0 && wanted {
			out = append(out, w)
		}
	}
	of := strings.Join(all, ", ")
	switch {
	case len(out) > 0:
		return out, nil
	case len(workloads) > 0:
		return nil, usageError("the report is not about workload %q; %sit is about %s", workloads.String(),
			meant("", workloads[0], all), of)
	case improved:
		return nil, usageError("--improved: no workload of the report passes and is certainly faster (%s)", of)
	}
	return nil, usageError("no workload of the report has a change to accept: name those wanted with --workload (%s)",
		of)
}

func commandWord(file string) string {
	if strings.HasPrefix(file, "-") {
		file = "./" + file
	}
	return thresholds.JoinCommand([]string{file})
}

func acceptOne(e *env, a app.Accept, what string) (*app.Accepted, error) {
	if a.Force {
		for _, doubt := range a.Doubts(e.ctx) {
			if r := (*model.Refusal)(nil); errors.As(doubt, &r) {
				fmt.Fprintln(e.Err, "nsgate: accepted nevertheless:", report.Clean(r.Reason))
			}
		}
	}
	done, err := a.Run(e.ctx)
	if err != nil {
		return nil, noVerdict(e, what, err)
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
	return done, nil
}

// acceptLine is the command that accepts a report, "" if the report is not saved.
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
	if r.Basis != nil && filepath.IsAbs(filepath.FromSlash(r.Basis.Root)) { // not in its tree
		words += " --baseline " + commandWord(r.Basis.Root)
	}
	if app.Faster(r) {
		return words + " --improved"
	}
	if r.OverDrift() {
		words += " --anchor"
	}
	return words + " --reason 'WHY'"
}

// toAccept begins a step that a command adds anew.
const toAccept = "to accept "

// againstBuild is the next step of a gate that fails against a base build which no baseline goes before.
const againstBuild = story.Allow + "; the base build decides, whatever the baseline holds"

// kept says why accept leaves a verdict as it is, with what to do instead; "" where accept changes it.
func kept(r *result.Report) string {
	bound := app.Broken(r)
	switch {
	case bound >= 0:
		x := &r.Findings[bound]
		of := measure.Either(x.Subject() == measure.Workload, x.Metric, x.Title())
		return "mend it, or change at_most or at_least of " + report.Clean(of) + " (" + x.Rule +
			"): no baseline lifts an absolute limit"
	case slices.Contains(r.Next, againstBuild):
		return againstBuild
	}
	return ""
}

// reportFile is the report's file in a command: the JSON that the call writes, else the report read, "" for none.
func (v *reported) reportFile(read string) string {
	for _, f := range slices.Backward(v.files) {
		if f.format == "json" && !special(f.name) {
			return commandWord(f.name)
		}
	}
	if read == "" {
		return ""
	}
	return commandWord(read)
}

// offerAccept adds the command that accepts a change, a gain or a first measurement; file is the report's, "" for none.
func offerAccept(r *result.Report, file string, v *reported, saved, several bool) {
	faster, step := app.Faster(r), kept(r)
	// A bound that is broken or without a value is lifted by no first baseline.
	bound := r.Measured != nil && (r.Verdict == result.Fail ||
		slices.Contains([]model.Kind{model.MetricMissing, model.Doubted}, model.Kind(r.ReasonKey)))
	if bound || r.Measured == nil && step == "" && (!app.Changed(r) && !faster || r.Baseline == "") {
		return
	}
	var x result.Addition
	if step == "" {
		x.Accept = acceptLine(r, v.reportFile(file), saved, several)
	}
	switch {
	case step != "" || faster: // the report has the command
	case r.Measured != nil: // the refusal names the way to a first baseline
		if way := measure.Either(v.patch != "", v.apply(), x.Accept); way != "" {
			x.First = func(first string) string {
				before, _, _ := strings.Cut(first, " (")
				return withWay(way, before)
			}
		}
	case v.patch != "":
		step = toAccept + "it with the patch that was written: " + v.apply()
	case x.Accept != "" && r.Verdict == result.NoVerdict:
		step = toAccept + "the change: " + x.Accept
	case x.Accept == "":
		step = toAccept + "the change, check again with --report json=report.json"
	}
	if step != "" && !slices.Contains(r.Next, step) {
		x.Next = []string{step}
	}
	r.Append(x)
}
