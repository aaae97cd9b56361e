package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/align"
	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/judge/terms"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// comparison is two sides under a policy.
type comparison struct {
	match.Sides
	shared      [][2]int // pairs of a base and a head session that are one session
	batches     bool     // they are one session, but not measured in turn
	assumed     bool     // no side names its host: they are taken for one
	named       bool     // a side names it, where the flag, or a policy for benchmark files, says that they may differ
	trend       bool     // kernels of both batches get slower or faster from run to run
	boards      result.Boards
	fits        [2][]runFit         // of the sessions of base and head
	whole       measure.Subject     // the kernel that makes up the GPU time, see [wholeKernel]
	outlierRuns []result.OutlierRun // runs that are left out
	few         *reason.NotJudged   // too few runs for any judgement but of bounds, nil where there are enough
	// the side that holds one run against several of the other, "" for none, see [comparison.singleRun]
	single    string
	shift     float64           // common shift of nearly all kernels, 0 for none
	outlier   float64           // relative change of that run as a whole, 0 if it is no outlier
	waterfall *result.Waterfall // of the typical step, nil where that is not known
	unmerged  []model.Series    // of the base, that a merge changed without a measurement
}

// hosts says how much is known of where the sides were measured: in the "same" session, on "different" hosts, at
// different "times" on one GPU, or "unknown" where a profile does not name its GPU or time.
func (t comparison) hosts() string {
	nameless := func(s model.Session) bool { return s.GPUHash == "" || s.Start.IsZero() }
	switch r := t.relation(); {
	case r <= terms.BackToBack:
		return "same"
	case r == terms.OtherTime:
		return "times"
	case slices.ContainsFunc(slices.Concat(t.Base.Sessions, t.Head.Sessions), nameless):
		return "unknown"
	}
	return "different"
}

// share is the part of the workload's GPU time that a pair is about, the larger of base and head.
func (t comparison) share(p pair) float64 {
	if p.Subject.Scope == measure.ScopeSection {
		return math.Max(t.Base.ShareOfRun(p.Subject, p.Metric), t.Head.ShareOfRun(p.Subject, p.Metric))
	}
	if p.Match != "" && p.Match != "exact" && p.Metric.Name == t.Total.Name {
		return math.Max(recorded.Typical(p.Base)/t.Base.Whole, recorded.Typical(p.Head)/t.Head.Whole)
	}
	return math.Max(t.Base.Share(p.Subject), t.Head.Share(p.Subject))
}

func newComparison(base, head []model.Session, policy *thresholds.Resolved) comparison {
	t := comparison{Sides: match.NewSides(base, head, policy), boards: align.Boards(base, head)}
	t.named = policy.OtherHost && !(recorded.NoHost(base) && recorded.NoHost(head)) &&
		(policy.Places["same_host"] == "" || head[0].Profiled() == 0)
	t.assumed = !policy.OtherHost && recorded.NoHost(base) && recorded.NoHost(head)
	t.shared = t.partners(base, head)
	for _, p := range t.shared {
		b, h := &base[p[0]], &head[p[1]]
		t.batches = t.batches || !t.assumed && (!alternate(b, h, false) || !alternate(b, h, true))
	}
	t.whole = wholeKernel(t)
	t.fits = [2][]runFit{newRunFits(t.Base, t.Head, t.Time), newRunFits(t.Head, t.Base, t.Time)}
	t = t.leaveOut().singleRun()
	t.trend, t.shift = t.trends(), shiftFrom(t.fits[0], batchLeast, stats.LevelStep/2)
	for i := range base {
		unmerged := measure.Where(base[i].Series, func(x model.Series) bool { return x.Unmeasured })
		t.unmerged = append(t.unmerged, unmerged...)
	}
	return t
}

// partners are the sessions of base and head that were measured in one, by their places. Sessions of the baseline
// without a partner are left out, unless an accepted part replaced kernels that only these have; all of the head is
// judged: there are none where one of the head has no partner.
func (t comparison) partners(base, head []model.Session) (out [][2]int) {
	found := map[int]bool{}
	for i := range base {
		for j := range head {
			if model.SameSession(base[i].Environment, head[j].Environment) ||
				t.assumed && model.Close(base[i].Start, head[j].Start) {
				out, found[j] = append(out, [2]int{i, j}), true
			}
		}
	}
	t.shared = out
	return measure.Either(len(found) < len(head) || align.Partial(base) && !t.holdAll(), nil, out)
}

// holdAll reports whether the base sessions of the pairs together have every kernel of the base.
func (t comparison) holdAll() bool {
	return !slices.ContainsFunc(recorded.Kernels(t.Base.Subjects()), func(x measure.Subject) bool {
		return !slices.ContainsFunc(t.shared, func(p [2]int) bool { return t.Base.Entries[x].Series[p[0]] != nil })
	})
}

