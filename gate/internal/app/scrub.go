package app

import (
	"context"
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
)

// Scrub reduces a recording to what is judged of it: the sessions, in the form of a baseline. That form has no environment, command
// line, path or host name; names of kernels and ranges stay, for they are what is judged.
type Scrub struct {
	Path  string        // as [profile.Open] takes it
	Out   string        // directory of the result, which must hold no sessions yet
	Rule  profile.Rule  // how traces are cut; the zero value finds the step and the warm-up by itself
	Tools profile.Tools // that reading some formats takes
}

// Run reads and writes. What cannot be used is a *model.Refusal.
func (s Scrub) Run(ctx context.Context) ([]model.Session, error) {
	r, err := s.Tools.Open(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	cut, err := profile.Cut(s.Rule, r)
	if err != nil {
		return nil, err
	}
	_, err = baseline.Add(s.Out, func(old *baseline.Baseline) ([]baseline.Entry, error) {
		if len(old.Entries) > 0 {
			return nil, fmt.Errorf("%s holds sessions already; name a directory that is not there yet", s.Out)
		}
		var out []baseline.Entry
		for _, x := range cut[0] {
			if x.ID = ""; x.Commit == "" {
				x.Commit, _ = commit(ctx)
			}
			out = append(out, baseline.Entry{Session: x})
		}
		if n := baseline.Kept(cut[0]); n < len(cut[0]) {
			return nil, model.Refuse(model.NotSeparable, "scrub the recordings of each session by themselves",
				"%s holds %d sessions, of which %d can be kept apart", s.Path, len(cut[0]), n)
		}
		return out, nil
	})
	return cut[0], err
}
