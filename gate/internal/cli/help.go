package cli

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
	"github.com/nsgate/nsgate/thresholds"
)

// helps are the texts of --help: help/COMMAND.txt for each command, which begins with its usage and summary and ends in
// examples, help/flags.txt and help/nsgate.txt. A line such as {inputs} stands for a list that the code has.
//
//go:embed help
var helps embed.FS

// helpText is a page of them, with the lists of [lists] and further ones.
func helpText(page string, further ...string) string {
	text, err := helps.ReadFile("help/" + page + ".txt")
	if err != nil {
		panic(err) // a command without its text
	}
	for line, list := range lists {
		if strings.Contains(string(text), line) {
			further = append(further, line, list())
		}
	}
	return strings.NewReplacer(further...).Replace(string(text))
}

// lists are lines such as {inputs} of help texts with their replacements, made where used: each start reads all texts.
var lists = map[string]func() string{
	"{inputs}\n": func() string {
		return strings.Join(measure.Map(profile.Formats(), func(f profile.Format) string {
			return fmt.Sprintf("    %s (%s%s)\n", f.Name, strings.Join(f.Suffixes, ", "),
				result.Given(f.Needs, ", needs ", f.Needs))
		}), "")
	},
	"{patterns}\n": func() string {
		return strings.Join(measure.Map(insight.Patterns, func(p insight.Pattern) string {
			return fmt.Sprintf("    %-22s %s\n", p.Key, p.When)
		}), "")
	},
}

// overview is the help of nsgate alone. A line "start: demo init" lists commands with summaries, "rare: …" without.
func overview(root *cobra.Command, e *env) string {
	var b strings.Builder
	for line := range strings.Lines(helpText("nsgate")) {
		title, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
		list := measure.Map(strings.Fields(names), func(name string) *cobra.Command {
			c, _, _ := root.Find([]string{name})
			return c
		})
		switch {
		case title == "rare":
			fmt.Fprintf(&b, "  %-9s  \t%s\n", title, strings.ReplaceAll(names, " ", ", "))
			continue
		case len(list) == 0 || slices.Contains(list, root):
			b.WriteString(line)
			continue
		}
		for _, c := range list {
			fmt.Fprintf(&b, "  %-9s  %-9s  \t%s\n", title, c.Name(), c.Short)
			title = ""
		}
	}
	return reflow(b.String(), max(width(e), 40))
}

// commandHelp is the help of a command. Of one with many flags it has the first paragraph and the common flags, or all.
func commandHelp(c *cobra.Command, columns int, all bool) string {
	const few = 12 // up to how many flags --help shows all of them
	n := 0
	c.Flags().VisitAll(func(*pflag.Flag) { n++ })
	var b strings.Builder
	b.WriteString(reflow(c.CommandPath()+": "+c.Short, columns))
	fmt.Fprintf(&b, "\nUsage:\n\n    %s %s\n", strings.TrimSuffix(c.CommandPath(), " "+c.Name()), c.Use)
	for _, sub := range c.Commands() {
		fmt.Fprintf(&b, "    %s %s\n", c.CommandPath(), sub.Use)
	}
	b.WriteString("\nExamples:\n\n" + c.Example)
	text := c.Long
	if n > few && !all {
		text, _, _ = strings.Cut(text, "\n\n")
	}
	b.WriteString("\n" + reflow(text, min(columns, 120)))
	texts, sections := flagTexts()
	switch {
	case n <= few:
		b.WriteString("\nFlags:\n\n" + usages(c, columns, func(string) bool { return true }))
	case !all:
		b.WriteString("\nCommon flags:\n\n" + usages(c, columns, func(flag string) bool { return texts[flag].common }))
		fmt.Fprintf(&b, "\n%s --help all explains all %d flags, and more.\n", c.CommandPath(), n)
	default:
		for _, title := range sections {
			if part := usages(c, columns, func(flag string) bool { return texts[flag].section == title }); part != "" {
				b.WriteString("\n" + title + ":\n\n" + part)
			}
		}
	}
	return b.String()
}

// usages lists the flags of a command that belong to a part, within so many columns.
func usages(c *cobra.Command, columns int, belongs func(flag string) bool) string {
	part := pflag.NewFlagSet("", pflag.ContinueOnError)
	part.SortFlags = false
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if belongs(f.Name) {
			part.AddFlag(f)
		}
	})
	return trailing().ReplaceAllString(part.FlagUsagesWrapped(columns), "\n")
}

// trailing is the space that a flag leaves at the end of a line where its meaning stands on the next.
var trailing = input.Pattern(` +\n`)

// reflow breaks paragraphs and lists to a width. Indented lines stay, but a text after a tab is broken below itself.
func reflow(text string, width int) string {
	var out, words []string
	flush := func() {
		out, words = append(out, wrapped(strings.Join(words, " "), width)...), nil
	}
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if l == "" || l[0] == ' ' {
			flush()
			if lead, text, listed := strings.Cut(l, "\t"); listed {
				indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
				l = lead + strings.Join(wrapped(text, width-len(indent)), "\n"+indent)
			}
			out = append(out, l)
			continue
		}
		if strings.HasPrefix(l, "- ") {
			flush()
		}
		words = append(words, strings.Fields(l)...)
	}
	flush()
	return strings.Join(out, "\n") + "\n"
}

// topics lists the pages of the manual in their groups.
func topics() string {
	return strings.Join(measure.Map(manual.Groups, func(g manual.Group) string {
		text := g.Title + "\n"
		for _, name := range g.Topics {
			t, _ := manual.Lookup(name)
			text += fmt.Sprintf("  %-18s \t%s\n", t.Name, t.Title)
		}
		return text
	}), "\n") + "\nnsgate help TOPIC prints a page, nsgate help --search WORD the lines with a word.\n"
}

