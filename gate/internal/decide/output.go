package decide

import (
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/thresholds"
)

// outputPrior is the variance between runs that is expected of an output.
var outputPrior = stats.Variance{S2: outputSD * outputSD, DF: stats.RunPrior.DF}

// moderateOutput is the variance between runs of an output. One or two outputs are no pool to learn from, so the prior only widens it.
func moderateOutput(v, expected stats.Variance) stats.Variance {
	if v.DF == 0 {
		return v // the prior alone decides nothing
	}
	if m := stats.Moderate(v, expected); m.S2 > v.S2 {
		return m
	}
	return v
}

// outputs reports whether unprofiled runs say how fast both sides are, by a time or rate that can fail the gate: then they
// decide, and the profiled step explains.
func (t comparison) outputs() bool {
	for _, s := range t.Head.Subjects() {
		for _, m := range []measure.Metric{measure.Rate, measure.Cost} {
			if t.Head.HasMetric(s, m.Name) && t.Base.HasMetric(s, m.Name) && t.Policy.Limit(s, m).Severity == thresholds.Fail &&
				t.Policy.OutputKind(s.Name, m) != measure.OfOther {
				return true
			}
		}
	}
	return false
}
