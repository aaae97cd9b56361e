package cli

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// unrepeated are the flags that say only where output goes, or what a CI job does about the verdict.
var unrepeated = []string{"format", "report", "annotations", "color", "json", "output", "verbose", "quiet", "patch",
	"patch-reason", "keep-profiles", "base-dir", "comment", "check", "summary", "accept-label", "no-baseline", "no-gpu",
	"explain", "explain-time", "shadow", "watch"}

// again is the command line that repeats this command, for one workload where that is not "": its flags and variables
// without those of output. Command lines of builds and workloads, which may hold secrets, are left out.
func (e *env) again(workload string) string { return e.repeated(workload, secretive) }

// repeated is the command line of [env.again] without the values of flags that leave names.
func (e *env) repeated(workload string, leave func(flag, value string) bool) string {
	words := []string{"nsgate", e.command.Name()}
	e.command.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed || slices.Contains(unrepeated, f.Name) || workload != "" && f.Name == "workload" {
			return
		}
		for _, v := range valuesOf(f) {
			switch {
			case leave(f.Name, v):
			case v == f.NoOptDefVal:
				words = append(words, "--"+f.Name)
			case f.NoOptDefVal != "" || strings.HasPrefix(v, "-"):
				words = append(words, "--"+f.Name+"="+v)
			default:
				words = append(words, "--"+f.Name, v)
			}
		}
	})
	if workload != "" {
		words = append(words, "--workload", workload)
	}
	return thresholds.JoinCommand(append(words, e.args.own...))
}

func valuesOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// elided shortens absolute paths of the command line for files and pipes: from the working directory, or the last part.
func (e *env) elided() *strings.Replacer {
	words := slices.Clone(e.args.own)
	e.command.Flags().Visit(func(f *pflag.Flag) { words = append(words, valuesOf(f)...) })
	var paths []string
	for _, word := range words {
		for _, part := range append(strings.FieldsFunc(word, func(r rune) bool { return r == '=' || r == ',' }), word) {
			if filepath.IsAbs(part) && filepath.Dir(part) != "/" {
				paths = append(paths, filepath.Clean(part))
			}
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return len(b) - len(a) }) // a path before the directories above it
	var pairs []string
	for _, path := range paths {
		pairs = append(pairs, path, cmp.Or(git.Within(".", path), "…/"+filepath.Base(path)))
	}
	return strings.NewReplacer(pairs...)
}

// repeat is how a job's check is repeated: in reports, which are stored, and as it may be shown on a terminal. A
// workload that the policy file has with the same command is repeated by its name. Else a report has no command line,
// and a terminal has that of its user, as those of builds, unless it holds a value of the environment.
func (e *env) repeat(c *app.Check) (stored, shown string) {
	shown = e.repeated("", func(flag, value string) bool {
		return secretive(flag, value) && (flag == argFlag || e.carries([]string{value}))
	})
	command := e.args.workload
	w, ok := c.Policy.Workload(c.Workload)
	if command != nil && !(ok && slices.Equal(w.Command, command)) && !e.carries(command) {
		shown += " -- " + thresholds.JoinCommand(command)
	}
	return e.again(""), shown
}

// harmless are variables whose values say only where something is and who is there.
var harmless = []string{"PWD", "OLDPWD", "HOME", "TMPDIR", "PATH", "SHELL", "TERM", "LANG", "USER", "LOGNAME",
	"GITHUB_WORKSPACE", "CI_PROJECT_DIR"}

// carries reports whether a word of a command line holds the value of a variable that may be a secret.
func (e *env) carries(command []string) bool {
	const least = 4 // characters: shorter ones are in any command line
	line := strings.Join(command, "\x00")
	return slices.ContainsFunc(e.environ(), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		return len(value) >= least && !slices.Contains(harmless, name) && strings.Contains(line, value)
	})
}

