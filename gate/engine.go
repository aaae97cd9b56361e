package gate

import (
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/stats"
	"github.com/nsgate/nsgate/thresholds"
)

// The constants of the decision that no policy changes.
const (
	// confidence of the printed intervals. A change is called unchanged when the interval lies inside the limit: two
	// one-sided tests at 5 % (Schuirmann 1987).
	confidence = 0.9
	// power at which the MDE is stated.
	power = 0.8
	// sessionWeight is how many sessions beyond the first it takes to outweigh the prior of the variance between
	// sessions; sessionDF are the degrees of freedom of the result. The prior is known from 12 hosts and some thirty
	// kernels, so it counts as known.
	sessionWeight, sessionDF = 8, 1000
	// sessionMost bounds what all kernels together may add to the spread between sessions, in prior standard deviations:
	// the two kinds of H200 host, 1.5 % apart in memory-bound kernels, are within half of it.
	sessionMost = 5
	// sessionImpact is the part of the workload's GPU time that a change between hosts has to come to before it is a
	// finding: single kernels differ between hosts by up to 4 % for reasons of their own (of 27 kernels on 4 hosts,
	// three by more than 2.5 %, all of them small).
	sessionImpact = 0.0015
	// material is the part of its limit that an open comparison has to be able to cost of the workload's GPU time before
	// it leaves the whole gate undecided: at the default limit of 3 %, half a per cent.
	material = 1.0 / 6
	// secondary is the weight in the family-wise correction of what is judged beside a kernel's time and the
	// workload's: the same launches summed up in another way.
	secondary = 0.2
	// rounding is the change on the working scale below which nothing but arithmetic has happened.
	rounding = 1e-13
	// countedDF are the degrees of freedom of a variance of zero that counting, not sampling, makes certain.
	countedDF = 1000
	// poolLeast is the fewest kernels from which a prior is learnt; with fewer the default one holds.
	poolLeast = 8
	// priorMost bounds a learnt prior's degrees of freedom: kernels never share one variance exactly.
	priorMost = 10
	// maxRuns is as many runs as a hint ever asks for.
	maxRuns = 40
)

// runPrior is the variance between runs that is expected of a metric before seeing it: on H200 GPUs kernels move by
// 0.05 to 0.3 % between runs of one host.
var runPrior = stats.Variance{S2: 0.002 * 0.002, DF: 3}

// comparison is one metric of one subject on its way to a finding.
type comparison struct {
	subject    measure.Subject
	metric     measure.Metric
	match      string
	base, head [][]float64 // samples by session and run
	limit      thresholds.Limit
	relative   bool // on the log scale; else relative to the base's mean, because a value is zero
	contrast   stats.Contrast
	variance   stats.Variance // of contrast.Estimate
	run        stats.Variance // moderated variance between runs
	session    stats.Variance // moderated variance between sessions
	p          float64        // uncorrected
	finding    Finding
	listed     bool // added or removed: nothing to compute
	oneSided   bool // one side does not have the metric: only the bounds of its value can be judged
}

type engine struct {
	policy *thresholds.Policy
	// time is how long one launch takes by the profiler of both sides, total what a kernel costs: by Nsight Compute, which
	// profiles a few launches of each kernel, both are the duration of a launch.
	time, total measure.Metric
	base, head  *side
	shared      [][2]int // pairs of a base and a head session that are one session
	tick        float64
	session     stats.Variance // between sessions, before what a kernel's own sessions show
	comparisons []*comparison
	family      int
}

func newEngine(base, head []measure.Session, policy *thresholds.Policy) *engine {
	e := &engine{policy: policy, time: measure.Time, total: measure.Total}
	if byLaunch(head) {
		e.time, e.total = measure.NcuTime, measure.NcuTime
	}
	e.base, e.head = newSide(base, e.total), newSide(head, e.total)
	for i := range base {
		for j := range head {
			if measure.SameSession(base[i].Environment, head[j].Environment) {
				e.shared = append(e.shared, [2]int{i, j})
			}
			e.tick = math.Max(e.tick, math.Max(base[i].Tick, head[j].Tick))
		}
	}
	// Pairs leave out what has no partner. The base may have sessions to spare; all of the head is judged.
	for j := range head {
		if !slices.ContainsFunc(e.shared, func(p [2]int) bool { return p[1] == j }) {
			e.shared = nil
		}
	}
	return e
}

