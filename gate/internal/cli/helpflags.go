package cli

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// flagGroups are the parts in which --help lists flags; what is in none comes last.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"What is measured", []string{"workload", "from", "runs", "bare", "timeout", "warmup", "step", "memory-usage", "gpu-metrics", "host", "allow-busy",
		"no-gpu", "dry-run", "keep-profiles", "nsys", "nsys-arg"}},
	{"What it is held against", []string{"baseline", "base-ref", "base-cmd", "build", "paired", "replace"}},
	{"What is allowed", []string{"policy", "threshold", "alpha", "impact", "undecided"}},
	{"Nsight Compute", []string{"ncu", "profiler", "kernel", "launch-skip", "launch-count", "nvtx-range", "explain"}},
	{"What is printed and written", []string{"format", "json", "output", "report", "quiet", "verbose", "color", "annotations", "patch", "patch-reason", "reason"}},
}

// flagHelp lists the flags of a command by what they are about, within so many columns.
func flagHelp(fs *pflag.FlagSet, width int) string {
	var text strings.Builder
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	rest.SortFlags = false
	fs.VisitAll(rest.AddFlag)
	list := func(title string, belongs func(*pflag.Flag) bool) {
		part, left := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
		part.SortFlags, left.SortFlags = false, false
		rest.VisitAll(func(f *pflag.Flag) {
			if belongs(f) {
				part.AddFlag(f)
			} else {
				left.AddFlag(f)
			}
		})
		if rest = left; part.HasFlags() {
			text.WriteString("\n" + title + ":\n\n" + part.FlagUsagesWrapped(width))
		}
	}
	for _, g := range flagGroups {
		list(g.title, func(f *pflag.Flag) bool { return slices.Contains(g.flags, f.Name) })
	}
	title := "Further flags"
	if text.Len() == 0 {
		title = "Flags"
	}
	list(title, func(*pflag.Flag) bool { return true })
	return trailing.ReplaceAllString(text.String()[1:], "\n")
}

// trailing is the space that a flag leaves at the end of a line where what it means stands on the next.
var trailing = regexp.MustCompile(` +\n`)

// reflow breaks the paragraphs of a text anew, to so many columns. Lines that are indented, such as examples, stay; what stands after a
// tab in them is broken under itself.
func reflow(text string, width int) string {
	var out, line []string
	used := 0
	flush := func() {
		if len(line) > 0 {
			out = append(out, strings.Join(line, " "))
		}
		line, used = nil, 0
	}
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if l == "" || strings.HasPrefix(l, " ") || strings.HasPrefix(l, "|") {
			flush()
			lead, text, listed := strings.Cut(l, "\t")
			if listed {
				indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
				text = strings.TrimSuffix(reflow(text, width-len(indent)), "\n")
				l = lead + strings.ReplaceAll(text, "\n", "\n"+indent)
			}
			out = append(out, l)
			continue
		}
		for _, word := range strings.Fields(l) {
			n := utf8.RuneCountInString(word)
			if used > 0 && used+1+n > width {
				flush()
			}
			line = append(line, word)
			used += n + min(used, 1)
		}
	}
	flush()
	return strings.Join(out, "\n") + "\n"
}
