package cli

import (
	"embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/gate/internal/profile"
)

// helps are the texts of --help, see [filled]: help/COMMAND.txt for each command, which ends in examples, and help/nsgate.txt.
//
//go:embed help
var helps embed.FS

// help is the text of a command; that of nsgate itself lists the commands.
func help(name string, commands ...*cobra.Command) string {
	text, err := helps.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a command without its text
	}
	return filled(string(text), map[string]func() string{
		"{commands}": func() string {
			return each(commands, func(c *cobra.Command) string { return fmt.Sprintf("  nsgate %-11s \t%s\n", c.Name(), c.Short) })
		},
		"{topics}": func() string {
			return each(manual.Topics(), func(t manual.Topic) string { return fmt.Sprintf("  %-15s \t%s\n", t.Name, t.Title) })
		},
		"{inputs}": func() string {
			return each(profile.Formats(), func(f profile.Format) string {
				needs := ""
				if f.Needs != "" {
					needs = ", needs " + f.Needs
				}
				return fmt.Sprintf("  %s (%s%s)\n", f.Name, strings.Join(f.Suffixes, ", "), needs)
			})
		},
		"{patterns}": func() string {
			return each(insight.Patterns, func(p insight.Pattern) string { return fmt.Sprintf("  %-22s %s\n", p.Key, p.When) })
		},
	})
}

func each[T any](items []T, line func(T) string) string {
	var b strings.Builder
	for _, x := range items {
		b.WriteString(line(x))
	}
	return b.String()
}

// filled is a text in which each line that is one of the names stands for the lines of that name.
func filled(text string, lines map[string]func() string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if of, ok := lines[strings.TrimSuffix(line, "\n")]; ok {
			line = of()
		}
		b.WriteString(line)
	}
	return b.String()
}
