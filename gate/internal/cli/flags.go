package cli

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/codehost"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/profiler"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/tools"
	"github.com/nsgate/nsgate/thresholds"
)

// flags are the values of the flags of one command, see [flags.table]. Those that it does not take have no value.
type flags struct {
	fs *pflag.FlagSet
	run.Options
	counts profiler.Selection // launches to count, and what

	// Measurement and decision.
	workload                           words
	baseline, from, policy, one        string // one is a workload or kernel alone
	baseCommand, baseRef, baseDir      string
	script                             string // that builds a base build
	profiler, explain, pages, metric   string
	noGPU, noBaseline, target, jobName string
	runs                               runPlan
	unprofiled                         int
	most                               time.Duration
	dryRun, count, skip, host, paired  bool
	bisecting, shadow, promote         bool

	// Reports and files.
	format, color, annotations, comment string
	reports, outputs                    []string // reports are FORMAT=FILE
	patch, patchReason, label           string
	reason, anchor, dir, ci             string
	json, summary, verbose, quiet       bool // json is short for --format json
	checkRun, opens, forks              bool
	replace, due, improved, force, keep bool

	formats   []string           // that the command knows
	acts      map[string]acting  // where its flags act
	usual     thresholds.Runs    // where neither --runs nor the policy says
	by        model.Profiler     // "" for the usual one
	file      *thresholds.Policy // without the flags, nil where none was read
	looser    []string           // limits that flags and variables loosen, in words
	suggested []measure.Output   // of the last workload that was recorded
	root      string             // of the baselines, where the first one goes
	ready     string             // the patch of a report from a file, whose sessions were judged again
	files     []file             // that --output and --report name
	gpu       string             // model of this machine, where a report is posted
	reproduce string             // on a terminal, "" for what the report says
	calls     *result.Calls      // likewise
	saved     bool               // nsgate report finds the report again
	silent    bool               // in GitHub Actions
}

// table has the value of each flag, of one that is another in some commands behind their name. Flags without a value
// are keys of the policy or a workload, see [flags.lay].
func (v *flags) table() map[string]any {
	return map[string]any{
		"accept-label":      &v.label,
		"allow-busy":        &v.AllowBusy,
		"anchor":            &v.anchor,
		"annotations":       word{&v.annotations, autoAlwaysNever},
		"base-cmd":          (*single)(&v.baseCommand),
		"base-dir":          (*single)(&v.baseDir),
		"base-ref":          (*single)(&v.baseRef),
		"baseline":          (*single)(&v.baseline),
		"baseline workload": (*single)(&v.one),
		"bisect":            &v.bisecting,
		"bisect kernel":     &v.one,
		"build":             (*single)(&v.script),
		"check":             &v.checkRun,
		"ci":                word{&v.ci, []string{"auto", "github", "gitlab", "none"}},
		"color":             word{&v.color, autoAlwaysNever},
		"comment":           word{&v.comment, []string{"false", "true", "always", "failures"}},
		"dry-run":           &v.dryRun,
		"explain":           word{&v.explain, autoAlwaysNever},
		"force":             &v.force,
		"fork-comments":     &v.forks,
		"format":            &v.format,
		"from":              (*single)(&v.from),
		"gpu-metrics":       &v.GPUMetrics,
		"history workload":  (*single)(&v.one),
		"host":              &v.host,
		"if-due":            &v.due,
		"improved":          &v.improved,
		"job":               &v.jobName,
		"json":              &v.json,
		"keep":              &v.keep,
		"keep-profiles":     &v.KeepProfiles,
		"kernel":            &v.counts.Kernels,
		"launch-count":      &v.counts.Count,
		"launch-skip":       &v.counts.Skip,
		"max-time":          &v.most,
		"memory-usage":      &v.MemoryUsage,
		"metric":            &v.metric,
		"no-baseline":       word{&v.noBaseline, []string{"show", "pass", "fail"}},
		"no-gpu":            word{&v.noGPU, []string{"fail", "code", "skip"}},
		"nvtx-range":        &v.counts.Range,
		"open":              &v.opens,
		"output":            &v.outputs,
		"paired":            &v.paired,
		"patch":             &v.patch,
		"patch-reason":      &v.patchReason,
		"policy":            (*single)(&v.policy),
		"profiler":          word{&v.profiler, tools.Names()},
		"promote":           &v.promote,
		"quiet":             &v.quiet,
		"rank gather":       &v.Gather,
		"reason":            &v.reason,
		"replace":           &v.replace,
		"report":            &v.reports,
		"runs":              &v.runs,
		"scrub output":      &v.dir,
		"section":           &v.counts.Sections,
		"set":               &v.counts.Set,
		"shadow":            &v.shadow,
		"skip-unchanged":    &v.skip,
		"summary":           &v.summary,
		"target":            &v.target,
		"unprofiled":        &v.unprofiled,
		"verbose":           &v.verbose,
		"workload":          &v.workload,
		argFlag:             &v.TraceArgs,
		countFlag:           &v.count,
		exeFlag:             &v.Exe,
		pagesFlag:           &v.pages,
	}
}

