package match

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/align"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// matchRefusals are the refusals to judge matched sides: a rule has nothing to judge, or the sides differ too much.
var matchRefusals = []align.Refusal[Matching]{
	{Name: "metric not sampled", Kind: model.MetricMissing, When: func(m Matching) bool { return m.unmet(true) != nil },
		Says: func(m Matching) (string, string) {
			x := m.unmet(true)
			return "nothing that " + x.rule.Where + " limits has " + x.metric.Title() +
					": the GPU does not count it, or the range is shorter than the sampling period",
				"limit it for the workload or for a longer range, or remove the rule"
		}},
	{Name: "metric missing", Kind: model.MetricMissing, When: func(m Matching) bool { return m.unmet(false) != nil },
		Says: func(m Matching) (string, string) {
			x, by := m.unmet(false), "--set full"
			if raw := x.metric.Raw(); raw != "" {
				by = "--metrics " + raw
			}
			return "no kernel that " + x.rule.Where + " limits has " + x.metric.Title(),
				"profile with " + by + "; where the GPU does not count it, remove the rule"
		}},
	{Name: "other unit", Kind: model.OtherMode, When: func(m Matching) bool { b, _ := m.otherUnit(); return b != nil },
		Says: func(m Matching) (string, string) {
			base, head := m.otherUnit()
			in := func(x *model.Series) string {
				unit := cmp.Or(result.Given(x.Unit(), "in ", measure.Quote(x.Unit())), "without a unit")
				return x.Metric.Title() + " " + unit
			}
			return base.Subject.Short() + " is " + in(base) + " in the baseline and " + in(head) + " in the head",
				"measure both sides in the same unit"
		}},
	{Name: "nothing in common", Kind: model.OtherWorkload, When: func(m Matching) bool { return m.alien },
		Says: func(m Matching) (string, string) {
			base, head := recorded.Kernels(m.Base.Subjects()), recorded.Kernels(m.Head.Subjects())
			return "baseline and head have no kernel and no range in common: " + measure.Count(len(base), "kernel") +
					" in the baseline, " + measure.Count(len(head), "kernel") + " in the head",
				"compare two builds of one workload"
		}},
	{Name: "kernel without time", Kind: model.ZeroTime, When: func(m Matching) bool { return m.timeless() != nil },
		Says: func(m Matching) (string, string) {
			p := m.timeless()
			base, head := recorded.Typical(p.Base), recorded.Typical(p.Head)
			without, with := "baseline", "head"
			if head == 0 {
				without, with = "head", "baseline"
			}
			return p.Subject.Short() + " takes no time in the " + without + " and " +
				measure.Quantity(math.Max(base, head), "ns") + " in the " + with +
				": the timer failed, or the profile was changed", "measure again"
		}},
	{Name: "step lost", Kind: model.StepLost, When: func(m Matching) bool {
		return m.lostStep() != "" && m.OneStep() == nil
	}, Says: func(m Matching) (string, string) {
		return "no step was found in the " + m.lostStep() + ", and the other side has one",
			"name the range that both repeat as the step, or take both as one piece"
	}},
	{Name: "launches lost", Kind: model.KernelsLost, When: Matching.hiding,
		Says: func(m Matching) (string, string) {
			next := "record the " + m.lost().Side +
				" again: let the workload synchronise before the profiler stops, and profile fewer steps"
			if m.lost().Rows {
				next = "print the tables of the " + m.lost().Side + " again, whole: " + model.PrintLaunches
			}
			return m.LostRemarks()[0].Sentence + ", more than its limit: a regression may be among them", next
		}},
}

// Matching holds the compared pairs of two sides, and the rules that judge nothing.
type Matching struct {
	Sides
	Pairs []Pair
	rules []unmet
	// ofSteps are the rules that limit pairs which are not judged because only one side has a step.
	ofSteps []string
	alien   bool // the sides have nothing in common
}

