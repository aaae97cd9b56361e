package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// trial is what is judged: two sides under a policy.
type trial struct {
	policy *thresholds.Policy
	// time is how long one launch takes by the profiler of both sides, total what a kernel costs: by Nsight Compute, which
	// profiles a few launches of each kernel, both are the duration of a launch.
	time, total measure.Metric
	base, head  *side
	shared      [][2]int // pairs of a base and a head session that are one session
	batches     bool     // they are one session, but not measured in turn
	tick        float64
	boards      Boards
	bound       map[measure.Subject]bool // kernels that are known to be memory-bound
	off         []Off                    // runs that are left out
	few         *Remark                  // why nothing is judged but bounds: too few runs, nil where there are enough
	single      string                   // the side that holds one run against several of the other, "" for none, see [trial.once]
	swerve      float64                  // by how much that run is off as a whole, 0 where it is not
	waterfall   *Waterfall               // of the typical step, nil where that is not known
}

func newTrial(base, head []model.Session, policy *thresholds.Policy) trial {
	t := trial{policy: policy, time: measure.Time, total: measure.Total, boards: boardsOf(base, head)}
	if byLaunch(head) {
		t.time, t.total = model.NcuTime, model.NcuTime
	}
	t.base, t.head = newSide(base, t.total), newSide(head, t.total)
	for i := range base {
		for j := range head {
			if model.SameSession(base[i].Environment, head[j].Environment) {
				t.shared = append(t.shared, [2]int{i, j})
			}
			t.tick = math.Max(t.tick, math.Max(base[i].Tick, head[j].Tick))
		}
	}
	// Pairs leave out what has no partner. The base may have sessions to spare; all of the head is judged.
	for j := range head {
		if !slices.ContainsFunc(t.shared, func(p [2]int) bool { return p[1] == j }) {
			t.shared = nil
		}
	}
	// Nor may they leave out what only another session of the base holds, where what was accepted replaced a part of it.
	if partial(base) && !t.holdAll(base) {
		t.shared = nil
	}
	for _, p := range t.shared {
		b, h := &base[p[0]], &head[p[1]]
		t.batches = t.batches || !inTurn(b, h, false) || !inTurn(b, h, true)
	}
	return t.leaveOut().once()
}

// holdAll reports whether the base sessions of the pairs together have every kernel of the base.
func (t trial) holdAll(base []model.Session) bool {
	own := map[measure.Subject]bool{}
	for _, p := range t.shared {
		for _, x := range base[p[0]].Series {
			own[x.Subject] = true
		}
	}
	for _, x := range t.base.subjects() {
		if x.Scope == measure.ScopeKernel && !own[x] {
			return false
		}
	}
	return true
}

// inTurn reports whether the traced or the untraced runs of two sides of one session were measured by turns, and saw the same
// clocks and temperatures: where the middle run of each lies among the runs of the other. Parts of one recording of which no run
// says its time are, and so is what one of them lacks.
func inTurn(a, b *model.Session, untraced bool) bool {
	if untraced && (a.Profiled() == len(a.Runs) || b.Profiled() == len(b.Runs)) {
		return true
	}
	times := func(s *model.Session) (out []float64) {
		for _, run := range s.Runs {
			if !run.Start.IsZero() && run.Unprofiled == untraced {
				out = append(out, float64(run.Start.UnixNano()))
			}
		}
		return out
	}
	x, y := times(a), times(b)
	if len(x) == 0 || len(y) == 0 {
		return len(x) == len(y) && a.Start.Equal(b.Start)
	}
	among := func(at float64, of []float64) bool { return slices.Min(of) <= at && at <= slices.Max(of) }
	return among(stats.Median(x), y) && among(stats.Median(y), x)
}

// hosts says how much is known of where sides of several sessions were measured: on "different" hosts, at different "times" on
// one GPU, or "unknown" where a profile does not name its GPU or time.
func (t trial) hosts() string {
	if oneGPU(t.base.sessions, t.head.sessions) {
		return "times"
	}
	for _, s := range slices.Concat(t.base.sessions, t.head.sessions) {
		if s.GPUHash == "" || s.Start.IsZero() {
			return "unknown"
		}
	}
	return "different"
}

