package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/thresholds"
)

// given refuses flags of the base build that are given and empty.
func (v *flags) given() error {
	for _, name := range []string{"base-cmd", "base-ref", "build", "base-dir"} {
		if f := v.fs.Lookup(name); f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return usageError("--%s is empty; leave it out, or say which base is meant", name)
		}
	}
	return nil
}

// baseOf is the base build of a job, nil for none. Nothing is checked out yet.
func (v *flags) baseOf(ctx context.Context, e *env, j *job) (*app.Base, error) {
	if err := v.given(); err != nil {
		return nil, err
	}
	if v.baseCommand == "" && v.baseRef == "" && v.paired {
		v.baseRef = j.Policy.Base
	}
	if v.baseRef != "" && !v.fs.Changed("build") {
		v.script = j.Policy.Build
	}
	switch {
	case v.script != "" && v.baseRef == "":
		return nil, usageError("--build builds the worktree of --base-ref, which is missing")
	case v.baseDir != "" && v.baseRef == "":
		return nil, usageError("--base-dir has a checkout of --base-ref, which is missing")
	case v.baseCommand == "" && v.baseRef == "" && v.paired:
		return nil, usageError("--paired needs a base build: --base-ref or --base-cmd, or base = \"origin/main\" in " +
			"nsgate.toml")
	case v.baseCommand == "" && v.baseRef == "":
		return nil, nil
	case v.from != "":
		return nil, usageError("--from judges finished profiles: there is no head to measure with a base build")
	}
	base := &app.Base{Build: j.build, Script: v.script}
	if v.baseCommand != "" {
		var w thresholds.Workload
		if err := w.Set("command", v.baseCommand, ""); err != nil {
			return nil, usageError("%s: %w", source(v.fs, "base-cmd"), errors.Unwrap(err))
		}
		if base.Build.Server != nil {
			base.Build.Server = w.Command
		} else {
			base.Build.Command = slices.Concat(j.launcher, w.Command)
		}
	}
	return base, v.place(ctx, e, base)
}

// place finds the revision of the base build, where one was named.
func (v *flags) place(ctx context.Context, e *env, base *app.Base) error {
	if v.baseRef == "" {
		return nil
	}
	if err := base.At(ctx, v.baseRef); err != nil {
		return usageError("--base-ref: %v", err)
	}
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
