package decide

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// gathered is all that the verdict of a gate depends on. A reason is nil where it does not apply.
type gathered struct {
	failed   int     // subjects with a finding that fails the gate
	unjudged *Remark // why nothing can fail the gate
	unseen   *Remark // a kernel or counter that was not measured and had to be
	tooFew   *Remark // too few runs for any judgement
	outlier  *Remark // a single run is an outlier as a whole
	drift    *Remark // drift beyond what a rule allows
	doubted  *Remark // a comparison that says harm, not surely enough
	open     *Remark // an undecided comparison
	strict   bool    // undecided is no verdict
	compared int     // comparisons that were judged
}

// conclusion is a verdict with its reason.
type conclusion struct {
	verdict   Verdict
	undecided bool
	because   Remark
}

// verdicts are the rows by which the verdict is reached; the first whose reason applies gives it. A certain regression outranks
// a refusal, and a refusal outranks drift and doubt.
var verdicts = []struct {
	name      string
	verdict   Verdict
	undecided bool
	because   func(*gathered) *Remark
}{
	{"regression", Fail, false, func(g *gathered) *Remark {
		return when(g.failed > 0, remark("regressed", Args{"subjects": Number(g.failed)}))
	}},
	{"not measured", NoVerdict, false, func(g *gathered) *Remark { return g.unseen }},
	{"nothing judged", NoVerdict, false, func(g *gathered) *Remark { return g.unjudged }},
	{"too few runs", NoVerdict, false, func(g *gathered) *Remark { return g.tooFew }},
	{"outlier run", NoVerdict, false, func(g *gathered) *Remark { return g.outlier }},
	{"drift", Fail, false, func(g *gathered) *Remark { return g.drift }},
	{"doubted", NoVerdict, true, func(g *gathered) *Remark { return g.doubted }},
	{"undecided, strict", NoVerdict, true, func(g *gathered) *Remark {
		if !g.strict {
			return nil
		}
		return g.open
	}},
	{"undecided", Pass, true, func(g *gathered) *Remark { return g.open }},
	{"none slower", Pass, false, func(g *gathered) *Remark {
		return when(true, remark("none-slower", Args{"comparisons": Number(g.compared)}))
	}},
}

func when(applies bool, because Remark) *Remark {
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
	return conclusion{verdict: NoVerdict}
}

// gather collects what the verdict depends on. Findings stand worst first, family is the number of those that can fail the gate.
func gather(t trial, findings []Finding, family int, drift []Remark) gathered {
	g := gathered{unseen: unseen(t, findings), tooFew: t.few, strict: t.policy.Undecided == "fail", compared: judged(findings)}
	if family == 0 {
		g.unjudged = unjudged(t)
	}
	if t.swerve != 0 {
		g.outlier = refusal("swerves", Args{"side": t.single, "change": Number(t.swerve)})
	}
	if i := slices.IndexFunc(drift, func(x Remark) bool { return x.Key == overCreep }); i >= 0 {
		g.drift = &drift[i]
	}
	failed, open, firstOpen := map[measure.Subject]bool{}, 0, 0
	for i, f := range findings {
		if f.Outcome == Regressed && f.Gates {
			failed[f.Subject()] = true
		}
		if f.Doubted && g.doubted == nil {
			g.doubted = refusal("doubted", Args{"metric": f.Metric, "kernel": f.Title(), "finding": Number(i)})
		}
		if f.Undecided {
			if open++; open == 1 {
				firstOpen = i
			}
		}
	}
	if g.failed = len(failed); open > 0 {
		f := findings[firstOpen]
		g.open = when(true, remark("undecided", Args{"comparisons": Number(open), "finding": Number(firstOpen), "kernel": f.Title(), "metric": f.Metric}))
	}
	return g
}

// judged is how many of the findings compare what both sides have, and are not slower with only a warning.
func judged(findings []Finding) int {
	n := 0
	for i := range findings {
		if f := &findings[i]; f.Outcome != Regressed && f.Outcome != Added && f.Outcome != Removed && !f.NotJudged() {
			n++
		}
	}
	return n
}

// unjudged is why a gate has nothing to fail for.
func unjudged(t trial) *Remark {
	timed := func(s measure.Subject) bool { return t.head.hasMetric(s, model.NcuTime.Name) }
	if t.time == model.NcuTime && !slices.ContainsFunc(t.head.subjects(), timed) {
		return refusal("counters-only", nil)
	}
	return refusal("nothing-judged", nil)
}

// unseen is why a gate over a few launches of each kernel cannot pass, nil where it can: a kernel of the base that was not
// profiled in the head was not judged, and one run a side decides nothing that is measured.
func unseen(t trial, findings []Finding) *Remark {
	if t.time != model.NcuTime {
		return nil
	}
	once := min(t.base.runs(), t.head.runs()) < minRuns
	for i, f := range findings {
		switch {
		case f.Outcome == Removed && f.Scope == measure.ScopeKernel:
			return refusal("not-profiled", Args{"kernel": f.Title()})
		case f.Undecided && f.Metric == model.NcuTime.Name && f.Base.Known() != f.Head.Known():
			return refusal("time-unjudged", Args{"metric": f.Metric, "kernel": f.Title(), "finding": Number(i)})
		case f.Undecided && once:
			return refusal("counter-unjudged", Args{"metric": f.Metric, "kernel": f.Title(), "finding": Number(i)})
		}
	}
	return nil
}