// alternate reports whether the profiled, or the unprofiled, runs of two sides of one session alternate, so that both
// saw the same clocks and temperatures: the middle run of each lies among the runs of the other. Parts of one
// recording without times are interleaved, and so are runs that one side lacks.
func alternate(a, b *model.Session, unprofiled bool) bool {
	if !unprofiled && a.Profiled()+b.Profiled() == 0 || unprofiled &&
		(a.Profiled() == len(a.Runs) || b.Profiled() == len(b.Runs)) {
		return true
	}
	known := func(r model.Run) bool { return !r.Start.IsZero() && r.Unprofiled == unprofiled }
	at := func(r model.Run) float64 { return float64(r.Start.UnixNano()) }
	x, y := measure.Map(measure.Where(a.Runs, known), at), measure.Map(measure.Where(b.Runs, known), at)
	if len(x) == 0 || len(y) == 0 {
		return len(x) == len(y) && a.Start.Equal(b.Start)
	}
	// The order counts, not the time: the first run of a program often takes longer to start. Of two middle runs either
	// may lie there.
	among := func(a, b []float64) bool { return a[(len(a)-1)/2] <= b[len(b)-1] && a[len(a)/2] >= b[0] }
	slices.Sort(x)
	slices.Sort(y)
	return among(x, y) && among(y, x)
}

// unmeasured reports whether the baseline of a pair is that of a merge that was never measured.
func (t comparison) unmeasured(p pair) bool {
	return slices.ContainsFunc(t.unmerged, func(x model.Series) bool {
		return x.Metric == p.Metric && (x.Subject == p.Subject || slices.Contains(p.BaseNames, x.Subject.Name))
	})
}

// relation is that of the sides of a comparison.
func (t comparison) relation() terms.Relation {
	switch {
	case t.batches:
		return terms.BackToBack
	case len(t.shared) > 0:
		return terms.Interleaved
	case t.assumed, recorded.OneGPU(t.Base.Sessions, t.Head.Sessions):
		return terms.OtherTime
	case t.boards == result.SameBoard:
		return terms.SameBoard
	}
	return terms.OtherBoard
}

// term is the variance between sessions that is expected of a metric before its own sessions are seen; hostPart is that
// of [terms.HostPart].
func (t comparison) term(p pair, hostPart float64) float64 {
	s, m := p.Subject, p.Metric
	of := terms.Of(s, m, t.Head.Note(s, m.Name)+" "+t.Base.Note(s, m.Name))
	switch {
	case t.launched(p):
		of = terms.JobRow
	case t.ofJob():
		of = of.OfJob()
	}
	sd := of.SD(t.relation(), hostPart)
	if of <= terms.SumRow {
		sd = math.Min(sd, t.Policy.SessionSD)
		between := terms.Row.SD(of, terms.OtherBoard, hostPart)
		if t.relation() >= terms.SameBoard && t.Policy.SessionSD > between {
			sd *= t.Policy.SessionSD / between
		}
	}
	beside := t.neighbours(p)
	return sd*sd + beside*beside
}

// withRatios adds the ratios of a policy to sessions that have both rows. What a host does to a run cancels out.
func withRatios(policy *thresholds.Resolved, sessions []model.Session) []model.Session {
	if len(policy.Ratios) == 0 {
		return sessions
	}
	sessions = slices.Clone(sessions)
	for i := range sessions {
		s := &sessions[i]
		all := slices.Clone(s.Series)
		for _, r := range policy.Ratios {
			of, over := ratioRows(s, r)
			if of == nil {
				continue
			}
			metric := measure.Either(of.Metric.Better == measure.Higher, measure.RateRatio, measure.Ratio)
			x := model.Series{Subject: bench.Row(r.Name), Metric: metric, Values: make(model.Values, len(of.Values))}
			for run := range of.Values {
				x.Values[run] = of.Values[run] / over.Values[run]
			}
			all = append(all, x)
		}
		s.Series = all
		s.SortSeries()
	}
	return sessions
}

// ratioRows are the two rows of a ratio in the first metric with a direction that both have, nil where there is none.
func ratioRows(s *model.Session, r thresholds.Ratio) (of, over *model.Series) {
	for i := range s.Series {
		for j := range s.Series {
			a, b := &s.Series[i], &s.Series[j]
			if a.Subject == bench.Row(r.Of) && b.Subject == bench.Row(r.Over) && a.Metric == b.Metric &&
				a.Metric.Better != measure.Neither && !slices.Contains(b.Values, 0) {
				return a, b
			}
		}
	}
	return nil, nil
}

// unmetRatios are the reasons why a gate cannot pass whose head lacks the rows of a ratio. Of several workloads one
// without either row is none of the ratio's, which is a remark.
func unmetRatios(policy *thresholds.Resolved, base, head *recorded.Index) (refused, idle []result.Remark) {
	for _, r := range policy.Ratios {
		some, row := head.Has(bench.Row(r.Of)) || head.Has(bench.Row(r.Over)), bench.Row(r.Name)
		in := func(side *recorded.Index) bool { // another row may have the name
			return side.HasMetric(row, measure.Ratio.Name) || side.HasMetric(row, measure.RateRatio.Name)
		}
		switch {
		case in(head):
			continue
		case policy.Limit(row, measure.Ratio).Severity != thresholds.Fail:
			idle = append(idle, result.Say(reason.RuleIdle{Rule: r.Where}))
			continue
		case !some && policy.Several > 1:
			idle = append(idle, result.Say(reason.RuleIdle{Rule: r.Where, Here: true, Unmet: true, Of: policy.Several}))
			continue
		}
		next := measure.Either(in(base), "measure both rows, or remove the ratio where it is meant that one is gone",
			"correct the names: nsgate show lists the rows")
		refused = append(refused, *result.Refuse(model.MetricMissing, next,
			"%s: the head has no rows %s and %s of one metric for the ratio %s", r.Where, measure.Quote(r.Of),
			measure.Quote(r.Over), measure.Quote(r.Name)))
	}
	return refused, idle
}
