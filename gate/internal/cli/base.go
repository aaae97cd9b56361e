package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/thresholds"
)

// baseFlags name a base build of the workload, to be measured interleaved with the head.
type baseFlags struct {
	command, ref, build, dir string
	paired                   bool
	fs                       *pflag.FlagSet
}

// given refuses flags of the base build that are given and empty.
func (b *baseFlags) given() error {
	for _, name := range []string{"base-cmd", "base-ref", "build", "base-dir"} {
		if f := b.fs.Lookup(name); f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return usageError("--%s is empty; leave it out, or say which base is meant", name)
		}
	}
	return nil
}

// resolve is the base build of a job, nil for none. Nothing is checked out yet.
func (b *baseFlags) resolve(ctx context.Context, e *env, from string, j *job) (*app.Base, error) {
	if err := b.given(); err != nil {
		return nil, err
	}
	if b.command == "" && b.ref == "" && b.paired {
		b.ref = j.Policy.Base
	}
	if b.ref != "" && !b.fs.Changed("build") {
		b.build = j.Policy.Build
	}
	switch {
	case b.build != "" && b.ref == "":
		return nil, usageError("--build builds the worktree of --base-ref, which is missing")
	case b.dir != "" && b.ref == "":
		return nil, usageError("--base-dir has a checkout of --base-ref, which is missing")
	case b.command == "" && b.ref == "" && b.paired:
		return nil, usageError("--paired needs a base build: --base-ref or --base-cmd, or base = \"origin/main\" in " +
			"nsgate.toml")
	case b.command == "" && b.ref == "":
		return nil, nil
	case from != "":
		return nil, usageError("--from judges finished profiles: there is no head to measure with a base build")
	}
	base := &app.Base{Build: j.build, Script: b.build}
	if b.command != "" {
		var w thresholds.Workload
		if err := w.Set("command", b.command, ""); err != nil {
			return nil, usageError("%s: %w", source(b.fs, "base-cmd"), errors.Unwrap(err))
		}
		if base.Build.Server != nil {
			base.Build.Server = w.Command
		} else {
			base.Build.Command = slices.Concat(j.launcher, w.Command)
		}
	}
	return base, b.place(ctx, e, base)
}

// place finds the revision of the base build, where one was named.
func (b *baseFlags) place(ctx context.Context, e *env, base *app.Base) error {
	if b.ref == "" {
		return nil
	}
	if err := base.At(ctx, b.ref); err != nil {
		return usageError("--base-ref: %v", err)
	}
	if b.dir != "" {
		if err := base.In(ctx, b.dir); err != nil {
			return usageError("%s: %w", source(b.fs, "base-dir"), err)
		}
	}
	if err := base.Separate(e.getenv); err != nil {
		return usageError("%w, or give the base's own command with --base-cmd", err)
	}
	return nil
}
