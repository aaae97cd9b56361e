// Package calibrate measures the noise of one unchanged program, and the changes that gates detect on that machine.
package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// The constants of a calibration.
const (
	// calibrationRuns is the fewest runs that a calibration needs: two a side.
	calibrationRuns = 4
	// driftP and driftSize are the largest p-value and the least size of a drift of the workload's GPU time.
	driftP, driftSize = 0.01, 0.005
	// PlanEffect is the slowdown that a plan has to find, in limits: one of exactly the limit is no regression yet.
	PlanEffect = 1.5
	// splits is how many gates are drawn at most, seriesJudged how many series they judge at most in all.
	splits, seriesJudged = 1000, 200_000
	// boundConfidence is that of the bounds of the counted rates.
	boundConfidence = 0.95
)

// planThresholds are the limits that a plan is made for, beside the policy's.
var planThresholds = []float64{0.01, 0.02, 0.03, 0.05}

// mdeRuns are the numbers of runs a side with a stated MDE.
var mdeRuns = []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20}

// Calibrate judges a session of one unchanged program against itself. It gives its spread between runs, the false alarm
// rate of such gates, and the detectable change for each number of runs. It wants at least four runs; of several
// sessions it takes the last. perRun is the wall time of a run, 0 where unknown. A measurement with too few runs, no
// steady state, or drift between runs gives a calibration that is not sound.
func Calibrate(sessions []model.Session, policy *thresholds.Resolved, runs int, perRun time.Duration) *Calibration {
	c, last, forecasts := foretell(sessions, policy, runs, perRun)
	if last != nil {
		c.resample(last, forecasts, policy)
		c.foresee(forecasts, policy)
		c.Sound = true
	}
	return c
}

// NoiseOf is how much the runs of a session move, with the MDE of gates of so many runs a side in one session; none
// where the session says nothing about gates. See [Calibrate].
func NoiseOf(s model.Session, policy *thresholds.Resolved, runs int) []Noise {
	c, last, forecasts := foretell([]model.Session{s}, policy, runs, 0)
	if last == nil {
		return nil
	}
	c.Gates.Runs, c.Noise = runs, nil
	c.measure(last, forecasts)
	return c.Noise
}

// foretell measures the noise of the last session; without one where that says nothing about gates.
func foretell(sessions []model.Session, policy *thresholds.Resolved, runs int, perRun time.Duration,
) (*Calibration, *model.Session, []decide.Forecast) {
	c := newCalibration(policy)
	if perRun > 0 {
		c.SecondsPerRun = result.Number(perRun.Seconds())
	}
	if len(sessions) == 0 {
		return c.refuse(result.Refuse(model.NoSession, "measure one", "there is no session to calibrate with")), nil,
			nil
	}
	last := sessions[len(sessions)-1]
	c.Measured = insight.Describe([]model.Session{last})
	if n := len(sessions); n > 1 {
		c.warn(LastSession{n})
	}
	if r := fit(&last); r != nil {
		return c.refuse(r), nil, nil
	}
	// Two halves, as a gate of this session would see them; every other run, so that a slow drift is in both.
	var halves [2][]int
	profiled := last.Profiled()
	for i, run := range last.Runs {
		half := measure.Either(run.Unprofiled, (i-profiled)%2, i%2)
		halves[half] = append(halves[half], i)
	}
	base, head := []model.Session{Subset(&last, halves[0])}, []model.Session{Subset(&last, halves[1])}
	forecasts, r := decide.JudgeHalves(base, head, policy)
	if r != nil {
		return c.refuse(r), nil, nil
	}
	c.Gates.Runs = max(min(runs, last.Judged()/2), stats.MinRuns)
	c.measure(&last, forecasts)
	result.Labelled(c.Noise, func(n *Noise) (*result.Named, measure.Scope) { return &n.Named, n.Scope })
	if r := drift(&last); r != nil {
		return c.refuse(r), nil, nil
	}
	return c, &last, forecasts
}

// Refused is the calibration of a measurement that failed or must not be used.
func Refused(err error, policy *thresholds.Resolved) *Calibration {
	return newCalibration(policy).refuse(decide.ReasonOf(err))
}

func newCalibration(policy *thresholds.Resolved) *Calibration {
	return &Calibration{
		Schema: CalibrationSchema, SecondsPerRun: result.Unknown, Threshold: result.Number(policy.Threshold),
		Rule:  policy.Places.Of("threshold"),
		Alpha: result.Number(policy.Alpha), Noise: []Noise{}, Gates: UnchangedGates{AlarmBound: result.Unknown,
			UndecidedBound: result.Unknown, Confidence: boundConfidence}, MDE: []MDE{}, Plan: []Plan{},
	}
}

func (c *Calibration) refuse(because *result.Remark) *Calibration {
	c.Reason, c.ReasonKey, c.ReasonArgs = because.Sentence, because.Key, because.Args
	if because.Next != "" {
		c.Next = []string{because.Next}
	}
	return c
}

