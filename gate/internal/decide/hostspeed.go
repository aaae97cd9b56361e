package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// hostSpeed is how a step of the head compares with that of the baseline at the speed of the baseline's host. Changes
// are on the log scale. A change that slows all host code evenly is part of the factor.
type hostSpeed struct {
	factor    float64        // ln of the time that the head's host takes for the same code, relative to the baseline's
	furthest  float64        // largest of its threads, either way
	low, high float64        // of the step, with host code that only the head has scaled by the factor and not scaled
	variance  stats.Variance // of either
	cover     float64        // part of the head's host time in segments that both have
	spread    float64        // of segments about the factors of their threads
}

// hostRefusal says why two sessions give no [hostSpeed], "" where they do.
type hostRefusal string

const (
	noHostCode   hostRefusal = "none"    // a session has no host code
	otherTools   hostRefusal = "tools"   // recorded by other versions of the profiler, or with another driver
	otherCode    hostRefusal = "code"    // too little of the host code is the same
	unevenSpeed  hostRefusal = "uneven"  // the segments have no factor in common
	tooFarApart  hostRefusal = "far"     // the factor is beyond [model.HostScales]
	fewSegments  hostRefusal = "few"     // both have too few segments in common
	otherSession hostRefusal = "session" // one GPU, or sides that are no sessions of their own
)

func compareSpeeds(base, head *model.Session) (hostSpeed, hostRefusal) {
	switch {
	case base.HostCode == nil || head.HostCode == nil:
		return hostSpeed{}, noHostCode
	case base.Tool != head.Tool || base.Driver != head.Driver:
		return hostSpeed{}, otherTools
	}
	return speedOf(base.HostCode, head.HostCode)
}

// speedOf is the step of a head at the base's host speed: with host times of the head divided by the factor of their
// thread, the weighted median of the ratios of segments.
func speedOf(base, head *model.HostCode) (s hostSpeed, why hostRefusal) {
	is, was := head.Segments(), baseTimes(base, head)
	alike := slices.Clone(is) // weighed by the base's times
	work, common := 0.0, 0.0
	for i, x := range is {
		if was[i] > 0 {
			alike[i].Time = was[i]
		}
		if !x.Handover {
			if work += x.Time; was[i] > 0 {
				common += x.Time
			}
		}
	}
	if s.cover = common / work; s.cover < coverLeast {
		return s, otherCode
	}
	weights := model.HostWeights(alike, func(i int) bool { return was[i] > 0 })
	if weights == nil {
		return s, fewSegments
	}
	factors, off := make([]float64, len(weights)), make([]float64, len(is))
	for i, x := range is {
		if was[i] > 0 {
			off[i] = math.Log(x.Time / was[i])
		}
	}
	for t, w := range weights {
		factors[t] = stats.WeightedMedian(off, w)
		s.furthest = math.Max(s.furthest, math.Abs(factors[t]))
	}
	total, scaled, unscaled := hostTimes(is, was, factors)
	for i, x := range is {
		off[i] = math.Abs(off[i] - factors[x.Thread])
		if x.Handover {
			was[i] = 0
		}
	}
	if s.spread = 1.4826 * stats.WeightedMedian(off, stats.Capped(was, model.HostWeightMost)); s.spread > spreadMost {
		return s, unevenSpeed
	}
	s.factor = math.Log(total / scaled)
	s.low, s.high = math.Inf(1), math.Inf(-1)
	period, _ := base.PeriodAt(0)
	sensitivity := slope(base, 0)
	for _, x := range []float64{scaled, unscaled} {
		by := math.Log(x / total)
		low, high := head.PeriodAt(by)
		s.low, s.high = math.Min(s.low, math.Log(low/period)), math.Max(s.high, math.Log(high/period))
		sensitivity = math.Max(sensitivity, slope(head, by))
	}
	if math.IsNaN(s.low + s.high + sensitivity) {
		return s, tooFarApart
	}
	e := factorSD
	if s.furthest > factorNear {
		e = factorFarSD
	}
	s.variance = stats.Variance{S2: stepGPUSD*stepGPUSD + math.Pow(sensitivity*e, 2), DF: stepHostDF}
	return s, ""
}

// hostTimes are the sum of a head's segments as they are, and at the speed of the base's host: with segments that the
// base lacks scaled by the factor, and not scaled. What one thread takes to wake up the other is no fault of the
// program, so that the first sum has no more of it than the base; the second has it where it differs by more than hosts
// do.
func hostTimes(is []model.HostSegment, was, factors []float64) (total, scaled, unscaled float64) {
	for i, x := range is {
		total += x.Time
		at := x.Time * math.Exp(-factors[x.Thread])
		switch {
		case was[i] > 0 && x.Handover:
			at = math.Min(x.Time, was[i])
			if unscaled += x.Time; math.Abs(math.Log(x.Time/was[i])) < handoverMost {
				at = was[i]
				unscaled += was[i] - x.Time
			}
		case was[i] > 0:
			unscaled += at
		default:
			unscaled += x.Time
		}
		scaled += at
	}
	return total, scaled, unscaled
}

// slope is the sensitivity of a step at a factor of host time.
func slope(h *model.HostCode, x float64) float64 {
	faster, _ := h.PeriodAt(x - slopeStep)
	_, slower := h.PeriodAt(x + slopeStep)
	return math.Log(slower/faster) / (2 * slopeStep)
}

