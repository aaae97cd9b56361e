package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/terminal"
	"github.com/nsgate/nsgate/thresholds"
)

// Names of flags that several commands have, in the order of the help.
const (
	// keys of a workload, of how traces are cut
	cutNames     = "warmup step"
	keyNames     = cutNames + " timeout starts gather ranks budget explain-time" // keys of a workload
	readNames    = " " + cutNames + " " + exeFlag
	measureNames = "workload baseline runs unprofiled timeout starts" + readNames + " " + argFlag +
		" memory-usage allow-busy keep-profiles gather ranks dry-run"
	launchNames = " kernel launch-skip launch-count set section nvtx-range"
	boundNames  = " threshold step-threshold alpha cost" // keys of the policy
	limitNames  = boundNames + " undecided"
	policyNames = " policy" + limitNames
	lookNames   = " format json color verbose"
	shownNames  = lookNames + " quiet"
	reportNames = shownNames + " output report annotations summary"
	postNames   = " comment check"
	patchNames  = " patch patch-reason"
	storeNames  = "baseline workload policy"
)

func commands() []*command {
	schemas, shells := manual.Schemas(), []string{"bash", "zsh", "fish", "powershell"}
	reports, sessions := report.Formats(report.Report), []string{"text", "json"}
	return []*command{
		{name: "record", workload: true, fewest: 2, flags: measureNames + " from gpu-metrics " + countFlag +
			launchNames + " reason replace if-due anchor policy quiet format json", formats: sessions,
			options: fresh[recordOptions]},
		{name: "check", workload: true, flags: measureNames +
			" from budget gpu-metrics base-cmd base-ref build base-dir" +
			" paired save against watch profiler" + launchNames + " other-host explain explain-time no-gpu" +
			" no-baseline bisect shadow skip-unchanged" + policyNames +
			reportNames + patchNames + postNames + " accept-label", formats: reports, options: fresh[checkOptions]},
		{name: "compare", own: 2, wants: "two sides, BASE and HEAD,", sides: []string{"BASE", "HEAD"},
			flags:   policyNames + readNames + " rows other-host " + pagesFlag + reportNames + postNames,
			formats: reports, options: fresh[compareOptions]},
		{name: "accept", own: 1, optional: true, wants: "one saved report",
			flags: "reason improved baseline force anchor workload format json", formats: sessions,
			options: fresh[acceptOptions]},
		{name: "baseline", flags: storeNames + lookNames, formats: sessions, options: fresh[listOptions],
			parts: []*command{
				{name: "list", flags: storeNames + lookNames, formats: sessions, options: fresh[listOptions]},
				{name: "show", own: 1, wants: "one session", flags: storeNames + lookNames, formats: sessions,
					options: fresh[sessionOptions]},
				{name: "diff", own: 2, wants: "two sessions", flags: storeNames + lookNames, formats: sessions,
					options: fresh[diffOptions]},
				{name: "rename", own: 2, wants: "two names, OLD and NEW,", sides: []string{"OLD", "NEW"},
					flags: "baseline policy", options: fresh[renameOptions]},
				{name: "remove", own: 1, wants: "one session", flags: storeNames + " reason",
					options: fresh[removeOptions]},
			}},
		{name: "calibrate", workload: true, fewest: app.FewestCalibrated,
			flags:   measureNames + " from host policy" + boundNames + shownNames,
			formats: report.Formats(report.Calibration), options: fresh[calibrateOptions]},
		{name: "history", own: maxReports, optional: true, wants: "saved JSON reports or files of a benchmark harness",
			flags: "workload baseline policy" + lookNames, formats: report.Formats(report.History),
			options: fresh[historyOptions]},
		{name: "bisect", own: 2, workload: true, wants: "two git revisions, GOOD and BAD,",
			sides:   []string{"GOOD", "BAD"},
			flags:   measureNames + " build kernel metric max-time explain policy" + boundNames + shownNames,
			formats: report.Formats(report.Bisection), options: fresh[bisectOptions]},
		{name: "show", own: 1, wants: "one recording", flags: readNames + " rows" + lookNames,
			formats: report.Formats(report.Summary), options: fresh[showOptions]},
		{name: "scrub", own: 1, wants: "one recording", flags: readNames + " output", options: fresh[scrubOptions]},
		{name: "report", own: 1, optional: true, wants: "at most one saved report",
			flags:   policyNames + reportNames + postNames + patchNames + " open workload",
			formats: reports, options: fresh[reportOptions]},
		{name: "rank", workload: true, flags: "gather job ranks step warmup keep " + exeFlag + " " + argFlag,
			options: fresh[rankOptions]},
		{name: "policy", own: maxReports, optional: true, wants: "policy files",
			flags: policyNames + " promote target baseline all format json", formats: sessions,
			options: fresh[policyOptions]},
		{name: "explain", own: 1, wants: "one word", flags: "format json", formats: sessions,
			options: fresh[explainOptions]},
		{name: "demo", flags: reportNames, formats: reports, options: fresh[demoOptions]},
		{name: "init", workload: true, flags: "ci action fork-comments dry-run force format json", formats: sessions,
			options: fresh[initOptions]},
		{name: "doctor", flags: exeFlag + " baseline policy json", options: fresh[doctorOptions]},
		{name: "schema", own: 1, wants: "one word", words: schemas, options: fresh[schemaOptions]},
		{name: "completion", own: 1, wants: "one word", words: shells, options: fresh[completionOptions]},
		{name: "version", flags: "json", options: fresh[versionOptions]},
	}
}

