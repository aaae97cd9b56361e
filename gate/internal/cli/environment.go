package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// typed marks flags that no variable sets, because it is meant for another command. from is the variable that set a flag.
const (
	typed = "typed"
	from  = "from"
)

// fromEnvironment sets each flag that the command line left alone from its variable: --keep-profiles from
// NSGATE_KEEP_PROFILES, except those that are [typed] only. An empty variable counts as unset.
func fromEnvironment(fs *pflag.FlagSet, getenv func(string) string) (wrong error) {
	fs.VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value := getenv(name)
		if f.Changed || value == "" || f.Name == "help" || f.Annotations[typed] != nil || wrong != nil {
			return
		}
		values := []string{value}
		switch {
		case f.Name == "report" || f.Name == "output": // no format has a comma, and few files do
			values = strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == ',' })
		case f.Value.Type() == "stringArray":
			values = strings.Split(strings.TrimSpace(value), "\n")
		}
		for _, v := range values {
			v = strings.TrimSpace(v)
			if err := fs.Set(f.Name, v); err != nil {
				wrong = usageError("%s: %v", name, err)
			}
		}
		fs.SetAnnotation(f.Name, from, []string{name})
	})
	return wrong
}

// source is how a flag was given: "--threshold", or "NSGATE_THRESHOLD" where the variable set it.
func source(fs *pflag.FlagSet, flag string) string {
	if f := fs.Lookup(flag); f != nil && len(f.Annotations[from]) > 0 {
		return f.Annotations[from][0]
	}
	return "--" + flag
}

// misspelt refuses a variable whose name is nearly that of a flag, because it would be ignored silently.
func (e *env) misspelt(root *cobra.Command) error {
	known := []string{proc.MarkName, handover}
	collect(root, &known)
	for _, v := range e.environ() {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "NSGATE_") || value == "" || slices.Contains(known, name) {
			continue
		}
		if near := meant("", name, known); near != "" {
			return usageError("%s is no variable of nsgate; %s", name, strings.TrimSpace(near))
		}
	}
	return nil
}

// collect adds the variables of all flags of the commands below c.
func collect(c *cobra.Command, known *[]string) {
	for _, sub := range c.Commands() {
		sub.Flags().VisitAll(func(f *pflag.Flag) { *known = append(*known, variable(f.Name)) })
		collect(sub, known)
	}
}

func variable(flag string) string {
	return "NSGATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
