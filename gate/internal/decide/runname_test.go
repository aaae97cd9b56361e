package decide

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// TestRunName wants profiled and unprofiled runs counted apart, over all sessions.
func TestRunName(t *testing.T) {
	session := model.Session{Runs: []model.Run{{}, {}, {}, {Unprofiled: true}, {Unprofiled: true}}}
	sessions := []model.Session{session, session}
	for run, want := range []string{"1", "2", "3", "unprofiled 1", "unprofiled 2", "4", "5", "6", "unprofiled 3",
		"unprofiled 4"} {
		if got := runName(sessions, run); got != want {
			t.Errorf("run %d is named %q, want %q", run, got, want)
		}
	}
}
