package history

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

const (
	// reference is the k of the CUSUM in standard deviations: half of the smallest shift that it is to find soon (Page
	// 1954), one standard deviation of a session.
	reference = 0.5
	// overshoot corrects for a sum that passes a boundary in steps (Siegmund 1979).
	overshoot = 0.583
	// ownStep is the part of a change that the head alone may make: more is a step, and the gate's to judge.
	ownStep = 2.0 / 3
)

// Drift finds changes that many sessions add up to, each too small for a gate. since holds every session since the
// anchor, base those in effect; the head is the last of both. Drift from the anchor beyond a limit is drifted or
// over-drift; steps within the base that add up (one-sided CUSUM) are drifting. Together the questions raise a false
// alarm in at most the policy's alpha of gates. Where one step makes most of a change, it is no drift: the head's step
// is judged by the gate, and an accepted one was. idle is the first rule on drift where there is nothing to follow.
func Drift(since, base Basis, alpha float64) (out, idle []result.Remark) {
	anchored, lost := follow(since)
	steps, _ := follow(base)
	p := slices.Concat(measure.Map(anchored, func(x path) float64 { return x.beyondChance }),
		measure.Map(steps, func(x path) float64 { return x.addsUp }))
	p = stats.Holm(p, slices.Repeat([]float64{1}, len(p)))
	slow := func(x path) bool { return math.Expm1(x.change)*x.base > x.floor }
	told := map[measure.Subject]bool{}
	var over, drifted, drifting []path
	for i, x := range anchored {
		by := math.Expm1(x.change)
		switch {
		case !slow(x) || !(p[i] < alpha):
		case x.limit.Drift != nil && by > *x.limit.Drift && x.limit.Severity == thresholds.Fail:
			over = append(over, x)
			told[x.subject] = true
		case x.limit.Drift != nil && by > *x.limit.Drift, x.limit.Drift == nil && by > x.limit.Max &&
			math.Max(x.step, x.accepted) <= ownStep*x.change:
			drifted = append(drifted, x)
			told[x.subject] = true
		}
	}
	for i, x := range steps {
		if p[len(anchored)+i] < alpha && slow(x) && x.step <= ownStep*x.change && !told[x.subject] {
			drifting = append(drifting, x)
		}
	}
	if len(over) > 0 {
		x, w := drift(over, since.Sessions)
		out = append(out, result.Say(reason.OverDrift{Rule: w.limit.Rule,
			Drifted: reason.Drifted{Drifting: x, Limit: result.Number(*w.limit.Drift),
				Accepted: w.changes(since.Sessions)}}))
	}
	if len(drifted) > 0 {
		x, w := drift(drifted, since.Sessions)
		limit := *cmp.Or(w.limit.Drift, &w.limit.Max)
		out = append(out, result.Say(reason.Drifted{Drifting: x, Limit: result.Number(limit),
			Accepted: w.changes(since.Sessions)}))
	}
	if len(drifting) > 0 {
		x, _ := drift(drifting, base.Sessions)
		out = append(out, result.Say(x))
	}
	without, idle := unjudged(since, lost)
	return append(out, without...), idle
}

// unjudged says of which lost paths rules limit the drift, and which rule is the first where there is no session.
func unjudged(t Basis, lost []path) (without, idle []result.Remark) {
	for _, r := range t.Policy.Rules {
		var of []measure.Subject
		for _, x := range lost {
			if r.Drift != nil && x.limit.Rule == r.Where && (t.Policy.Selects(x.limit) || slices.Index(x.at, 0) == 0) {
				of = append(of, x.subject)
			}
		}
		x := result.Say(reason.RuleIdle{Rule: r.Where, Drift: true, Names: recorded.Names(of)})
		switch {
		case of != nil:
			without = append(without, x)
		case r.Drift != nil && len(t.Sessions) == 0 && idle == nil:
			idle = append(idle, x)
		}
	}
	return without, idle
}

// drift is the drift of the worst of some paths through sessions, and that path.
func drift(paths []path, sessions []model.Session) (reason.Drifting, path) {
	w, also := worst(paths)
	first := sessions[w.at[0]]
	x := reason.Drifting{Kernel: w.subject.Short(), Metric: w.metric.Name, Change: w.by(0),
		Interval: reason.Interval{Low: w.by(-1), High: w.by(1)}, Commit: first.Commit, Sessions: len(w.at) - 1,
		Also: also}
	if !first.Start.IsZero() {
		x.Since = first.Start.UTC().Format("2006-01-02")
	}
	return x, w
}

// by is the relative change from the anchor, plus so many margins.
func (x *path) by(margins float64) result.Number {
	return result.Number(math.Expm1(x.change + margins*x.margin))
}

// changes is how many accepted changes lie on a path behind its anchor.
func (x *path) changes(sessions []model.Session) int {
	return measure.HowMany(x.at[1:], func(i int) bool { return sessions[i].Accepted })
}

