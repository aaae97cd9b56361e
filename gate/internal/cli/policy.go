package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/nsgate/nsgate/gate/internal/report"
)

type policyVerb struct{ policyFlags }

// run prints every setting with the place that it comes from, those of a workload or rule under its name.
func (v *policyVerb) run(_ context.Context, e *env, args arguments) error {
	if len(args.own) > 0 {
		v.file = args.own[0]
	}
	p, err := v.load()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	line := func(label, value string) { fmt.Fprintf(t, "%s\t%s\n", report.Clean(label), report.Clean(value)) }
	line("policy", cmp.Or(p.File, "none, the defaults hold"))
	last, rule := "", 0
	for _, s := range p.Settings() {
		label, value := s.Name, s.Value+" ("+s.Where+")"
		if s.Table != "" {
			label = "  " + label
		}
		heading := strings.TrimSpace(s.Table + " " + s.Of)
		if s.Table == "workload.output" {
			switch s.Name {
			case "name":
				continue
			case "pattern": // it is the heading
				label = "  output " + s.Of
			default:
				label = "    " + s.Name
			}
		}
		if heading != last && s.Table == "rule" {
			line(heading, p.Rules[rule].String())
			rule++
		}
		last = heading
		switch {
		case s.Table == "workload" && s.Name == "name":
			continue // it is the heading of the command
		case s.Table == "workload" && s.Name == "command":
			label = heading
		}
		line(label, value)
	}
	t.Flush()
	return nil
}
