package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/terminal"
	"github.com/nsgate/nsgate/thresholds"
)

// Names of flags that several commands have, in the order of the help.
const (
	cutNames     = "warmup step"
	measureNames = "workload baseline runs unprofiled timeout starts " + cutNames + " " + exeFlag + " " + argFlag +
		" memory-usage allow-busy keep-profiles gather ranks dry-run"
	// workloadNames are keys of a workload.
	workloadNames = "warmup step timeout starts gather ranks budget"
	launchNames   = " kernel launch-skip launch-count set section nvtx-range"
	// limitNames are keys of the policy.
	limitNames  = " threshold step-threshold alpha cost undecided"
	policyNames = " policy" + limitNames
	lookNames   = " format json color verbose"
	shownNames  = lookNames + " quiet"
	reportNames = shownNames + " output report annotations summary"
	postNames   = " comment check"
	patchNames  = " patch patch-reason"
	storeNames  = "baseline workload policy"
)

// commands are the subcommands, in the order of the help.
func commands() []*command {
	schemas := manual.Schemas()
	shells := []string{"bash", "zsh", "fish", "powershell"}
	reports, sessions := report.Formats(report.Report), []string{"text", "json"}
	return []*command{
		{use: "record [flags] [-- WORKLOAD…]", summary: "measure the workload and write, or extend, its baseline", workload: true,
			flags: measureNames + " from gpu-metrics " + countFlag + launchNames + " reason replace if-due anchor policy quiet",
			run:   record},
		{use: "check [flags] [-- WORKLOAD…]", workload: true,
			summary: "measure the workload and judge it against the committed baseline or a base build",
			flags: measureNames + " from budget gpu-metrics base-cmd base-ref build base-dir paired profiler" + launchNames +
				" explain no-gpu no-baseline bisect shadow skip-unchanged" + policyNames + reportNames + patchNames + postNames +
				" accept-label", formats: reports, reads: readsFrom, run: check},
		{use: "compare [flags] BASE HEAD", summary: "judge from profiles or saved sessions, no GPU needed", own: 2,
			wants: "two sides, BASE and HEAD,", sides: []string{"BASE", "HEAD"},
			flags:   policyNames + " " + cutNames + " " + exeFlag + " " + pagesFlag + reportNames + postNames,
			formats: reports, reads: readsArguments, run: compare},
		{use: "accept [flags] [REPORT]", summary: "take what a report says has changed into the baseline", own: 1,
			optional: true, wants: "one saved report", flags: "reason improved baseline force anchor workload", run: accept},
		{use: "baseline [flags]", summary: "list the committed sessions, show, compare and remove them",
			flags: storeNames + lookNames, formats: sessions, run: listBaselines, parts: []*command{
				{use: "list [flags]", summary: "list the committed sessions, newest first", flags: storeNames + lookNames,
					formats: sessions, run: listBaselines},
				{use: "show [flags] ID", summary: "summarize one session", own: 1, wants: "one session",
					flags: storeNames + lookNames, formats: sessions, run: showSession},
				{use: "diff [flags] ID ID", summary: "judge one session against another under the policy", own: 2,
					wants: "two sessions", flags: storeNames + lookNames, formats: sessions, run: diffSessions},
				{use: "rename OLD NEW", summary: "give the baselines of a workload another name", own: 2,
					wants: "two names, OLD and NEW,", sides: []string{"OLD", "NEW"}, flags: "baseline policy", run: renameBaselines},
				{use: "remove --reason WHY ID", summary: "take a session back: what it replaced holds again", own: 1,
					wants: "one session", flags: storeNames + " reason", run: removeSession},
			}},
		{use: "calibrate [flags] [-- WORKLOAD…]", summary: "measure the noise here, and how many runs a limit needs",
			workload: true, flags: measureNames + " from host" + policyNames + shownNames,
			formats: report.Formats(report.Calibration), run: calibrate},
		{use: "history [flags] [FILE…]", summary: "show how the workload changed over the sessions of its baseline",
			own: maxReports, optional: true, wants: "saved JSON reports or files of a benchmark harness",
			flags: "workload baseline policy" + lookNames, formats: report.Formats(report.History), reads: readsArguments,
			run: showHistory},
		{use: "bisect [flags] GOOD BAD [-- WORKLOAD…]", summary: "find the commit that made the workload slower", own: 2,
			workload: true, wants: "two git revisions, GOOD and BAD,", sides: []string{"GOOD", "BAD"},
			flags:   measureNames + " build kernel metric max-time explain" + policyNames + shownNames,
			formats: report.Formats(report.Bisection), run: findCommit},
		{use: "show [flags] PATH", summary: "say what was recorded, without a judgement", own: 1, wants: "one recording",
			flags: cutNames + " " + exeFlag + lookNames, formats: report.Formats(report.Summary), reads: readsArguments, run: show},
		{use: "scrub [flags] PATH", summary: "reduce a recording to what is judged, to hand it to another job", own: 1,
			wants: "one recording", flags: cutNames + " " + exeFlag + " output", run: scrub},
		{use: "report [flags] [REPORT]", summary: "render a saved JSON report in any format", own: 1, optional: true,
			wants: "at most one saved report", flags: policyNames + reportNames + postNames + patchNames + " open",
			formats: reports, reads: readsArguments, run: showReport},
		{use: "rank [flags] -- PROGRAM…", workload: true,
			summary: "run one rank of a job under the profiler, inside srun, mpirun or torchrun",
			flags:   "gather job ranks " + exeFlag + " " + argFlag, run: runRank},
		{use: "policy [flags] [FILE]", summary: "check the policy file and print the rules that it makes", own: 1,
			optional: true, wants: "one file", flags: policyNames + " promote target baseline", run: showPolicy},
		{use: "explain WORD", summary: "say what a word of a report means: an outcome, a metric, a reason", own: 1,
			wants: "one word", run: explainWord},
		{use: "demo [flags]", summary: "judge two recordings that are in the binary: what a report looks like",
			flags: reportNames, formats: reports, run: runDemo},
		{use: "init [flags] [-- WORKLOAD…]", workload: true,
			summary: "write an nsgate.toml and CI files to start from, and record a baseline",
			flags:   "ci fork-comments dry-run force", run: initialize},
		{use: "doctor [flags]", summary: "say what is missing to measure here, and what to do about it",
			flags: exeFlag + " baseline policy json", run: examine},
		{use: "schema " + strings.Join(schemas, "|"), own: 1, wants: "one of " + strings.Join(schemas, ", "), words: schemas,
			summary: "print the JSON schema of nsgate.toml, or of what nsgate writes as JSON", run: printSchema},
		{use: "completion " + strings.Join(shells, "|"), own: 1, wants: "one of " + strings.Join(shells, ", "), words: shells,
			summary: "print a script that completes commands, flags and their values in a shell", run: printCompletion},
		{use: "version [flags]", summary: "print the version", flags: "json", run: printVersion},
	}
}

