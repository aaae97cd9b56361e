package decide

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/judge/terms"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// modes are the two levels that the runs of a comparison fall on, where each process takes one of two algorithms,
// clocks or placements. The mode is the worse of the levels.
type modes struct {
	low, high float64 // 0 where there is one level
	worse     float64 // log ratio of the levels
	gap       float64 // the same where runs of one session have both
	in, all   [2]int  // runs of baseline and head in the mode, and with a value
	members   string  // the runs in the mode: comparisons with equal members have one cause
	chance    float64 // of shares that differ so much, see [stats.Fisher]
	tests     int     // the different members of the gate
	single    bool    // one run makes a level
	counted   bool    // the shares of the mode explain the change, and the exact test judges it
}

const (
	// hardlyEver is the largest chance at which so many runs of the head beyond every run of the baseline, or in a
	// mode, are no pass: one end of an interval; three of three runs against three.
	hardlyEver = (1 - result.Confidence) / 2
	// sharePart is the part of the error that the exact test may spend on a mode that both sides have: exact tests are
	// made beside those of intervals, and a program that draws its mode in each process has such differences.
	sharePart = 1 - result.Confidence
)

// modesOf finds the levels of samples, in each session or in all runs together where these are of one session or too
// few; else in all runs as well, but without a gap. Sessions of one level each differ as sessions do.
func (t comparison) modesOf(e *estimate, samples [2][][]float64) (m modes) {
	sides := slices.Concat(samples[0], samples[1])
	step, tick := stats.LevelStep, t.Tick
	if e.Metric.Unprofiled() {
		tick = stats.Resolution(stats.Pooled(sides), e.Metric.Unit == measure.Time.Unit)
	}
	if e.Metric.Unprofiled() || e.Metric.Unit == measure.Time.Unit {
		step = math.Max(step, 2*tick/stats.Average(e.Base)) // the timer, or the last digit, makes levels of its own
	}
	split := func(runs []float64, least int) (gap float64) {
		low, high, _, ok := stats.Levels(stats.Known(runs), least)
		gap = math.Log(high / low)
		if !ok || high < low*(1+step) || !holdBoth(sides, (low+high)/2) {
			return 0
		}
		if low > 0 && (m.high == 0 || gap > m.worse) {
			m.low, m.high, m.worse = low, high, gap
		}
		return gap
	}
	const least = 2 // runs on a level
	many := func(runs []float64) bool { return len(stats.Known(runs)) >= 2*least }
	all := slices.Concat(sides...)
	if e.contrast.SessionWeight == 0 || !slices.ContainsFunc(sides, many) {
		m.gap = split(all, least)
	} else {
		for _, runs := range sides {
			m.gap = math.Max(m.gap, split(runs, least))
		}
	}
	if m.high == 0 {
		split(all, least)
	}
	if m.high == 0 && runs(samples[0], samples[1]) <= 2*least {
		m.single = split(all, 1) > 0 // one of three or four runs may well be in a mode
	}
	if m.high > 0 && !m.count(e, samples) {
		return modes{gap: m.gap}
	}
	return m
}

// holdBoth reports whether one of the sessions has runs on either side of the middle.
func holdBoth(sessions [][]float64, middle float64) bool {
	return slices.ContainsFunc(sessions, func(runs []float64) bool {
		runs = stats.Known(runs)
		return len(runs) > 0 && slices.Min(runs) < middle && slices.Max(runs) > middle
	})
}

// count counts the runs of each side in the mode, and tests the shares. It reports whether nearly all runs of both
// sides are on a level: not beyond one by more than half of what lies between them.
func (m *modes) count(e *estimate, measured [2][][]float64) bool {
	for i, side := range measured {
		off := 0
		for _, v := range slices.Concat(side...) {
			member := byte('-')
			if !math.IsNaN(v) {
				m.all[i]++
				member = 'o'
				if math.Abs(v-(m.low+m.high)/2) > m.high-m.low {
					off++
				}
				if e.Metric.Sign()*(v-(m.low+m.high)/2) > 0 {
					m.in[i]++
					member = 'x'
				}
			}
			m.members += string(member)
		}
		if off > m.all[i]/fewRuns {
			return false
		}
	}
	if m.grew() > 0 {
		m.chance = stats.Fisher(m.in[1], m.all[1], m.in[0], m.all[0])
	} else {
		m.chance = stats.Fisher(m.all[1]-m.in[1], m.all[1], m.all[0]-m.in[0], m.all[0])
	}
	return true
}

// grew is by how much the share of the mode is larger in the head.
func (m *modes) grew() float64 {
	return float64(m.in[1])/float64(m.all[1]) - float64(m.in[0])/float64(m.all[0])
}

