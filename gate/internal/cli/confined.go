package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/confine"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
)

// reads are the paths of others that a command reads, nil where it reads none, and the files that it writes. It then
// runs in a confined child, unless a file takes a profiler to read.
type reads func(e *env, v *flags, args arguments) (paths, files []string)

// confine runs the command of a reader in a child, with done true, or confines this process where it is the child.
func (e *env) confine(ctx context.Context, r reads, v *flags, args arguments) (done bool, err error) {
	paths, files := r(e, v, args)
	if len(paths) == 0 || !e.confined && !proc.Guarded() || profile.TakesTool(paths...) {
		return false, nil
	}
	if e.confined {
		l := confine.For(paths...)
		l.Files, l.Dirs = files, []string{os.TempDir()}
		confine.Self(l) // as far as the system can
		return false, nil
	}
	stdout, ok1 := e.std.Out.(*os.File)
	stderr, ok2 := e.std.Err.(*os.File)
	if !ok1 || !ok2 {
		return false, nil
	}
	e.follows.Store(true) // the child ends by itself
	code, err := e.runConfined(ctx, stdout, stderr)
	var ended *confine.Ended
	switch {
	case err == nil:
		return true, &exit{code: code, passed: true}
	case !errors.As(err, &ended): // no child could be started
		e.follows.Store(false)
		return false, nil
	}
	return true, noVerdict(e, "read", ended.Refusal(report.Clean(strings.Join(paths, ", "))))
}

// signal is the one that ended the context of the command.
func (e *env) signal() os.Signal {
	if stop := (interrupted{}); errors.As(context.Cause(e.ctx), &stop) {
		return stop.signal
	}
	return os.Interrupt
}

// written are the files that a command writes beside its report on standard output.
func (v *flags) written(e *env) []string {
	files := slices.Clone(v.outputs)
	for _, f := range v.reports {
		if _, name, ok := strings.Cut(f, "="); ok {
			files = append(files, name)
		}
	}
	for _, name := range []string{v.patch, e.getenv("GITHUB_OUTPUT"), e.getenv("GITHUB_STEP_SUMMARY"),
		e.getenv(handover)} {
		if name != "" {
			files = append(files, name)
		}
	}
	return files
}

// readsArguments are the reads of a command whose arguments are files.
func readsArguments(e *env, v *flags, args arguments) (paths, files []string) {
	return args.own, v.written(e)
}

// readsFrom are the reads of a check, which may be of finished profiles.
func readsFrom(e *env, v *flags, _ arguments) (paths, files []string) {
	if v.from == "" {
		return nil, nil
	}
	if files = v.written(e); app.GitDir(e.ctx) != "" {
		last := lastFile(e.ctx)
		os.MkdirAll(filepath.Dir(last), 0o700)
		files = append(files, last)
	}
	if commit, _ := app.DefaultCommit(e.ctx, e.getenv); commit != "" { // a gate in shadow keeps its score
		root := baselineRoot(v.baseline, cmp.Or(v.policy, findUp(policyFile)))
		files = append(files, filepath.Join(root, app.ShadowFile))
	}
	return []string{v.from}, files
}
