package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

func completionCommand() *command {
	return &command{
		name:    "completion",
		usage:   "bash|zsh|fish",
		summary: "print a script that completes commands and flags in a shell",
		long: `
Examples:

  source <(nsgate completion bash)                                  # in ~/.bashrc
  nsgate completion zsh > "${fpath[1]}/_nsgate"
  nsgate completion fish > ~/.config/fish/completions/nsgate.fish`,
		bind: func(*pflag.FlagSet) func(context.Context, *env, arguments) error {
			return func(_ context.Context, e *env, args arguments) error {
				shells := map[string]func(io.Writer){"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
				if len(args.own) != 1 || shells[args.own[0]] == nil {
					return usageError("completion wants a shell: bash, zsh or fish")
				}
				shells[args.own[0]](e.Out)
				return nil
			}
		},
	}
}

// flags lists the flags of a command.
func (c *command) flags() []*pflag.Flag {
	fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	fs.SortFlags = false
	c.bind(fs)
	var out []*pflag.Flag
	fs.VisitAll(func(f *pflag.Flag) { out = append(out, f) })
	return out
}

// takesValue reports whether a word follows a flag.
func takesValue(f *pflag.Flag) bool { return f.NoOptDefVal == "" }

func bashCompletion(w io.Writer) {
	var names []string
	fmt.Fprint(w, "_nsgate() {\n  local cur=${COMP_WORDS[COMP_CWORD]} words='' i\n"+
		"  for ((i = 1; i < COMP_CWORD; i++)); do\n    [[ ${COMP_WORDS[i]} == -- ]] && return\n  done\n"+
		"  case ${COMP_WORDS[1]} in\n")
	for _, c := range commands() {
		names = append(names, c.name)
		words := []string{"--help"}
		for _, f := range c.flags() {
			words = append(words, "--"+f.Name)
		}
		fmt.Fprintf(w, "    %s) words='%s' ;;\n", c.name, strings.Join(words, " "))
	}
	fmt.Fprintf(w, "  esac\n  if ((COMP_CWORD == 1)); then\n    words='%s --help --version'\n"+
		"  elif [[ ${COMP_WORDS[1]} == completion ]]; then\n    words='bash zsh fish'\n"+
		"  elif [[ $cur != -* ]]; then\n    return\n  fi\n"+
		"  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\n"+
		"complete -o default -F _nsgate nsgate\n", strings.Join(names, " "))
}

func zshCompletion(w io.Writer) {
	text := strings.NewReplacer("'", `'\''`, "[", "(", "]", ")", ":", " -", `\`, "", "`", "").Replace
	fmt.Fprint(w, "#compdef nsgate\n\n_nsgate() {\n  local -a commands=(\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "    '%s:%s'\n", c.name, text(c.summary))
	}
	fmt.Fprint(w, "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"+
		"  case $words[2] in\n    completion) _values shell bash zsh fish ;;\n")
	for _, c := range commands() {
		if c.name == "completion" {
			continue
		}
		fmt.Fprintf(w, "    %s)\n      _arguments -S \\\n", c.name)
		for _, f := range c.flags() {
			repeat, value := "", ""
			if f.Value.Type() == "stringArray" {
				repeat = "*"
			}
			if takesValue(f) {
				value = "=[" + text(f.Usage) + "]:" + f.Name + ":_files"
			} else {
				value = "[" + text(f.Usage) + "]"
			}
			fmt.Fprintf(w, "        '%s--%s%s' \\\n", repeat, f.Name, value)
		}
		fmt.Fprint(w, "        '*:file:_files' ;;\n")
	}
	fmt.Fprint(w, "  esac\n}\n\n_nsgate \"$@\"\n")
}

func fishCompletion(w io.Writer) {
	text := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	for _, c := range commands() {
		fmt.Fprintf(w, "complete -c nsgate -n __fish_use_subcommand -f -a %s -d %s\n", c.name, text(c.summary))
		for _, f := range c.flags() {
			value := ""
			if takesValue(f) {
				value = " -r"
			}
			fmt.Fprintf(w, "complete -c nsgate -n '__fish_seen_subcommand_from %s' -l %s%s -d %s\n", c.name, f.Name, value, text(f.Usage))
		}
	}
	fmt.Fprintln(w, "complete -c nsgate -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'")
}
