package app

import (
	"context"
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
)

// Scrub writes the sessions of a recording, in the form of a baseline, to a directory that holds none yet. That form has the names of
// kernels and ranges, and no environment, command line, path or host name. What cannot be used is a *model.Refusal.
func Scrub(ctx context.Context, tools profile.Tools, rule profile.Rule, path, dir string) ([]model.Session, error) {
	_, sessions, err := opened(ctx, tools, rule, path)
	if err != nil {
		return nil, err
	}
	if err := git.Outward(ctx, dir); err != nil {
		return nil, err
	}
	_, err = baseline.Add(dir, func(old *baseline.Baseline) ([]baseline.Entry, error) {
		if len(old.Entries) > 0 {
			return nil, fmt.Errorf("%s holds sessions already; name a directory that is not there yet", dir)
		}
		var out []baseline.Entry
		for _, x := range sessions {
			if x.ID = ""; x.Commit == "" {
				x.Commit, _ = commit(ctx)
			}
			out = append(out, baseline.Entry{Session: x})
		}
		if n := baseline.Kept(sessions); n < len(sessions) {
			return nil, model.Refuse(model.NotSeparable, "scrub the recordings of each session by themselves",
				"%s holds %d sessions; only %d can be separated", path, len(sessions), n)
		}
		return out, nil
	})
	return sessions, err
}
