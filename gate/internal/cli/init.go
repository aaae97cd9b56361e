package cli

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/thresholds"
)

func initCommand() *command {
	return &command{
		name:    "init",
		usage:   "[flags]",
		summary: "write a commented nsgate.toml and CI files to start from",
		bind: func(fs *pflag.FlagSet) action {
			var i initialization
			fs.StringVar(&i.ci, "ci", "auto", "CI files to write: auto, github, gitlab or none")
			fs.BoolVar(&i.dryRun, "dry-run", false, "print what would be written, and write nothing")
			fs.BoolVar(&i.force, "force", false, "write the files of nsgate anew where they exist")
			return func(_ context.Context, e *env, _ arguments) error {
				if err := oneOf("ci", i.ci, "auto", "github", "gitlab", "none"); err != nil {
					return err
				}
				return i.run(e)
			}
		},
	}
}

// initialization is what init was asked for.
type initialization struct {
	ci            string
	dryRun, force bool
}

// templates are the files that init writes, see [filled].
//
//go:embed init
var templates embed.FS

// lines are what init found, as the lines of its files. The policy has the first workload to begin with and the others as comments; CI
// checks the first.
func (f *finds) lines(file string) map[string]func() string {
	return map[string]func() string{
		"{keys}":      func() string { return keys("", "") },
		"{workloads}": f.workloads,
		"{rule}":      func() string { return keys("rule", "# ") },
		"{build}": func() string {
			switch gitlab := file == "gitlab.yml.tmpl"; {
			case f.Build == "" && gitlab:
				return ""
			case f.Build == "":
				return "      # Build the workload here.\n"
			case gitlab:
				return "  before_script:\n    - " + f.Build + "\n"
			}
			return "      - name: Build the workload\n        run: " + f.Build + "\n"
		},
		"{script}": func() string {
			if f.Build == "" {
				return "    # build the workload here, and below\n"
			}
			return ""
		},
	}
}

// workloads are the tables of the policy.
func (f *finds) workloads() string {
	var b strings.Builder
	mark := ""
	for _, w := range f.Workloads {
		fmt.Fprintf(&b, "\n%[1]s[[workload]]            # %[2]s\n%[1]sname = %[3]q\n%[1]scommand = %[4]q\n", mark, w.Why, w.Name, w.Command)
		if mark == "" {
			b.WriteString("# Short and repeatable: some seconds, fixed input, fixed number of steps.\n" + keys("workload", "") +
				"# Numbers that the program prints, in runs without a profiler; any number of these tables.\n# [[workload.output]]\n" + keys("workload.output", "# "))
		}
		mark = "# "
	}
	return b.String()
}

// starter is a file to start from.
type starter struct {
	name, template string
	// others is set where what lies there is not nsgate's: it is never written anew.
	others bool
}

func (i *initialization) run(e *env) error {
	root := cmp.Or(app.Repository(), ".")
	found := look(os.DirFS(root))
	if i.ci == "auto" {
		remote := app.Origin(root)
		found.github = found.github || hosted(remote, "github")
		found.gitlab = found.gitlab || hosted(remote, "gitlab")
	} else {
		found.github, found.gitlab = i.ci == "github", i.ci == "gitlab"
	}
	starters := []starter{{name: policyFile, template: "nsgate.toml.tmpl"}}
	if found.github {
		starters = append(starters, starter{name: ".github/workflows/nsgate.yml", template: "github.yml.tmpl"})
	}
	if found.gitlab {
		starters = append(starters, starter{name: ".gitlab/nsgate.yml", template: "gitlab.yml.tmpl"},
			starter{name: ".gitlab-ci.yml", template: "gitlab-ci.yml.tmpl", others: true})
	}
	with := *found
	if len(with.Workloads) == 0 {
		with.Workloads = []candidate{{"app", "./app --steps 60", "put your program here"}}
	}
	fresh := false // the policy is new
	for _, f := range starters {
		written, err := i.write(e, root, f, with)
		if err != nil {
			return err
		}
		fresh = fresh || written && f.name == policyFile
	}
	for _, c := range found.Workloads {
		fmt.Fprintf(e.Out, "found  %s (%s)\n", c.Command, c.Why)
	}
	if i.dryRun {
		return nil
	}
	fmt.Fprint(e.Out, "\nNext:\n")
	for n, step := range found.next(fresh) {
		fmt.Fprintf(e.Out, "  %d. %s\n", n+1, step)
	}
	return nil
}

// write writes a file, unless there is one that is to be kept, and says so. In a dry run it prints it.
func (i *initialization) write(e *env, root string, f starter, found finds) (written bool, err error) {
	template, err := templates.ReadFile("init/" + f.template)
	if err != nil {
		return false, err
	}
	text := filled(string(template), found.lines(f.template))
	name := filepath.Join(root, filepath.FromSlash(f.name))
	old, err := os.ReadFile(name)
	exists := !errors.Is(err, fs.ErrNotExist)
	switch {
	case exists && err == nil && string(old) == text:
		fmt.Fprintf(e.Out, "kept   %s, which is the same\n", f.name)
		return false, nil
	case exists && (f.others || !i.force):
		fmt.Fprintf(e.Out, "kept   %s, which exists\n", f.name)
		return false, nil
	case i.dryRun:
		fmt.Fprintf(e.Out, "would write %s:\n\n%s\n", f.name, strings.TrimRight(indent(text), "\n"))
		fmt.Fprintln(e.Out)
		return true, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	err = writeFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err == nil {
		fmt.Fprintf(e.Out, "wrote  %s\n", f.name)
	}
	return err == nil, err
}

// indent sets lines off from those of nsgate.
func indent(text string) string {
	return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(text, "    $1")
}

// next is what is left to do. fresh is set where the policy is new.
func (f *finds) next(fresh bool) (steps []string) {
	switch {
	case fresh && len(f.Workloads) > 0:
		steps = append(steps, "look at the workloads in "+policyFile+": short and repeatable, fixed input, fixed number of steps")
	case fresh:
		steps = append(steps, "name your program in "+policyFile+", under [[workload]]")
	}
	steps = append(steps, "nsgate doctor     on the GPU machine: what is missing there",
		"nsgate record     on the code to compare with; commit .nsgate", "nsgate check      before a merge")
	switch {
	case f.github:
		return append(steps, "set the runner's labels in .github/workflows/nsgate.yml and commit it",
			"where only CI has the GPU: Actions, nsgate, Run workflow records there; commit the patch that it leaves")
	case f.gitlab:
		first := "set the runner's tags in .gitlab/nsgate.yml and commit it"
		if f.pipeline {
			first = "include .gitlab/nsgate.yml in .gitlab-ci.yml: include: [{local: .gitlab/nsgate.yml}]"
		}
		return append(steps, first, "where only CI has the GPU: the manual job nsgate-record records there; commit the patch that it leaves")
	}
	return append(steps, "nsgate init --ci github or gitlab writes a workflow or a job")
}

// keys writes the keys of a table as comments, what each means behind it: behind mark those with their default, behind #
// those that have none, as an example.
func keys(table, mark string) string {
	var b strings.Builder
	for _, k := range thresholds.Keys() {
		if k.Table != table || k.Table == "workload" && (k.Name == "name" || k.Name == "command") {
			continue
		}
		setting := "# " + k.Name + " = " + k.Example
		if k.Literal() {
			setting = mark + k.Name + " = " + k.Default
		}
		fmt.Fprintf(&b, "%-23s # %s\n", setting, k.Doc)
	}
	return b.String()
}
