package bisect

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// state is what a search has measured, kept in the git directory until it has ended.
type state struct {
	file     string
	began    time.Time
	before   float64 // seconds that searches took which were cut off
	Key      string
	Ends     *result.Report
	Readings map[string]known // by commit
	Seconds  float64          // until this was written
}

// known is what a commit reads, or why it cannot be read.
type known struct {
	history.Reading
	// FromGood and FromBad are how far the commit is from each end, measured beside it; nil where it does not show what is followed.
	FromGood, FromBad *history.Reading
	Skipped           string
}

// readState is what an earlier search of the same kind left, empty where there is none.
func readState(ctx context.Context, key string) state {
	fresh := state{Key: key, Readings: map[string]known{}, began: time.Now()}
	if dir := app.GitDir(ctx); dir != "" {
		fresh.file = filepath.Join(dir, "nsgate-bisect.json")
	}
	text, err := os.ReadFile(fresh.file)
	kept := state{}
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Key != key || kept.Readings == nil {
		return fresh
	}
	kept.file, kept.began, kept.before = fresh.file, fresh.began, kept.Seconds
	return kept
}

// took is for how many seconds the search has gone on, all times together.
func (s *state) took() float64 { return s.before + time.Since(s.began).Seconds() }

func (s *state) write() error {
	if s.file == "" {
		return nil
	}
	s.Seconds = s.took()
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(s.file, text, 0o600)
	}
	return err
}

func (s *state) remove() {
	if s.file != "" {
		os.Remove(s.file)
	}
}
