package decide_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// One bad process of the baseline, on a host that the files do not name, leaves a slower row undecided: its runs
// overlap those of the head, which is the reason said, and ten runs a side spare one.
func TestOverlap(t *testing.T) {
	for _, runs := range []int{3, 10} {
		r := rand.New(rand.NewPCG(1, 77))
		base, head := drawnRates(r, runs, 1e6), drawnRates(r, runs, 1.3e6)
		base[0] *= 1.5
		got := compareSides([]model.Session{rowsOf("", [][]float64{base}, measure.Duration)},
			[]model.Session{rowsOf("", [][]float64{head}, measure.Duration)}, thresholds.Default())
		const said = "but runs of both sides overlap; 10 runs a side would decide"
		if overlaps := strings.HasSuffix(got.Reason, said); overlaps != (runs < 10) ||
			(got.Verdict == result.Fail) != (runs == 10) {
			t.Errorf("%d runs: %s: %s", runs, got.Verdict, got.Reason)
		}
	}
}