// add takes in a comparison unless the policy ignores it.
func (e *engine) add(c *comparison) {
	c.limit = e.policy.Limit(c.subject, c.metric)
	if c.limit.Severity == thresholds.Ignore {
		return
	}
	e.comparisons = append(e.comparisons, c)
}

// list takes in kernels that only one side has. A "%s" in the reason stands for the kernel's role.
func (e *engine) list(subjects []measure.Subject, outcome Outcome, reason string) {
	for _, s := range subjects {
		metric := e.total
		switch {
		case s.Scope == measure.ScopeRange:
			metric = measure.GPUTime
		case s.Scope == measure.ScopeWorkload:
			metric = measure.CopyTime
		}
		c := &comparison{subject: s, metric: metric, listed: true}
		c.limit = e.policy.Limit(s, metric)
		if c.limit.Severity == thresholds.Ignore {
			continue
		}
		side := e.base
		if outcome == Added {
			side = e.head
			c.head = side.values(s, metric.Name)
		} else {
			c.base = side.values(s, metric.Name)
		}
		role := side.role(s)
		c.finding.Outcome = outcome
		c.finding.Reason = strings.ReplaceAll(reason, "%s", "range "+role)
		e.comparisons = append(e.comparisons, c)
	}
}

// decide computes every comparison and gives each its outcome.
func (e *engine) decide() {
	pools := map[string][]stats.Variance{}
	for _, c := range e.comparisons {
		if c.listed || c.oneSided {
			continue
		}
		e.estimate(c)
		pools[c.pool()] = append(pools[c.pool()], c.contrast.Run)
	}
	priors := map[string]stats.Variance{}
	for name, v := range pools {
		priors[name] = prior(v)
	}
	e.betweenSessions()
	var gating, other []*comparison
	for _, c := range e.comparisons {
		e.describe(c)
		if c.listed {
			continue
		}
		if c.oneSided {
			e.concludeOneSided(c)
			if c.finding.Gates {
				e.family++
			}
			continue
		}
		e.moderate(c, priors[c.pool()])
		c.p = stats.TwoSided(c.contrast.Estimate, c.variance)
		if c.finding.Gates {
			gating = append(gating, c)
		} else {
			other = append(other, c)
		}
	}
	e.family += len(gating)
	for _, family := range [][]*comparison{gating, other} {
		p, weights, total := make([]float64, len(family)), make([]float64, len(family)), 0.0
		for i, c := range family {
			p[i], weights[i] = c.p, c.weight()
			total += weights[i]
		}
		for i, corrected := range stats.Holm(p, weights) {
			family[i].finding.P = Number(corrected)
			e.conclude(family[i], e.policy.Alpha*weights[i]/total)
		}
	}
}

// weight is the comparison's part in the family-wise correction. A count that is the same in every run of a side cannot
// raise a false alarm, and costs nothing.
func (c *comparison) weight() float64 {
	switch {
	case c.metric.Exact && c.run.S2 == 0:
		return 0
	case math.IsInf(c.limit.Max, 1):
		return 0
	case c.metric.Name == measure.Time.Name, c.metric.Name == measure.NcuTime.Name, c.subject == measure.Workload, c.match != "exact":
		return 1
	}
	return secondary
}

// pool names the comparisons whose variances are expected to be alike.
func (c *comparison) pool() string { return string(c.subject.Scope) + " " + c.metric.Name }

// prior is what variances of one pool have in common.
func prior(v []stats.Variance) stats.Variance {
	known := 0
	for _, x := range v {
		if x.DF > 0 && x.S2 > 0 {
			known++
		}
	}
	if known < poolLeast {
		return runPrior
	}
	p := stats.FitPrior(v)
	p.DF = math.Min(p.DF, priorMost)
	return p
}

