package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// lay sets the keys for which flags of their names were given. Errors name the flag or its variable.
func (v *given) lay(names string, set func(key, value, flag string) error) error {
	for _, name := range strings.Fields(names) {
		f := v.fs.Lookup(name)
		if f == nil || f.Value.String() == "" {
			continue
		}
		flag := source(v.fs, name)
		if err := set(strings.ReplaceAll(name, "-", "_"), f.Value.String(), flag); err != nil {
			return usageError("%s: %w", flag, errors.Unwrap(err))
		}
	}
	return nil
}

// choose finds the workloads that are meant: those of the policy file that --workload names, by patterns too, else all
// that can be run. A command line or finished profiles (given) are of one; a name that the file lacks has no settings.
func (v *stored) choose(p *thresholds.Policy, workloads words, given bool) (chosen []thresholds.Workload, err error) {
	runnable := slices.DeleteFunc(slices.Clone(p.Workloads),
		func(w thresholds.Workload) bool { return w.Command == nil })
	switch {
	case len(workloads) > 0:
	case !given && len(p.Workloads) > 1 && len(runnable) > 0:
		return runnable, nil
	default:
		known, where := v.workloads(p)
		if len(known) > 1 {
			return nil, usageError("%s has several workloads: say which one is meant with --workload (%s)", where,
				names(known))
		}
		return known, nil
	}
	for _, pattern := range workloads {
		found := false
		for _, w := range p.Workloads {
			if !thresholds.Glob(pattern).Match(w.Name) {
				continue
			}
			found = true
			if !slices.ContainsFunc(chosen, func(c thresholds.Workload) bool { return c.Name == w.Name }) {
				chosen = append(chosen, w)
			}
		}
		switch {
		case found:
		case given && !strings.ContainsAny(pattern, "*?"):
			w := thresholds.Workload{}
			if err := w.Set("name", pattern, ""); err != nil {
				return nil, usageError("%s: %w", source(v.fs, "workload"), errors.Unwrap(err))
			}
			chosen = append(chosen, w)
		case len(p.Workloads) == 0:
			return nil, usageError("no workload %q: there is no %s that names any; give its command after --", pattern,
				policyFile)
		default:
			return nil, usageError("no workload %q in %s; %sit has %s; the command of another goes after --", pattern,
				p.File, meant("", pattern, strings.Split(names(p.Workloads), ", ")), names(p.Workloads))
		}
	}
	if given && len(chosen) > 1 {
		return nil, usageError("--workload names several workloads (%s), and what is given is of one", names(chosen))
	}
	return chosen, nil
}

// workloads are those of the policy file, or else of the baselines, and where they stand; else one called default.
func (v *stored) workloads(p *thresholds.Policy) (known []thresholds.Workload, where string) {
	if len(p.Workloads) > 0 {
		return p.Workloads, p.File
	}
	where = baselineRoot(v.baseline, p.File)
	names := app.WorkloadsIn(where)
	if len(names) == 0 {
		names = []string{"default"}
	}
	return measure.Map(names, func(name string) thresholds.Workload { return thresholds.Workload{Name: name} }), where
}

// baselines is the directory of all baselines. That of a single workload is refused: nothing would be found there.
func (v *stored) baselines(p *thresholds.Policy) (root string, err error) {
	root = baselineRoot(v.baseline, p.File)
	all, workload, _, err := app.BaselineAt(root, v.baseline != "")
	if err != nil {
		return "", usageError("%w", err)
	} else if all != "" {
		return "", usageError("%s: %s holds baselines of workload %s alone; name the directory of all workloads, %s",
			source(v.fs, "baseline"), root, workload, all)
	}
	return root, nil
}

func names(workloads []thresholds.Workload) string {
	return strings.Join(measure.Map(workloads, func(w thresholds.Workload) string { return w.Name }), ", ")
}

// baseOf is the base build of a job, nil for none. Nothing is checked out yet.
func (v *checkOptions) baseOf(ctx context.Context, e *env, j *job) (*app.Base, error) {
	if v.baseCommand == "" && v.baseRef == "" && v.paired {
		v.baseRef = j.Policy.Base
	}
	if v.baseRef != "" && !v.fs.Changed("build") {
		v.script = j.Policy.Build
	}
	switch {
	case v.baseRef == "" && (v.onLine("build") || v.onLine("base-dir")):
		return nil, usageError("--build and --base-dir are about the worktree of --base-ref, which is missing")
	case v.baseCommand == "" && v.baseRef == "" && v.onLine("paired"):
		return nil, usageError("--paired needs a base build: --base-ref or --base-cmd, or base = \"origin/main\" in " +
			"nsgate.toml")
	case v.baseCommand == "" && v.baseRef == "":
		return nil, nil
	}
	base := &app.Base{Build: j.build, Script: v.script}
	if v.baseCommand != "" {
		var w thresholds.Workload
		if err := w.Set("command", v.baseCommand, ""); err != nil {
			return nil, usageError("%s: %w", source(v.fs, "base-cmd"), errors.Unwrap(err))
		}
		if base.Build.Served() {
			base.Build.Server = w.Command
		} else {
			base.Build.Command = slices.Concat(j.launcher, w.Command)
		}
	}
	return base, v.place(ctx, e, base)
}

// place finds the revision of the base build, where one was named.
func (v *checkOptions) place(ctx context.Context, e *env, base *app.Base) error {
	if v.baseRef == "" {
		return nil
	}
	if err := base.At(ctx, v.baseRef); err != nil {
		return usageError("--base-ref: %v", err)
	}
	base.Held(e.reviewed())
	if v.baseDir != "" {
		if err := base.In(ctx, v.baseDir); err != nil {
			return usageError("%s: %w", source(v.fs, "base-dir"), err)
		}
	}
	if err := base.Separate(e.getenv); err != nil {
		return usageError("%w, or give the base's own command with --base-cmd", err)
	}
	return nil
}