// Root is the tree of commands, for man pages.
func Root() *cobra.Command {
	nowhere := terminal.New(io.Discard, terminal.Form{})
	return root(&env{Out: nowhere, Err: nowhere,
		getenv: func(string) string { return "" }, environ: func() []string { return nil }})
}

func root(e *env) *cobra.Command {
	root := &cobra.Command{
		Use: "nsgate", Short: "a performance gate for programs that use a GPU", Args: cobra.ArbitraryArgs,
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	for _, c := range commands() {
		root.AddCommand(c.cobra(e, ""))
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
	root.SetOut(e.Out.As(terminal.Data))
	root.SetErr(e.Err)
	root.SetFlagErrorFunc(unknownFlag)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		switch words := c.Flags().Args(); {
		case c != root:
			fmt.Fprint(e.Out, commandHelp(c, max(width(e), 40), len(words) == 1 && words[0] == "all"))
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
	return usageError("unknown command %q; %snsgate --help lists the commands", word, meant("", word, mapped(root.Commands(), (*cobra.Command).Name)))
}

// unknownFlag names the flag that a misspelt one may have been meant for.
func unknownFlag(c *cobra.Command, err error) error {
	near := ""
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		near = meant("--", unknown.GetSpecifiedName(), known)
	}
	return usageError("%w; %s%s --help lists the flags", err, near, c.CommandPath())
}

type command struct {
	use     string // name and usage
	summary string // one line
	flags   string // names of its flags, in the order of the help
	// own is how many arguments there are before "--", and wants says which. optional ones may be left out.
	own      int
	optional bool
	wants    string
	sides    []string // names of two arguments, nil for others
	words    []string // the only values of the argument, nil for any
	workload bool     // a workload may follow "--"
	parts    []*command
	formats  []string // of what it prints, nil where there is no choice
	reads    reads    // nil for a command that reads no files of others
	run      func(ctx context.Context, e *env, v *flags, args arguments) error
}

func (c *command) name() string {
	name, _, _ := strings.Cut(c.use, " ")
	return name
}

// check refuses other arguments than the command takes.
func (a arguments) check(c *command) error {
	name := c.name()
	switch n := len(a.own); {
	case n > 0 && len(c.parts) > 0:
		known := mapped(c.parts, (*command).name)
		return usageError("nsgate %s does not know %q; %sit knows %s", name, a.own[0], meant("", a.own[0], known), strings.Join(known, ", "))
	case n > c.own && c.workload:
		return c.misplaced(a.own)
	case n == 1 && c.sides != nil:
		return usageError("%s wants %s and got %q alone: %s is missing", name, c.wants, a.own[0], c.sides[1])
	case n > c.own || n < c.own && !c.optional:
		return usageError("%s wants %s and got %d", name, cmp.Or(c.wants, "no arguments"), n)
	case c.words != nil && !slices.Contains(c.words, a.own[0]):
		return usageError("%s: %q is none of %s", name, a.own[0], strings.Join(c.words, ", "))
	case a.workload != nil && !c.workload:
		return usageError("nsgate %s takes no workload after --", name)
	case a.workload != nil && len(a.workload) == 0:
		return usageError("no workload after --; example: nsgate %s -- ./app --steps 60", name)
	}
	return nil
}

// misplaced is the error for a program among the arguments, not after "--".
func (c *command) misplaced(words []string) error {
	line := slices.Insert(slices.Clone(words[:c.own+1]), c.own, "--")
	return usageError("unexpected argument %q; put the program after --: nsgate %s %s …", words[c.own], c.name(),
		thresholds.JoinCommand(line))
}

// cobra is the command as part of the tree; above is the name of the command it is a part of, with a hyphen.
func (c *command) cobra(e *env, above string) *cobra.Command {
	text, examples, _ := strings.Cut(helpText(above+c.name()), "\nExamples:\n\n")
	out := &cobra.Command{Use: c.use, Short: c.summary, Long: text, Example: examples, Args: cobra.ArbitraryArgs, ValidArgs: c.words, DisableFlagsInUseLine: true}
	for _, p := range c.parts {
		out.AddCommand(p.cobra(e, c.name()+"-"))
	}
	fs := out.Flags()
	fs.SortFlags = false
	v := c.bindFlags(above+c.name(), fs)
	fs.BoolP("help", "h", false, "show this help; --help all explains every flag")
	completeFlags(out)
	out.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if words := fs.Args(); c.workload && len(words) > c.own && fs.ArgsLenAtDash() < 0 { // the flag is the program's
			return c.misplaced(words)
		}
		return e.misused(unknownFlag(out, err))
	})
	out.RunE = func(_ *cobra.Command, words []string) error {
		if err := e.misspelt(out.Root()); err != nil {
			return err
		}
		if err := fromEnvironment(fs, e.getenv); err != nil {
			return e.misused(err)
		}
		a := arguments{own: words}
		if at := fs.ArgsLenAtDash(); at >= 0 {
			a.own, a.workload = words[:at], words[at:]
		}
		e.command, e.args = out, a
		if err := a.check(c); err != nil {
			return err
		}
		e.findHost(v)
		if c.reads != nil {
			if done, err := e.confine(out.Context(), c.reads, v, a); done {
				return err
			}
		}
		if c.formats != nil {
			if err := v.check(e); err != nil && v.bisecting {
				return forGit(out.Context(), nil, err)
			} else if err != nil {
				return err
			}
		}
		return c.run(out.Context(), e, v, a)
	}
	return out
}