// fit refuses a session that cannot be calibrated, for reasons that a gate does not give.
func fit(s *model.Session) *result.Remark {
	if err := s.Check(); err != nil {
		return result.Refuse(model.BadSession, "measure again", "session: %v", err)
	}
	runs := s.Judged()
	if runs < calibrationRuns {
		return result.Refuse(model.FewRuns, "measure at least 4 runs, better 10",
			"%s cannot be split into two sides of at least two", measure.Count(runs, "run"))
	}
	if n := recorded.Unsteady(s); 2*n > runs {
		return result.Refuse(model.Unsteady, "let the workload run longer, or say what is warm-up",
			"no steady state in %d of %d runs", n, runs)
	}
	return nil
}

// drift refuses a session whose runs are not alike because the machine changed under them.
func drift(s *model.Session) *result.Remark {
	x, ok := s.Find(measure.Workload, measure.GPUTime.Name)
	if !ok {
		return nil
	}
	values := stats.Known(x.Values)
	change, p := stats.Trend(values)
	change /= stats.Median(values)
	if !(p < driftP && math.Abs(change) > driftSize) {
		return nil
	}
	return result.Refuse(model.Drift, "let the GPU come to its working temperature and clock, check that nothing else "+
		"runs on the machine, and calibrate again",
		"the workload's GPU time drifts: %s from the first run to the last (p = %.2g)", measure.Change(change), p)
}

// Subset is a session of some of the runs, the profiled ones first. It has an identity even where the profiles name no
// GPU or time, since all its runs are of one session.
func Subset(s *model.Session, runs []int) model.Session {
	out := *s
	out.GPUHash, out.Start = cmp.Or(s.GPUHash, "one"), time.Unix(0, 0)
	out.Runs = measure.Map(runs, func(r int) model.Run { return s.Runs[r] })
	out.Series = make([]model.Series, 0, len(s.Series))
	for _, x := range s.Series {
		x.Values = measure.Map(runs, func(r int) float64 { return x.Values[r] })
		if slices.ContainsFunc(x.Values, func(v float64) bool { return !math.IsNaN(v) }) {
			out.Series = append(out.Series, x)
		}
	}
	return out
}

func (c *Calibration) measure(s *model.Session, forecasts []decide.Forecast) {
	for _, f := range forecasts {
		x, _ := s.Find(f.Subject, f.Metric.Name)
		n, values := newNoise(s, x)
		n.Role = f.Finding.Role
		if f.Subject.Scope != measure.ScopeBenchmark { // which is no part of the GPU time
			n.Share = f.Finding.Share
		}
		gate := min(c.Gates.Runs, decide.MaxRuns)
		n.MDE = result.Number(f.Detectable(0)[gate])
		if !math.IsInf(f.Limit.Max, 1) {
			n.Detects = result.Number(f.Detectable(f.Limit.Max)[gate])
		}
		if spread, ok := s.Find(f.Subject, measure.Spread.Name); ok {
			within := result.Number(stats.Median(stats.Known(spread.Values))) / n.Typical
			n.Within = &within
		}
		if launches, ok := s.Find(f.Subject, measure.Launches.Name); ok {
			n.Launches = result.Number(stats.Median(stats.Known(launches.Values)))
		}
		if low, high, lows, ok := stats.Levels(values, 2); ok && high > low*(1+stats.LevelStep) {
			n.Levels = &Levels{result.Number(low), result.Number(high), lows}
		}
		c.Noise = append(c.Noise, n)
	}
	if x, ok := s.Find(measure.Workload, measure.StepTime.Name); ok {
		// No MDE is made of the step's period: a few runs of a CPU are slow, and their number decides.
		n, _ := newNoise(s, x)
		n.Kernel = "step"
		c.Noise = append(c.Noise, n)
	}
	measure.Sort(c.Noise, func(a, b Noise) int {
		return cmp.Or(-cmp.Compare(a.Scope, b.Scope), -cmp.Compare(a.SD, b.SD))
	})
}

// newNoise is how much the values of a series differ between the runs, and these values.
func newNoise(s *model.Session, x model.Series) (Noise, []float64) {
	runs := s.Of(&x)
	values := stats.Known(runs)
	n := Noise{Named: result.NewNamed(x.Subject), Scope: x.Subject.Scope, Metric: x.Metric.Name, Unit: x.Metric.Unit,
		Share: result.Unknown, Launches: result.Unknown, Typical: result.Number(stats.Median(values)),
		SD: result.Unknown, MDE: result.Unknown, Detects: result.Unknown, Runs: result.Numbers([][]float64{runs})}
	if v := stats.SampleVariance(stats.Transform([][]float64{values}, math.Log)[0]); v.DF > 0 {
		n.SD = result.Number(math.Sqrt(v.S2))
	}
	return n, values
}

