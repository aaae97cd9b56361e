package cli

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/thresholds"
)

// templates are the files that init writes; {workloads} in them stands for the programs that it found.
//
//go:embed init
var templates embed.FS

type starter struct {
	name, template string
	wanted         bool
	others         bool // it is not nsgate's own, and never overwritten
}

type initOptions struct {
	given
	printed
	trial
	ci     string `flag:"ci" words:"auto github gitlab none"`
	forks  bool   `flag:"fork-comments"`
	force  bool   `flag:"force"`
	action string `flag:"action"` // revision of nsgate that CI files name
	anew   bool   // the policy is the template, with no key changed
}

// Beginning is the JSON of init.
type Beginning struct {
	Written map[string]bool `json:"written"`        // by file, false for one that stays as it was
	Next    []string        `json:"next,omitempty"` // steps, in this order
}

func (v *initOptions) run(ctx context.Context, e *env, args arguments) error {
	root := cmp.Or(app.Repository(), ".")
	found := look(root)
	told, written := e.aside(v.format), map[string]bool{} // by file
	policy := app.Here(filepath.Join(root, policyFile))
	if args.workload != nil {
		if err := v.take(args.workload, found, root, policy); err != nil {
			return err
		}
	}
	if v.ci == "auto" {
		remote := app.Origin(ctx, root)
		found.github = found.github || hosted(remote, "github")
		found.gitlab = found.gitlab || hosted(remote, "gitlab")
	} else {
		found.github, found.gitlab = v.ci == "github", v.ci == "gitlab"
	}
	fresh := false // the policy is new
	for _, f := range v.starters(found) {
		did, err := v.write(e, root, f, found)
		if err != nil {
			return err
		}
		written[f.name], fresh = did && !v.dryRun, fresh || did && f.name == policyFile
	}
	for _, c := range found.workloads {
		fmt.Fprintf(e.Out, "found  %s (%s)\n", c.command, c.why)
	}
	if v.dryRun {
		return told(true, Beginning{Written: written})
	}
	measure := args.workload != nil
	var failed error
	if measure {
		fmt.Fprintln(e.Out)
		failed = found.record(ctx, e, policy)
	}
	if !released().MatchString(thisBuild().Version) && v.action == "" && (found.github || found.gitlab) {
		fmt.Fprintf(e.Err, "nsgate: this build is of no release: the CI files name %s; --action REF names another "+
			"revision\n", cmp.Or(thisBuild().Commit, "main"))
	}
	fmt.Fprint(e.Out, "\nNext:\n")
	next := found.next(fresh, measure && failed == nil, policy)
	for n, step := range next {
		fmt.Fprintf(e.Out, "  %d. %s\n", n+1, step)
	}
	return cmp.Or(failed, told(true, Beginning{written, next}))
}

// take makes a command the only workload. A policy with changed keys is an error without --force.
func (v *initOptions) take(command []string, found *finds, root, policy string) error {
	c, err := named(root, command)
	if err != nil {
		return err
	}
	untouched := []string{v.fill("nsgate.toml.tmpl", found), v.fill("nsgate.toml.tmpl", &finds{})}
	found.workloads = []candidate{c}
	text, err := input.Read(policy, maxPolicy)
	_, is, _ := strings.Cut(string(text), "\n") // behind the line that names the revision, see --action
	same := func(s string) bool { return s[strings.Index(s, "\n")+1:] == is }
	v.anew = err == nil && slices.ContainsFunc(untouched, same)
	if !errors.Is(err, fs.ErrNotExist) && !v.force && !v.anew {
		return usageError("%s exists: name the program in it, or record without it: nsgate record -- %s", policy,
			thresholds.JoinCommand(command))
	}
	return nil
}

// starters are the files that are written: the policy, and those of the CI hosts.
func (v *initOptions) starters(found *finds) []starter {
	return slices.DeleteFunc([]starter{
		{policyFile, "nsgate.toml.tmpl", true, false},
		{".github/workflows/nsgate.yml", "github.yml.tmpl", found.github, false},
		{".github/workflows/nsgate-comment.yml", "github-comment.yml.tmpl", v.forks, false},
		{".gitlab/nsgate.yml", "gitlab.yml.tmpl", found.gitlab, false},
		{".gitlab-ci.yml", "gitlab-ci.yml.tmpl", found.gitlab, true},
	}, func(s starter) bool { return !s.wanted })
}

// named is the workload of a command: its name that of the script or program, its directory the working directory.
func named(root string, command []string) (candidate, error) {
	program := command[0]
	if i := slices.IndexFunc(command, func(s string) bool { return strings.HasSuffix(s, ".py") }); i >= 0 {
		program = strings.TrimSuffix(command[i], ".py")
	}
	name := strings.Trim(noName().ReplaceAllString(filepath.Base(program), "-"), "-._")
	c := candidate{name: cmp.Or(name[:min(len(name), 64)], "app"), command: thresholds.JoinCommand(command),
		why: "named on the command line", dir: git.Within(root, ".")}
	back, err := thresholds.Parse(policyFile, []byte((&finds{workloads: []candidate{c}}).tables()))
	if err != nil || !slices.Equal(back.Workloads[0].Command, command) || cmp.Or(back.Workloads[0].Dir, ".") != c.dir {
		return c, usageError("nsgate.toml cannot hold %s, in the directory %s, as they are: put the command into a "+
			"script with a plain name, and name that", report.Clean(c.command), report.Clean(c.dir))
	}
	return c, nil
}