var shorthands = map[string]string{"output": "o", "quiet": "q", "runs": "n", "threshold": "t", "verbose": "v",
	"workload": "w"}

type flagText struct {
	section, meaning string
	acts             acting // where it acts
	common           bool   // --help shows it of a command with many flags
}

// flagTexts are those of all flags, of one that is another in some commands behind their name, and the sections.
var flagTexts = sync.OnceValues(func() (texts map[string]flagText, sections []string) {
	texts = map[string]flagText{}
	for line := range strings.Lines(helpText("flags")) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			sections = append(sections, title)
			continue
		}
		name, meaning, _ := strings.Cut(strings.TrimSpace(line), ": ")
		name, acts, _ := strings.Cut(strings.TrimSuffix(name, "]"), " [")
		name, common := strings.CutPrefix(name, "*")
		texts[name] = flagText{sections[len(sections)-1], meaning, acting(acts), common}
	}
	return texts, sections
})

// bindFlags declares the flags of a command; page is its name with those of the commands above it.
func (c *command) bindFlags(page string, fs *pflag.FlagSet) *flags {
	v := &flags{fs: fs, usual: thresholds.FixedRuns(app.DefaultRuns), target: "1%", acts: map[string]acting{}}
	if page == "check" {
		v.usual = checkRuns
	}
	v.formats, v.format, v.summary = c.formats, "text", true
	v.counts.Skip, v.counts.Count = profiler.LaunchSkip, profiler.LaunchCount
	values, family := v.table(), strings.Split(page, "-")[0]
	texts, _ := flagTexts()
	fill := strings.NewReplacer("{formats}", strings.Join(c.formats, ", "), "{runs}", v.usual.String())
	for _, name := range strings.Fields(c.flags) {
		value := cmp.Or(values[family+" "+name], values[name])
		text := cmp.Or(texts[page+" "+name], texts[family+" "+name], texts[name])
		v.acts[name] = text.acts
		bindFlag(fs, name, value, fill.Replace(text.meaning))
	}
	fs.SetAnnotation("format", completed, c.formats)
	for _, name := range strings.Fields(map[string]string{"report": policyNames, "scrub": "output"}[page]) {
		fs.SetAnnotation(name, typed, []string{}) // the variables are meant for other commands
	}
	if f := fs.Lookup("anchor"); f != nil {
		f.NoOptDefVal = "yes"
	}
	fs.BoolP("help", "h", false, texts["help"].meaning)
	return v
}

// bindFlag declares a flag. Its default is what the value holds, or the first of some words.
func bindFlag(fs *pflag.FlagSet, name string, value any, usage string) {
	short := shorthands[name]
	switch x := value.(type) {
	case nil:
		fs.StringP(name, short, "", usage)
	case *string:
		fs.StringVarP(x, name, short, *x, usage)
	case *[]string:
		fs.StringArrayVarP(x, name, short, nil, usage)
	case *bool:
		fs.BoolVarP(x, name, short, *x, usage)
	case *int:
		fs.IntVarP(x, name, short, *x, usage)
	case *time.Duration:
		fs.DurationVarP(x, name, short, *x, usage)
	case word:
		*x.value = x.known[0]
		fs.VarP(x, name, short, usage)
		fs.SetAnnotation(name, completed, x.known)
	case pflag.Value:
		fs.VarP(x, name, short, usage)
	}
}

