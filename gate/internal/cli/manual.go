package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/thresholds"
)

// helpCommand explains a command or a topic of the manual.
func helpCommand(e *env, root *cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: "help [TOPIC|COMMAND]", Short: "read the manual, or what a command does"}
	color := c.Flags().String("color", "auto", "colour: auto, always or never")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return subjects(root), cobra.ShellCompDirectiveNoFileComp
	}
	c.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(autoAlwaysNever, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := oneOf("color", *color, autoAlwaysNever...); err != nil {
			return err
		}
		switch {
		case len(args) == 0:
			return root.Help()
		case len(args) > 1:
			return usageError("help wants one topic or command and got %d", len(args))
		}
		if t, ok := manual.Lookup(args[0]); ok {
			text := t.Render(width(e), (&outputFlags{color: *color}).coloured(e))
			if c, _, err := root.Find(args); err == nil && c != root {
				text += "\nThe command of this name: nsgate " + c.Name() + " --help\n"
			}
			_, err := io.WriteString(e.Out, text)
			return err
		}
		if c, _, err := root.Find(args); err == nil && c != root {
			return c.Help()
		}
		meant := ""
		if near := thresholds.Nearest(args[0], subjects(root)); near != "" {
			meant = "did you mean " + near + "? "
		}
		return usageError("there is no topic or command %q; %snsgate help lists them", args[0], meant)
	}
	return c
}

// subjects are the words that help knows.
func subjects(root *cobra.Command) (names []string) {
	for _, t := range manual.Topics() {
		names = append(names, t.Name)
	}
	for _, c := range root.Commands() {
		if !strings.HasPrefix(c.Name(), "__") { // what completion scripts call
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Page is a page of the manual in Markdown, whose sections have headings of the second level.
type Page struct {
	Name        string
	Section     int // 1 for commands, 7 for topics
	About, Text string
}

// Manual is all of it: nsgate, nsgate-COMMAND and nsgate-TOPIC.
func Manual() (pages []Page) {
	for _, t := range manual.Topics() {
		_, text, _ := strings.Cut(string(t.Text), "\n")
		pages = append(pages, Page{"nsgate-" + t.Name, 7, t.Title, text})
	}
	root := root(&env{getenv: os.Getenv, environ: os.Environ})
	root.InitDefaultHelpCmd()
	for _, c := range append(root.Commands(), root) {
		pages = append(pages, Page{strings.ReplaceAll(c.CommandPath(), " ", "-"), 1, cmp.Or(c.Short, "a performance gate for programs that use a GPU"), commandPage(root, c)})
	}
	return pages
}

// commandPage is the help of a command in Markdown.
func commandPage(root, c *cobra.Command) string {
	if c == root {
		return "\n" + markdown(strings.ReplaceAll(help("nsgate", root.Commands()...), "\t", ""))
	}
	return fmt.Sprintf("\n    nsgate %s\n\n%s\n## FLAGS\n\n```\n%s```\n", c.Use, markdown(c.Long), c.Flags().FlagUsagesWrapped(78))
}

// markdown makes Markdown of a text of --help, in which what is indented is code.
func markdown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			b.WriteString("  " + line)
		} else {
			b.WriteString(strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`").Replace(line))
		}
	}
	return b.String()
}