// fill is a template with the workloads, and with the revision of nsgate.
func (v *initOptions) fill(template string, found *finds) string {
	text, err := templates.ReadFile("init/" + template)
	if err != nil {
		panic(err) // of a file that is compiled in
	}
	b := thisBuild()
	release := measure.Either(released().MatchString(b.Version), b.Version, "unreleased")
	major, _, _ := strings.Cut(release, ".")
	ref := cmp.Or(v.action, strings.TrimPrefix(major, "unreleased"), b.Commit, "main")
	return strings.NewReplacer("{workloads}\n", found.tables(), "{action}", ref, "{schema}", cmp.Or(v.action, "main"),
		"{version}", release).Replace(string(text))
}

// released is the version of a release: v1.2.3.
var released = input.Pattern(`^v\d+\.\d+\.\d+$`)

// write writes a file, unless there is one that is to be kept, and says so. In a dry run it prints it.
func (v *initOptions) write(e *env, root string, f starter, found *finds) (written bool, err error) {
	text := v.fill(f.template, found)
	name := filepath.Join(root, filepath.FromSlash(f.name))
	shown := report.Clean(app.Here(name))
	old, err := input.Read(name, maxPolicy)
	exists := !errors.Is(err, fs.ErrNotExist)
	switch {
	case exists && err == nil && string(old) == text:
		fmt.Fprintf(e.Out, "kept   %s, which is the same\n", shown)
		return false, nil
	case exists && (f.others || !v.force && !(v.anew && f.name == policyFile)):
		fmt.Fprintf(e.Out, "kept   %s, which exists\n", shown)
		return false, nil
	case v.dryRun:
		text = indented().ReplaceAllString(text, "    $1")
		fmt.Fprintf(e.Out, "would write %s:\n\n%s\n\n", shown, strings.TrimRight(text, "\n"))
		return true, nil
	}
	if err := git.Outward(e.ctx, name); err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	if err := writeText(name, text); err != nil {
		return false, err
	}
	fmt.Fprintf(e.Out, "wrote  %s\n", shown)
	return true, nil
}

// record records the baseline, and writes numbers that every run printed as comments into the new policy.
func (f *finds) record(ctx context.Context, e *env, policy string) error {
	c := &command{flags: measureNames, options: fresh[recordOptions]}
	v := c.bindFlags("record", pflag.NewFlagSet("record", pflag.ContinueOnError)).(*recordOptions)
	suggested, err := v.all(ctx, e, nil)
	if err != nil || len(suggested) == 0 {
		return err
	}
	text, err := input.Read(policy, maxPolicy)
	if err != nil {
		return err
	}
	before := f.tables()
	f.outputs = suggested
	if err := writeText(policy, strings.Replace(string(text), before, f.tables(), 1)); err != nil {
		return err
	}
	for _, o := range f.outputs {
		fmt.Fprintf(e.Out, "found  output %q, printed once by every run: a suggestion in %s\n", o.Name, policy)
	}
	return nil
}

// indented is the begin of a line that is not empty.
var indented = input.Pattern(`(?m)^(.)`)

// tables are the workloads of the policy: the first that was found, and the others as comments.
func (f *finds) tables() string {
	if len(f.workloads) == 0 {
		return "# [[workload]]\n# name = \"app\"\n# command = \"./app --steps 60\"   # your program: some seconds, " +
			"fixed input, fixed number of steps\n"
	}
	var b strings.Builder
	mark := ""
	for _, w := range f.workloads {
		fmt.Fprintf(&b, "%[1]s[[workload]]            # %[2]s\n%[1]sname = %[3]q\n%[1]scommand = %[4]q\n", mark, w.why,
			w.name, w.command)
		if w.dir != "" && w.dir != "." {
			fmt.Fprintf(&b, "%sdir = %q\n", mark, w.dir)
		}
		for _, o := range f.outputs {
			better := map[measure.Direction]string{measure.Higher: "higher", measure.Lower: "lower"}[o.Better]
			fmt.Fprintf(&b, "\n# [[workload.output]]   # printed once by every run\n# name = %q\n# pattern = '%s'\n# "+
				"better = %q         # higher or lower\n", o.Name, o.Pattern, better)
		}
		mark = "# "
	}
	return b.String()
}

