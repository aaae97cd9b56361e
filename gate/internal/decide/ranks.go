package decide

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/internal/trace"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// Ranks is how the ranks of a job compare with one another. Times are in ns, per step, or per run where there are no steps: medians
// over the jobs.
type Ranks struct {
	Ranks []Rank `json:"ranks"` // by their numbers
	// Straggler is the rank that computes longest, nil where it does not beyond the limit of [measure.Imbalance] and what jobs
	// differ by. Where none computes longer, it is the one that takes longest between its collectives, if that is beyond the limit of
	// [measure.StepTime].
	Straggler *Straggler `json:"straggler,omitempty"`
	// Remarks are what is said of it.
	Remarks []Remark `json:"remarks,omitempty"`
}

// Rank is one process of a job.
type Rank struct {
	Name    string `json:"name"`    // "rank 3"
	Compute Number `json:"compute"` // time of its kernels but for collectives
	Base    Number `json:"base"`    // likewise in the base; unknown where there is none
	Step    Number `json:"step"`    // period of its steps
	Wait    Number `json:"wait"`    // that it waited in collectives
	Caused  Number `json:"caused"`  // that the others waited because it came last, their mean
	Exposed Number `json:"exposed"` // time in which it did nothing but communicate
	Hidden  Number `json:"hidden"`  // time in which it communicated while it computed
}

// Straggler is a rank that works longer than the others.
type Straggler struct {
	Rank string `json:"rank"`
	// Late is true where it computes no longer. Slower, Low and Base are then of the time of a step in which it does not communicate:
	// it copies, or waits for its CPU or its disk.
	Late   bool   `json:"late,omitempty"`
	Slower Number `json:"slower"`        // its compute over the median of the others, minus 1
	Low    Number `json:"low"`           // least that Slower is, by what jobs differ, at the error of a gate
	Base   Number `json:"base"`          // how much slower it was in the base, unknown where there is none
	Too    bool   `json:"too,omitempty"` // that was beyond the limit as well
	// Waited is how long the others wait for it in collectives, their mean, BaseWaited that in the base; unknown where the
	// collectives have no counterparts. In is the collective in which most of all waiting is.
	Waited     Number `json:"waited"`
	BaseWaited Number `json:"base_waited"`
	In         string `json:"in,omitempty"`
	// Range is the NVTX range around most of what it computes longer, "" where that is in none.
	Range string `json:"range,omitempty"`
	// Kernels are those in which it is the slowest rank, those that cost most first.
	Kernels []StragglerKernel `json:"kernels,omitempty"`
	// More is how much longer one that is late takes than the mean of the others, Copies how much of that it copies longer; 0 for one
	// that is not, Copies unknown where that was not recorded.
	More   Number `json:"more,omitempty"`
	Copies Number `json:"copies,omitempty"`
}

// StragglerKernel is a kernel that takes longest in the straggler.
type StragglerKernel struct {
	Kernel   string `json:"kernel"` // short name
	Name     string `json:"name"`
	Grid     string `json:"grid,omitempty"`
	Block    string `json:"block,omitempty"`
	Role     string `json:"role,omitempty"` // path of ranges around most of its launches
	More     Number `json:"more"`           // its total time minus the mean of the others
	Launches Number `json:"launches"`       // in this rank
	Others   Number `json:"others"`         // in the others, their mean
}

// rankPrefix begins the names of ranks among the devices.
const rankPrefix = "rank "

// ranks are those of a side, by their numbers.
func (s *side) ranks() []measure.Subject {
	var out []measure.Subject
	number := func(x measure.Subject) int {
		n, err := strconv.Atoi(strings.TrimPrefix(x.Name, rankPrefix))
		if err != nil || x.Scope != measure.ScopeDevice || !strings.HasPrefix(x.Name, rankPrefix) {
			return -1
		}
		return n
	}
	for _, x := range s.subjects() {
		if number(x) >= 0 {
			out = append(out, x)
		}
	}
	large.Sort(out, func(a, b measure.Subject) int { return cmp.Compare(number(a), number(b)) })
	return out
}

// ranks describes those of the head, nil where there are not several. The base is nil where there is none.
func ranks(base, head *side, policy *thresholds.Policy) *Ranks {
	limit := policy.Limit(measure.Workload, measure.Imbalance).Max
	if math.IsInf(limit, 1) { // a rule that only bounds it
		limit = thresholds.Default().Limit(measure.Workload, measure.Imbalance).Max
	}
	names := head.ranks()
	if len(names) < 2 {
		return nil
	}
	r := &Ranks{}
	for _, x := range names {
		of := func(m measure.Metric) Number { return Number(head.typical(x, m.Name)) }
		one := Rank{Name: x.Name, Compute: of(measure.GPUTime), Base: unknown, Step: of(measure.RankStep), Wait: of(measure.CollectiveWait),
			Caused: of(measure.CausedWait), Exposed: of(measure.ExposedCommunication), Hidden: of(measure.HiddenCommunication)}
		if base != nil {
			one.Base = Number(base.typical(x, measure.GPUTime.Name))
		}
		r.Ranks = append(r.Ranks, one)
	}
	r.Straggler = straggler(head, names, limit, policy.Alpha)
	if r.Straggler == nil {
		limit = policy.Limit(measure.Workload, measure.StepTime).Max
		r.Straggler = late(head, names, limit, policy.Alpha)
	}
	if r.Straggler != nil {
		if base != nil {
			r.Straggler.compare(base, limit)
		}
		r.Remarks = r.Straggler.remarks(names, head.per())
	}
	return r
}