// betweenSessions estimates how much sessions differ from what this gate sees of all kernels together: most of them
// did not change, so their typical change between the sides is what the hosts make of it. The estimate is robust
// against the few that did change, and joined with the policy's prior.
func (e *engine) betweenSessions() {
	sd := e.policy.SessionSD
	e.session = stats.Variance{S2: sd * sd, DF: sessionWeight}
	var scaled []float64
	for _, c := range e.comparisons {
		if w := c.contrast.SessionWeight; !c.listed && !c.oneSided && w > 0 && c.metric.Name == e.time.Name && e.shareOf(c) >= e.policy.Impact {
			scaled = append(scaled, math.Abs(c.contrast.Estimate)/math.Sqrt(w))
		}
	}
	if n := float64(len(scaled)); n >= poolLeast {
		seen := stats.Median(scaled) / normalQuartile
		e.session = stats.Pool(e.session, stats.Variance{S2: seen * seen, DF: medianEfficiency * n})
		// Beyond that it is not hosts of one model that differ.
		e.session.S2 = math.Min(e.session.S2, sessionMost*sessionMost*sd*sd)
	}
}

// The median absolute value of standard normal numbers, and the efficiency of a standard deviation that is estimated
// from it (Rousseeuw and Croux 1993, section 1).
const (
	normalQuartile   = 0.6745
	medianEfficiency = 0.37
)

// estimate contrasts the two sides on the log scale, or relative to the base's mean where a value is zero.
func (e *engine) estimate(c *comparison) {
	c.relative = true
	scale := func(v float64) float64 { return math.Log(v) }
	if hasZero(c.base) || hasZero(c.head) {
		c.relative = false
		mean := average(c.base)
		scale = func(v float64) float64 { return v / mean }
	}
	c.contrast = stats.NewContrast(transform(c.base, scale), transform(c.head, scale), e.shared)
	if math.Abs(c.contrast.Estimate) < rounding {
		c.contrast.Estimate = 0 // equal values whose mean logarithm was rounded is no change of what is counted
	}
	if c.metric.Name == measure.Time.Name && c.contrast.Run.DF > 0 {
		// Rounding to the timer's tick is noise of its own: uniform over one tick.
		tick := e.tick / average(c.base)
		c.contrast.Run.S2 = math.Max(c.contrast.Run.S2, tick*tick/12)
	}
}

// moderate turns the raw variances into the variance of the estimate.
func (e *engine) moderate(c *comparison, prior stats.Variance) {
	if c.metric.Exact {
		c.run = c.contrast.Run
		if c.run.DF == 0 && e.time == measure.NcuTime {
			c.run = stats.Variance{DF: countedDF} // one launch is enough to know what is counted
		}
		c.variance = stats.Variance{S2: c.contrast.RunWeight * c.run.S2, DF: c.run.DF}
		return
	}
	c.run = stats.Moderate(c.contrast.Run, prior)
	if c.contrast.Run.DF == 0 {
		c.run = stats.Variance{} // the prior alone decides nothing
	}
	// What this kernel's own sessions show can widen the term, not narrow it: two or three hosts may well be of one
	// kind, and the next of another.
	c.session = stats.Pool(c.contrast.Session, e.session)
	c.session = stats.Variance{S2: math.Max(c.session.S2, e.session.S2), DF: sessionDF}
	weights := []float64{c.contrast.RunWeight}
	parts := []stats.Variance{c.run}
	if c.contrast.SessionWeight > 0 {
		weights = append(weights, c.contrast.SessionWeight)
		parts = append(parts, c.session)
	}
	c.variance = stats.Satterthwaite(weights, parts)
}

// describe fills in what a finding says apart from the decision.
func (e *engine) describe(c *comparison) {
	f := &c.finding
	f.Kernel, f.Name, f.Scope = c.subject.Short(), c.subject.Name, c.subject.Scope
	if c.subject.Scope == measure.ScopeKernel {
		if c.subject.Geometry() != "" {
			f.Grid, f.Block = c.subject.Grid.String(), c.subject.Block.String()
		}
		f.Role = e.head.role(c.subject)
		if f.Role == "" {
			f.Role = e.base.role(c.subject)
		}
		if x := e.head.find(c.subject, e.total.Name); x != nil {
			f.Recorded = x.Raw
		}
	}
	f.Metric, f.Unit, f.Match = c.metric.Name, c.metric.Unit, c.match
	f.Base, f.Head = Number(typical(c.base)), Number(typical(c.head))
	f.BaseRuns, f.HeadRuns = flatten(c.base), flatten(c.head)
	f.Change, f.Low, f.High = unknown, unknown, unknown
	f.P, f.MDE = unknown, unknown
	f.Limit, f.Floor, f.Rule = Number(c.limit.Max), Number(e.floor(c)), c.limit.Rule
	f.Severity = string(c.limit.Severity)
	share := e.shareOf(c)
	f.Share = Number(share)
	f.Gates = !c.listed && c.limit.Severity == thresholds.Fail &&
		(c.subject == measure.Workload || share >= e.policy.Impact || !c.metric.Judged())
	if c.match == "exact" {
		f.Evidence = append(f.Evidence, e.attributes(c.subject, c.subject)...)
		if b, h := e.base.note(c.subject, c.metric.Name), e.head.note(c.subject, c.metric.Name); b != h && b != "" && h != "" {
			f.Evidence = append(f.Evidence, "memory "+b+" → "+h)
		}
	}
}

