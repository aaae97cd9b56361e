package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// acting is where a flag acts, in brackets behind its name in help/flags.txt: always, or in some of the modes below.
// +FLAG is one of the flags that it needs, -FLAG one beside which it does nothing; with plan --dry-run shows it.
type acting string

// modes are the ways to call a command, with what to do about a flag that does nothing there.
var modes = map[string]string{
	"times":      "selects launches to profile: add " + counting + ", or --" + countFlag + " to record",
	"unprofiled": "does nothing where no workload is profiled: leave it out, or change the key profile",
	"counters":   "does nothing with " + counting + ", which counts single launches: leave it out, or measure times",
	"files":      "does nothing with recordings that were made before: leave it out, or measure the workload",
	"pages":      "", // pages that were recorded before
	"code":       "does nothing with device code: leave it out",
}

// idle is why a flag does nothing in the modes of a call, and what to do, "" where it acts.
func (a acting) idle(flag string, fs *pflag.FlagSet, in []string) string {
	acts, met, needs := false, false, []string(nil)
	for _, word := range strings.Fields(string(a)) {
		f := fs.Lookup(word[1:])
		given := f != nil && f.Changed && f.Value.String() != "false"
		switch {
		case word[0] == '-' && given:
			return fmt.Sprintf("does nothing beside --%s: leave one of them out", f.Name)
		case word[0] == '+' && f != nil:
			needs, met = append(needs, "--"+f.Name), met || given
		default:
			acts = acts || word == "always" || slices.Contains(in, word)
		}
	}
	switch {
	case len(needs) > 0 && !met:
		return fmt.Sprintf("needs %s: add it, or leave --%s out", strings.Join(needs, " or "), flag)
	case acts:
		return ""
	case a == "files":
		return "is about recordings that were made before: leave it out, or name them with --from"
	}
	return modes[in[0]]
}

// modes are those of a call.
func (c *command) modes(v *given, args []string) []string {
	files := v.finished() || slices.Contains([]string{"compare", "show", "scrub"}, c.name)
	counted := v.by() == countFlag
	switch {
	case c.name == "show" && len(args) == 1 && app.HoldsDeviceCode(args[0]):
		return []string{"code"}
	case files && counted:
		return []string{"files", "pages"}
	case files:
		return []string{"files"}
	case counted:
		return []string{"counters"}
	case v.is(countFlag):
		return []string{"times", "counters", "unprofiled"}
	}
	return []string{"times", "unprofiled"}
}

// idle refuses a flag that does nothing in these modes. It names those that a dry run does not show.
func (v *given) idle(e *env, in []string) (wrong error) {
	var unseen []string
	v.fs.Visit(func(f *pflag.Flag) {
		a := v.acts[f.Name]
		if !v.onLine(f.Name) || f.DefValue == "false" && f.Value.String() == "false" {
			return
		}
		if why := a.idle(f.Name, v.fs, in); why != "" && wrong == nil {
			wrong = usageError("--%s %s", f.Name, why)
		}
		if !slices.Contains(strings.Fields(string(a)), "plan") {
			unseen = append(unseen, "--"+f.Name)
		}
	})
	if wrong == nil && v.is("dry-run") && in[0] != "unprofiled" && v.fs.Lookup("runs") != nil && len(unseen) > 0 {
		fmt.Fprintf(e.Err, "nsgate: --dry-run prints commands, in which %s cannot be seen\n",
			strings.Join(unseen, ", "))
	}
	return wrong
}

// trial is the option of a command that can print what it would do.
type trial struct {
	dryRun bool `flag:"dry-run"`
}

// really does something that a dry run leaves out.
func (t *trial) really(do func() error) error {
	if t.dryRun {
		return nil
	}
	return do()
}

// planned is a command on a workload that is ready to run, with the lines of a shell that it would run.
type planned interface {
	Name() string
	Commands(context.Context) []string
}

// shown prints the commands of plans, each named where there are several, and reports whether this is a dry run.
func shown[P planned](ctx context.Context, e *env, t *trial, several bool, plans ...P) (dry bool, err error) {
	if !t.dryRun {
		return false, nil
	}
	for _, p := range plans {
		if several {
			fmt.Fprintln(e.Out, "# workload", p.Name())
		}
		_, wrong := fmt.Fprintln(e.Out.As(terminal.Data), strings.Join(p.Commands(ctx), "\n"))
		err = cmp.Or(err, wrong)
	}
	return true, err
}
