// Package cli is the nsgate command: subcommands, flags over environment over file over default, verdict to exit code.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/thresholds"
)

// The exit codes. They never depend on the output format. A signal n ends nsgate with 128+n.
const (
	ExitPass      = 0 // pass
	ExitFail      = 1 // a regression
	ExitUsage     = 2 // wrong usage, policy or baseline file
	ExitNoVerdict = 3 // the data cannot carry a verdict
)

// Streams are what a command reads and writes. Reports go to Out, everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// command is one subcommand.
type command struct {
	name    string
	usage   string // after the name
	summary string // one line
	// bind declares the flags and returns what runs once they are parsed.
	bind func(fs *pflag.FlagSet) action
	// own is how many arguments there are before "--", and wants says which. optional ones may be left out.
	own      int
	optional bool
	wants    string
	sides    []string // names of two arguments, nil for others
	// workload is true where a workload may follow "--".
	workload bool
	// words are what may stand for the arguments, for completion; files where there are none.
	words []string
}

type action func(ctx context.Context, e *env, args arguments) error

// arguments are the words of a command line that are no flags.
type arguments struct {
	own      []string
	workload []string // what follows "--", nil without it
}

// check refuses other arguments than the command takes.
func (a arguments) check(c *command) error {
	switch n := len(a.own); {
	case n > 0 && c.workload && c.own == 0:
		return usageError("unexpected argument %q; put the workload after --", a.own[0])
	case n == 1 && c.own == 2 && c.sides != nil:
		return usageError("%s wants %s and got 1: %s is missing beside %s", c.name, c.wants, c.sides[1], a.own[0])
	case n > c.own || n < c.own && !c.optional:
		return usageError("%s wants %s and got %d", c.name, cmp.Or(c.wants, "no arguments"), n)
	case a.workload != nil && !c.workload:
		return usageError("nsgate %s takes no workload after --", c.name)
	case a.workload != nil && len(a.workload) == 0:
		return usageError("no workload after --; example: nsgate %s -- ./app --steps 60", c.name)
	}
	return nil
}

// env is the world of one command.
type env struct {
	Streams
	getenv  func(string) string
	environ func() []string // all variables, as NAME=VALUE
	line    []string        // the command line, without the name of the program
	again   string          // the command line that repeats the command, for reports
}

// exit is an error that carries an exit code; without err its message has been shown already.
type exit struct {
	code   int
	err    error
	passed bool // on from a program, which was sent the signals too
}

func (e *exit) Error() string { return fmt.Sprint(e.err) }
func (e *exit) Unwrap() error { return e.err }

// usageError is a mistake on the command line.
func usageError(format string, args ...any) error {
	return &exit{code: ExitUsage, err: fmt.Errorf(format, args...)}
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted (" + i.signal.String() + ")" }

func commands() []*command {
	return []*command{
		recordCommand(), checkCommand(), compareCommand(), acceptCommand(), baselineCommand(), calibrateCommand(), historyCommand(), bisectCommand(),
		showCommand(), scrubCommand(), reportCommand(), rankCommand(), policyCommand(), initCommand(), doctorCommand(), schemaCommand(), completionCommand(), versionCommand(),
	}
}

// Main runs nsgate with the arguments after the program's name and returns its exit code.
func Main(parent context.Context, args []string, s Streams) int {
	if code, ok := app.Runner(args); ok {
		return code
	}
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		if s, ok := (<-signals).(syscall.Signal); ok {
			cancel(interrupted{s})
		}
	}()
	return (&env{Streams: s, getenv: os.Getenv, environ: os.Environ, line: args}).run(ctx)
}

// run runs the command line and returns its exit code.
func (e *env) run(ctx context.Context) int {
	root := root(e)
	root.SetArgs(e.line)
	err := root.ExecuteContext(ctx)
	if x := (*exit)(nil); errors.As(err, &x) && x.passed {
		return x.code
	}
	if stop := (interrupted{}); errors.As(context.Cause(ctx), &stop) {
		fmt.Fprintln(e.Err, "nsgate:", stop)
		return 128 + int(stop.signal)
	}
	x := &exit{code: ExitUsage, err: err}
	if err == nil {
		return ExitPass
	} else if !errors.As(err, &x) || x.err != nil {
		e.complain(err, x.code)
	}
	return x.code
}

