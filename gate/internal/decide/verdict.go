package decide

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// gathered is all that the verdict of a gate depends on. A reason is nil where it does not apply.
type gathered struct {
	failed   int            // subjects with a finding that fails the gate
	unjudged *result.Remark // why nothing can fail the gate
	code     *result.Remark // device code is beyond a rule
	unseen   *result.Remark // a kernel or counter that was not measured and had to be
	tooFew   *result.Remark // too few runs for any judgement
	outlier  *result.Remark // a single run is an outlier as a whole
	drift    *result.Remark // drift beyond what a rule allows
	doubted  *result.Remark // a comparison that says harm, not surely enough
	open     *result.Remark // an undecided comparison
	strict   bool           // undecided is no verdict
	compared int            // comparisons that were judged
}

// conclusion is a verdict with its reason.
type conclusion struct {
	verdict   result.Verdict
	undecided bool
	because   result.Remark
}

// verdicts are the rows by which the verdict is reached; the first whose reason applies gives it. A certain regression outranks
// a refusal, and a refusal outranks drift and doubt.
var verdicts = []struct {
	name      string
	verdict   result.Verdict
	undecided bool
	because   func(*gathered) *result.Remark
}{
	{"regression", result.Fail, false, func(g *gathered) *result.Remark {
		return when(g.failed > 0, result.NewRemark("regressed", result.Args{"subjects": result.Number(g.failed)}))
	}},
	{"device code", result.Fail, false, func(g *gathered) *result.Remark { return g.code }},
	{"not measured", result.NoVerdict, false, func(g *gathered) *result.Remark { return g.unseen }},
	{"nothing judged", result.NoVerdict, false, func(g *gathered) *result.Remark { return g.unjudged }},
	{"too few runs", result.NoVerdict, false, func(g *gathered) *result.Remark { return g.tooFew }},
	{"outlier run", result.NoVerdict, false, func(g *gathered) *result.Remark { return g.outlier }},
	{"drift", result.Fail, false, func(g *gathered) *result.Remark { return g.drift }},
	{"doubted", result.NoVerdict, true, func(g *gathered) *result.Remark { return g.doubted }},
	{"undecided, strict", result.NoVerdict, true, func(g *gathered) *result.Remark {
		if !g.strict {
			return nil
		}
		return g.open
	}},
	{"undecided", result.Pass, true, func(g *gathered) *result.Remark { return g.open }},
	{"none slower", result.Pass, false, func(g *gathered) *result.Remark {
		return when(true, result.NewRemark("none-slower", result.Args{"comparisons": result.Number(g.compared)}))
	}},
}

func when(applies bool, because result.Remark) *result.Remark {
	if !applies {
		return nil
	}
	return &because
}

// verdictOf is the verdict of the first row that applies.
func verdictOf(g gathered) conclusion {
	for _, row := range verdicts {
		if because := row.because(&g); because != nil {
			return conclusion{row.verdict, row.undecided, *because}
		}
	}
	return conclusion{verdict: result.NoVerdict}
}

// gather collects what the verdict depends on. Findings stand worst first, family is the number of those that can fail the gate.
func gather(t trial, findings []result.Finding, family int, drift []result.Remark) gathered {
	g := gathered{unseen: unseen(t, findings), tooFew: t.few, strict: t.policy.Undecided == "fail", compared: judged(findings)}
	if family == 0 {
		g.unjudged = unjudged(t)
	}
	if t.swerve != 0 {
		g.outlier = NewRefusal("swerves", result.Args{"side": t.single, "change": result.Number(t.swerve)})
	}
	if i := slices.IndexFunc(drift, func(x result.Remark) bool { return x.Key == result.OverCreep }); i >= 0 {
		g.drift = &drift[i]
	}
	failed, open, firstOpen := map[measure.Subject]bool{}, 0, 0
	for i, f := range findings {
		if f.Outcome == result.Regressed && f.Gates {
			failed[f.Subject()] = true
		}
		if f.Doubted && g.doubted == nil {
			g.doubted = NewRefusal("doubted", result.Args{"metric": f.Metric, "kernel": f.Title(), "finding": result.Number(i)})
		}
		if f.Undecided {
			if open++; open == 1 {
				firstOpen = i
			}
		}
	}
	if g.failed = len(failed); open > 0 {
		f := findings[firstOpen]
		g.open = when(true, result.NewRemark("undecided", result.Args{"comparisons": result.Number(open), "finding": result.Number(firstOpen), "kernel": f.Title(), "metric": f.Metric}))
	}
	return g
}

// judged is how many of the findings compare what both sides have, and are not slower with only a warning.
func judged(findings []result.Finding) int {
	n := 0
	for i := range findings {
		if f := &findings[i]; f.Outcome != result.Regressed && f.Outcome != result.Added && f.Outcome != result.Removed && !f.NotJudged() {
			n++
		}
	}
	return n
}

// unjudged is why a gate has nothing to fail for.
func unjudged(t trial) *result.Remark {
	timed := func(s measure.Subject) bool { return t.head.HasMetric(s, model.NcuTime.Name) }
	if t.time == model.NcuTime && !slices.ContainsFunc(t.head.Subjects(), timed) {
		return NewRefusal("counters-only", nil)
	}
	return NewRefusal("nothing-judged", nil)
}

// unseen is why a gate over a few launches of each kernel cannot pass, nil where it can: a kernel of the base that was not
// profiled in the head was not judged, and one run a side decides nothing that is measured.
func unseen(t trial, findings []result.Finding) *result.Remark {
	if t.time != model.NcuTime {
		return nil
	}
	once := min(t.base.Runs(), t.head.Runs()) < stats.MinRuns
	for i, f := range findings {
		switch {
		case f.Outcome == result.Removed && f.Scope == measure.ScopeKernel:
			return NewRefusal("not-profiled", result.Args{"kernel": f.Title()})
		case f.Undecided && f.Metric == model.NcuTime.Name && f.Base.Known() != f.Head.Known():
			return NewRefusal("time-unjudged", result.Args{"metric": f.Metric, "kernel": f.Title(), "finding": result.Number(i)})
		case f.Undecided && once:
			return NewRefusal("counter-unjudged", result.Args{"metric": f.Metric, "kernel": f.Title(), "finding": result.Number(i)})
		}
	}
	return nil
}