// computes is how long a rank computes, a value a job.
func (s *side) computes(rank measure.Subject) []float64 {
	return slices.Concat(s.values(rank, measure.GPUTime.Name)...)
}

// behind is how much longer each rank takes than the median of the others, on the log scale, by what each takes: a list a rank with
// a value a job. Jobs that lack a rank are left out.
func behind(names []measure.Subject, takes func(measure.Subject) []float64) [][]float64 {
	times := make([][]float64, len(names))
	for i, x := range names {
		times[i] = takes(x)
	}
	out := make([][]float64, len(names))
	for job := range times[0] {
		logs := make([]float64, len(names))
		for i := range names {
			logs[i] = math.Log(times[i][job])
		}
		if slices.ContainsFunc(logs, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			continue
		}
		sorted := slices.Sorted(slices.Values(logs))
		for i, v := range logs {
			out[i] = append(out[i], v-medianWithout(sorted, v))
		}
	}
	return out
}

// medianWithout is the median of sorted numbers but for one of them.
func medianWithout(sorted []float64, one float64) float64 {
	at, _ := slices.BinarySearch(sorted, one)
	nth := func(n int) float64 {
		if n >= at {
			n++
		}
		return sorted[n]
	}
	n := len(sorted) - 1
	return (nth((n-1)/2) + nth(n/2)) / 2
}

// straggler is the rank that computes longest, where it does so by more than the limit and than jobs differ by. One job says nothing.
func straggler(s *side, names []measure.Subject, limit, alpha float64) *Straggler {
	x := slowest(names, behind(names, s.computes), runPrior, limit, alpha)
	if x == nil {
		return nil
	}
	x.waits(s)
	x.Kernels = s.slowestIn(measure.Subject{Scope: measure.ScopeDevice, Name: x.Rank}, len(names))
	x.Range = mostIn(x.Kernels)
	return x
}

// waits says how long the others wait for it, and in which collective most.
func (x *Straggler) waits(s *side) {
	x.Waited = Number(s.typical(measure.Subject{Scope: measure.ScopeDevice, Name: x.Rank}, measure.CausedWait.Name))
	x.In = s.waitsIn()
}

// slowest is the rank that is most behind the others, where it is so by more than the limit and than jobs differ by. Without degrees
// of freedom the prior is the least variance.
func slowest(names []measure.Subject, behind [][]float64, prior stats.Variance, limit, alpha float64) *Straggler {
	jobs := len(behind[0])
	if jobs < minRuns {
		return nil
	}
	worst, most, variances := 0, math.Inf(-1), []stats.Variance(nil)
	for i := range behind {
		variances = append(variances, stats.SampleVariance(behind[i]))
		if m := mean(behind[i]); m > most {
			worst, most = i, m
		}
	}
	pooled := stats.Pool(variances...)
	pooled.DF *= 1 - 1/float64(len(names)) // what one is behind, others are ahead
	v := stats.Moderate(pooled, prior)
	if prior.DF == 0 {
		v = stats.Variance{S2: math.Max(pooled.S2, prior.S2), DF: pooled.DF}
	}
	v.S2 /= float64(jobs)
	low := most - stats.Margin(v, 1-2*alpha/float64(len(names)))
	if !(math.Expm1(most) > limit) || low <= 0 {
		return nil
	}
	return &Straggler{Rank: names[worst].Name, Slower: Number(math.Expm1(most)), Low: Number(math.Expm1(low)), Base: unknown, Waited: unknown, BaseWaited: unknown}
}

// compare says how it was in the base.
func (x *Straggler) compare(base *side, limit float64) {
	names := base.ranks()
	if i := slices.IndexFunc(names, func(s measure.Subject) bool { return s.Name == x.Rank }); i >= 0 && len(names) > 1 {
		x.BaseWaited = Number(base.typical(names[i], measure.CausedWait.Name))
		takes := base.computes
		if x.Late {
			takes = base.apart
		}
		if of := behind(names, takes)[i]; len(of) > 0 {
			x.Base = Number(math.Expm1(mean(of)))
			x.Too = float64(x.Base) > limit
		}
	}
}

