package decide

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// outputPrior is the variance between runs that is expected of an output.
var outputPrior = stats.Variance{S2: outputSD * outputSD, DF: stats.RunPrior.DF}

// resolution is the place of the last digit that any of the values has as it was printed: 0.1 of 1.2 and 1.3, a
// millisecond of times that were printed as 0.001 and 0.002 s. It is 0 where that is not known: of whole numbers, which
// may be counts, unless they are times.
func resolution(sides [][]float64, times bool) float64 {
	place := math.MaxInt
	for _, v := range stats.Pooled(sides) {
		if v == 0 {
			continue
		}
		// digits that survive a change of the unit
		digits, exponent, _ := strings.Cut(fmt.Sprintf("%.12e", math.Abs(v)), "e")
		power, err := strconv.Atoi(exponent)
		if err != nil {
			return 0 // no number
		}
		_, decimals, _ := strings.Cut(strings.TrimRight(digits, "0"), ".")
		place = min(place, power-len(decimals))
	}
	if place == math.MaxInt || place >= 0 && !times {
		return 0
	}
	return math.Pow10(place)
}

// outputs reports whether unprofiled runs say how fast both sides are, by a time or rate that can fail the gate: then
// they decide, and the profiled step explains.
func (t comparison) outputs() bool {
	for _, s := range t.Head.Subjects() {
		for _, m := range []measure.Metric{measure.Rate, measure.Cost} {
			base, head := stats.Pooled(t.Base.Values(s, m.Name)), stats.Pooled(t.Head.Values(s, m.Name))
			if _, few := singleSide(len(base), len(head)); few == nil &&
				t.Head.HasMetric(s, m.Name) && t.Base.HasMetric(s, m.Name) &&
				t.Policy.Limit(s, m).Severity == thresholds.Fail && t.Policy.OutputKind(s.Name, m) != measure.OfOther {
				return true
			}
		}
	}
	return false
}
