package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsgate/nsgate/thresholds"
)

type command struct {
	use     string // name and usage
	summary string // one line
	flags   string // names of its flags, in the order of the help
	// own is how many arguments there are before "--", and wants says which. optional ones may be left out.
	own      int
	optional bool
	wants    string
	sides    []string // names of two arguments, nil for others
	words    []string // the only values of the argument, nil for any
	workload bool     // a workload may follow "--"
	parts    []*command
	formats  []string // of what it prints, nil where there is no choice
	reads    reads    // nil for a command that reads no files of others
	run      func(ctx context.Context, e *env, v *flags, args arguments) error
}

func (c *command) name() string {
	name, _, _ := strings.Cut(c.use, " ")
	return name
}

// check refuses other arguments than the command takes.
func (a arguments) check(c *command) error {
	name := c.name()
	switch n := len(a.own); {
	case n > 0 && len(c.parts) > 0:
		known := mapped(c.parts, (*command).name)
		return usageError("nsgate %s does not know %q; %sit knows %s", name, a.own[0], meant("", a.own[0], known), strings.Join(known, ", "))
	case n > c.own && c.workload:
		return c.misplaced(a.own)
	case n == 1 && c.sides != nil:
		return usageError("%s wants %s and got %q alone: %s is missing", name, c.wants, a.own[0], c.sides[1])
	case n > c.own || n < c.own && !c.optional:
		return usageError("%s wants %s and got %d", name, cmp.Or(c.wants, "no arguments"), n)
	case c.words != nil && !slices.Contains(c.words, a.own[0]):
		return usageError("%s: %q is none of %s", name, a.own[0], strings.Join(c.words, ", "))
	case a.workload != nil && !c.workload:
		return usageError("nsgate %s takes no workload after --", name)
	case a.workload != nil && len(a.workload) == 0:
		return usageError("no workload after --; example: nsgate %s -- ./app --steps 60", name)
	}
	return nil
}

// misplaced is the error for a program among the arguments, not after "--".
func (c *command) misplaced(words []string) error {
	line := slices.Insert(slices.Clone(words[:c.own+1]), c.own, "--")
	return usageError("unexpected argument %q; put the program after --: nsgate %s %s …", words[c.own], c.name(),
		thresholds.JoinCommand(line))
}

// cobra is the command as part of the tree; above is the name of the command it is a part of, with a hyphen.
func (c *command) cobra(e *env, above string) *cobra.Command {
	text, examples, _ := strings.Cut(helpText(above+c.name()), "\nExamples:\n\n")
	out := &cobra.Command{Use: c.use, Short: c.summary, Long: text, Example: examples, Args: cobra.ArbitraryArgs, ValidArgs: c.words, DisableFlagsInUseLine: true}
	for _, p := range c.parts {
		out.AddCommand(p.cobra(e, c.name()+"-"))
	}
	fs := out.Flags()
	fs.SortFlags = false
	v := c.bindFlags(above+c.name(), fs)
	fs.BoolP("help", "h", false, "show this help; --help all explains every flag")
	completeFlags(out)
	out.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if words := fs.Args(); c.workload && len(words) > c.own && fs.ArgsLenAtDash() < 0 { // the flag is the program's
			return c.misplaced(words)
		}
		return e.misused(unknownFlag(out, err))
	})
	out.RunE = func(_ *cobra.Command, words []string) error {
		if err := e.misspelt(out.Root()); err != nil {
			return err
		}
		if err := fromEnvironment(fs, e.getenv); err != nil {
			return e.misused(err)
		}
		a := arguments{own: words}
		if at := fs.ArgsLenAtDash(); at >= 0 {
			a.own, a.workload = words[:at], words[at:]
		}
		e.command, e.args = out, a
		if err := a.check(c); err != nil {
			return err
		}
		e.findHost(v)
		if c.reads != nil {
			if done, err := e.confine(out.Context(), c.reads, v, a); done {
				return err
			}
		}
		if c.formats != nil {
			if err := v.check(e); err != nil && v.bisecting {
				return forGit(out.Context(), nil, err)
			} else if err != nil {
				return err
			}
		}
		return c.run(out.Context(), e, v, a)
	}
	return out
}
