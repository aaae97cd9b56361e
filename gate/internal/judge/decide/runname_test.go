package decide

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// TestRunName wants runs numbered among those of their metric: samples of an output are of unprofiled runs alone.
func TestRunName(t *testing.T) {
	if got := runName(measure.Rate, 0) + ", " + runName(measure.Time, 3); got != "unprofiled 1, 4" {
		t.Error(got)
	}
}
