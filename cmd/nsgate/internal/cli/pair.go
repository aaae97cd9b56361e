package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/thresholds"
)

// baseFlags name another build of the workload, to be measured beside the head.
type baseFlags struct {
	command, ref, build string
	paired              bool
	fs                  *pflag.FlagSet
}

func (b *baseFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&b.command, "base-cmd", "", "command of a base build to measure by turns with the head (default: the workload's own)")
	fs.StringVar(&b.ref, "base-ref", "", "git revision of a base build: checked out in a temporary worktree, and the workload run there")
	fs.StringVar(&b.build, "build", "", "shell command that builds the worktree of --base-ref, run where nsgate runs here")
	fs.BoolVar(&b.paired, "paired", false, "measure the base build at once, whatever the committed baseline says")
	b.fs = fs
}

// commandFlags hold command lines, which may hold secrets.
var commandFlags = []string{"--base-cmd", "--build"}

// withoutCommands is a command line without what [commandFlags] were given, and without arguments of nsys that may be
// variables of the workload (--env-var).
func withoutCommands(line []string) []string {
	line = slices.Clone(line)
	for i := 0; i < len(line) && line[i] != "--"; i++ {
		name, value, joined := strings.Cut(line[i], "=")
		at := i
		if !joined && i+1 < len(line) {
			at, value = i+1, line[i+1]
		}
		instead := ""
		switch {
		case slices.Contains(commandFlags, name):
			instead = "COMMAND"
		case name == "--nsys-arg" && (!strings.HasPrefix(value, "--") || strings.HasPrefix(value, "--env-var")):
			instead = "ARGUMENT"
		default:
			continue
		}
		if joined {
			instead = name + "=" + instead
		}
		line[at] = instead
		i = at
	}
	return line
}

// baseBuild is a base build that is known and not yet there.
type baseBuild struct {
	build    collect.Build
	revision *collect.Revision // nil for a build that lies ready
	script   string            // builds the revision, "" where nothing needs to be built
	warnings []string
}

// resolve finds out what the base build of a job is, nil for none. It changes nothing yet.
func (b *baseFlags) resolve(ctx context.Context, e *env, m *measureFlags, j *job) (*baseBuild, error) {
	for _, f := range []struct{ name, value string }{{"base-cmd", b.command}, {"base-ref", b.ref}, {"build", b.build}} {
		if b.fs.Changed(f.name) && strings.TrimSpace(f.value) == "" {
			return nil, usageError("--%s is empty; leave it out, or say which base is meant", f.name)
		}
	}
	switch {
	case b.build != "" && b.ref == "":
		return nil, usageError("--build builds the worktree of --base-ref, which is missing")
	case b.command == "" && b.ref == "" && b.paired:
		return nil, usageError("--paired needs a base build: --base-ref or --base-cmd")
	case b.command == "" && b.ref == "":
		return nil, nil
	case m.from != "":
		return nil, usageError("--from judges finished profiles: there is no head to measure a base build beside")
	}
	base := &baseBuild{build: collect.Build{Command: j.command, Dir: j.dir}, script: b.build}
	if b.command != "" {
		words, err := thresholds.SplitCommand(b.command)
		if err != nil {
			return nil, usageError("--base-cmd: %v", err)
		}
		if len(words) == 0 {
			return nil, usageError("--base-cmd is empty")
		}
		base.build.Command = append(slices.Clone(j.launcher), words...)
	}
	if b.ref == "" {
		return base, nil
	}
	var err error
	if base.revision, err = collect.FindRevision(ctx, b.ref); err != nil {
		return nil, usageError("--base-ref: %v", err)
	}
	return base, base.separate(e.getenv)
}

// separate refuses a base whose command leads into the head's checkout: head would be compared with head. Where only
// the environment does, that is a warning.
func (b *baseBuild) separate(getenv func(string) string) error {
	words := slices.Clone(b.build.Command)
	if path, err := exec.LookPath(words[0]); err == nil && !strings.ContainsRune(words[0], filepath.Separator) {
		words = append(words, path)
	}
	for _, w := range words {
		if b.revision.Holds(w) {
			return usageError("%s lies in this checkout, so the base would use the head's: name it relative to the "+
				"working directory, or give the base's own command with --base-cmd", w)
		}
	}
	for _, name := range []string{"PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD"} {
		if slices.ContainsFunc(filepath.SplitList(getenv(name)), b.revision.Holds) {
			b.warnings = append(b.warnings, name+" leads into this checkout: both builds use what lies there")
		}
	}
	return nil
}

// commit is the base's commit as sessions carry it, "" where it is not known.
func (b *baseBuild) commit() string {
	if b.revision == nil {
		return ""
	}
	return b.revision.Commit[:12]
}

// ready checks the base out and builds it, where that is called for. The caller calls remove when it is done, also
// after an error.
func (b *baseBuild) ready(ctx context.Context, e *env, quiet bool) (build collect.Build, remove func(), err error) {
	build, remove = b.build, func() {}
	if b.revision == nil {
		return build, remove, nil
	}
	say := func(what string) {
		if !quiet {
			fmt.Fprintf(e.Err, "nsgate: %s the base %s\n", what, b.revision.Ref)
		}
	}
	say("checking out")
	tree, err := b.revision.Checkout(ctx)
	if err != nil {
		return build, remove, err
	}
	remove = func() {
		if err := tree.Close(); err != nil {
			fmt.Fprintln(e.Err, "nsgate: warning: the base's worktree could not be removed:", err)
		}
	}
	if b.script != "" {
		say("building")
		err := tree.Build(ctx, b.script)
		var failed *collect.BuildError
		if errors.As(err, &failed) {
			e.showOutput("output of the base's build", failed.Output)
		}
		if err != nil {
			return build, remove, err
		}
	}
	build.Dir, err = tree.Counterpart(build.Dir)
	return build, remove, err
}

// printPlan is what --dry-run shows of the way to the base build.
func (b *baseBuild) printPlan(e *env) {
	if b.revision == nil {
		return
	}
	fmt.Fprintln(e.Out, quoteAll(b.revision.CommandLine()))
	if b.script != "" {
		fmt.Fprintf(e.Out, "sh -c %s  # in the worktree\n", quote(b.script))
	}
}
