package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
)

// acting is where a flag acts, in brackets behind its name in help/flags.txt: always, or in some of these modes.
//
//	times       profiled runs of the workload
//	unprofiled  runs of a workload that is never profiled
//	counters    runs under ncu
//	files       recordings that were made before
//	pages       recordings of ncu that were made before
//
// +FLAG is another flag that it needs (one of several), and -FLAG one beside which it does nothing. plan says that
// --dry-run shows it.
type acting string

// says reports whether one of the words is among those of a flag.
func (a acting) says(words ...string) bool {
	return slices.ContainsFunc(strings.Fields(string(a)), func(w string) bool { return slices.Contains(words, w) })
}

// flags are those that it needs ("+") or that exclude it ("-"), and the ones of them that are given.
func (a acting) flags(sign string, fs *pflag.FlagSet) (all, given []string) {
	for _, w := range strings.Fields(string(a)) {
		name, ok := strings.CutPrefix(w, sign)
		f := fs.Lookup(name)
		if !ok || f == nil {
			continue
		}
		if all = append(all, "--"+name); f.Changed && f.Value.String() != "false" {
			given = append(given, "--"+name)
		}
	}
	return all, given
}

// passes are how many times the variables are gone through: those that say the mode come first, and those whose flags
// depend on others last.
const passes = 3

// pass is the one in which the variable of a flag is read.
func (a acting) pass(flag string) int {
	switch {
	case flag == "from" || flag == "profiler":
		return 0
	case strings.ContainsAny(string(a), "+") || strings.Contains(string(a), " -"):
		return 2
	}
	return 1
}

// idle is why a flag does nothing in the modes of a call, and what to do, "" where it acts.
func (a acting) idle(flag string, fs *pflag.FlagSet, modes []string) string {
	needs, have := a.flags("+", fs)
	_, beside := a.flags("-", fs)
	switch {
	case len(needs) > 0 && len(have) == 0:
		return fmt.Sprintf("needs %s: add it, or leave --%s out", strings.Join(needs, " or "), flag)
	case len(beside) > 0:
		return fmt.Sprintf("does nothing beside %s: leave one of them out", beside[0])
	case a.says(append(modes, "always")...):
		return ""
	}
	switch modes[0] {
	case "files":
		return "does nothing with recordings that were made before: leave it out, or measure the workload"
	case "code":
		return "does nothing with device code: leave it out"
	case "counters":
		return "does nothing with " + counting + ", which counts single launches: leave it out, or measure times"
	case "unprofiled":
		return "does nothing where no workload is profiled: leave it out, or change the key profile"
	}
	return "selects what ncu profiles: add " + counting + ", or --" + countFlag + " to record"
}

// modes are the modes of a call of this command.
func (c *command) modes(v *flags, args []string) []string {
	recording := c.name == "compare" || c.name == "show" || c.name == "scrub"
	switch {
	case v.from != "" && v.profiler == countFlag:
		return []string{"files", "pages"}
	case c.name == "show" && len(args) == 1 && app.HoldsDeviceCode(args[0]):
		return []string{"code"}
	case v.from != "" || recording:
		return []string{"files"}
	case v.profiler == countFlag:
		return []string{"counters"}
	case v.count:
		return []string{"times", "counters", "unprofiled"}
	}
	return []string{"times", "unprofiled"}
}

// idle refuses the first flag of the command line that does nothing in these modes. One that --dry-run does not show is
// named in a note.
func (v *flags) idle(e *env, modes []string) (wrong error) {
	var unseen []string
	v.fs.Visit(func(f *pflag.Flag) {
		a := v.acts[f.Name]
		if wrong != nil || f.Annotations[from] != nil || f.Value.String() == "false" && f.DefValue == "false" {
			return
		}
		if why := a.idle(f.Name, v.fs, modes); why != "" {
			wrong = usageError("--%s %s", f.Name, why)
		}
		if !a.says("plan") {
			unseen = append(unseen, "--"+f.Name)
		}
	})
	if wrong == nil && v.dryRun && e != nil && v.fs.Lookup("from") != nil && len(unseen) > 0 {
		fmt.Fprintf(e.Err, "nsgate: --dry-run prints commands, in which %s cannot be seen\n", strings.Join(unseen, ", "))
	}
	return wrong
}
