package bisect

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// state holds the measurements of a search, kept in the git directory until the search has ended.
type state struct {
	file     string
	began    time.Time
	before   float64 // seconds of interrupted searches
	Key      string
	Ends     *result.Report
	Readings map[string]known // by commit
	Seconds  float64          // until this was written
}

// known is the reading of a commit, or why there is none.
type known struct {
	history.Reading
	// FromGood and FromBad are the distances from each end, interleaved with it; nil without the followed finding.
	FromGood, FromBad *history.Reading
	Skipped           string
}

// readState is the state of an interrupted search of the same key, else a new one.
func readState(ctx context.Context, key string) state {
	fresh := state{Key: key, Readings: map[string]known{}, began: time.Now()}
	if dir := app.GitDir(ctx); dir != "" {
		fresh.file = filepath.Join(dir, "nsgate-bisect.json")
	}
	text, err := input.Read(fresh.file, 64<<20)
	kept := state{}
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Key != key || kept.Readings == nil {
		return fresh
	}
	kept.file, kept.began, kept.before = fresh.file, fresh.began, kept.Seconds
	return kept
}

// took is the duration of the search in seconds, interrupted parts included.
func (s *state) took() float64 { return s.before + time.Since(s.began).Seconds() }

// write keeps the state for the next search. A kill during the write leaves the previous state.
func (s *state) write() error {
	if s.file == "" {
		return nil
	}
	s.Seconds = s.took()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := output.Text(s.file, 0o600, text); err != nil {
		return fmt.Errorf("%s: what the search has measured cannot be kept: %w; make room there or let it be written, "+
			"and start it again", s.file, proc.Cause(err))
	}
	return nil
}