// New matches two sides.
func New(t Sides) Matching {
	m := Matching{Sides: t, Pairs: Pairs(t), rules: unmetRules(t)}
	m.alien = m.unrelated()
	if t.OneStep() != nil {
		m.Pairs, m.ofSteps = t.ofRuns(m.Pairs)
	}
	return m
}

// Refusal is why matched sides cannot be judged, nil where they can.
func (m Matching) Refusal() *result.Remark { return align.First(matchRefusals, m) }

// unmet is the first rule that limits a metric which the head had to have and lacks, nil where there is none; sampled
// selects rules on metrics of the whole GPU.
func (m Matching) unmet(sampled bool) *unmet {
	return measure.First(m.rules, func(x *unmet) bool { return x.refused && x.metric.Sampled() == sampled })
}

// otherUnit are the values of a compared pair in units that do not compare, or of a benchmark without a common metric,
// or nil.
func (m Matching) otherUnit() (base, head *model.Series) {
	for _, p := range m.Pairs {
		for i := range m.Base.Sessions {
			b := m.Base.Entries[p.Subject].In(i, p.Metric.Name)
			for j := range m.Head.Sessions {
				h := m.Head.Entries[p.Subject].In(j, p.Metric.Name)
				if b != nil && h != nil && !measure.SameUnit(b.Unit(), h.Unit()) {
					return b, h
				}
			}
		}
	}
	for _, s := range m.Head.Subjects() {
		if s.Scope == measure.ScopeBenchmark && m.Base.Has(s) {
			b, h := m.Base.Metrics(s), m.Head.Metrics(s)
			if !slices.ContainsFunc(b, func(x measure.Metric) bool { return m.Head.HasMetric(s, x.Name) }) {
				return m.Base.Find(s, b[0].Name), m.Head.Find(s, h[0].Name)
			}
		}
	}
	return nil, nil
}

// unrelated reports whether the sides have nothing in common but the workload as a whole: no kernel by name or place,
// no range, no step, no structure. A rewrite may rename and regroup every kernel, and still launches as often.
func (m Matching) unrelated() bool {
	if m.Base.Sessions[0].Step != "" || m.Time == measure.ReplayTime {
		return false // both repeat the same step; counters are of the kernels that were named
	}
	common := func(p Pair) bool {
		return p.Compared() && p.Match != "rest" &&
			(p.Subject.Scope == measure.ScopeKernel || p.Subject.Scope == measure.ScopeRange)
	}
	base, head := recorded.Kernels(m.Base.Subjects()), recorded.Kernels(m.Head.Subjects())
	return len(base) > 0 && len(head) > 0 && !slices.ContainsFunc(m.Pairs, common) && !m.sameCounts()
}

// sameCounts reports whether both sides have as many steps, or launches in one, and enough of them for no chance.
func (m Matching) sameCounts() bool {
	const enough = 5
	equal := func(base, head float64) bool { return base >= enough && base == head }
	return equal(float64(recorded.Steps(&m.Base.Sessions[0])), float64(recorded.Steps(&m.Head.Sessions[0]))) ||
		equal(m.Base.Typical(measure.Workload, measure.Launches.Name),
			m.Head.Typical(measure.Workload, measure.Launches.Name))
}

// timeless is a kernel that takes no time on one side and a good deal on the other, or nil: zero is no measurement.
func (m Matching) timeless() *Pair {
	const ticks = 10 // of the timer; shorter times may be read as zero
	least := ticks * math.Max(m.Tick, 1)
	for i, p := range m.Pairs {
		base, head := recorded.Typical(p.Base), recorded.Typical(p.Head)
		if p.Metric.Name == m.Time.Name && p.Match == "exact" &&
			(head == 0 && base > least || base == 0 && head > least) {
			return &m.Pairs[i]
		}
	}
	return nil
}

