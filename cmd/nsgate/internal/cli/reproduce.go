package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

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
			return again + " -- WORKLOAD…"
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
			if slices.Contains([]string{"format", "report", "annotations", "color", "verbose", "quiet", "patch", "patch-reason", "keep-profiles"}, f.Name) {
				continue
			}
		}
		again += " " + thresholds.JoinCommand(words)
	}
	return again
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