// typed marks flags that no variable sets, because it is meant for another command. from is that of a flag.
const (
	typed = "typed"
	from  = "from"
)

// fromEnvironment sets each flag that the command line left alone from its variable: --keep-profiles from
// NSGATE_KEEP_PROFILES, except those that are [typed] only, that do nothing in this call, or whose value only another
// command takes. An empty variable counts as unset.
func (c *command) fromEnvironment(v *flags, args []string, getenv func(string) string) (wrong error) {
	fs := v.fs
	set := func(f *pflag.Flag) {
		name := variable(f.Name)
		value := getenv(name)
		if f.Changed || value == "" || f.Name == "help" || f.Annotations[typed] != nil || wrong != nil ||
			v.acts[f.Name].idle(f.Name, fs, c.modes(v, args)) != "" {
			return
		}
		values := []string{value}
		switch {
		case f.Name == "report" || f.Name == "output": // no format has a comma, and few files do
			values = strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == ',' })
		case f.Value.Type() == "stringArray":
			values = strings.Split(strings.TrimSpace(value), "\n")
		}
		for _, one := range values {
			one = strings.TrimSpace(one)
			if !c.takes(f.Name, one) && slices.ContainsFunc(commands(), func(o *command) bool { return o.takes(f.Name, one) }) {
				return
			}
			if err := fs.Set(f.Name, one); err != nil {
				wrong = usageError("%s: %v", name, err)
			}
		}
		fs.SetAnnotation(f.Name, from, []string{name})
	}
	for _, name := range []string{"from", "profiler"} { // they say the mode
		if f := fs.Lookup(name); f != nil {
			set(f)
		}
	}
	fs.VisitAll(set)
	fs.VisitAll(set) // flags that need another flag come second
	return wrong
}

// takes reports whether the value is one of a flag of the command.
func (c *command) takes(flag, value string) bool {
	fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	v := c.bindFlags(cmp.Or(c.page, c.name), fs)
	f := fs.Lookup(flag)
	if f == nil || fs.Set(flag, value) != nil {
		return false
	}
	switch _, one := f.Value.(*single); flag {
	case "format":
		return slices.Contains(v.formats, value)
	case "kernel":
		return !strings.HasPrefix(v.one, profiler.Regex)
	case "runs":
		return v.runs.Most >= c.fewest
	case "workload":
		return !one || !strings.ContainsAny(value, "*?,\n")
	}
	return true
}

// onLine reports whether the command line itself, and not a variable, has a flag.
func (v *flags) onLine(flag string) bool {
	return v.fs.Changed(flag) && len(v.fs.Lookup(flag).Annotations[from]) == 0
}

// source is how a flag was given: "--threshold", or "NSGATE_THRESHOLD" where the variable set it.
func source(fs *pflag.FlagSet, flag string) string {
	if f := fs.Lookup(flag); f != nil && len(f.Annotations[from]) > 0 {
		return f.Annotations[from][0]
	}
	return "--" + flag
}

// misspelt refuses a variable whose name is nearly that of a flag, because it would be ignored silently.
func (e *env) misspelt() error {
	known := []string{proc.MarkName, proc.ChildMark, codehost.Leg, codehost.Descriptor, variable("help"),
		variable("search")}
	collect(commands(), &known)
	for _, v := range e.environ() {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "NSGATE_") || value == "" || slices.Contains(known, name) {
			continue
		}
		if near := meant("", name, known); near != "" {
			return usageError("%s is no variable of nsgate; %s", name, strings.TrimSpace(near))
		}
	}
	return nil
}

func collect(commands []*command, known *[]string) {
	for _, c := range commands {
		for _, name := range strings.Fields(c.flags) {
			*known = append(*known, variable(name))
		}
		collect(c.parts, known)
	}
}

func variable(flag string) string {
	return "NSGATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
