package cli

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/thresholds"
)

// command is one subcommand.
type command struct {
	name    string
	page    string // of help, "" for the name
	usage   string // after the name
	summary string // one line
	// own is how many arguments there are before "--", and wants says which. optional ones may be left out.
	own      int
	optional bool
	wants    string
	sides    []string // names of two arguments, nil for others
	// workload is true where a workload may follow "--".
	workload bool
	// words are what may stand for the arguments, for completion; files where there are none.
	words []string
	// parts are the subcommands below this one.
	parts []*command
	verb
}

// verb is a struct of the flags of a command and what the command does with them.
type verb interface {
	// bind declares the flags.
	bind(fs *pflag.FlagSet)
	// run does the work once the flags are parsed.
	run(ctx context.Context, e *env, args arguments) error
}

// commands are the subcommands, in the order in which help lists them.
func commands() []*command {
	return []*command{
		recordCommand(), checkCommand(), compareCommand(), acceptCommand(), baselineCommand(), calibrateCommand(), historyCommand(), bisectCommand(),
		showCommand(), scrubCommand(), reportCommand(), rankCommand(), policyCommand(), initCommand(), doctorCommand(), schemaCommand(), completionCommand(), versionCommand(),
	}
}

// arguments are the words of a command line that are no flags.
type arguments struct {
	own      []string
	workload []string // what follows "--", nil without it
}

// check refuses other arguments than the command takes.
func (a arguments) check(c *command) error {
	switch n := len(a.own); {
	case n > 0 && len(c.parts) > 0:
		var known []string
		for _, p := range c.parts {
			known = append(known, p.name)
		}
		return usageError("nsgate %s does not know %q; %sit knows %s", c.name, a.own[0], meant("", a.own[0], known), strings.Join(known, ", "))
	case n > 0 && c.workload && c.own == 0:
		return usageError("unexpected argument %q; put the workload after --", a.own[0])
	case n == 1 && c.sides != nil:
		return usageError("%s wants %s and got %q alone: %s is missing", c.name, c.wants, a.own[0], c.sides[1])
	case n > c.own || n < c.own && !c.optional:
		return usageError("%s wants %s and got %d", c.name, cmp.Or(c.wants, "no arguments"), n)
	case a.workload != nil && !c.workload:
		return usageError("nsgate %s takes no workload after --", c.name)
	case a.workload != nil && len(a.workload) == 0:
		return usageError("no workload after --; example: nsgate %s -- ./app --steps 60", c.name)
	}
	return nil
}

// Root is the tree of commands, for man pages.
func Root() *cobra.Command {
	return root(&env{getenv: func(string) string { return "" }, environ: func() []string { return nil }})
}

// root is the tree of commands.
func root(e *env) *cobra.Command {
	root := &cobra.Command{
		Use: "nsgate", Short: "a performance gate for programs that use a GPU", Args: cobra.ArbitraryArgs,
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	for _, c := range commands() {
		root.AddCommand(c.cobra(e))
	}
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case *version:
			fmt.Fprintln(e.Out, versionLine())
			return nil
		case len(args) == 0:
			fmt.Fprint(e.Err, overview(root, e))
			return &exit{code: ExitUsage}
		}
		return unknownCommand(root, args[0])
	}
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		near := ""
		if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
			var known []string
			c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
			near = meant("--", unknown.GetSpecifiedName(), known)
		}
		return usageError("%w; %s%s --help lists the flags", err, near, c.CommandPath())
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		switch words := c.Flags().Args(); {
		case c != root:
			fmt.Fprint(e.Out, commandHelp(c, max(width(e), 40), slices.Contains(e.line, "-h") && !slices.Contains(e.line, "--help")))
		case len(words) > 0:
			e.failed = unknownCommand(root, words[0])
		default:
			fmt.Fprint(e.Out, overview(root, e))
		}
	})
	root.SetHelpCommand(helpCommand(e, root))
	return root
}

// unknownCommand names the command that a word may have been meant for.
func unknownCommand(root *cobra.Command, word string) error {
	var known []string
	for _, c := range root.Commands() {
		known = append(known, c.Name())
	}
	return usageError("unknown command %q; %snsgate --help lists the commands", word, meant("", word, known))
}

// helps are the texts of --help: help/COMMAND.txt for each command, which ends in examples, and help/nsgate.txt. A line such as
// {inputs} stands for a list that the code has.
//
//go:embed help
var helps embed.FS

// helpText is the text of a command and its examples.
func helpText(page string) (text, examples string) {
	all, err := helps.ReadFile("help/" + page + ".txt")
	if err != nil {
		panic(err) // a command without its text
	}
	text, examples, _ = strings.Cut(filled(string(all), lists()), "\nExamples:\n\n")
	return text, examples
}

// cobra is the command as part of the tree.
func (c *command) cobra(e *env) *cobra.Command {
	text, examples := helpText(cmp.Or(c.page, c.name))
	out := &cobra.Command{
		Use: strings.TrimSpace(c.name + " " + c.usage), Short: c.summary, Long: text, Example: examples, Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true,
	}
	for _, p := range c.parts {
		out.AddCommand(p.cobra(e))
	}
	fs := out.Flags()
	fs.SortFlags = false
	c.bind(fs)
	fs.BoolP("help", "h", false, "show this help; -h only the flags that are used most")
	out.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch {
		case c.words != nil && len(args) == 0:
			return c.words, cobra.ShellCompDirectiveNoFileComp
		case c.words != nil:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	completeFlags(out)
	out.RunE = func(_ *cobra.Command, words []string) error {
		if err := e.misspelt(out.Root()); err != nil {
			return err
		}
		given, err := fromEnvironment(fs, e.getenv)
		if err != nil {
			return err
		}
		e.again = reproduce(slices.Concat(e.line[:1], given, e.line[1:]), fs)
		a := arguments{own: words}
		if at := fs.ArgsLenAtDash(); at >= 0 {
			a.own, a.workload = words[:at], words[at:]
		}
		if err := a.check(c); err != nil {
			return err
		}
		return c.run(out.Context(), e, a)
	}
	return out
}

// meant is "did you mean --threshold? ", "" where nothing known is near.
func meant(mark, word string, known []string) string {
	near := thresholds.Nearest(word, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s%s? ", mark, near)
}
