package decide

import (
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/judge/terms"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// pool is the common noise of the estimates of one kind, whose variances are expected to be alike.
type pool struct {
	prior   stats.Variance    // of the variance between runs
	sides   [2]stats.Variance // of that of base and head alone
	unequal bool              // the sides differ in noise, see [stats.Unequal]
	// steady is true of counts with no difference between the runs of a side, exact if enough runs show that.
	steady, exact bool
	gaps          []float64 // between the two levels of each member that is bimodal, as log ratios
	changes       []float64 // of the members
	// few is true of a kind with too few members for a learnt variance: the prior only widens theirs.
	few bool
}

func (t comparison) times() string { return kindOf(measure.ScopeKernel, t.Time) }

// gpuTime is the kind of the GPU time of the workload.
var gpuTime = kindOf(measure.ScopeWorkload, measure.GPUTime)

// poolOf is the pool of a pair: that of its kind, and of the GPU time for the kernel that makes it up. Both are one
// time, which other kernels say nothing of.
func (t comparison) poolOf(pools map[string]pool, p pair) pool {
	if of, ok := pools[gpuTime]; ok && isKernelTime(p) && p.Subject == t.whole {
		return of
	}
	return pools[p.kind()]
}

func isKernelTime(p pair) bool {
	return p.Subject.Scope == measure.ScopeKernel &&
		(p.Metric.Name == measure.Time.Name || p.Metric.Name == measure.Total.Name)
}

// wholeKernel is the kernel that makes up the GPU time of both sides, but for less than a kernel that shows; the zero
// subject where there is none.
func wholeKernel(t comparison) measure.Subject {
	for _, s := range recorded.Kernels(t.Head.Subjects()) {
		if math.Min(t.Base.Share(s), t.Head.Share(s)) > 1-recorded.KernelShare {
			return s
		}
	}
	return measure.Subject{}
}

func poolUp(t comparison, estimates []estimate) map[string]pool {
	members := map[string][]*estimate{}
	for i := range estimates {
		if e := &estimates[i]; e.Compared() {
			members[e.kind()] = append(members[e.kind()], e)
		}
	}
	times := measure.Map(t.telling(members[t.times()]), func(e *estimate) [2]stats.Variance { return e.contrast.Sides })
	unequal := math.Abs(stats.Unequal(times)) > unequalFrom
	out := map[string]pool{}
	for kind, of := range members {
		p := newPool(t, of)
		p.unequal = unequal || of[0].Metric.Unprofiled() // there are too few to tell
		out[kind] = p
	}
	sums(t, out)
	return out
}

func newPool(t comparison, members []*estimate) pool {
	p := pool{steady: true, exact: true}
	var runs, base, head []stats.Variance
	for _, e := range t.telling(members) {
		runs = append(runs, e.contrast.Run)
		base, head = append(base, e.contrast.Sides[0]), append(head, e.contrast.Sides[1])
	}
	for _, e := range members {
		p.changes = append(p.changes, e.contrast.Estimate)
		p.steady = p.steady && e.Metric.Exact && e.contrast.Run.S2 == 0
		p.exact = p.exact && min(len(stats.Pooled(e.Base)), len(stats.Pooled(e.Head))) >= countedRuns
		// Of unprofiled runs a level is no outlier.
		samples := measure.Either(e.Metric.Unprofiled(), e.shown, [2][][]float64{e.Base, e.Head})
		if gap := t.modesOf(e, samples).gap; gap > 0 {
			p.gaps = append(p.gaps, gap)
		}
	}
	p.exact = p.steady && (p.exact || t.Time == measure.ReplayTime)
	p.prior, p.sides = stats.Prior(runs), [2]stats.Variance{stats.Prior(base), stats.Prior(head)}
	switch {
	case members[0].Metric.Unprofiled() && (members[0].Subject.Scope != measure.ScopeBenchmark ||
		len(runs) < stats.PoolLeast):
		p.few, p.prior = true, outputPrior
		if known := stats.Positive(runs); len(known) > 1 {
			p.prior.S2 = math.Max(p.prior.S2, stats.Typical(known))
		}
		p.sides = [2]stats.Variance{p.prior, p.prior}
	case members[0].Metric.OnHost():
		p.prior, p.sides = stepPrior, [2]stats.Variance{stepPrior, stepPrior}
	}
	return p
}

// sums makes the priors of sums over kernels as wide as that of the kernels asks for: were the kernels' runs
// independent, the variance of a sum would be that of a kernel times the sum of the squares of their shares.
func sums(t comparison, pools map[string]pool) {
	kernels := pools[t.times()]
	squares := measure.Sum(recorded.Kernels(t.Head.Subjects()), func(s measure.Subject) float64 {
		return math.Pow(t.Head.Share(s), 2)
	})
	for _, scope := range []measure.Scope{measure.ScopeWorkload, measure.ScopeRange, measure.ScopeDevice} {
		kind := kindOf(scope, measure.GPUTime)
		if p, ok := pools[kind]; ok {
			p.prior.S2 = math.Max(p.prior.S2, squares*kernels.prior.S2)
			for i := range p.sides {
				p.sides[i].S2 = math.Max(p.sides[i].S2, squares*kernels.sides[i].S2)
			}
			pools[kind] = p
		}
	}
}

// telling are the estimates of one kind whose noise says something about the others: of a few not those of times whose
// noise is the timer's tick.
func (t comparison) telling(members []*estimate) []*estimate {
	return measure.Where(members, func(e *estimate) bool {
		tick := e.Metric.Name == t.Time.Name && t.Tick > coarse*stats.Average(e.Base)
		return len(members) >= stats.PoolLeast || !tick
	})
}

// bimodal is the part of the estimates whose levels lie far enough apart to explain a change of this size.
func (p pool) bimodal(size float64) float64 {
	// levelReach is how many times the gap between the levels of one kernel the gap of another one may be.
	const levelReach = 3
	far := measure.HowMany(p.gaps, func(gap float64) bool { return gap*levelReach >= size })
	return float64(far) / float64(len(p.changes))
}

// outlierChance is the chance of a change without a cause: where some kernels of a pool are bimodal, a quiet one may
// be, too, with all runs of a side on one level.
func (p pool) outlierChance(e *estimate) float64 {
	part := p.bimodal(math.Abs(e.contrast.Estimate))
	return measure.Either(p.exact, 0, part*stats.Split(len(stats.Pooled(e.Base)), len(stats.Pooled(e.Head))))
}

// spreads is the variance between sessions that all kernels of a gate show.
type spreads struct {
	kernels  stats.Variance // of one kernel
	df       float64        // degrees of freedom of it
	heaviest float64        // the largest part of GPU time of a kernel
	hostPart float64        // see [terms.HostPart]
}

// newSpreads learns the variance of kernels from their changes: most kernels did not change, so the typical change is
// that of the sessions. The median keeps out those that did.
func newSpreads(t comparison, estimates []estimate) spreads {
	hostPart := terms.HostPart(t.Base, t.Head)
	kernel := match.Pair{Subject: measure.Subject{Scope: measure.ScopeKernel}, Metric: t.Time}
	prior := t.term(pair{Pair: kernel}, hostPart)
	s := spreads{kernels: stats.Variance{S2: prior, DF: stats.SessionWeight}, df: stats.SessionDF, hostPart: hostPart}
	var changes []float64
	var runs, sessions []stats.Variance
	for _, e := range estimates {
		w := e.contrast.SessionWeight
		if !e.Compared() || w == 0 || e.Metric.Name != t.Time.Name || t.share(e.pair) < recorded.KernelShare {
			continue
		}
		s.heaviest = math.Max(s.heaviest, t.share(e.pair))
		runs, sessions = append(runs, e.contrast.Run), append(sessions, e.contrast.Session)
		changes = append(changes, math.Abs(e.contrast.Estimate)/math.Sqrt(w))
	}
	if t.relation() == terms.SameBoard && t.showsSessions() && len(sessions) >= batchLeast {
		s.kernels.S2 = stats.Pool(append(sessions, stats.Variance{S2: prior, DF: boardWeight})...).S2
	}
	least, most := stats.PoolLeast, math.Pow(sessionMost*t.Policy.SessionSD, 2)
	if t.relation() <= terms.OtherTime {
		// A program that got slower as a whole is not the noise of one GPU.
		least, most = batchLeast, prior
		if known := stats.Positive(runs); len(known) > 0 {
			most = math.Max(most, batchMost*batchMost*stats.Typical(known))
		}
	}
	if n := float64(len(changes)); len(changes) >= least {
		seen := stats.Median(changes) / stats.NormalQuartile
		together := stats.Pool(s.kernels, stats.Variance{S2: seen * seen, DF: stats.MADEfficiency * n})
		if !t.showsSessions() || together.S2 > s.kernels.S2 {
			s.kernels = together
			if t.relation() <= terms.OtherTime {
				s.df = together.DF
			}
		}
		s.kernels.S2 = math.Min(s.kernels.S2, most)
		if t.relation() == terms.OtherBoard {
			s.kernels.S2 = math.Max(s.kernels.S2, prior) // kernels that boards hardly change say nothing of the others
		}
	}
	return s
}

// showsSessions reports whether a side has several sessions of one GPU or board, which show how far sessions differ.
// Hosts of other boards may well be of one kind, and the next of another.
func (t comparison) showsSessions() bool {
	r := t.relation()
	return (r == terms.OtherTime || r == terms.SameBoard) && len(t.Base.Sessions)+len(t.Head.Sessions) > 2
}

// of is the variance between sessions of an estimate: that of its term, moderated by its own sessions.
func (s *spreads) of(t comparison, e *estimate) stats.Variance {
	expected := stats.Variance{S2: t.term(e.pair, s.hostPart), DF: stats.SessionWeight}
	own, df := e.contrast.Session, float64(stats.SessionDF)
	switch terms.Of(e.Subject, e.Metric, "") {
	case terms.KernelRow:
		expected.S2, df = math.Max(s.kernels.S2, t.rare(e.pair)), s.df
	case terms.SumRow:
		expected.S2 = max(expected.S2, s.kernels.S2, t.rare(e.pair))
	}
	v := stats.Moderate(own, expected)
	if v != own {
		v.DF = df
	}
	if !t.showsSessions() || e.dependsOnHost() && t.relation() != terms.OtherTime {
		v = stats.Variance{S2: math.Max(stats.Pool(own, expected).S2, expected.S2), DF: df}
	}
	if e.Metric.Name == measure.Time.Name && t.relation() >= terms.SameBoard {
		v.S2 = math.Max(v.S2, math.Pow(hostTicks*t.Tick/stats.Average(e.Base), 2))
	}
	return v
}

// hostEffect is the largest relative change that a host effect explains, whatever the variance. It is that of a kernel,
// or its part in a sum. Several hosts of one board may show a kernel to be quiet. A cheap change is never told from a
// host effect.
func (s *spreads) hostEffect(t comparison, e *estimate) float64 {
	isTime := (e.Metric.Unit == measure.Time.Unit || e.Metric.OnGPU()) && e.Subject.Scope != measure.ScopeSection
	if t.relation() < terms.SameBoard || e.dependsOnHost() || !isTime {
		return 0
	}
	most, share := hostEffectMost, t.share(e.pair)
	if t.relation() == terms.SameBoard {
		sds := hostEffectSDs
		quiet := s.kernels.S2 <= quietHosts*quietHosts
		name := strings.ReplaceAll(strings.ToLower(e.Subject.Name), "sgemm", "") // in single precision
		tensor := slices.ContainsFunc(tensorNames, func(part string) bool { return strings.Contains(name, part) })
		if quiet && e.Subject.Scope == measure.ScopeKernel && !tensor {
			sds = hostEffectPlain
		}
		most = math.Min(most, sds*math.Sqrt(s.kernels.S2))
		if t.showsSessions() && e.session.S2 < quietSD*quietSD {
			most = 0
		}
	}
	if alone := e.Subject.Scope == measure.ScopeKernel || e.Subject.Scope == measure.ScopeBenchmark; !alone &&
		share > 0 {
		most *= math.Min(1, s.heaviest/share)
	}
	return math.Max(most, t.leastCost(e.pair)/share)
}

// rowsTogether is how many rows of benchmark files that name no host moved by about as much as one of them, and nearly
// none by another amount: another host does that. It is 0 for fewer than five, for a larger change, and where the
// policy says that there is one host. The numbers of a load are views of one benchmark, and change together.
func (t comparison) rowsTogether(e *estimate) int {
	most := measure.Either(e.dependsOnHost(), hostRowsMost, shiftMost)
	by := e.contrast.Estimate
	if !t.assumed || t.Policy.Places["same_host"] != "" || t.Head.Sessions[0].Mode != "" ||
		e.Subject.Scope != measure.ScopeBenchmark || math.Abs(by) > math.Log1p(most) {
		return 0
	}
	with := measure.HowMany(e.pool.changes, func(v float64) bool { return math.Abs(v/by-1) < alike })
	moved := measure.HowMany(e.pool.changes, func(v float64) bool { return math.Abs(v/by) > alike })
	return measure.Either(with < togetherLeast || float64(with) < agree*float64(moved), 0, with)
}

// standsOut reports whether a change between hosts is more than those of its kind differ by, corrected for their
// number.
func (e *estimate) standsOut() bool {
	if e.contrast.SessionWeight == 0 || len(e.pool.changes) < batchLeast {
		return false
	}
	own, sd := *e, stats.ShortestHalf(e.pool.changes)
	own.session = stats.Variance{S2: math.Min(e.session.S2, sd*sd/e.contrast.SessionWeight),
		DF: stats.MADEfficiency * float64(len(e.pool.changes))}
	v := own.with([]float64{e.contrast.RunWeight}, e.run)
	return float64(len(e.pool.changes))*stats.TwoSided(e.contrast.Estimate, v) < 1-result.Confidence
}

// tensorNames are parts of the names of library kernels that may compute on tensor cores, whose clock and power differ
// between hosts of one board by more than what memory and plain arithmetic do.
var tensorNames = strings.Fields("gemm nvjet xmma cutlass mma_ wgmma fprop bprop wgrad dgrad conv fmha flash sdpa " +
	"attention cudnn _dot")
