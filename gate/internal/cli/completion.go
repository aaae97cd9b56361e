package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

func printCompletion(_ context.Context, e *env, _ *flags, args arguments) error {
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

// completed annotates a flag with the values that a shell completes.
const completed = "completed"

// completeFlags says what values the flags of a command may have.
func completeFlags(c *cobra.Command) {
	functions := map[string]cobra.CompletionFunc{"report": reports, "workload": workloads}
	words := map[string][]string{"undecided": {"warn", "fail"}, "timeout": {"none"}, "warmup": {"auto", "capture"}}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		known := append(words[f.Name], f.Annotations[completed]...)
		switch {
		case f.Name == "baseline":
			c.MarkFlagDirname(f.Name)
		case functions[f.Name] != nil:
			c.RegisterFlagCompletionFunc(f.Name, functions[f.Name])
		case known != nil:
			c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
		}
	})
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
	if p, err := readPolicy(""); err == nil {
		file = p.File
		for _, w := range p.Workloads {
			names = append(names, w.Name)
		}
	}
	names = append(names, app.WorkloadsIn(baselineRoot("", file))...)
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
