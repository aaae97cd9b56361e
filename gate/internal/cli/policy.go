package cli

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/thresholds"
)

// showPolicy prints every setting with the place that it comes from, those of a workload or rule under its name.
func showPolicy(_ context.Context, e *env, v *flags, args arguments) error {
	if len(args.own) > 0 {
		v.policy = args.own[0]
	}
	p, err := v.load()
	if err != nil {
		return err
	}
	if v.promote {
		return v.promoted(e, p)
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

// shadowKey is the line of a policy file that turns shadow on.
var shadowKey = regexp.MustCompile(`^(\s*shadow\s*=\s*)true\b`)

// promoted turns shadow off in the policy file where the bound of its failures is at most the target.
func (v *flags) promoted(e *env, p *thresholds.Policy) error {
	target, err := measure.ParsePercent(v.target)
	if err != nil || !(target > 0 && target < 1) {
		return usageError("%s: %q is no rate between 0%% and 100%%; the default is 1%%", source(v.fs, "target"), v.target)
	}
	place := p.Places.Of("shadow")
	if !p.Shadow {
		return usageError("--promote: shadow is not on (%s); where a command or action.yml says it, leave it out there",
			place)
	}
	score, err := app.ReadScore(baselineRoot(v.baseline, p.File))
	if err != nil {
		return err
	}
	if more := score.More(target); more > 0 {
		fmt.Fprintf(e.Out, "shadow stays on: %s, which is over %s; %s without a failure would bring it there\n", score.Text(),
			measure.Percent(target), measure.Count(more, "further commit"))
		return &exit{code: ExitNoVerdict}
	}
	text, err := input.Read(p.File, maxPolicy)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	at, err := strconv.Atoi(place[strings.LastIndexByte(place, ':')+1:])
	if err != nil || at < 1 || at > len(lines) || !shadowKey.MatchString(lines[at-1]) {
		return fmt.Errorf("%s: the line is not shadow = true; turn shadow off there yourself", place)
	}
	lines[at-1] = shadowKey.ReplaceAllString(lines[at-1], "${1}false")
	if err := git.Outward(e.ctx, p.File); err != nil {
		return err
	}
	if err := writeText(p.File, strings.Join(lines, "")); err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "shadow is off (%s): %s; review and commit it\n", report.Clean(place), score.Text())
	return nil
}