// oneGPU reports whether all sessions of two sides are known to be of the same GPU.
func oneGPU(base, head []model.Session) bool {
	hash := head[len(head)-1].GPUHash
	return hash != "" && !slices.ContainsFunc(slices.Concat(base, head), func(s model.Session) bool { return s.GPUHash != hash })
}

// between is the least time between the beginnings of a base and a head session of one GPU, unknown where there are no such two.
func between(base, head []model.Session) Number {
	least := unknown
	for _, b := range base {
		for _, h := range head {
			if b.GPUHash == "" || b.GPUHash != h.GPUHash || b.Start.IsZero() || h.Start.IsZero() {
				continue
			}
			if d := Number(h.Start.Sub(b.Start).Abs().Seconds()); !(least <= d) {
				least = d
			}
		}
	}
	return least
}

// side is the sessions of base or head with an index over their series.
type side struct {
	sessions []model.Session
	held     map[measure.Subject]*held
	sorted   []measure.Subject // all that is held
	total    measure.Metric    // what a kernel costs
	whole    float64           // typical kernel time of the workload
}

// held is what the sessions have of a subject. Names of kernels are long: each is looked up once for all of that.
type held struct {
	series [][]model.Series // by session
	share  float64          // see [side.share], NaN until somebody asks
}

func newSide(sessions []model.Session, total measure.Metric) *side {
	s := &side{sessions: sessions, held: map[measure.Subject]*held{}, total: total}
	for i := range sessions {
		// The series of a subject mostly stand together.
		for rest := sessions[i].Series; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Subject == rest[0].Subject {
				n++
			}
			h := s.held[rest[0].Subject]
			if h == nil {
				h = &held{series: make([][]model.Series, len(sessions)), share: math.NaN()}
				s.held[rest[0].Subject] = h
				s.sorted = append(s.sorted, rest[0].Subject)
			}
			if h.series[i] == nil {
				h.series[i] = rest[:n:n]
			} else {
				h.series[i] = append(h.series[i], rest[:n]...)
			}
			rest = rest[n:]
		}
	}
	slices.SortFunc(s.sorted, measure.Subject.Compare)
	if s.whole = s.typical(measure.Workload, measure.GPUTime.Name); math.IsNaN(s.whole) {
		// Nsight Compute does not see the whole workload: one launch of each kernel stands for it.
		s.whole = 0
		for _, subject := range s.sorted {
			if v := s.typical(subject, total.Name); subject.Scope == measure.ScopeKernel && !math.IsNaN(v) {
				s.whole += v
			}
		}
	}
	return s
}

// in is a metric of one session, nil where that does not have it.
func (h *held) in(session int, metric string) *model.Series {
	if h == nil {
		return nil
	}
	for i := range h.series[session] {
		if x := &h.series[session][i]; x.Metric.Name == metric {
			return x
		}
	}
	return nil
}

// newest is the series of the newest session that has it, nil where none does.
func (h *held) newest(metric string) *model.Series {
	if h == nil {
		return nil
	}
	for i := len(h.series) - 1; i >= 0; i-- {
		if x := h.in(i, metric); x != nil {
			return x
		}
	}
	return nil
}

// byLaunch reports whether sessions come from Nsight Compute, which measures single launches and not the workload.
func byLaunch(sessions []model.Session) bool {
	return len(sessions) > 0 && sessions[len(sessions)-1].Profiler().ByLaunch()
}

// subjects lists what the side has, in stable order. The list is the side's own.
func (s *side) subjects() []measure.Subject { return s.sorted }

// runs is how many traced runs the sessions have in all.
func (s *side) runs() int {
	n := 0
	for i := range s.sessions {
		n += s.sessions[i].Profiled()
	}
	return n
}

func (s *side) has(subject measure.Subject) bool { return s.held[subject] != nil }

// metrics lists the metrics of a subject, in the order of measure.Metrics.
func (s *side) metrics(subject measure.Subject) []measure.Metric {
	h := s.held[subject]
	return slices.DeleteFunc(slices.Clone(measure.Metrics), func(m measure.Metric) bool { return h.newest(m.Name) == nil })
}

func (s *side) hasMetric(subject measure.Subject, metric string) bool {
	return s.held[subject].newest(metric) != nil
}

