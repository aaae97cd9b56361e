package decide

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// What is expected of the outputs of untraced runs, which hang on the CPU and on all that a process does, before they are
// measured. The kernels of the same gate say nothing about it.
const (
	// outputSD is what runs of one host differ by: untraced steps of an unchanged PyTorch program took 6.99 and 7.14 ms on one
	// host, 7.52, 7.53, 7.56 and 8.15 ms on another.
	outputSD = 0.01
	// outputBatchSD is what two batches of runs on one machine differ by, outputHostSD two machines with the same CPU and board,
	// outputOtherSD any two machines: a program near its launch limit is as fast as the CPU.
	outputBatchSD = 0.005
	outputHostSD  = 0.01
	outputOtherSD = 0.04
)

// outputPrior is the variance between runs that is expected of an output.
var outputPrior = stats.Variance{S2: outputSD * outputSD, DF: runPrior.DF}

// outputSessions is how much sessions are expected to differ in what untraced runs measure.
func outputSessions(t trial) stats.Variance {
	sd := outputOtherSD
	switch {
	case t.batches:
		sd = outputBatchSD
	case sameHosts(slices.Concat(t.base.sessions, t.head.sessions)):
		sd = outputHostSD
	}
	return stats.Variance{S2: sd * sd, DF: sessionWeight}
}

// sameHosts reports whether all sessions are known to have been measured on machines of one CPU and one board.
func sameHosts(sessions []model.Session) bool {
	first := sessions[0].Hardware
	return first.CPU != "" && first.Board != "" && !slices.ContainsFunc(sessions, func(s model.Session) bool {
		return s.CPU != first.CPU || s.Board != first.Board
	})
}

// moderateOutput is the variance between runs of what untraced runs measure. One or two outputs are no pool to learn from, so
// what is expected only widens it: noise that was seen counts in full.
func moderateOutput(v, expected stats.Variance) stats.Variance {
	if v.DF == 0 {
		return v // the prior alone decides nothing
	}
	if m := stats.Moderate(v, expected); m.S2 > v.S2 {
		return m
	}
	return v
}

// unheld names what only one side has of the whole program, and is therefore not judged: outputs, and metrics that an older
// baseline, another source or another option of the profiler leaves out.
func unheld(t trial) []Remark {
	var out []Remark
	for i, sides := range [2][2]*side{{t.base, t.head}, {t.head, t.base}} {
		lacks := func(s measure.Subject, m measure.Metric) bool {
			return sides[0].hasMetric(s, m.Name) && !sides[1].hasMetric(s, m.Name) && t.policy.Limit(s, m).Severity != thresholds.Ignore
		}
		var outputs, metrics []string
		for _, s := range sides[0].subjects() {
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
			out = append(out, remark("output-unheld", Args{"names": outputs, "with": sideNames[i], "without": sideNames[1-i]}))
		}
		if len(metrics) > 0 {
			out = append(out, remark("metric-unheld", Args{"names": metrics, "with": sideNames[i], "without": sideNames[1-i]}))
		}
	}
	return out
}

// outputs reports whether untraced runs say how fast both sides are: then they decide, and the traced step explains.
func (t trial) outputs() bool {
	for _, s := range t.head.subjects() {
		for _, m := range []measure.Metric{measure.Rate, measure.Cost} {
			if t.head.hasMetric(s, m.Name) && t.base.hasMetric(s, m.Name) && t.policy.Limit(s, m).Severity == thresholds.Fail {
				return true
			}
		}
	}
	return false
}

// disagree names an output and the step where only one of the two got slower. Tracing slows the CPU, and the steps are not all
// that a program does.
func disagree(findings []Finding) []Remark {
	var step, output *Finding
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Metric == measure.StepTime.Name && f.Scope == measure.ScopeWorkload:
			step = f
		case f.Scope == measure.ScopeOutput && (output == nil || f.Outcome == Regressed && output.Outcome != Regressed):
			output = f
		}
	}
	if step == nil || output == nil {
		return nil
	}
	kept := func(f *Finding) bool { return f.Outcome == Unchanged || f.Outcome == Improved }
	switch {
	case step.Outcome == Regressed && kept(output):
		return []Remark{remark("only-traced", Args{"output": output.Kernel, "untraced": output.Change, "traced": step.Change})}
	case output.Outcome == Regressed && kept(step):
		return []Remark{remark("only-untraced", Args{"output": output.Kernel, "untraced": output.Change, "traced": step.Change})}
	}
	return nil
}