// mixed reports whether the runs of a side are a mixture rather than one level with outliers: the rarer level has more
// than one in five of them, or runs of the other side as well, or so many of the head as hardly ever by chance.
func (m *modes) mixed() bool {
	for i := range m.all {
		rarer, others := m.in[i], m.in[1-i]
		if 2*m.in[i] > m.all[i] {
			rarer, others = m.all[i]-m.in[i], m.all[1-i]-m.in[1-i]
		}
		if rarer > m.all[i]/fewRuns || rarer > 0 && others > 0 {
			return true
		}
	}
	return m.grew() > 0 && m.chance <= hardlyEver
}

// counted reports whether the runs of an estimate fall on two levels, and makes it that of all of them: none is an
// outlier, and the exact test judges it where the shares of the levels explain the change.
func (t comparison) counted(e *estimate) bool {
	m := e.Metric
	single, _ := t.singleOf(&e.pair)
	if m.Exact || m.OutsideSteps() || m.Better == measure.Neither || single != "" || !e.relative {
		return false
	}
	measured := e.asMeasured()
	e.modes = t.modesOf(e, measured)
	if e.modes.high == 0 || e.modes.single || !e.modes.mixed() {
		return false
	}
	p := e.pair
	p.Base, p.Head, p.movedRuns, p.outliers = measured[0], measured[1], nil, nil
	out := newEstimate(t, p)
	by := e.modes.grew() * e.modes.worse // most of the change, on the log scale
	if !(by != 0 && 2*math.Abs(by) >= math.Abs(out.contrast.Estimate)) || t.allBeyond(&out) {
		return false
	}
	out.modes = e.modes
	out.modes.counted = true
	*e = out
	return true
}

// allBeyond reports whether every run of the head is beyond the limit and every run of the baseline, in either level.
func (t comparison) allBeyond(e *estimate) bool {
	limit := math.Max(e.Limit.Max, t.floor(e.pair)/stats.Average(e.Base))
	return len(beyondBase(*e, limit, e.Metric.Sign(), 0)) == len(stats.Pooled(e.Head))
}

// countTests tells the comparisons that can fail the gate how many exact tests it makes: one for each different set of
// runs in a mode.
func countTests(estimates []estimate, of []int) {
	sets := map[string]bool{}
	for _, i := range measure.Where(of, func(i int) bool { return estimates[i].modes.counted }) {
		sets[estimates[i].modes.members] = true
	}
	for i := range estimates {
		estimates[i].modes.tests = max(len(sets), 1)
	}
}

// p is the p-value of the exact test, corrected for the tests of the gate (Bonferroni); where both sides have the mode,
// the test may spend a part of the error only.
func (m *modes) p() float64 { return math.Min(1, m.chance*float64(m.tests)/m.part()) }

func (m *modes) part() float64 {
	return measure.Either(m.in[0] == 0 || m.in[1] == 0, 1, sharePart)
}

// corrected is the p-value of a comparison whose runs fall on two levels. That of its interval, whose runs are no
// sample of one distribution, counts only where hosts differ as well.
func (t comparison) corrected(e *estimate, interval float64) float64 {
	switch {
	case !e.modes.counted:
		return interval
	case t.relation() < terms.SameBoard:
		return e.modes.p()
	}
	return math.Max(interval, e.modes.p())
}

// runsNeeded is how many runs a side would find shares that differ so much with a power of 90 %, 0 where more than
// [MaxRuns] would.
func (m *modes) runsNeeded(alpha float64) int {
	share := func(i int) float64 { return float64(m.in[i]) / float64(m.all[i]) }
	return stats.RunsForShares(share(1), share(0), alpha*m.part()/float64(max(m.tests, 1)), result.Confidence, MaxRuns)
}

// drawn reports whether more runs of the head than of the baseline may have drawn the mode.
func (m *modes) drawn() bool { return (m.counted || m.single) && m.grew() > 0 }

// appeared reports whether runs of the head are in a mode that no run of the baseline is in.
func (m *modes) appeared() bool { return m.high > 0 && m.in[0] == 0 && m.in[1] > 0 }

// kind is the verdict on the mode.
func (m *modes) kind() string {
	switch {
	case m.appeared():
		return "appeared"
	case m.in[1] == 0:
		return "disappeared"
	case m.chance*float64(m.tests) <= hardlyEver, !m.onBoth():
		return "share"
	}
	return "both"
}

// onBoth reports whether either side has runs on both levels.
func (m *modes) onBoth() bool {
	return m.in[0]*m.in[1] > 0 && m.in[0] < m.all[0] && m.in[1] < m.all[1]
}

// inMode reports whether a comparison that can fail the gate, or is warned of, has so many runs of the head as hardly
// ever by chance in a mode beyond the limit; most of them suffice but for the mean step, to which a hiccup of the host
// in some runs gives levels. Such a gate never passes in silence.
func (x *evidence) inMode() bool {
	m := &x.modes
	if !m.counted || !x.heeds() || !(m.grew() > 0) || x.cost(x.change) < x.leastCost {
		return false
	}
	by := measure.Either(x.metric.Sign() < 0, -math.Expm1(-m.worse), math.Expm1(m.worse))
	most := m.appeared() && 2*m.in[1] > m.all[1] && x.metric != measure.MeanStep
	return by > x.doubtful() && (most || m.chance*float64(m.tests) <= hardlyEver)
}

