package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/stats"
)

// conclude gives a comparison its outcome and says why. alpha is the part of the gate's error that it may spend.
func (e *engine) conclude(c *comparison, alpha float64) {
	e.concludeChange(c, alpha)
	e.bound(c)
}

// concludeChange judges the change from base to head.
func (e *engine) concludeChange(c *comparison, alpha float64) {
	f := &c.finding
	estimate, base := c.contrast.Estimate, float64(f.Base)
	if base == 0 {
		e.concludeFromZero(c)
		return
	}
	single := !c.metric.Exact && runs(c.base, c.head) < minRuns
	if math.IsNaN(estimate) || !(c.variance.DF > 0) || single {
		f.Outcome = Inconclusive
		f.Undecided = f.Gates
		f.Change = Number(c.natural(estimate))
		f.Reason = "too few runs have this " + string(c.subject.Scope) + " to know its spread"
		if single {
			f.Reason = "a side has one run: without the spread between runs no change can be told from noise"
		}
		return
	}
	margin := stats.Margin(c.variance, confidence)
	change := c.natural(estimate)
	f.Change = Number(change)
	f.Low, f.High = Number(c.natural(estimate-margin)), Number(c.natural(estimate+margin))

	limit := c.limit.Max
	if base > 0 {
		limit = math.Max(limit, float64(f.Floor)/base)
	}
	if !math.IsInf(limit, 1) {
		f.MDE = Number(c.natural(stats.Detectable(c.variance, c.working(limit), alpha, power)))
	}

	// lower is better for every metric that is judged, unless it says otherwise
	sign := 1.0
	if c.metric.Better == measure.Higher {
		sign = -1
	}
	certain := float64(f.P) < e.policy.Alpha
	beyond := math.Abs(change) > limit && math.Abs(change)*base > float64(f.Floor)*(1+1e-9)
	if c.subject.Scope == measure.ScopeRange {
		// A range is the sum of kernels that are judged one by one: it is a finding of its own only where its whole
		// interval says so, not whenever one of its kernels carries it to the edge of the limit.
		beyond = beyond && math.Min(math.Abs(float64(f.Low)), math.Abs(float64(f.High))) > limit
	}
	if c.contrast.SessionWeight > 0 && !c.metric.Exact && math.Abs(change)*float64(f.Share) < sessionImpact {
		beyond = false
	}
	inside := math.Max(math.Abs(float64(f.Low)), math.Abs(float64(f.High))) <= limit
	switch {
	case beyond && certain && sign*change > 0:
		f.Outcome = Regressed
	case beyond && certain:
		f.Outcome = Improved
	case inside:
		f.Outcome = Unchanged
	default:
		f.Outcome = Inconclusive
	}
	worst := float64(f.High)
	if sign < 0 {
		worst = -float64(f.Low)
	}
	f.Undecided = f.Outcome == Inconclusive && f.Gates && worst > limit && worst*float64(f.Share) >= limit*material
	f.Reason = e.reason(c, limit)
}

// concludeFromZero judges a metric whose base is zero, of which no change is a relative one.
func (e *engine) concludeFromZero(c *comparison) {
	f := &c.finding
	switch {
	case float64(f.Head) == 0:
		f.Outcome, f.Change, f.Low, f.High, f.P = Unchanged, 0, 0, 0, 1
		f.Reason = "zero on both sides"
	case c.metric.Exact && float64(f.Head) > float64(f.Floor):
		f.Outcome, f.Reason = Regressed, "was zero"
	default:
		f.Undecided = f.Gates
		f.Outcome, f.Reason = Inconclusive, "was zero: no relative change can be given"
	}
}

// reason explains an outcome in one sentence.
func (e *engine) reason(c *comparison, limit float64) string {
	f := &c.finding
	// What binds: the rule's limit, or the floor where that is more and the change is not far beyond both.
	binding := "the limit of " + plain(c.limit.Max)
	if limit > c.limit.Max && math.Abs(float64(f.Change)) < 2*limit {
		binding = "the floor of " + number(float64(f.Floor)) + " " + f.Unit
		switch {
		case float64(f.Floor) == c.limit.Floor:
		case c.metric.Unit == "ns":
			binding = "the timer's resolution of " + number(e.tick) + " ns"
		default:
			binding = "what one more in a whole run comes to"
		}
	}
	switch f.Outcome {
	case Regressed:
		s := "beyond " + binding
		switch {
		case c.match == "role":
			s += "; judged by its place in range " + f.Role
		case c.match == "name":
			s += "; judged with all kernels of this short name"
		case c.match == "stem":
			s += "; judged with all kernels of this name, whatever number the code generator gave them"
		case c.match == "geometry":
			s += "; launched with another geometry, so judged by its total time"
		}
		if !f.Gates {
			switch {
			case f.Severity != "fail":
				s += "; the policy only warns of it (" + f.Rule + ")"
			default:
				s += fmt.Sprintf("; %s of GPU time is under the impact floor of %s, so it does not fail the gate",
					plain(float64(f.Share)), plain(e.policy.Impact))
			}
		}
		return s
	case Improved:
		return "faster by more than " + plain(limit)
	case Unchanged:
		return "within " + binding
	}
	return e.wouldSettle(c, limit, binding)
}

// wouldSettle says what an undecided comparison lacks.
func (e *engine) wouldSettle(c *comparison, limit float64, binding string) string {
	f := &c.finding
	s := fmt.Sprintf("between %s and %s: %s lies inside", percent(float64(f.Low)), percent(float64(f.High)), binding)
	if two := c.levels(); two != "" {
		s += "; " + two
	} else if one := c.outlier(); one != "" {
		s += "; " + one
	}
	target := c.working(limit)
	session := c.contrast.SessionWeight * c.session.S2
	if n := stats.RunsFor(c.contrast.Estimate, target, c.run, session, confidence, maxRuns); n > 0 {
		if have := runs(c.base, c.head); n > have {
			return s + fmt.Sprintf("; %d runs a side would settle it", n)
		}
	}
	if session > 0 {
		hosts := fmt.Sprintf("; %s, which differ by about %s", e.hosts(), plain(math.Sqrt(2*c.session.S2)))
		return s + hosts + ": record the baseline on a second host, or measure the base build beside the head"
	}
	if float64(f.MDE) > limit {
		return s + fmt.Sprintf("; the limit is under what this data can show (MDE %s)", plain(float64(f.MDE)))
	}
	return s + fmt.Sprintf("; more than %d runs a side would be needed", maxRuns)
}

// hosts says how much is known of where the sides were measured.
func (e *engine) hosts() string {
	for _, s := range slices.Concat(e.base.sessions, e.head.sessions) {
		if s.GPUHash == "" || s.Start.IsZero() {
			return "the sides may come from different hosts"
		}
	}
	return "the sides come from different hosts"
}

// runs is the smaller number of runs of the two sides.
func runs(base, head [][]float64) int {
	n := func(sessions [][]float64) int {
		total := 0
		for _, s := range sessions {
			total += len(s)
		}
		return total
	}
	return min(n(base), n(head))
}

// plain prints a share or limit without a sign: 3 %.
func plain(x float64) string {
	if x >= 9.995 {
		return strconv.FormatFloat(100*x, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(100*x, 'g', 3, 64) + " %"
}

// number prints a value as short as it is exact enough to read.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