// baseTimes are the times of the same segments in the base, 0 for none: of calls in the longest common subsequence, and
// of the code between calls that follow each other on both sides.
func baseTimes(base, head *model.HostCode) []float64 {
	calls := matchCalls(base.Calls, head.Calls)
	was, is := base.Segments(), head.Segments()
	out := make([]float64, len(is))
	match := func(j, i int) {
		if is[j].Time > 0 {
			out[j] = was[i].Time
		}
	}
	for j, i := range calls {
		if i >= 0 {
			match(2*j+1, 2*i+1)
			if j == 0 && i == 0 || j > 0 && i > 0 && calls[j-1] == i-1 {
				match(2*j, 2*i)
			}
		}
	}
	if n := len(calls); n > 0 && calls[n-1] == len(base.Calls)-1 {
		match(2*n, 2*len(base.Calls))
	}
	return out
}

// matchCalls is the place in the base of each call of the head, -1 for none, by the longest common subsequence.
func matchCalls(base, head []model.HostCall) []int {
	same := func(i, j int) bool { return base[i].Thread == head[j].Thread && base[i].Name == head[j].Name }
	out := make([]int, len(head))
	for j := range out {
		out[j] = -1
	}
	first, n, m := 0, len(base), len(head)
	for first < min(n, m) && same(first, first) {
		out[first] = first
		first++
	}
	for n > first && m > first && same(n-1, m-1) {
		n, m = n-1, m-1
		out[m] = n
	}
	longest := make([][]int16, n-first+1) // from i and j on
	for i := range longest {
		longest[i] = make([]int16, m-first+1)
	}
	for i := n - 1; i >= first; i-- {
		for j := m - 1; j >= first; j-- {
			if same(i, j) {
				longest[i-first][j-first] = longest[i-first+1][j-first+1] + 1
			} else {
				longest[i-first][j-first] = max(longest[i-first+1][j-first], longest[i-first][j-first+1])
			}
		}
	}
	for i, j := first, first; i < n && j < m; {
		switch {
		case same(i, j):
			out[j] = i
			i, j = i+1, j+1
		case longest[i-first+1][j-first] >= longest[i-first][j-first+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// hostSpeed compares the newest sessions of both sides that can be compared: of several of the baseline, the one that
// shows the least change. The refusal is that of the newest.
func (t comparison) hostSpeed() (best *hostSpeed, why hostRefusal) {
	if t.batches || len(t.shared) > 0 || t.oneGPU() {
		return nil, otherSession
	}
	of := func(side *recorded.Index) (out []*model.Session) {
		for i := range side.Sessions {
			s := &side.Sessions[i]
			if _, whole := s.Find(measure.Workload, measure.StepTime.Name); whole {
				out = append(out, s)
			}
		}
		return out[max(0, len(out)-speedSessions):]
	}
	why = noHostCode
	for _, h := range of(t.head) {
		for _, b := range of(t.base) {
			var s hostSpeed
			if s, why = compareSpeeds(b, h); why == "" && (best == nil || s.low < best.low) {
				best = &s
			}
		}
	}
	return best, why
}

// speedEvidence is a step at the speed of the baseline's host, as evidence: relative changes, and the p-value of none.
type speedEvidence struct{ factor, furthest, change, low, high, p float64 }

// atSpeed is the evidence on a step at the speed of the baseline's host, nil where that is not known. Its mean has the
// stalls of some steps beside the typical one.
func (t comparison) atSpeed(p pair) *speedEvidence {
	period := p.metric == measure.StepTime || p.metric == measure.MeanStep
	if t.speed == nil || t.single != "" || p.subject != measure.Workload || !period {
		return nil
	}
	s, stalls := *t.speed, 0.0
	if p.metric == measure.MeanStep {
		of := func(side *recorded.Index) float64 { return side.Typical(measure.Workload, measure.MeanToTypical.Name) }
		stalls = math.Log(of(t.head) / of(t.base))
		s.variance.S2 += 2 * stallHostSD * stallHostSD
	}
	margin := stats.Margin(s.variance, result.Confidence)
	least := s.low + stalls
	if math.IsNaN(least) {
		return nil
	}
	return &speedEvidence{
		factor: s.factor, furthest: s.furthest, change: math.Expm1(least),
		low: math.Expm1(least - margin), high: math.Expm1(s.high + stalls + margin), p: stats.TwoSided(least, s.variance),
	}
}

// say is the sentence about it.
func (s *speedEvidence) say() reason.AtBaseSpeed {
	margin := math.Max(s.high-s.change, s.change-s.low)
	return reason.AtBaseSpeed{Change: result.Number(s.change), Margin: result.Number(margin), Factor: result.Number(math.Exp(s.factor))}
}

// narrow is an interval within that of a step at the baseline's host speed, where the hosts are about as fast: with the
// change itself, for the factor may be the program's as well.
func (s *speedEvidence) narrow(change, margin, low, high float64) (float64, float64) {
	if s == nil || s.furthest > factorPass {
		return low, high
	}
	return math.Max(low, math.Min(s.low, change-margin)), math.Min(high, math.Max(s.high, change+margin))
}

// slowerAtSpeed reports whether a step is slower beyond everything at the baseline's host speed. The variance there is
// a bound, so that only the step and its mean share the error of the gate.
func (x *evidence) slowerAtSpeed() bool {
	s := x.speed
	return s != nil && s.change > math.Max(x.limit, x.denied) && s.p < x.alpha/2 && !x.waits &&
		!(x.shift > 0 && s.change-x.shift <= x.limit)
}

// likeHostSpeed reports whether the speeds of the hosts explain the change of a step.
func (x *evidence) likeHostSpeed() bool {
	s := x.speed
	return s != nil && x.change*s.factor > 0 && s.furthest > factorPass && math.Abs(s.change) <= x.limit
}

// say is why the hosts' speeds are not compared, where host code of both sides is known.
func (why hostRefusal) say() []result.Remark {
	return result.SayIf(why != "" && why != noHostCode && why != otherSession, reason.NoHostSpeed{Why: string(why)})
}