// values are the samples of a metric, one list a session with the runs in which such a metric is measured, all NaN where a
// session has none. In a session that has a kernel, the traced runs without it launched it zero times and spent no time on it.
func (s *side) values(subject measure.Subject, metric string) [][]float64 {
	out, h := make([][]float64, len(s.sessions)), s.held[subject]
	for i := range s.sessions {
		session := &s.sessions[i]
		if x := h.in(i, metric); x != nil {
			if out[i] = session.Of(x); metric == measure.Launches.Name || metric == measure.Total.Name {
				out[i] = s.absent(i, subject, out[i])
			}
			continue
		}
		runs := session.Profiled()
		if m, _ := measure.MetricByName(metric); m.Unprofiled() {
			runs = len(session.Runs) - runs
		}
		out[i] = make([]float64, runs)
		for j := range out[i] {
			out[i][j] = math.NaN()
		}
	}
	return out
}

// absent puts zero for the runs of a session in which nothing of a kernel was measured. A run that lacks one value and has
// another is no such run: that value is not known.
func (s *side) absent(session int, subject measure.Subject, values []float64) []float64 {
	if subject.Scope != measure.ScopeKernel || s.total != measure.Total || !slices.ContainsFunc(values, math.IsNaN) {
		return values
	}
	h := s.held[subject]
	times, launches, total := h.in(session, measure.Time.Name), h.in(session, measure.Launches.Name), h.in(session, measure.Total.Name)
	if times == nil {
		return values
	}
	lacks := func(x *model.Series, run int) bool { return x == nil || math.IsNaN(x.Values[run]) }
	out := slices.Clone(values)
	for run := range out {
		if lacks(times, run) && lacks(launches, run) && lacks(total, run) {
			out[run] = 0
		}
	}
	return out
}

// sum adds a metric of several subjects run by run. A session that has none of them stays NaN.
func (s *side) sum(subjects []measure.Subject, metric string) [][]float64 {
	out := s.values(subjects[0], metric)
	for i := range out {
		out[i] = slices.Clone(out[i])
	}
	for _, subject := range subjects[1:] {
		for i, session := range s.values(subject, metric) {
			for j, v := range session {
				switch {
				case math.IsNaN(v):
				case math.IsNaN(out[i][j]):
					out[i][j] = v
				default:
					out[i][j] += v
				}
			}
		}
	}
	return out
}

// typical is the median over all runs, NaN where there is none.
func (s *side) typical(subject measure.Subject, metric string) float64 {
	if !s.hasMetric(subject, metric) {
		return math.NaN()
	}
	return typical(s.values(subject, metric))
}

func typical(sessions [][]float64) float64 { return stats.Median(pooled(sessions)) }

// find is the series of the newest session that has it.
func (s *side) find(subject measure.Subject, metric string) *model.Series {
	return s.held[subject].newest(metric)
}

// role is the path of ranges around a kernel, "" outside all.
func (s *side) role(subject measure.Subject) string {
	if x := s.find(subject, s.total.Name); x != nil {
		return x.Role
	}
	return ""
}

func (s *side) note(subject measure.Subject, metric string) string {
	if x := s.find(subject, metric); x != nil {
		return x.Note
	}
	return ""
}

// share is the subject's part of the workload's kernel time; of copies, of kernel and copy time together.
func (s *side) share(subject measure.Subject) float64 {
	h := s.held[subject]
	if h == nil {
		return s.shareOf(subject)
	}
	if math.IsNaN(h.share) {
		h.share = s.shareOf(subject)
	}
	return h.share
}

func (s *side) shareOf(subject measure.Subject) float64 {
	var part float64
	of := s.whole
	switch {
	case subject == measure.Workload, subject.Scope == measure.ScopeOutput:
		return 1
	case subject.Scope == measure.ScopeKernel:
		if part = s.typical(subject, s.total.Name); part == 0 {
			part = average(s.values(subject, s.total.Name)) // most runs are without it
		}
	case subject.Scope == measure.ScopeRange, subject.Scope == measure.ScopeDevice:
		part = s.typical(subject, measure.GPUTime.Name)
	default:
		part = s.typical(subject, measure.CopyTime.Name)
		of = s.whole + part
	}
	if math.IsNaN(part) || !(of > 0) {
		return 0
	}
	return math.Min(part/of, 1) // runs of different programs have no whole
}