// Root is the tree of commands, for man pages.
func Root() *cobra.Command {
	nowhere := terminal.New(io.Discard, terminal.Form{})
	return root(&env{Out: nowhere, Err: nowhere,
		getenv: func(string) string { return "" }, environ: func() []string { return nil }})
}

// root is the tree of commands. Where the command line names a command it has that one alone, because the flags and
// help texts of all take a fifth of the time of a start; a completion script is made of all.
func root(e *env) *cobra.Command {
	root := &cobra.Command{
		Use: "nsgate", Short: "a performance gate for programs that use a GPU", Args: cobra.ArbitraryArgs,
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	all := commands()
	alone := func(c *command) bool { return len(e.line) > 0 && c.name == e.line[0] && c.name != "completion" }
	if i := slices.IndexFunc(all, alone); i >= 0 {
		all = all[i : i+1]
	}
	for _, c := range all {
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
		words := c.Flags().Args()
		switch {
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

func unknownCommand(root *cobra.Command, word string) error {
	if way := elsewhere(strings.ToLower(word)); way != "" {
		return usageError("there is no command %q: %s", word, way)
	}
	near := measure.Either(strings.Contains(word, "/"), "put a program after --: nsgate check -- "+word+"; ",
		meant("", strings.ToLower(word), measure.Map(root.Commands(), (*cobra.Command).Name)))
	return usageError("unknown command %q; %snsgate --help lists the commands", word, near)
}

// elsewhere is the answer to a name that other tools have for a command or flag, "" for any other.
func elsewhere(name string) string {
	_, text, _ := strings.Cut("\n"+helpText("elsewhere"), "\n"+name+": ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

func unknownFlag(c *cobra.Command, err error) error {
	near := ""
	if strings.HasSuffix(err.Error(), "in -V") {
		return usageError("there is no flag -V: %s", elsewhere("-V"))
	}
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		near = meant("--", unknown.GetSpecifiedName(), known)
	}
	return usageError("%s; %s%s --help lists the flags", plainly(err), near, c.CommandPath())
}

// plainly is the error of a flag, without the words of package strconv.
func plainly(err error) string {
	n, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return err.Error()
	}
	is := measure.Either(n.Func == "ParseBool", " is neither true nor false", " is no whole number")
	return strings.ReplaceAll(err.Error(), n.Error(), measure.Quote(n.Num)+is)
}

// command is a subcommand; help/NAME.txt begins with its usage and its summary.
type command struct {
	name  string
	page  string // of the help, with the name of the command that it is a part of
	flags string // names of its flags, in the order of the help
	// own is how many arguments there are before "--", and wants says which. optional ones may be left out.
	own      int
	optional bool
	wants    string
	sides    []string // names of two arguments, nil for others
	words    []string // the only values of the argument, nil for any
	workload bool     // a workload may follow "--"
	fewest   int      // runs that it takes
	parts    []*command
	formats  []string // of what it prints, nil where there is no choice
	options  func() options
}

func (a arguments) check(c *command) error {
	name := c.name
	n := len(a.own)
	switch {
	case a.workload != nil && !c.workload:
		return usageError("nsgate %s takes no workload after --: leave out --", name)
	case n > 0 && len(c.parts) > 0:
		known := measure.Map(c.parts, func(p *command) string { return p.name })
		if way := elsewhere(a.own[0]); way != "" {
			return usageError("nsgate %s does not know %q: %s", name, a.own[0], way)
		}
		return usageError("nsgate %s does not know %q; %sit knows %s", name, a.own[0], meant("", a.own[0], known),
			strings.Join(known, ", "))
	case n > c.own && c.workload:
		return c.misplaced(a.own)
	case n == 1 && c.sides != nil:
		return usageError("%s wants %s and got %q alone: %s is missing", name, c.wants, a.own[0], c.sides[1])
	case n > c.own || n < c.own && !c.optional:
		use, _, _ := strings.Cut(helpText(c.page, "{words}", strings.Join(c.words, "|"), " [flags]", ""), "\n")
		return usageError("%s wants %s and got %d: nsgate %s", name, cmp.Or(c.wants, "no arguments"), n,
			strings.Replace(strings.ReplaceAll(c.page, "-", " "), name, use, 1))
	case c.words != nil && !slices.Contains(c.words, a.own[0]):
		return usageError("%s: %q is none of %s", name, a.own[0], strings.Join(c.words, ", "))
	case a.workload != nil && len(a.workload) == 0:
		return usageError("no workload after --; example: nsgate %s -- ./app --steps 60", name)
	}
	return nil
}

// hyphen refuses a long flag with one hyphen, which would be read as a short one and its value.
func (e *env) hyphen(fs *pflag.FlagSet) error {
	for _, word := range e.line {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "-"), "=")
		if word == "--" {
			break
		}
		if strings.HasPrefix(word, "-") && len(name) > 1 && fs.Lookup(name) != nil {
			return usageError("%s needs two hyphens: --%s", word, name)
		}
	}
	return nil
}

// misplaced is the error for a program among the arguments, not after "--".
func (c *command) misplaced(words []string) error {
	line := slices.Insert(slices.Clone(words[:c.own+1]), c.own, "--")
	return usageError("unexpected argument %q; put the program after --: nsgate %s %s …", words[c.own], c.name,
		thresholds.JoinCommand(line))
}

// cobra is the command as part of the tree; above is the name of the command it is a part of, with a hyphen.
func (c *command) cobra(e *env, above string) *cobra.Command {
	page := helpText(above+c.name, "{words}", strings.Join(c.words, "|"))
	head, page, _ := strings.Cut(page, "\n\n")
	use, summary, _ := strings.Cut(head, "\n")
	text, examples, _ := strings.Cut(page, "\nExamples:\n\n")
	out := &cobra.Command{Use: use, Short: summary, Long: text, Example: examples, Args: cobra.ArbitraryArgs,
		ValidArgs: c.words, DisableFlagsInUseLine: true}
	for _, p := range c.parts {
		out.AddCommand(p.cobra(e, c.name+"-"))
	}
	fs := out.Flags()
	fs.SortFlags = false
	c.page = above + c.name
	v := c.bindFlags(c.page, fs)
	g := v.line()
	completeFlags(out)
	out.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		err = cmp.Or(e.hyphen(fs), err)
		if words := fs.Args(); c.workload && len(words) > c.own && fs.ArgsLenAtDash() < 0 { // the flag is the program's
			return c.misplaced(words)
		}
		return e.misused(unknownFlag(out, err))
	})
	out.RunE = func(_ *cobra.Command, words []string) error {
		if err := cmp.Or(e.misspelt(), e.hyphen(fs)); err != nil {
			return err
		}
		a := arguments{own: words}
		if at := fs.ArgsLenAtDash(); at >= 0 {
			a.own, a.workload = words[:at], words[at:]
		}
		e.command, e.args = out, a
		if err := c.fromEnvironment(g, a.own, e.getenv); err != nil {
			return e.misused(err)
		}
		if err := a.check(c); err != nil {
			return err
		}
		if err := g.idle(e, c.modes(g, a.own)); err != nil {
			return e.misused(err)
		}
		e.findHost(g)
		if p, ok := v.(interface{ check(*env, *given) error }); ok {
			if err := p.check(e, g); err != nil && g.is("bisect") {
				return forGit(out.Context(), nil, err)
			} else if err != nil {
				return err
			}
		}
		return v.run(out.Context(), e, a)
	}
	return out
}

type versionOptions struct {
	given
	json bool `flag:"json"`
}

func (v *versionOptions) run(_ context.Context, e *env, _ arguments) error {
	if v.json {
		return json.NewEncoder(e.Out.As(terminal.JSON)).Encode(thisBuild())
	}
	fmt.Fprintln(e.Out, versionLine())
	return nil
}

// version is set by release builds with -ldflags "-X …cli.version=v1.2.3", commit where the sources carry no history.
var version, commit string

type build struct {
	Version string `json:"version"` // "v1.2.3", or "(devel)" where it was built from no release
	Commit  string `json:"commit"`  // of the sources, "" for unknown
	Changed bool   `json:"changed"` // the sources differed from the commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func thisBuild() build {
	b := build{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(b.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

func versionLine() string {
	b := thisBuild()
	words := []string{"nsgate", b.Version}
	if short := b.Commit[:min(12, len(b.Commit))]; short != "" && !strings.Contains(b.Version, short) {
		if b.Changed {
			short += "+changes"
		}
		words = append(words, short)
	}
	return strings.Join(append(words, b.Go), " ")
}
