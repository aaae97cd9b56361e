package decide

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/code"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/judge/align"
	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Input is all that a judgement depends on. Sessions stand oldest first.
type Input struct {
	Baseline, Head []model.Session
	Policy         *thresholds.Resolved
	// Since holds every session since the anchor of the baseline for judging drift. Without any, drift is judged by the
	// baseline's own sessions alone.
	Since []model.Session
	// Look says which of several looks at growing data this is; the zero value is the only one.
	Look Look
}

// Look is one of several judgements of the same measurement, each with more runs.
type Look struct {
	Number, Of     int
	Runs, MostRuns int     // a side, in this look and in the last
	Alpha          float64 // the part of the policy's error that this look may spend
}

// Stage is how far a judgement came.
type Stage int

// The stages. A refusal ends a judgement; device code alone is never compared.
const (
	CodeAlone Stage = iota
	Refused         // nothing was judged, see [Refuse]
	Measured        // the sides cannot be compared
	Aligned         // the sides have nothing that can be compared
	Compared
)

// Decision is the answer of a gate, as a report without explanations, with the input of explainers.
type Decision struct {
	answer
	Input
	Stage Stage
	Base  []model.Session // sessions of Baseline that are compared with the head
	// Matching holds the compared pairs, and nothing before [Compared].
	Matching match.Matching
	// Unranked are the findings in the order of the pairs.
	Unranked []result.Finding
	// Scaled, Single, Moved, LeftOut, Assumed and Drift are remarks on the work that was scaled, on a single run, on
	// outlier values, on runs that were left out, on hosts that are not named, and on drift.
	Scaled, Single, Moved, LeftOut, Assumed, Drift []result.Remark
	// Ratios are the reasons why ratios of the policy have no rows, Idle those that another workload may have, and
	// limits of drift that has too few sessions.
	Ratios, Idle []result.Remark

	t comparison
}

// answer embeds the report one level below [Input], whose baseline and head are sessions.
type answer struct{ result.Report }

// Cost is the part of a step or run that a slowdown has to add to fail the gate.
func (d *Decision) Cost() float64 { return d.t.cost() }

// Hosts says how much is known of the hosts of the sides: see [reason.CommonShift].
func (d *Decision) Hosts() string { return d.t.hosts() }

// FewRuns reports whether the sides have too few runs for any judgement but of bounds.
func (d *Decision) FewRuns() bool { return d.t.few != nil }

// Judge compares the head with the baseline and returns the verdict. Input that cannot be compared gets NoVerdict and
// the reason of the refusal.
func Judge(in Input) *Decision {
	policy := in.Policy
	in.Baseline, in.Since = match.SameOperations(in.Baseline, in.Head), match.SameOperations(in.Since, in.Head)
	if in.Look.Alpha > 0 {
		look := *in.Policy
		look.Alpha, policy = in.Look.Alpha, &look
	}
	followed := policy // policy for drift
	if slices.ContainsFunc(policy.Rules, func(r thresholds.Rule) bool { return r.Drift != nil }) {
		compared, drifts := *policy, *policy
		compared.Alpha, drifts.Alpha = (1-driftPart)*policy.Alpha, driftPart*policy.Alpha
		policy, followed = &compared, &drifts
	}
	policy = policy.In(recorded.Categories(in.Baseline, in.Head))
	d := newDecision(in, Measured)
	in.Baseline, in.Head = align.Alike(in.Baseline, in.Head), align.Alike(in.Head, in.Baseline)
	base, refusal := align.Comparable(in.Baseline, in.Head)
	d.Base, d.Boards = base, align.Boards(base, in.Head)
	if refusal != nil {
		return d.conclude(verdict.Gate{Refused: refusal})
	}
	base, head, scaled := align.SameWork(base, in.Head)
	d.Stage, d.t, d.Scaled = Aligned, newComparison(withRatios(policy, base), withRatios(policy, head), policy), scaled
	m := match.New(d.t.Sides)
	if refusal := m.Refusal(); refusal != nil {
		return d.conclude(verdict.Gate{Refused: refusal})
	}
	d.Stage, d.Matching = Compared, m
	d.compare()
	d.Drift, d.Idle = Drift(in.Baseline, in.Since, in.Head, followed)
	ratios, idle := unmetRatios(policy, d.t.Base, d.t.Head)
	d.Ratios, d.Idle = ratios, append(d.Idle, idle...)
	g := verdict.Gate{Sides: d.t.Sides, Outlier: d.t.outlierAsAWhole(),
		LeftOut: d.t.leftOutOfHead(), Drift: d.Drift, Unmet: m.Unmet()}
	if g.Unmet == nil && len(d.Ratios) > 0 {
		g.Unmet = &d.Ratios[0]
	}
	d.Code, g.Code = code.Compare(in.Baseline, in.Head, policy)
	return d.conclude(g)
}

