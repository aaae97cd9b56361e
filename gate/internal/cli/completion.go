package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/terminal"
	"github.com/nsgate/nsgate/gate/internal/tools"
)

type completionVerb struct{ flagless }

func (completionVerb) run(_ context.Context, e *env, args arguments) error {
	out := e.Out.As(terminal.Data)
	switch tree := e.command.Root(); args.own[0] {
	case "bash":
		return tree.GenBashCompletionV2(out, true)
	case "zsh":
		return tree.GenZshCompletion(out)
	case "fish":
		return tree.GenFishCompletion(out, true)
	}
	return e.command.Root().GenPowerShellCompletionWithDesc(out)
}

// completeFlags says what values the flags of a command may have.
func completeFlags(c *cobra.Command) {
	words := func(list ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	for flag, values := range map[string]cobra.CompletionFunc{
		"format":      words(formatsOf(c.Name())...),
		"report":      reports,
		"annotations": words(autoAlwaysNever...),
		"color":       words(autoAlwaysNever...),
		"explain":     words(autoAlwaysNever...),
		"profiler":    words(tools.Names()...),
		"undecided":   words("warn", "fail"),
		"no-gpu":      words("fail", "code", "skip"),
		"no-baseline": words("show", "pass", "fail"),
		"timeout":     words("none"),
		"warmup":      words("auto", "capture"),
		"ci":          words("auto", "github", "gitlab", "none"),
		"workload":    workloads,
		"baseline":    words(),
	} {
		f := c.Flags().Lookup(flag)
		switch {
		case f == nil || f.Hidden:
		case flag == "baseline":
			c.MarkFlagDirname(flag)
		default:
			c.RegisterFlagCompletionFunc(flag, values)
		}
	}
}

// formatsOf are the formats that a command can print.
func formatsOf(command string) []string {
	switch command {
	case "calibrate":
		return report.Formats(report.Calibration)
	case "show":
		return report.Formats(report.Summary)
	case "history":
		return report.Formats(report.History)
	case "bisect":
		return report.Formats(report.Bisection)
	}
	return report.Formats(report.Report)
}

// reports completes FORMAT=FILE.
func reports(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(word, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []string
	for _, f := range report.Formats(report.Report) {
		out = append(out, f+"=")
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// workloads completes the names of the policy file and of the baselines.
func workloads(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	file := ""
	if p, err := new(policyFlags).load(); err == nil {
		file = p.File
		for _, w := range p.Workloads {
			names = append(names, w.Name)
		}
	}
	names = append(names, app.WorkloadsIn(baselineRoot("", file))...)
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