// resample judges gates whose sides are random runs of the session, each draw once.
func (c *Calibration) resample(s *model.Session, forecasts []decide.Forecast, policy *thresholds.Resolved) {
	g := &c.Gates
	random := rand.New(rand.NewPCG(1, 2)) // the same answer for the same runs
	drawn := map[string]bool{}
	// Of the unprofiled runs as large a part, so that a gate has them in the same proportion.
	profiled, unprofiled := s.Profiled(), len(s.Runs)-s.Profiled()
	part := g.Runs
	if profiled > 0 {
		part = min(unprofiled/2, (g.Runs*unprofiled+profiled-1)/profiled)
	}
	for range min(splits, max(seriesJudged/max(len(s.Series), 1), 100)) {
		ofBase, ofHead := draw(random, 0, profiled, min(g.Runs, profiled/2))
		b, h := draw(random, profiled, unprofiled, part)
		number := len(drawn)
		fails := func(f decide.Forecast) bool {
			if f.Metric.Unprofiled() {
				return ruleFails(s, &f, b, h, number)
			}
			return ruleFails(s, &f, ofBase, ofHead, number)
		}
		base, head := slices.Concat(ofBase, b), slices.Concat(ofHead, h)
		if key := fmt.Sprint(base, head); !drawn[key] {
			drawn[key] = true
			if slices.ContainsFunc(forecasts, fails) {
				g.FixedAlarms++
			}
			r := decide.Judge(decide.Input{Baseline: []model.Session{Subset(s, base)},
				Head: []model.Session{Subset(s, head)}, Policy: policy})
			switch {
			case slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Fails() }):
				g.Alarms++
			case r.Undecided || r.Verdict == result.NoVerdict:
				g.Undecided++
			}
		}
	}
	g.Gates = len(drawn)
	g.AlarmBound = result.Number(stats.RateBound(g.Alarms, g.Gates, boundConfidence))
	g.UndecidedBound = result.Number(stats.RateBound(g.Undecided, g.Gates, boundConfidence))
	if rate := float64(g.Alarms) / float64(g.Gates); rate > policy.Alpha {
		c.warn(FalseAlarms{g.Alarms, g.Gates, result.Number(policy.Alpha)})
	}
}

// ruleFails reports whether one of the head's runs is worse than one of the baseline's by more than the limit, in a
// comparison that can fail the gate. number chooses the runs; a run without a value fails nothing.
func ruleFails(s *model.Session, f *decide.Forecast, base, head []int, number int) bool {
	x, ok := s.Find(f.Subject, f.Metric.Name)
	if !ok || !f.Finding.Gates || len(base) == 0 {
		return false
	}
	change := x.Values[head[number%len(head)]]/x.Values[base[number%len(base)]] - 1
	return change*float64(f.Metric.Better) < -f.Limit.Max
}

// draw takes two times n of the numbers from first on, at random, each lot in order.
func draw(random *rand.Rand, first, of, n int) (base, head []int) {
	order := random.Perm(of)
	for i := range order {
		order[i] += first
	}
	base, head = slices.Clone(order[:n]), slices.Clone(order[n:2*n])
	slices.Sort(base)
	slices.Sort(head)
	return base, head
}

// foresee fills in the MDE by runs and the plan by threshold.
func (c *Calibration) foresee(forecasts []decide.Forecast, policy *thresholds.Resolved) {
	c.MDE = measure.Map(mdeRuns, func(n int) MDE { return MDE{n, result.Unknown, result.Unknown, result.Unknown} })
	for _, f := range forecasts {
		if !planned(&f) {
			continue
		}
		free, limited := f.Detectable(0), f.Detectable(f.Limit.Max)
		for i := range c.MDE {
			m := &c.MDE[i]
			m.Limited.Raise(result.Number(limited[m.Runs]))
			switch {
			case f.Subject == measure.Workload:
				m.Workload.Raise(result.Number(free[m.Runs]))
			case f.Subject.Scope == measure.ScopeKernel:
				m.Kernels.Raise(result.Number(free[m.Runs]))
			}
		}
	}
	limits := append(slices.Clone(planThresholds), policy.Threshold)
	slices.Sort(limits)
	for _, threshold := range slices.Compact(limits) {
		c.Plan = append(c.Plan, c.plan(forecasts, policy, threshold))
	}
}

// planned reports whether a plan must find a slowdown: of the workload, and of kernels from 5 % of GPU time.
func planned(f *decide.Forecast) bool {
	const heavyShare = 0.05
	return f.Finding.Gates && (f.Subject == measure.Workload || float64(f.Finding.Share) >= heavyShare)
}

func (c *Calibration) plan(forecasts []decide.Forecast, policy *thresholds.Resolved, threshold float64) Plan {
	at := *policy
	at.Threshold = threshold
	p := Plan{Threshold: result.Number(threshold), Seconds: result.Unknown, MDE: result.Unknown}
	most := 0
	for _, f := range forecasts {
		if !planned(&f) {
			continue
		}
		limit := at.Limit(f.Subject, f.Metric).Max
		mdes, n := f.Detectable(limit), stats.MinRuns
		for n <= decide.MaxRuns && !(mdes[n] <= PlanEffect*limit) {
			n++
		}
		if mde := mdes[min(n, decide.MaxRuns)]; n > most || n == most && mde > float64(p.MDE) {
			most, p.Hardest, p.MDE = n, f.Finding.Kernel, result.Number(mde)
		}
	}
	if most > 0 && most <= decide.MaxRuns {
		p.Runs, p.Seconds = most, result.Number(float64(most)*float64(c.SecondsPerRun))
	}
	return p
}