// JudgeCode judges device code alone, without a measurement. unchanged is the reason of a pass where all that is
// measured is as in the baseline, nil elsewhere; lacking is why there is no baseline, nil where there is one.
func JudgeCode(in Input, unchanged *result.Remark, lacking error) *Decision {
	in.Baseline = match.SameOperations(in.Baseline, in.Head)
	d, g := newDecision(in, CodeAlone), verdict.Gate{CodeAlone: unchanged}
	d.HeadSessions = nil
	d.Code, g.Code = code.Compare(in.Baseline, in.Head, in.Policy.In(recorded.Categories(in.Baseline, in.Head)))
	if lacking != nil {
		g.Refused = ReasonOf(lacking)
	} else if unchanged == nil {
		g.CodeAlone = code.Alone(d.Code, in.Baseline)
	}
	return d.conclude(g)
}

func newDecision(in Input, stage Stage) *Decision {
	d := &Decision{Input: in, Stage: stage, answer: answer{result.Report{Alpha: result.Unknown,
		Confidence: result.Confidence, HeadSessions: in.Head, Findings: []result.Finding{},
		Basis: &result.Basis{Policy: in.Policy}}}}
	if in.Policy != nil {
		d.Alpha = result.Number(in.Policy.Alpha)
	}
	return d
}

func (d *Decision) conclude(g verdict.Gate) *Decision {
	verdict.Of(g, &d.Report)
	return d
}

// compare adds the findings, and the relation of the sides.
func (d *Decision) compare() {
	t, pairs := &d.t, d.Matching.Pairs
	if t.OtherCycle() == nil && t.OneStep() == nil {
		t.waterfall = attribution.NewWaterfall(t.Base, t.Head, match.SumNames(pairs), t.outlierRuns)
	}
	d.Waterfall = t.waterfall
	all := estimates(t, pairs)
	d.Findings, d.Family = decide(*t, all)
	d.Unranked = slices.Clone(d.Findings)
	other := recorded.SideNames[measure.Either(t.single == recorded.SideNames[0], 1, 0)]
	d.Single = result.SayIf(t.single != "", reason.ComparedSingle{Side: t.single, Other: other,
		Runs: max(t.Base.Runs(), t.Head.Runs())})
	d.Moved = movedRuns(all, d.Findings)
	d.LeftOut = measure.Map(t.outlierRuns, func(x result.OutlierRun) result.Remark {
		return result.Say(reason.OutlierRun{Run: x.Run + 1, Side: x.Side, Change: x.Change})
	})
	d.Assumed = append(result.SayIf(t.assumed, reason.OneHost), result.SayIf(t.named, reason.HostNamed)...)
	d.OneGPU = recorded.OneGPU(t.Base.Sessions, t.Head.Sessions)
	if x := result.Number(recorded.Apart(t.Base.Sessions, t.Head.Sessions)); x.Known() {
		d.Apart = x
	}
	d.Paired, d.Batches, d.OutlierRuns = len(t.shared) > 0 && !t.batches && !t.assumed, t.batches, t.outlierRuns
	measure.Sort(d.Findings, func(a, b result.Finding) int {
		return cmp.Compare(verdict.Rank(&a), verdict.Rank(&b))
	})
	d.Label()
	d.Detects = verdict.Detects(d.Findings)
}

// Refuse is the decision on a measurement that could not be compared, with the sides as far as they are known. Absolute
// bounds, which need no second side, hold for a head without a baseline: why is what keeps it from being compared.
func Refuse(in Input, why error) *Decision {
	d, g := newDecision(in, Refused), verdict.Gate{Refused: ReasonOf(why)}
	d.Base = in.Baseline
	if len(in.Baseline) > 0 || len(in.Head) == 0 {
		return d.conclude(g)
	}
	in.Baseline = measure.Map(in.Head, func(s model.Session) model.Session { s.Code = nil; return s })
	alone := Judge(in) // of itself a head differs by bounds alone
	_, g.Code = code.Compare(nil, in.Head, in.Policy.In(recorded.Categories(in.Head, nil)))
	if broken := verdict.Failing(alone.Findings); broken != "" {
		g.Broken = result.Refuse(model.BoundBroken, "mend it, or move the bound in the policy (at_most, at_least)",
			"a bound is broken: %s", broken)
		d.Warn(*g.Refused)
	}
	if alone.ReasonKey == string(model.MetricMissing) {
		g.Unmet = result.Refuse(model.MetricMissing, strings.Join(alone.Next, "; "), "%s, and %s", g.Refused.Sentence,
			alone.Reason)
	}
	for _, f := range measure.Where(alone.Findings, func(f result.Finding) bool { // in some runs, or warned of
		return f.ReasonKey == result.KeyBoundsBroken && !f.Fails()
	}) {
		says := result.Refuse(model.Doubted, "measure again with more runs", "the %s of %s: %s",
			result.Title(f.Metric), f.Title(), f.Reason)
		if f.Doubted || f.Undecided && f.Gates && in.Policy.Undecided == "fail" {
			g.Unmet = cmp.Or(g.Unmet, says)
		} else {
			d.Warn(*says)
		}
	}
	_, idle := alone.Matching.UnusedRules("")
	d.Note(idle...)
	return d.conclude(g)
}

