package decide

import (
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
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

// oneSidedMetrics names the metrics of the whole program that only one side has, which are not judged: outputs, and metrics that an older
// baseline, another source or another option of the profiler leaves out.
func oneSidedMetrics(t comparison) []result.Remark {
	var out []result.Remark
	for i, sides := range [2][2]*recorded.Index{{t.base, t.head}, {t.head, t.base}} {
		lacks := func(s measure.Subject, m measure.Metric) bool {
			return sides[0].HasMetric(s, m.Name) && !sides[1].HasMetric(s, m.Name) && t.policy.Limit(s, m).Severity != thresholds.Ignore
		}
		var outputs, metrics []string
		for _, s := range sides[0].Subjects() {
			for _, m := range []measure.Metric{measure.Rate, measure.Cost} {
				if s.Scope == measure.ScopeOutput && lacks(s, m) {
					outputs = append(outputs, s.Short())
				}
			}
		}
		for _, m := range measure.Metrics {
			if m.Judged() && lacks(measure.Workload, m) {
				metrics = append(metrics, m.Title())
			}
		}
		if len(outputs) > 0 {
			out = append(out, result.Say(reason.OnOneSide{Names: outputs, With: sideNames[i], Without: sideNames[1-i], Outputs: true}))
		}
		if len(metrics) > 0 {
			out = append(out, result.Say(reason.OnOneSide{Names: metrics, With: sideNames[i], Without: sideNames[1-i]}))
		}
	}
	return out
}

// outputs reports whether unprofiled runs say how fast both sides are: then they decide, and the profiled step explains.
func (t comparison) outputs() bool {
	for _, s := range t.head.Subjects() {
		for _, m := range []measure.Metric{measure.Rate, measure.Cost} {
			if t.head.HasMetric(s, m.Name) && t.base.HasMetric(s, m.Name) && t.policy.Limit(s, m).Severity == thresholds.Fail {
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
