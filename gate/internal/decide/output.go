package decide

import (
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
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

// outputs reports whether unprofiled runs say how fast both sides are: then they decide, and the profiled step explains.
func (t comparison) outputs() bool {
	for _, s := range t.Head.Subjects() {
		for _, m := range []measure.Metric{measure.Rate, measure.Cost} {
			if t.Head.HasMetric(s, m.Name) && t.Base.HasMetric(s, m.Name) && t.Policy.Limit(s, m).Severity == thresholds.Fail {
				return true
			}
		}
	}
	return false
}

// disagree names an output and the step where only one of the two got slower. Profiling slows the CPU, and the steps are not all
// that a program does.
func disagree(findings []result.Finding) []result.Remark {
	var step, output *result.Finding
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Metric == measure.StepTime.Name && f.Scope == measure.ScopeWorkload:
			step = f
		case f.Scope == measure.ScopeOutput && (output == nil || f.Outcome == result.Regressed && output.Outcome != result.Regressed):
			output = f
		}
	}
	if step == nil || output == nil {
		return nil
	}
	kept := func(f *result.Finding) bool { return f.Outcome == result.Unchanged || f.Outcome == result.Improved }
	stepWorse := step.Outcome == result.Regressed && kept(output)
	return result.SayIf(stepWorse || output.Outcome == result.Regressed && kept(step),
		reason.OutputDisagrees{Output: output.Kernel, Unprofiled: output.Change, Profiled: step.Change, StepWorse: stepWorse})
}