// ReasonOf is an error in words, with the key and the next step of a [model.Refusal].
func ReasonOf(err error) *result.Remark {
	if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
		return &result.Remark{Key: string(refusal.Kind), Sentence: refusal.Reason, Next: refusal.Next}
	}
	return &result.Remark{Sentence: err.Error()}
}

// Drift reports slowdowns over the sessions since the anchor, see [history.Drift]. Without any it follows the sessions
// of the baseline, but for rules on drift. idle names the first of these where there is nothing to follow.
func Drift(base, since, head []model.Session, policy *thresholds.Resolved) (drifts, idle []result.Remark) {
	// the anchor is the first state of a drift
	recent := slices.DeleteFunc(slices.Clone(base), func(s model.Session) bool {
		return len(since) > 0 && s.Start.Before(since[0].Start)
	})
	anchored, steps := followed(since, head, policy), followed(recent, head, policy)
	return history.Drift(anchored, steps, policy.Alpha)
}

// followed are the sessions that the head can be compared with, followed by the head, and the metrics they are compared
// by; none where there are fewer than three.
func followed(sessions, head []model.Session, policy *thresholds.Resolved) history.Basis {
	fits, because := align.Comparable(sessions, head)
	all := history.Separate(match.SameNames(slices.Concat(fits, head), policy))
	if because != nil || len(fits) < 2 || len(all) < 3 {
		return history.Basis{Policy: policy}
	}
	time, total := recorded.Times(head)
	return history.Basis{Sessions: all, Time: time, Total: total, Tick: recorded.FinestTick(slices.Concat(fits, head)),
		Policy: policy}
}

// Forecast is one comparison of a gate that is planned.
type Forecast struct {
	estimate
	Finding result.Finding
	alpha   float64 // the part of the gate's error that it may spend
}

// forecasts are those of the outputs, of rows of benchmark files, of the workload's GPU time and of the times of
// kernels from the policy's impact on. The alphas are those of the first step of Holm's procedure.
func forecasts(policy *thresholds.Resolved, estimates []estimate, findings []result.Finding) []Forecast {
	total := 0.0
	for i, e := range estimates {
		if findings[i].Gates {
			total += e.weight()
		}
	}
	var out []Forecast
	for i, e := range estimates {
		f := findings[i]
		kernel := f.Scope == measure.ScopeKernel && f.Metric == measure.Time.Name &&
			float64(f.Share) >= recorded.KernelShare
		workload := e.Subject == measure.Workload && f.Metric == measure.GPUTime.Name
		row := e.Subject.Scope == measure.ScopeBenchmark && f.Gates
		output := e.Compared() && (e.Subject.Scope == measure.ScopeOutput || row)
		if e.Listed == "" && f.Base > 0 && (kernel || workload || output) {
			out = append(out, Forecast{e, f, policy.Alpha * e.weight() / total})
		}
	}
	return out
}

// Detectable are the smallest relative effects that gates of 0, 1, 2 … runs a side or more would find in 80 % of cases,
// if the spread between runs is what it is here. A noisy kernel's real spread counts even where few runs would moderate
// it away.
func (f *Forecast) Detectable(limit float64) []float64 {
	out := make([]float64, MaxRuns+1)
	limit = f.distance(f.Metric.Sign() * math.Max(limit, float64(f.Finding.Floor/f.Finding.Base)))
	most := measure.Either(f.contrast.Run.DF == 0, math.Inf(1), 0) // in too few runs to know its spread
	for n := MaxRuns; n >= 0; n-- {
		if n >= stats.MinRuns {
			raw := stats.Variance{S2: f.contrast.Run.S2, DF: float64(2*n - 2)}
			v := f.pool.moderate(raw, f.pool.prior)
			v.S2 = math.Max(v.S2, raw.S2) * 2 / float64(n)
			most = math.Max(most, f.loss(stats.Detectable(v, limit, f.alpha, result.Power)))
		}
		out[n] = most
	}
	return out
}

// JudgeHalves compares two halves of a session, and returns a forecast of every comparison, or why there is none.
func JudgeHalves(base, head []model.Session, policy *thresholds.Resolved) ([]Forecast, *result.Remark) {
	if _, r := align.Comparable(base, head); r != nil {
		return nil, r
	}
	t := newComparison(base, head, policy)
	t.waterfall = attribution.NewWaterfall(t.Base, t.Head, nil, t.outlierRuns)
	estimates := estimates(&t, match.Pairs(t.Sides))
	findings, family := decide(t, estimates)
	if family == 0 {
		return nil, verdict.NothingJudged(t.Policy)
	}
	return forecasts(policy, estimates, findings), nil
}