// slowestIn are the kernels in which a rank is the slowest in most jobs.
func (s *side) slowestIn(rank measure.Subject, ranks int) (out []StragglerKernel) {
	number, _ := strconv.ParseFloat(strings.TrimPrefix(rank.Name, rankPrefix), 64)
	for _, k := range s.subjects() {
		at := slices.Concat(s.values(k, measure.SlowestRank.Name)...)
		mine := func(values [][]float64) (out []float64) {
			for i, v := range slices.Concat(values...) {
				if at[i] == number {
					out = append(out, v)
				}
			}
			return out
		}
		total := mine(s.values(k, measure.SlowestTotal.Name))
		if k.Scope != measure.ScopeKernel || 2*len(total) <= len(at) || trace.Communicates(k.Name) {
			continue
		}
		// What the others have is the rest of the mean over all.
		rest := func(own, of []float64) float64 {
			n := float64(ranks)
			return math.Max(0, (n*mean(of)-mean(own))/(n-1))
		}
		launches := mine(s.values(k, measure.SlowestLaunches.Name))
		x := StragglerKernel{
			Kernel: k.Short(), Name: k.Name, Role: s.role(k),
			More:     Number(mean(total) - rest(total, mine(s.values(k, s.total.Name)))),
			Launches: counted(mean(launches)), Others: counted(rest(launches, mine(s.values(k, measure.Launches.Name)))),
		}
		if k.Geometry() != "" {
			x.Grid, x.Block = k.Grid.String(), k.Block.String()
		}
		out = append(out, x)
	}
	large.Sort(out, func(a, b StragglerKernel) int { return cmp.Compare(b.More, a.More) })
	return out
}

// mostIn is the range around most of what kernels take longer.
func mostIn(kernels []StragglerKernel) string {
	by, all := map[string]Number{}, Number(0)
	for _, k := range kernels {
		by[k.Role[strings.LastIndexByte(k.Role, '/')+1:]] += k.More
		all += k.More
	}
	for name, more := range by {
		if 2*more > all {
			return name
		}
	}
	return ""
}

// waitsIn is the collective in which most of the waiting is, "" where that is not known.
func (s *side) waitsIn() string {
	by, all := map[string]float64{}, 0.0
	for _, k := range s.subjects() {
		if v := s.typical(k, measure.CollectiveWait.Name); k.Scope == measure.ScopeKernel && v > 0 {
			by[trace.Operation(k.Short())] += v
			all += v
		}
	}
	for name, v := range by {
		if 2*v > all {
			return name
		}
	}
	return ""
}

// remarks are what is said of a straggler among ranks, of amounts per step or run.
func (x *Straggler) remarks(ranks []measure.Subject, per string) []Remark {
	k, too := StragglerKernel{More: unknown, Launches: unknown, Others: unknown}, ""
	if len(x.Kernels) > 0 {
		k = x.Kernels[0]
	}
	if x.Too {
		too = "too"
	}
	what := remark("straggler", Args{"rank": x.Rank, "slower": x.Slower, "base": x.Base, "too": too, "range": x.Range,
		"kernels": Number(len(x.Kernels)), "kernel": k.Kernel, "more": k.More, "unit": measure.Total.Unit, "launches": k.Launches, "others": k.Others})
	if x.Late {
		what = remark("late-rank", Args{"rank": x.Rank, "slower": x.Slower, "base": x.Base, "too": too, "more": x.More, "copies": x.Copies,
			"unit": measure.StepTime.Unit, "per": per})
	}
	out := []Remark{what}
	if x.Waited > 0 {
		who := "the others wait"
		if len(ranks) == 2 {
			who = ranks[0].Name + " waits"
			if ranks[0].Name == x.Rank {
				who = ranks[1].Name + " waits"
			}
		}
		out = append(out, remark("straggler-wait", Args{"who": who, "rank": x.Rank, "wait": x.Waited, "base": x.BaseWaited, "in": x.In, "per": per,
			"unit": measure.CausedWait.Unit}))
	}
	return out
}

// per is what amounts of a side are counted by.
func (s *side) per() string {
	if s.sessions[len(s.sessions)-1].Step != "" {
		return "step"
	}
	return "run"
}

// unmatched says that some collectives of the head keep their waiting.
func unmatched(s *side) []Remark {
	n := s.typical(measure.Workload, measure.UnmatchedCollectives.Name)
	if !(n > 0) {
		return nil
	}
	all := 0.0
	for _, k := range s.subjects() {
		if v := s.typical(k, measure.Launches.Name); k.Scope == measure.ScopeKernel && trace.Communicates(k.Name) && v > 0 {
			all += v
		}
	}
	return []Remark{remark("unmatched", Args{"some": Number(n), "all": Number(all)})}
}

// counted is a number of launches without what its arithmetic rounded.
func counted(n float64) Number { return Number(math.Round(n*1e6) / 1e6) }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