// next are the steps that are left. fresh is set if the policy is new, recorded if a baseline was recorded.
func (f *finds) next(fresh, recorded bool, policy string) (steps []string) {
	switch {
	case recorded:
		steps = append(steps, "commit "+policy+" and "+app.DefaultRoot)
	case fresh && len(f.workloads) > 0:
		steps = append(steps, "look at the workload in "+policy+": some seconds, fixed input, fixed number of steps")
	case fresh:
		steps = append(steps, "name your program in "+policy+", under [[workload]]")
	}
	if !recorded {
		steps = append(steps, "nsgate doctor     on the GPU machine: what is missing there",
			"nsgate record     on the code to compare with; commit "+app.DefaultRoot)
	}
	steps = append(steps, "nsgate check      before a merge")
	switch {
	case f.github:
		return append(steps,
			"build the program and set the runner's labels in .github/workflows/nsgate.yml, and commit it")
	case f.gitlab:
		step := "build the program and set the runner's tags in .gitlab/nsgate.yml, and commit it"
		if f.pipeline {
			step += "; include it in .gitlab-ci.yml: include: [{local: .gitlab/nsgate.yml}]"
		}
		return append(steps, step)
	}
	return append(steps, "nsgate init --ci github or gitlab writes a workflow or a job")
}

type finds struct {
	github, gitlab bool
	pipeline       bool        // there is a .gitlab-ci.yml, and it does not include nsgate's job
	workloads      []candidate // programs that are there, at most maxCandidates
	outputs        []measure.Output
}

// candidate is a program to measure; dir is its directory below the root, with slashes, "" for the root.
type candidate struct{ name, command, dir, why string }

// noName matches what a workload's name cannot hold.
var noName = input.Pattern(`[^A-Za-z0-9._-]+`)

// hosted reports whether a remote's host is of this name: github.com, gitlab.example.org.
func hosted(remote, name string) bool {
	host := regexp.MustCompile(`^(?:[^:]*://)?(?:[^@]*@)?([^/:]*)`).FindStringSubmatch(remote)[1]
	return slices.Contains(strings.Split(host, "."), name)
}

var thirdParty = []string{"node_modules", "vendor", "third_party", "3rdparty", "external", "venv", "site-packages"}

// look finds the CI host, and the programs below root that use a GPU for certain: executables with device code, and
// Python files that import a GPU library with a main guard or the name of a program (train.py). It sees 20,000 files.
func look(root string) *finds {
	const maxCandidates = 5
	found := &finds{}
	plainPath := regexp.MustCompile(`^[A-Za-z0-9._+/-]+$`) // it goes into a file and a shell
	files := 0
	filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		file, _ := filepath.Rel(root, at)
		file = filepath.ToSlash(file)
		base := path.Base(file)
		switch {
		case err != nil:
			return nil
		case entry.IsDir():
			found.github = found.github || file == ".github"
			found.gitlab = found.gitlab || file == ".gitlab"
			if base != "." && strings.HasPrefix(base, ".") || strings.Count(file, "/") > 4 ||
				slices.Contains(thirdParty, base) {
				return fs.SkipDir
			}
			return nil
		case file == ".gitlab-ci.yml":
			text, _ := input.Read(at, 1<<20)
			found.gitlab, found.pipeline = true, !bytes.Contains(text, []byte(".gitlab/nsgate.yml"))
		}
		if files++; files > 20_000 || len(found.workloads) == maxCandidates {
			return fs.SkipAll
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && plainPath.MatchString(file) {
			found.program(root, file, info)
		}
		return nil
	})
	return found
}

// program adds a file that is a program of a GPU, under a name that no other has.
func (f *finds) program(root, file string, info fs.FileInfo) {
	c := candidate{name: noName().ReplaceAllString(strings.TrimSuffix(path.Base(file), ".py"), "-")}
	switch {
	case path.Ext(file) == ".py" && !strings.HasPrefix(path.Base(file), "test_") && info.Size() < 1<<20:
		text, _ := input.Read(filepath.Join(root, file), 1<<20)
		library := gpuImport().FindSubmatch(text)
		if library == nil || !mainGuard().Match(text) && !mainName().MatchString(path.Base(file)) {
			return
		}
		c.why, c.command = "imports "+string(library[1]), "python3 "+file
		if _, err := os.Stat(filepath.Join(root, path.Dir(file), "__init__.py")); err == nil { // a module of a package
			c.command = "python3 -m " + strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
		}
	case info.Mode()&0o111 != 0 && !strings.Contains(path.Base(file), ".so") &&
		app.HoldsDeviceCode(filepath.Join(root, file)):
		c.why, c.command = "has device code", file
		if !strings.Contains(file, "/") {
			c.command = "./" + file
		}
	default:
		return
	}
	if !slices.ContainsFunc(f.workloads, func(other candidate) bool { return other.name == c.name }) {
		f.workloads = append(f.workloads, c)
	}
}

var (
	gpuImport = input.Pattern(`(?m)^\s*(?:import|from)\s+(torch|jax|triton|cupy|numba\.cuda|tensorflow)\b`)
	mainGuard = input.Pattern(`(?m)^if __name__ == ['"]__main__['"]`)
	mainName  = input.Pattern(`^(?:train|bench|benchmark|infer|inference|main|run)(?:_\w+)?\.py$`)
)