// finding is the value of the modes for a report, nil where the runs are on one level.
func (m *modes) finding(t comparison, e *estimate) *result.Mode {
	if m.high == 0 {
		return nil
	}
	f := &result.Mode{Kind: m.kind(), At: result.Number(m.high), Others: result.Number(m.low), BaseIn: m.in[0],
		BaseRuns: m.all[0], HeadIn: m.in[1], HeadRuns: m.all[1], P: result.Number(m.chance), Follows: t.follows(e)}
	if m.drawn() {
		f.Needed = m.runsNeeded(t.Policy.Alpha)
	}
	if e.Metric.Sign() < 0 {
		f.At, f.Others = f.Others, f.At
	}
	return f
}

// levels is a finding's mode in words, with the number of runs where hosts differ as well, so that it alone decides
// nothing.
func (t comparison) levels(m *result.Mode, unit string) reason.TwoLevels {
	r := reason.TwoLevels{Mode: m.Kind, Side: recorded.SideNames[1], Some: m.HeadIn, All: m.HeadRuns, In: m.BaseIn,
		Of: m.BaseRuns, Low: min(m.At, m.Others), Unit: unit, Above: max(m.At, m.Others)/min(m.At, m.Others) - 1,
		New: m.Kind == "appeared", Follows: m.Follows}
	if m.HeadIn == 0 || m.HeadIn == m.HeadRuns {
		r.Side, r.Some, r.All, r.In, r.Of = recorded.SideNames[0], m.BaseIn, m.BaseRuns, m.HeadIn, m.HeadRuns
	}
	if m.At > m.Others { // the runs on the lower level are counted
		r.Some, r.In = r.All-r.Some, r.Of-r.In
	}
	if t.relation() >= terms.SameBoard {
		r.Needed = m.Needed
	}
	return r
}

// follows says what the runs in a mode share and the others lack: a kernel, a longer pause before them, a lower clock,
// a host of the head. It is "" where the runs show nothing.
func (t comparison) follows(e *estimate) string {
	var clocks [2][]int                  // of sessions without and with runs in the mode
	var hosts [2][]string                // the same of the head
	pauses := map[byte][]time.Duration{} // before the runs, by member
	members, unprofiled := e.modes.members, e.Metric.Unprofiled()
	for i, side := range []*recorded.Index{t.Base, t.Head} {
		for j := range side.Sessions {
			s := &side.Sessions[j]
			runs := measure.Either(unprofiled, s.Runs[s.Profiled():], s.Runs[:s.Profiled()])
			with := measure.Either(strings.Contains(members[:len(runs)], "x"), 1, 0)
			clocks[with] = append(clocks[with], s.ClockMHz)
			if i == 1 && s.GPUHash != "" {
				hosts[with] = append(hosts[with], s.GPUHash)
			}
			for k, run := range runs {
				pause := time.Duration(math.MaxInt64) // the first run of a session began after a pause
				if k > 0 {
					pause = run.Start.Sub(runs[k-1].Start)
				}
				pauses[members[k]] = append(pauses[members[k]], pause)
			}
			members = members[len(runs):]
		}
	}
	const least = 2 // runs after a pause
	in, others := pauses['x'], pauses['o']
	onSome := func(host string) bool { return slices.Contains(hosts[1], host) }
	switch {
	case !unprofiled && t.chosen(e) != "":
		return "kernel " + t.chosen(e)
	case len(in) >= least && len(others) > 0 && slices.Max(others) > 0 && slices.Min(in) > slices.Max(others):
		return "a pause before the run"
	case len(clocks[0]) > 0 && len(clocks[1]) > 0 && slices.Max(clocks[1]) > 0 &&
		float64(slices.Max(clocks[1])) < float64(slices.Min(clocks[0]))*(1-stats.LevelStep):
		return "a lower clock"
	case len(hosts[0]) > 0 && len(hosts[1]) > 0 && !slices.ContainsFunc(hosts[0], onSome):
		return "the host"
	}
	return ""
}

// chosen is another kernel that the runs in the mode launch, and no other run does.
func (t comparison) chosen(e *estimate) string {
	for _, s := range recorded.Kernels(t.Head.Subjects()) {
		launches := slices.Concat(t.Base.Values(s, measure.Launches.Name)...)
		launches = append(launches, slices.Concat(t.Head.Values(s, measure.Launches.Name)...)...)
		differs := false
		for run, member := range e.modes.members {
			differs = differs || member != '-' && (launches[run] > 0) != (member == 'x')
		}
		if !differs && s != e.Subject {
			return s.Short()
		}
	}
	return ""
}