// secretive reports whether a flag's value may hold secrets: command lines, and variables that the profiler sets.
func secretive(flag, value string) bool {
	return flag == "base-cmd" || flag == "build" ||
		flag == argFlag && (!strings.HasPrefix(value, "--") || strings.HasPrefix(value, "--env-var"))
}

// lone matches one run a side, too few for two builds.
var limited, lone = input.Pattern(` --(runs|budget)[ =]\S+`), input.Pattern(` --runs[ =]1( |$)`)

// callsOf are the commands that settle what a check left undecided; line repeats the check, without what hidden names.
// Of finished profiles they say what to record first, and compare them with the settings of the workload.
func callsOf(line string, policy *thresholds.Resolved, w *thresholds.Workload, hidden []string) *result.Calls {
	const check = "nsgate check"
	rest, ok := strings.CutPrefix(line, check)
	if !ok || rest != "" && rest[0] != ' ' || strings.Contains(rest, " --from") {
		to, w := "nsgate compare"+strings.Join(limits().FindAllString(line, -1), ""), cmp.Or(w, &thresholds.Workload{})
		limit, rows := "", w.Rows()
		if w.Threshold != nil {
			limit = strings.ReplaceAll(measure.Percent(*w.Threshold), " ", "")
		}
		if filter.IsFile(rows) && !filepath.IsAbs(rows) {
			rows = filepath.Join(filepath.Dir(policy.File), rows)
		}
		for _, x := range [][2]string{{"threshold", limit}, {"step", w.Step}, {"warmup", w.Warmup}, {"rows", rows}} {
			if x[1] != "" && !strings.Contains(to, " --"+x[0]+" ") {
				to += " --" + x[0] + " " + commandWord(x[1])
			}
		}
		return &result.Calls{Runs: "measure " + result.RunsHere + " runs a side, as these were, then: " + line,
			Paired: "measure both builds interleaved on one host, then: " + to + " BASE HEAD"}
	}
	c := &result.Calls{Runs: check + " --runs " + result.RunsHere + limited().ReplaceAllString(rest, "")}
	if len(hidden) > 0 {
		c.With = "the same " + strings.Join(hidden, " and ")
	}
	if strings.Contains(rest, " --base-cmd") || slices.Contains(hidden, "--base-cmd") {
		return c
	}
	c.Paired = check + " --paired" + lone().ReplaceAllString(strings.ReplaceAll(rest, " --paired", ""), "$1")
	if policy.Base == "" && !strings.Contains(rest, " --base-ref") {
		c.Needs = `base = "origin/main" and build = "make" (yours) in nsgate.toml`
	}
	return c
}

// settling are the calls of this command, which line repeats.
func (v *given) settling(e *env, line string, policy *thresholds.Resolved, workload string) *result.Calls {
	var hidden []string
	for _, flag := range []string{"base-cmd", "build"} {
		if v.fs.Changed(flag) && !strings.Contains(line, " --"+flag) {
			hidden = append(hidden, "--"+flag)
		}
	}
	w, ok := policy.Workload(workload)
	known := ok && slices.Equal(w.Command, e.args.workload)
	if e.args.workload != nil && !known && !strings.Contains(line, " -- ") {
		hidden = append(hidden, "command behind --")
	}
	return callsOf(line, policy, w, hidden)
}

var (
	limits = input.Pattern(` --(` + strings.Join(strings.Fields(policyNames+" rows step warmup"), "|") +
		`)[ =]('[^']*'|\S+)`)
	calling = input.Pattern(`nsgate (check|compare)\b`)
)

// limiting is a call with the limits of this command in place of its own.
func (v *given) limiting(call string) string {
	call = limits().ReplaceAllStringFunc(call, func(own string) string {
		return measure.Either(v.fs.Changed(limits().FindStringSubmatch(own)[1]), "", own)
	})
	return calling().ReplaceAllStringFunc(call, func(command string) string {
		for _, name := range strings.Fields(policyNames) {
			if v.fs.Changed(name) {
				command += " --" + name + " " + commandWord(v.fs.Lookup(name).Value.String())
			}
		}
		return command
	})
}