// shareOf is the part of the workload's GPU time that the comparison is about, the larger of base and head.
func (e *engine) shareOf(c *comparison) float64 {
	if c.match != "" && c.match != "exact" && c.metric.Name == e.total.Name {
		return math.Max(typical(c.base)/e.base.whole, typical(c.head)/e.head.whole)
	}
	return math.Max(e.base.share(c.subject), e.head.share(c.subject))
}

var unknown = Number(math.NaN())

// floor is the absolute change up to which nothing is a finding: what the policy says, at least one tick of the timer
// a launch for the times of a kernel, and one launch or copy in a whole run for counts per step.
func (e *engine) floor(c *comparison) float64 {
	floor := c.limit.Floor
	switch c.metric.Name {
	case measure.Time.Name:
		floor = math.Max(floor, e.tick)
	case measure.Total.Name:
		if launches := average(e.base.values(c.subject, measure.Launches.Name)); c.match == "exact" && launches > 0 {
			floor = math.Max(floor, e.tick*launches)
		}
	case measure.Launches.Name, measure.Copies.Name:
		for _, side := range []*side{e.base, e.head} {
			for i := range side.sessions {
				if s := &side.sessions[i]; s.Step != "" {
					for _, run := range s.Runs {
						floor = math.Max(floor, 1/float64(max(run.Total-run.Skipped, 1)))
					}
				}
			}
		}
	}
	return floor
}

// attributes lists what of a kernel's launch attributes changed.
func (e *engine) attributes(old, new measure.Subject) []string {
	var out []string
	if old.Scope != measure.ScopeKernel {
		return nil
	}
	for _, m := range []measure.Metric{measure.Registers, measure.StaticShared, measure.DynamicShared, measure.LocalMemory} {
		b, h := e.base.typical(old, m.Name), e.head.typical(new, m.Name)
		if !math.IsNaN(b) && !math.IsNaN(h) && b != h {
			unit := ""
			if strings.HasPrefix(m.Unit, "B") {
				unit = " " + m.Unit
			}
			out = append(out, label(m.Name)+" "+number(b)+" → "+number(h)+unit)
		}
	}
	return out
}

// natural turns an estimate on the working scale into a relative change.
func (c *comparison) natural(x float64) float64 {
	if c.relative {
		return math.Expm1(x)
	}
	return x
}

// working is the inverse of natural.
func (c *comparison) working(x float64) float64 {
	if c.relative {
		return math.Log1p(x)
	}
	return x
}

func hasZero(sessions [][]float64) bool {
	for _, s := range sessions {
		for _, v := range s {
			if v == 0 {
				return true
			}
		}
	}
	return false
}

func average(sessions [][]float64) float64 {
	sum, n := 0.0, 0.0
	for _, s := range sessions {
		for _, v := range s {
			if !math.IsNaN(v) {
				sum += v
				n++
			}
		}
	}
	return sum / n
}

func transform(sessions [][]float64, f func(float64) float64) [][]float64 {
	out := make([][]float64, len(sessions))
	for i, s := range sessions {
		out[i] = make([]float64, len(s))
		for j, v := range s {
			out[i][j] = f(v)
		}
	}
	return out
}

func flatten(sessions [][]float64) []Number {
	out := []Number{}
	for _, s := range sessions {
		for _, v := range s {
			out = append(out, Number(v))
		}
	}
	return out
}