// lost is the launches without a record of the side that misses more GPU time by them, beyond those of the other side,
// zero for none. Their share is the largest that they can have taken by the times of the other side.
func (m Matching) lost() (worst reason.LostLaunches) {
	names := [2]string{"baseline", "head"}
	for i, side := range []*recorded.Index{m.Base, m.Head} {
		other := []*recorded.Index{m.Head, m.Base}[i]
		for _, metric := range []measure.Metric{measure.LostLaunches, measure.SilentCalls} {
			rows := metric == measure.SilentCalls
			launches := perRun(side, metric.Name, measure.Workload) - perRun(other, metric.Name, measure.Workload)
			if launches <= 0 || !(other.Whole > 0) || rows &&
				!(side.HasMetric(measure.Workload, metric.Name) && other.HasMetric(measure.Workload, metric.Name)) {
				continue
			}
			found, ns := m.weigh(i, launches, rows)
			if share := result.Number(math.Min(1, ns/other.Whole)); share > worst.Share {
				worst = reason.LostLaunches{Side: names[i], Launches: result.Number(found), Share: share, Rows: rows}
			}
		}
	}
	return worst
}

// hiding reports whether they took more of the GPU time than it may grow by, so that a regression may be among them.
func (m Matching) hiding() bool {
	limit := m.Policy.Limit(measure.Workload, measure.GPUTime).Max
	if math.IsInf(limit, 1) {
		limit = m.Policy.Threshold
	}
	return float64(m.lost().Share) > limit
}

// weigh is the largest GPU time in ns of so many launches of a side, and how many there are: those of kernels that
// the other side launches more often take the time that they take there, the longest first. Any further ones take
// that of a mean launch, or are none where the calls may have asked the GPU for nothing.
func (m Matching) weigh(side int, calls float64, silent bool) (launches, ns float64) {
	launches = calls
	type kernel struct{ missing, time float64 }
	var kernels []kernel
	sides := [2]*recorded.Index{m.Base, m.Head}
	of, other := sides[side], sides[1-side]
	seen := map[measure.Subject]bool{}
	add := func(there, here []measure.Subject) {
		there = slices.DeleteFunc(slices.Clone(there), func(s measure.Subject) bool { return seen[s] })
		if len(there) == 0 {
			return
		}
		for _, s := range there {
			seen[s] = true
		}
		total, all := perRun(other, measure.Total.Name, there...), perRun(other, measure.Launches.Name, there...)
		if missing := all - perRun(of, measure.Launches.Name, here...); missing > 0 {
			kernels = append(kernels, kernel{missing, total / all})
		}
	}
	for _, p := range m.Pairs { // kernels that took one another's place, then single ones
		if len(p.summed[0]) > 0 {
			add(p.summed[1-side], p.summed[side])
		}
	}
	for _, s := range recorded.Kernels(other.Subjects()) {
		add([]measure.Subject{s}, []measure.Subject{s})
	}
	measure.Sort(kernels, func(a, b kernel) int { return cmp.Compare(b.time, a.time) })
	for _, k := range kernels {
		some := math.Min(launches, k.missing)
		ns, launches = ns+some*k.time, launches-some
	}
	if all := perRun(of, measure.Launches.Name, measure.Workload); all > 0 && !silent {
		return calls, ns + launches*of.Whole/all
	}
	return calls - launches, ns
}

// perRun is the sum of a metric of subjects in a mean profiled run. A run without it has none.
func perRun(side *recorded.Index, metric string, subjects ...measure.Subject) (sum float64) {
	for _, s := range subjects {
		for _, v := range stats.Pooled(side.Values(s, metric)) {
			sum += v
		}
	}
	return sum / float64(max(side.ProfiledRuns(), 1))
}

// LostRemarks names the part of the GPU time that is missing and too small to hide a regression.
func (m Matching) LostRemarks() []result.Remark {
	x := m.lost()
	return result.SayIf(x.Share > 0, x)
}