// Separate leaves out sessions measured again within the hour, unless the later holds only an accepted part.
func Separate(sessions []model.Session) (out []model.Session) {
	for i := range sessions {
		s := &sessions[i]
		again := false
		for j := i + 1; j < len(sessions) && !again; j++ {
			later := &sessions[j]
			again = later.GPUHash == s.GPUHash && !later.Accepted && model.SameSession(s.Environment, later.Environment)
		}
		if !again {
			out = append(out, *s)
		}
	}
	return out
}

// follow makes a path of every subject that counts through the sessions. A lost path has too few sessions or runs, or
// no head.
func follow(t Basis) (paths, lost []path) {
	sessions := t.Sessions
	if len(sessions) == 0 {
		return
	}
	s := recorded.New(sessions, t.Total)
	var runs []stats.Variance
	for _, subject := range s.Subjects() {
		x := path{subject: subject, metric: t.Time, share: s.Share(subject)}
		switch {
		case subject == measure.Workload:
			x.metric = measure.GPUTime
		case subject.Scope != measure.ScopeKernel:
			continue
		}
		if x.limit = t.Policy.Limit(subject, x.metric); x.limit.Severity == thresholds.Ignore ||
			math.IsInf(x.limit.Max, 1) && x.limit.Drift == nil ||
			x.share < recorded.KernelShare && !(x.limit.Drift != nil && t.Policy.Selects(x.limit)) {
			continue
		}
		x.floor = math.Max(x.limit.Floor, t.Tick)
		var spreads []stats.Variance
		for i, values := range s.Values(subject, x.metric.Name) {
			values = stats.Known(values)
			if len(values) == 0 || slices.Contains(values, 0) {
				continue
			}
			logs := stats.Transform([][]float64{values}, math.Log)
			x.at = append(x.at, i)
			x.times = append(x.times, stats.Average(logs))
			x.runs = append(x.runs, float64(len(values)))
			spreads = append(spreads, stats.SampleVariance(logs[0]))
		}
		x.run = stats.Pool(spreads...)
		if x.run.DF == 0 || len(x.at) < 3 || x.at[len(x.at)-1] != len(sessions)-1 {
			lost = append(lost, x)
			continue
		}
		x.base = math.Exp(x.times[0])
		tick := t.Tick / x.base
		x.run.S2 = math.Max(x.run.S2, tick*tick/12)
		runs = append(runs, x.run)
		paths = append(paths, x)
	}
	common := stats.Prior(runs)
	for i := range paths {
		paths[i].run = stats.Moderate(paths[i].run, common)
		paths[i].judge(sessions, t.Policy.SessionSD)
	}
	return paths, lost
}

// judge asks both questions of a path. Sessions differ by an effect of their own, with standard deviation sd, those of
// different hosts by one of the host besides. The effect of a host stays with all its sessions, so that a baseline that
// moves to another host has not drifted once more with each session there.
func (x *path) judge(sessions []model.Session, sd float64) {
	last := len(x.at) - 1
	changes := measure.Map(x.times[1:], func(time float64) float64 { return time - x.times[0] })
	steps := x.innovations(changes, sessions, sd)
	// Steady drift makes steps grow evenly and does not count: only the scatter of differences does, over the expected
	// variance of steps of unit variance.
	seen := stats.SampleVariance(x.unaccepted(steps[:last-1], sessions))
	seen.S2 /= 2 // of a difference of two
	scatter := math.Max(1, stats.Pool(stats.Variance{S2: 1, DF: stats.SessionWeight}, seen).S2)
	session := stats.Variance{S2: sd * sd * scatter, DF: stats.SessionDF}
	moved := measure.Either(sameHost(&sessions[x.at[0]], &sessions[x.at[last]]), 0, 1.0) // to another host
	weights := []float64{2 + 2*ofHost*moved, 1/x.runs[0] + 1/x.runs[last]}
	variance := stats.Satterthwaite(weights, []stats.Variance{session, x.run})

	x.change, x.step = changes[last-1], x.times[last]-x.times[last-1]
	x.margin = stats.Margin(variance, result.Confidence)
	x.beyondChance = measure.Either(x.change > 0, stats.TwoSided(x.change, variance), 1)
	for i, at := range x.at[1:] {
		if sessions[at].Accepted {
			x.accepted = math.Max(x.accepted, x.times[i+1]-x.times[i])
		}
	}
	widened := stats.Variance{S2: scatter, DF: variance.DF}
	for i := range steps {
		p := math.Max(stats.TwoSided(steps[i], widened), 1e-300)
		steps[i] = math.Copysign(math.Sqrt2*math.Erfcinv(p), steps[i])
	}
	x.addsUp = chance(cusum(steps), last)
}

// unaccepted are the differences of neighbouring steps, except for accepted changes, which are no noise.
func (x *path) unaccepted(steps []float64, sessions []model.Session) (differences []float64) {
	for i := 1; i < len(steps); i++ {
		if !sessions[x.at[i+1]].Accepted {
			differences = append(differences, steps[i]-steps[i-1])
		}
	}
	return differences
}