// root is the tree of commands.
func root(e *env) *cobra.Command {
	root := &cobra.Command{
		Use: "nsgate", SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: cobra.ArbitraryArgs,
	}
	root.SuggestionsMinimumDistance = 2
	var all []*cobra.Command
	for _, c := range commands() {
		all = append(all, c.cobra(e))
	}
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case *version:
			fmt.Fprintln(e.Out, versionLine())
			return nil
		case len(args) == 0:
			fmt.Fprint(e.Err, reflow(help("nsgate", all...), max(width(e), 40)))
			return &exit{code: ExitUsage}
		}
		meant := ""
		if near := root.SuggestionsFor(args[0]); len(near) > 0 {
			meant = "did you mean " + strings.Join(near, " or ") + "? "
		}
		return usageError("unknown command %q; %snsgate --help lists the commands", args[0], meant)
	}
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		meant := ""
		unknown := (*pflag.NotExistError)(nil)
		switch {
		case !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "":
		default:
			var known []string
			c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
			if near := thresholds.Nearest(unknown.GetSpecifiedName(), known); near != "" {
				meant = "did you mean --" + near + "? "
			}
		}
		return usageError("%w; %s%s --help lists the flags", err, meant, c.CommandPath())
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if c == root {
			fmt.Fprint(e.Out, reflow(help("nsgate", all...), max(width(e), 40)))
			return
		}
		columns := max(width(e), 40)
		fmt.Fprintf(e.Out, "%s\nUsage:\n\n  nsgate %s\n\n%s\n%s", reflow(c.CommandPath()+": "+c.Short, columns),
			c.Use, reflow(c.Long, min(columns, 120)), flagHelp(c.Flags(), columns))
	})
	root.SetHelpCommand(helpCommand(e, root))
	root.AddCommand(all...)
	return root
}

// cobra is the command as part of the tree.
func (c *command) cobra(e *env) *cobra.Command {
	out := &cobra.Command{
		Use: strings.TrimSpace(c.name + " " + c.usage), Short: c.summary, Long: help(c.name),
		Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true,
	}
	fs := out.Flags()
	fs.SortFlags = false
	call := c.bind(fs)
	fs.BoolP("help", "h", false, "show this help")
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
		return call(out.Context(), e, a)
	}
	return out
}

// typed marks flags that no variable stands for: what it says to another command of the job has no meaning to theirs.
const typed = "typed"

// fromEnvironment sets each flag that the command line left alone from its variable: --keep-profiles from
// NSGATE_KEEP_PROFILES, but for those that are [typed] only. An empty variable counts as unset. given is what was set, as a command
// line would say it.
func fromEnvironment(fs *pflag.FlagSet, getenv func(string) string) (given []string, wrong error) {
	fs.VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value := getenv(name)
		if f.Changed || value == "" || f.Name == "help" || f.Annotations[typed] != nil || wrong != nil {
			return
		}
		values := []string{value}
		switch {
		case f.Name == "report" || f.Name == "output": // no format has a comma, and few files do
			values = strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == ',' })
		case f.Value.Type() == "stringArray":
			values = strings.Split(strings.TrimSpace(value), "\n")
		}
		for _, v := range values {
			v = strings.TrimSpace(v)
			if err := fs.Set(f.Name, v); err != nil {
				wrong = usageError("%s: %v", name, err)
			}
			given = append(given, "--"+f.Name+"="+v)
		}
	})
	return given, wrong
}

// misspelt refuses a variable that is nearly one of a flag of some command: what it says would be left out in silence.
func (e *env) misspelt(root *cobra.Command) error {
	var known []string
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, variable(f.Name)) })
	}
	for _, v := range e.environ() {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "NSGATE_") || value == "" || slices.Contains(known, name) {
			continue
		}
		if near := thresholds.Nearest(name, known); near != "" {
			return usageError("%s is no variable of nsgate; did you mean %s?", name, near)
		}
	}
	return nil
}

func variable(flag string) string {
	return "NSGATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