// helpCommand explains a command, or prints a page of the manual.
func helpCommand(e *env, root *cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: "help [TOPIC|COMMAND]", Short: "read the manual, or what a command does"}
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return subjects(root), cobra.ShellCompDirectiveNoFileComp
	}
	word := c.Flags().String("search", "", "list the lines of the manual with this word")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if *word != "" {
			return search(e, *word)
		}
		if len(args) == 0 {
			_, err := io.WriteString(e.Out, reflow(topics(), max(width(e), 40)))
			return err
		}
		found, rest, err := root.Find(args)
		command := err == nil && found != root && len(rest) == 0
		if t, ok := manual.Lookup(args[0]); ok && len(args) == 1 {
			text := typeset(string(t.Text), min(max(width(e), 40), 120))
			if command {
				text += "\nThe command of this name: nsgate " + found.Name() + " --help\n"
			}
			return e.paged(text)
		}
		if command {
			return found.Help()
		}
		return usageError("there is no topic or command %q; %snsgate help lists them", strings.Join(args, " "),
			meant("", args[0], subjects(root)))
	}
	return c
}

// paged writes a page of the manual: on a terminal through $PAGER where that is set, else as it is.
func (e *env) paged(text string) error {
	if words := strings.Fields(e.getenv("PAGER")); len(words) > 0 && e.Out.Columns() > 0 {
		pager := exec.CommandContext(e.ctx, words[0], words[1:]...)
		pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), os.Stdout, os.Stderr
		err := pager.Run()
		if err == nil {
			return nil
		}
		fmt.Fprintf(e.Err, "nsgate: $PAGER does not run (%s: %v); unset it, or name another\n", words[0], err)
	}
	_, err := io.WriteString(e.Out.As(terminal.Data), text)
	return err
}

func subjects(root *cobra.Command) (names []string) {
	names = measure.Map(manual.Topics(), func(t manual.Topic) string { return t.Name })
	names = append(names, measure.Map(root.Commands(), (*cobra.Command).Name)...)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "__") }) // for completion
	slices.Sort(names)
	return slices.Compact(names)
}

type schemaOptions struct{ given }

func (*schemaOptions) run(_ context.Context, e *env, args arguments) error {
	text, err := manual.Schema(args.own[0])
	var indented bytes.Buffer
	err = cmp.Or(err, json.Indent(&indented, text, "", "  "))
	if err == nil {
		_, err = e.Out.As(terminal.JSON).Write(indented.Bytes())
	}
	return err
}

type explainOptions struct {
	given
	printed
}

func (v *explainOptions) run(_ context.Context, e *env, args arguments) error {
	word := args.own[0]
	found := manual.Explain(word)
	if len(found) == 0 {
		return usageError("the manual has no table with %q; %snsgate help --search %s looks in its text", word,
			meant("", word, manual.Words()), thresholds.JoinCommand(args.own))
	}
	if v.format == "json" {
		return e.encode(found)
	}
	width := max(width(e), 40)
	for i, x := range found {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		fmt.Fprintf(e.Out, "%s  (nsgate help %s)\n", strings.ReplaceAll(x.Word, "`", ""), x.Topic)
		for _, c := range x.Cells {
			text := measure.Either(len(x.Cells) > 1 && c.Name != "", c.Name+": "+c.Text, c.Text)
			fmt.Fprint(e.Out, behind(strings.Join(wrapped(text, width-2), "\n")))
		}
	}
	return nil
}

func behind(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

func search(e *env, word string) error {
	const most = 5 // lines of a topic
	hits := manual.Search(word)
	if len(hits) == 0 {
		return usageError("the manual does not have %q; nsgate help lists its topics", word)
	}
	for len(hits) > 0 {
		topic, n := hits[0].Topic, 1
		for n < len(hits) && hits[n].Topic == topic {
			n++
		}
		fmt.Fprintf(e.Out, "%s\n", topic)
		for _, h := range hits[:min(n, most)] {
			fmt.Fprint(e.Out, behind(reflow(h.Line, max(width(e), 40)-2)))
		}
		if n > most {
			fmt.Fprintf(e.Out, "  %d more lines: nsgate help %s\n", n-most, topic)
		}
		hits = hits[n:]
	}
	return nil
}

type completionOptions struct{ given }

func (*completionOptions) run(_ context.Context, e *env, args arguments) error {
	out := e.Out.As(terminal.Data)
	root := e.command.Root()
	switch args.own[0] {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	}
	return root.GenPowerShellCompletionWithDesc(out)
}

// completed annotates a flag with the values that a shell completes.
const completed = "completed"

func completeFlags(c *cobra.Command) {
	functions := map[string]cobra.CompletionFunc{"report": reports, "workload": workloads}
	words := map[string][]string{"undecided": {"warn", "fail"}, "timeout": {"none"}, "warmup": {"auto", "capture"}}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		known := append(words[f.Name], f.Annotations[completed]...)
		switch {
		case f.Name == "baseline":
			c.MarkFlagDirname(f.Name)
		case functions[f.Name] != nil:
			c.RegisterFlagCompletionFunc(f.Name, functions[f.Name])
		case known != nil:
			c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

func reports(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(word, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	out := measure.Map(report.Formats(report.Report), func(f string) string { return f + "=" })
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

func workloads(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	p, err := readPolicy("")
	if err != nil {
		p = thresholds.Default()
	}
	names := measure.Map(p.Workloads, func(w thresholds.Workload) string { return w.Name })
	names = append(names, app.WorkloadsIn(baselineRoot("", p.File))...)
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
