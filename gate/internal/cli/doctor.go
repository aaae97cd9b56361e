package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/thresholds"
)

type doctorVerb struct {
	policy     policyFlags
	nsys, root string
	json       bool
}

func (v *doctorVerb) bind(fs *pflag.FlagSet) {
	bindProfiler(fs, &v.nsys)
	fs.StringVar(&v.root, "baseline", "", baselineUsage)
	v.policy.bindFile(fs)
	fs.BoolVar(&v.json, "json", false, "print one JSON object, for programs")
}

func (v *doctorVerb) run(ctx context.Context, e *env, _ arguments) error {
	seen, models := app.Examine(ctx, v.nsys)
	seen = append(seen, examineRepository(ctx, v.root, &v.policy, models)...)
	healthy := true
	for i := range seen {
		o := &seen[i]
		if o.What == "nsys" && o.Mark == app.Bad {
			o.Detail = WayOut("no-nsys", o.Detail)
		}
		healthy = healthy && o.Mark != app.Bad
	}
	if v.json {
		if err := e.encode(map[string]any{"healthy": healthy, "observations": seen}); err != nil {
			return err
		}
	} else {
		printObservations(e.Out, seen, healthy)
	}
	if !healthy {
		return &exit{code: ExitNoVerdict}
	}
	return nil
}

// printObservations prints a line for each observation, with the commands that mend it below.
func printObservations(w io.Writer, seen []app.Observation, healthy bool) {
	for _, o := range seen {
		mark := map[app.Mark]string{app.Good: "✓", app.Note: "–", app.Bad: "✗"}[o.Mark]
		fmt.Fprintf(w, "%s  %-16s  %s\n", mark, report.Clean(o.What), report.Clean(o.Detail))
		for _, command := range o.Do {
			fmt.Fprintf(w, "%23s%s\n", "", report.Clean(command))
		}
	}
	if healthy {
		fmt.Fprintln(w, "\nA workload can be measured here.")
	} else {
		fmt.Fprintln(w, "\nNothing can be measured here before what is marked ✗ is set right.")
	}
}

// examineRepository looks at the policy and the baselines. models are the GPUs of this machine.
func examineRepository(ctx context.Context, given string, flags *policyFlags, models []string) (out []app.Observation) {
	add := func(mark app.Mark, what, detail string) {
		out = append(out, app.Observation{Mark: mark, What: what, Detail: detail})
	}
	policy, err := flags.load()
	switch {
	case err != nil:
		add(app.Bad, "policy", err.Error())
		policy = thresholds.Default()
	case policy.File == "":
		add(app.Note, "policy", "no "+policyFile+": the defaults hold; nsgate init writes one")
	default:
		add(app.Good, "policy", fmt.Sprintf("%s, %s, %s", policy.File, measure.Count(len(policy.Workloads), "workload"), measure.Count(len(policy.Rules), "rule")))
	}
	root := baselineRoot(given, policy.File)
	workloads := policy.Workloads
	if len(workloads) == 0 {
		workloads = []thresholds.Workload{{Name: "default"}}
	}
	for _, w := range workloads {
		what := "baseline " + w.Name
		baselines, err := app.ReadBaselines(ctx, root, w.Name)
		switch {
		case err != nil:
			add(app.Bad, what, err.Error())
		case len(baselines) == 0:
			add(app.Note, what, "none in "+root+"; nsgate record writes one")
		}
		_, usable := baselines.ForGPU(append(models, model.Models(models))...)
		for _, b := range baselines {
			add(app.Good, what, fmt.Sprintf("%s on %s", measure.Count(len(b.Sessions), "session"), b.Sessions[0].GPU))
		}
		if len(baselines) > 0 && len(models) > 0 && !usable {
			add(app.Note, what, fmt.Sprintf("none on %s, which is here: check has nothing to compare with before nsgate record writes one beside it",
				model.Models(models)))
		}
	}
	return out
}