// cusum is the value of Page's one-sided cumulative sum after steps in standard deviations.
func cusum(steps []float64) float64 {
	sum := 0.0
	for _, z := range steps {
		sum = math.Max(0, sum+z-reference)
	}
	return sum
}

// chance bounds the probability that a CUSUM of n independent normal steps is h or higher. For few steps their
// probabilities add up, for many Siegmund's limit (1979) holds.
func chance(h float64, n int) float64 {
	if h <= 0 {
		return 1
	}
	few := 0.0
	for j := 1; j <= n; j++ {
		few += math.Erfc((h+reference*float64(j))/math.Sqrt(2*float64(j))) / 2
	}
	return min(1, few, math.Exp(-2*reference*(h+overshoot)))
}

// worst is the path that costs most GPU time, the workload only where no kernel is among them, and the others' names.
func worst(paths []path) (path, []string) {
	kernel := func(x path) float64 {
		return measure.Either(x.subject == measure.Workload, math.Inf(-1), x.share*x.change)
	}
	measure.Sort(paths, func(a, b path) int { return cmp.Compare(kernel(b), kernel(a)) })
	others := measure.Map(paths[1:], func(x path) measure.Subject { return x.subject })
	return paths[0], recorded.Names(others)
}

// Basis is sessions, the head last, with the metrics and the policy of their comparison.
type Basis struct {
	Sessions    []model.Session
	Time, Total measure.Metric // of a launch, and of all launches of a kernel
	Tick        float64        // ns, of the timer
	Policy      *thresholds.Resolved
}

// ofHost is the variance of a host's effect by that of a session's: of memory-bound kernels on the two kinds of H200
// host 0.8 %, where sessions are expected to differ by 0.5 %.
const ofHost = 2.5

func sameHost(a, b *model.Session) bool { return a.GPUHash != "" && a.GPUHash == b.GPUHash }

// innovations are the prediction errors of each session from the sessions before it, in standard deviations, and
// independent (Brown, Durbin and Evans 1975). The changes from the anchor are correlated by its error and those of
// hosts, which a Kalman filter with a constant state estimates (Kalman 1960).
func (x *path) innovations(changes []float64, sessions []model.Session, sd float64) []float64 {
	own := func(i int) float64 { return sd*sd + x.run.S2/x.runs[i] }
	ofHost := ofHost * sd * sd
	visits := map[string]int{}
	for _, at := range x.at {
		visits[sessions[at].GPUHash]++
	}
	// The unknowns: the anchor's own error, that of its host, and those of the hosts that come again.
	variances, place := []float64{own(0), ofHost}, map[string]int{}
	of := make([][]int, len(changes)) // the unknowns that are in a change
	noise := make([]float64, len(changes))
	for i := range changes {
		session := &sessions[x.at[i+1]]
		noise[i] = own(i + 1)
		if sameHost(session, &sessions[x.at[0]]) {
			of[i] = []int{0}
			continue
		}
		of[i] = []int{0, 1}
		host := session.GPUHash
		if host == "" || visits[host] == 1 {
			noise[i] += ofHost
			continue
		}
		if place[host] == 0 {
			place[host] = len(variances)
			variances = append(variances, ofHost)
		}
		of[i] = append(of[i], place[host])
	}
	mean, covariance := make([]float64, len(variances)), make([][]float64, len(variances))
	for k, v := range variances {
		covariance[k] = make([]float64, len(variances))
		covariance[k][k] = v
	}
	out, with := make([]float64, len(changes)), make([]float64, len(variances))
	for i, change := range changes {
		surprise, variance := change, noise[i]
		clear(with) // the covariance of the unknowns with the change
		for _, k := range of[i] {
			surprise -= mean[k]
			for j := range with {
				with[j] += covariance[k][j]
			}
		}
		for _, k := range of[i] {
			variance += with[k]
		}
		out[i] = surprise / math.Sqrt(variance)
		for j, v := range with {
			mean[j] += v * surprise / variance
			for k := range j + 1 {
				c := covariance[j][k] - v*with[k]/variance
				covariance[j][k], covariance[k][j] = c, c
			}
		}
	}
	return out
}

// path is how long a subject took from the anchor to the head.
type path struct {
	subject measure.Subject
	metric  measure.Metric
	limit   thresholds.Limit
	share   float64
	floor   float64 // largest change in ns that is no finding
	at      []int   // the sessions that have it, the anchor first
	times   []float64
	runs    []float64 // number of runs of each time
	base    float64   // ns in the anchor
	run     stats.Variance
	// Of the head against the anchor on the log scale: the change, half of its interval, and the part of the last step.
	change, margin, step float64
	accepted             float64 // the largest accepted step
	// The probabilities of such a change from the anchor, and of such a sum of steps, without a change.
	beyondChance, addsUp float64
}
