package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// reproduce is the command line that repeats a command, as it was typed: without what says only where output goes, and
// without command lines, which may hold secrets, the workload's own among them.
func reproduce(line []string, fs *pflag.FlagSet) string {
	again := "nsgate"
	for i := 0; i < len(line); i++ {
		name, value, joined := strings.Cut(line[i], "=")
		words := []string{name}
		switch f := flagNamed(fs, name); {
		case name == "--":
			return again + noCommand
		case f == nil:
			words = []string{line[i]}
		default:
			if !joined && f.NoOptDefVal == "" && i+1 < len(line) {
				i++
				value = line[i]
				words = append(words, shown(f.Name, value))
			} else if joined {
				words = []string{name + "=" + shown(f.Name, value)}
			}
			if slices.Contains([]string{"format", "report", "annotations", "color", "json", "output", "verbose", "quiet", "patch", "patch-reason", "keep-profiles"}, f.Name) {
				continue
			}
		}
		again += " " + thresholds.JoinCommand(words)
	}
	return again
}

// elided are the absolute paths of a command line, and what stands for them in reports that are stored: where they lead to seen from
// the working directory, else their last part.
func elided(line []string) *strings.Replacer {
	var pairs []string
	here, _ := filepath.Abs(".")
	for _, word := range line {
		if word == "--" {
			break
		}
		for _, part := range append(strings.FieldsFunc(word, func(r rune) bool { return r == '=' || r == ',' }), word) {
			if !filepath.IsAbs(part) || filepath.Dir(part) == "/" {
				continue
			}
			short := "…/" + filepath.Base(part)
			if inside, err := filepath.Rel(here, part); err == nil && filepath.IsLocal(inside) {
				short = inside
			}
			pairs = append(pairs, part, short)
		}
	}
	return strings.NewReplacer(pairs...)
}

// stored is a report as files and pipes get it: the commands in it hold no absolute paths of this machine.
func (e *env) stored(r *result.Report) *result.Report {
	paths := elided(e.line)
	out := *r
	out.Reproduce, out.Accept = paths.Replace(r.Reproduce), paths.Replace(r.Accept)
	out.Next = slices.Clone(r.Next)
	for i, next := range out.Next {
		out.Next[i] = paths.Replace(next)
	}
	out.Workloads = nil
	for _, w := range r.Workloads {
		out.Workloads = append(out.Workloads, e.stored(w))
	}
	return &out
}

// noCommand stands for a command line in reports.
const noCommand = " -- WORKLOAD…"

// repeat is how a job's check is repeated: in reports, which are stored, and as it may be shown on a terminal. A workload that the
// policy file has with the same command is repeated by its name. Else a report has no command line, and a terminal that of whoever
// sits there, unless it carries a value of the environment.
func (e *env) repeat(j *job, p *thresholds.Policy, command []string) (stored, shown string) {
	flags, cut := strings.CutSuffix(e.again, noCommand)
	switch w, ok := p.Workload(j.name); {
	case !cut:
		return e.again, e.again
	case ok && slices.Equal(w.Command, command):
		return flags, flags
	case !e.carries(command):
		return e.again, flags + " -- " + thresholds.JoinCommand(command)
	}
	return e.again, e.again
}

// named is the command line for one of several workloads.
func (e *env) named(workload string) string {
	words, _ := thresholds.SplitCommand(e.again)
	out := words[:2:2]
	for i := 2; i < len(words); i++ {
		switch name, _, joined := strings.Cut(words[i], "="); {
		case name == "--workload" || name == "-w":
			if !joined {
				i++
			}
		default:
			out = append(out, words[i])
		}
	}
	return thresholds.JoinCommand(append(out, "--workload", workload))
}

// harmless are variables whose values say only where something is and who is there.
var harmless = []string{"PWD", "OLDPWD", "HOME", "TMPDIR", "PATH", "SHELL", "TERM", "LANG", "USER", "LOGNAME", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"}

// carries reports whether a word of a command line holds the value of a variable that may be a secret.
func (e *env) carries(command []string) bool {
	const least = 4 // characters: shorter ones are in any command line
	line := strings.Join(command, "\x00")
	return slices.ContainsFunc(e.environ(), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		return len(value) >= least && !slices.Contains(harmless, name) && strings.Contains(line, value)
	})
}

// flagNamed is the flag that a word of a command line sets, nil for none.
func flagNamed(fs *pflag.FlagSet, word string) *pflag.Flag {
	if long, ok := strings.CutPrefix(word, "--"); ok {
		return fs.Lookup(long)
	}
	if short, ok := strings.CutPrefix(word, "-"); ok && len(short) == 1 {
		return fs.ShorthandLookup(short)
	}
	return nil
}

// shown is a flag's value as reports may hold it: without command lines and arguments of nsys that may be variables of the
// workload (--env-var).
func shown(flag, value string) string {
	switch {
	case flag == "base-cmd", flag == "build":
		return "COMMAND"
	case flag == "nsys-arg" && (!strings.HasPrefix(value, "--") || strings.HasPrefix(value, "--env-var")):
		return "ARGUMENT"
	}
	return value
}
