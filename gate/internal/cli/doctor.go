package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
	"github.com/nsgate/nsgate/thresholds"
)

type doctorOptions struct {
	stored
	reading
	json bool `flag:"json"`
}

// Examination is the JSON of doctor.
type Examination struct {
	Healthy      bool                `json:"healthy"` // a workload can be measured here
	Observations doctor.Observations `json:"observations"`
}

func (v *doctorOptions) run(ctx context.Context, e *env, _ arguments) error {
	seen, models := app.Examine(ctx, v.exe)
	seen = append(seen, examineRepository(ctx, v, models)...)
	healthy := true
	for i := range seen {
		o := &seen[i]
		o.Detail = WayOut(o.Kind, o.Detail)
		healthy = healthy && o.Mark != doctor.Bad
	}
	if v.json {
		if err := e.encode(Examination{healthy, seen}); err != nil {
			return err
		}
	} else {
		printObservations(e.Out, max(width(e), 40), seen, healthy)
	}
	if !healthy {
		return &exit{code: ExitNoVerdict}
	}
	return nil
}

func printObservations(w io.Writer, columns int, seen doctor.Observations, healthy bool) {
	const indent = 21
	for _, o := range seen {
		mark := map[doctor.Mark]string{doctor.Good: "✓", doctor.Note: "–", doctor.Bad: "✗"}[o.Mark]
		detail := strings.Join(wrapped(report.Clean(o.Detail), columns-indent), "\n"+strings.Repeat(" ", indent))
		fmt.Fprintf(w, "%s  %-16s  %s\n", mark, report.Clean(o.What), detail)
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
func examineRepository(ctx context.Context, v *doctorOptions, models []string) (out doctor.Observations) {
	policy, err := v.load()
	switch {
	case err != nil:
		out.Add(doctor.Bad, "policy", err.Error())
		policy = thresholds.Default()
	case policy.File == "":
		out.Add(doctor.Note, "policy", "no "+policyFile+": the defaults hold; nsgate init writes one")
	default:
		out.Add(doctor.Good, "policy", fmt.Sprintf("%s, %s, %s", policy.File, measure.Count(len(policy.Workloads),
			"workload"), measure.Count(len(policy.Rules), "rule")))
	}
	root := baselineRoot(v.baseline, policy.File)
	var dirs []string
	workloads, _ := v.workloads(policy)
	for _, w := range workloads {
		what := "baseline " + w.Name
		baselines, err := app.ReadBaselines(ctx, root, w.Name)
		switch {
		case err != nil:
			out.Add(doctor.Bad, what, err.Error())
		case len(baselines) == 0:
			out.Add(doctor.Note, what, "none in "+root+"; nsgate record writes one")
		}
		usable := len(baselines.Here(models, false)) > 0
		for _, b := range baselines {
			dirs = append(dirs, b.Dir)
			out.Add(doctor.Good, what, fmt.Sprintf("%s on %s", measure.Count(len(b.Sessions), "session"),
				b.Sessions[0].GPU))
		}
		if len(baselines) > 0 && len(models) > 0 && !usable {
			out.Add(doctor.Note, what, fmt.Sprintf("none on %s, which is here: check has nothing to compare with "+
				"before nsgate record writes one beside it", model.Models(models)))
		}
	}
	if warning := app.Uncommitted(ctx, dirs); warning != "" {
		out.Add(doctor.Note, "baselines", warning)
	}
	return out
}
