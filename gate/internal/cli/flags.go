package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
	"github.com/nsgate/nsgate/thresholds"
)

// options are those of one command, which runs with them: fields with the tag flag:"NAME", also in groups that commands
// share. "single" behind the name takes one value, the tag words lists the only values, and default is the usual one.
type options interface {
	line() *given
	run(ctx context.Context, e *env, args arguments) error
}

// given are the flags of a command as a call has them.
type given struct {
	fs      *pflag.FlagSet
	acts    map[string]acting // where its flags act
	formats []string          // that the command knows
	usual   thresholds.Runs   // where neither --runs nor the policy says
}

func (v *given) line() *given { return v }

// value is the text of a flag, "" where the command does not have it.
func (v *given) value(flag string) string {
	if f := v.fs.Lookup(flag); f != nil {
		return f.Value.String()
	}
	return ""
}

// is reports whether a flag without a value is set.
func (v *given) is(flag string) bool { return v.value(flag) == "true" }

// by is the profiler of a check, "" for the usual one of another command.
func (v *given) by() model.Profiler { return model.Profiler(v.value("profiler")) }

// finished reports whether recordings that were made before are judged, and nothing is measured.
func (v *given) finished() bool { return v.value("from") != "" }

// fresh makes the options of a command.
func fresh[O any, P interface {
	*O
	options
}]() options {
	return P(new(O))
}

// fields collects where the values of options go, in a struct and in those that it embeds, and sets the usual ones. A
// group of another package's values lists them.
func fields(in reflect.Value, out map[string]any) {
	for i := range in.NumField() {
		f := in.Type().Field(i)
		p := reflect.NewAt(f.Type, in.Field(i).Addr().UnsafePointer()).Interface()
		if list, ok := p.(interface{ values() map[string]any }); ok {
			maps.Copy(out, list.values())
		} else if f.Anonymous {
			fields(in.Field(i), out)
		}
		switch x := p.(type) {
		case *string:
			*x = f.Tag.Get("default")
		case *bool:
			*x = f.Tag.Get("default") != ""
		}
		name, once, _ := strings.Cut(f.Tag.Get("flag"), ",")
		known := f.Tag.Get("words")
		switch {
		case once != "":
			p = (*single)(p.(*string))
		case known == "profilers":
			p = word{p.(*string), tools.Names()}
		case known != "":
			p = word{p.(*string), strings.Fields(known)}
		}
		if name != "" {
			out[name] = p
		}
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
func (c *command) bindFlags(page string, fs *pflag.FlagSet) options {
	v, all := c.options(), map[string]any{}
	g := v.line()
	*g = given{fs, map[string]acting{}, c.formats, thresholds.FixedRuns(app.DefaultRuns)}
	if page == "check" {
		g.usual = checkRuns
	}
	fields(reflect.ValueOf(v).Elem(), all)
	texts, _ := flagTexts()
	family := strings.Split(page, "-")[0]
	fill := strings.NewReplacer("{formats}", strings.Join(c.formats, ", "), "{runs}", g.usual.String())
	for _, name := range strings.Fields(c.flags) {
		text := cmp.Or(texts[page+" "+name], texts[family+" "+name], texts[name])
		g.acts[name] = text.acts
		bindFlag(fs, name, all[name], fill.Replace(text.meaning))
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

// bindFlag declares a flag. Its default is what the value holds, or the first of some words. One without a value is a
// key of the policy or a workload, see [given.lay].
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
func (c *command) fromEnvironment(v *given, args []string, getenv func(string) string) (wrong error) {
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
			if !c.takes(f.Name, one) && slices.ContainsFunc(commands(),
				func(o *command) bool { return o.takes(f.Name, one) }) {
				return
			}
			if err := fs.Set(f.Name, one); err != nil {
				wrong = usageError("%s: %s", name, plainly(err))
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
	c.bindFlags(cmp.Or(c.page, c.name), fs)
	f := fs.Lookup(flag)
	if f == nil || fs.Set(flag, value) != nil {
		return false
	}
	_, one := f.Value.(*single)
	switch flag {
	case "format":
		return slices.Contains(c.formats, value)
	case "kernel":
		return f.Value.Type() != "string" || !strings.HasPrefix(value, profiler.Regex)
	case "runs":
		return f.Value.(*runPlan).Most >= c.fewest
	case "workload":
		return !one || !strings.ContainsAny(value, "*?,\n")
	}
	return true
}

// onLine reports whether the command line itself, and not a variable, has a flag.
func (v *given) onLine(flag string) bool {
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
	known := []string{proc.MarkName, proc.ChildMark, codehost.Leg, codehost.Event, codehost.Descriptor, loader,
		variable("search")}
	texts, _ := flagTexts()
	for name := range texts {
		known = append(known, variable(name[strings.LastIndexByte(name, ' ')+1:]))
	}
	for _, v := range e.environ() {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "NSGATE_") || value == "" || slices.Contains(known, name) {
			continue
		}
		if near := meant("", name, known); near != "" {
			return usageError("%s is no variable of nsgate; %s", name, strings.TrimSpace(near))
		}
		for _, k := range thresholds.Keys() {
			if k.Table == "" && variable(k.Name) == name {
				return usageError("%s is no variable of nsgate: write %s into the policy file", name, k.Name)
			}
		}
	}
	return nil
}

func variable(flag string) string {
	return "NSGATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// words is the value of a flag that may be repeated, with values separated by commas or lines.
type words []string

func (w *words) Set(s string) error {
	for _, x := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '\n' }) {
		x = strings.TrimSpace(x)
		if x != "" {
			*w = append(*w, x)
		}
	}
	if len(*w) == 0 {
		return fmt.Errorf("%q names nothing", s)
	}
	return nil
}

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Type() string { return "NAME" }

// single is the value of a flag that may be given once.
type single string

// Set refuses a blank and a second value.
func (o *single) Set(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("it is empty: leave it out, or say what is meant")
	case *o != "" && string(*o) != s:
		return fmt.Errorf("%q was given before: one at a time", string(*o))
	}
	*o = single(s)
	return nil
}

func (o *single) String() string { return string(*o) }

func (o *single) Type() string { return "string" }

type word struct {
	value *string
	known []string
}

// Set refuses a word that is none of them.
func (w word) Set(s string) error {
	switch {
	case slices.Contains(w.known, s):
		*w.value = s
		return nil
	case len(w.known) == 2:
		return fmt.Errorf("%q is neither %s nor %s", s, w.known[0], w.known[1])
	}
	return fmt.Errorf("%q is none of %s", s, strings.Join(w.known, ", "))
}

func (w word) String() string { return *w.value }

func (word) Type() string { return "string" }

// meant is "did you mean --threshold? ", "" where nothing known is near.
func meant(mark, word string, known []string) string {
	near := measure.Nearest(word, known)
	return result.Given(near, "did you mean ", mark, near, "? ")
}

type runPlan struct{ thresholds.Runs }

// checkRuns are the usual runs of a check: 3.0 to 4.2 without a change, and changes are found as with 5 (limits.md).
var checkRuns = thresholds.Runs{First: 3, Most: 5}

// Set reads "5" or "5..12".
func (p *runPlan) Set(s string) (err error) {
	p.Runs, err = thresholds.ParseRuns(s)
	return err
}

func (p *runPlan) Type() string { return "N" }

// looks are the numbers of runs to judge after: the first, one half-way if that saves a run or two, and the last.
func looks(r thresholds.Runs) []int {
	if r.Most-r.First < 4 {
		return slices.Compact([]int{r.First, r.Most})
	}
	return slices.Compact([]int{r.First, (r.First + r.Most) / 2, r.Most})
}
