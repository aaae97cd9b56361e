package insight

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// rankPrefix begins the names of ranks among the devices.
const rankPrefix = "rank "

func ranksOf(s *recorded.Index) []measure.Subject {
	number := func(x measure.Subject) int {
		n, err := strconv.Atoi(strings.TrimPrefix(x.Name, rankPrefix))
		other := err != nil || x.Scope != measure.ScopeDevice || !strings.HasPrefix(x.Name, rankPrefix)
		return measure.Either(other, -1, n)
	}
	out := measure.Where(s.Subjects(), func(x measure.Subject) bool { return number(x) >= 0 })
	slices.SortStableFunc(out, func(a, b measure.Subject) int { return cmp.Compare(number(a), number(b)) })
	return out
}

// ranks says how the ranks of the head compare with one another.
func ranks(d *decide.Decision, x *result.Report) {
	t := d.Matching
	x.Ranks = CompareRanks(t.Base, t.Head, t.Policy)
	x.Warn(unmatchedCollectives(t.Head)...)
}

// CompareRanks describes the ranks of the head, nil where there are not several. The base may be nil.
func CompareRanks(base, head *recorded.Index, policy *thresholds.Resolved) *result.Ranks {
	limitOf := func(m measure.Metric) float64 {
		limit := policy.Limit(measure.Workload, m).Max
		if math.IsInf(limit, 1) { // a rule that only bounds it
			limit = thresholds.Default().Limit(measure.Workload, m).Max
		}
		return limit
	}
	limit := limitOf(measure.Imbalance)
	names := ranksOf(head)
	if len(names) < 2 {
		return nil
	}
	r := &result.Ranks{}
	for _, x := range names {
		of := func(m measure.Metric) result.Number { return result.Number(head.Typical(x, m.Name)) }
		one := result.Rank{Name: x.Name, Compute: of(measure.GPUTime), Base: result.Unknown, Step: of(measure.RankStep),
			Wait: of(measure.CollectiveWait), Caused: of(measure.CausedWait),
			Exposed: of(measure.ExposedCommunication), Hidden: of(measure.HiddenCommunication)}
		if base != nil {
			one.Base = result.Number(base.Typical(x, measure.GPUTime.Name))
		}
		r.Ranks = append(r.Ranks, one)
	}
	r.Straggler = straggler(head, names, limit, policy.Alpha)
	if r.Straggler == nil {
		limit = limitOf(measure.StepTime)
		r.Straggler = late(head, names, limit, policy.Alpha)
		// A wide limit of the imbalance does not make it compute as long as the others.
		if x, longer := r.Straggler, straggler(head, names, 0, policy.Alpha); x != nil && longer != nil &&
			longer.Rank == x.Rank && 2*longer.Slower > x.Slower {
			r.Straggler = longer
		}
	}
	if r.Straggler != nil {
		if base != nil {
			compareRank(r.Straggler, base, limit)
		}
		per := measure.Either(head.Sessions[len(head.Sessions)-1].Step != "", "step", "run")
		r.Remarks = remarksOn(r.Straggler, names, per)
	}
	return r
}

// jobs are the values of a metric, one a job.
func jobs(s *recorded.Index, of measure.Subject, m measure.Metric) []float64 {
	return slices.Concat(s.Values(of, m.Name)...)
}

// computes is how long a rank computes, a value a job.
func computes(s *recorded.Index, rank measure.Subject) []float64 {
	return jobs(s, rank, measure.GPUTime)
}

// behind is the time of each rank over the median of the others, on the log scale: a list a rank with a value a job.
// takes gives the times. Jobs that lack a rank are left out.
func behind(s *recorded.Index, names []measure.Subject,
	takes func(*recorded.Index, measure.Subject) []float64) [][]float64 {
	times := measure.Map(names, func(x measure.Subject) []float64 { return takes(s, x) })
	out := make([][]float64, len(names))
	for job := range times[0] {
		logs := measure.Map(times, func(rank []float64) float64 { return math.Log(rank[job]) })
		if slices.ContainsFunc(logs, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			continue
		}
		sorted := slices.Sorted(slices.Values(logs))
		for i, v := range logs {
			at, _ := slices.BinarySearch(sorted, v)
			out[i] = append(out[i], v-stats.Median(slices.Delete(slices.Clone(sorted), at, at+1)))
		}
	}
	return out
}

// straggler is the rank that computes longest, where it does so by more than the limit and than jobs differ by. One job
// says nothing.
func straggler(s *recorded.Index, names []measure.Subject, limit, alpha float64) *result.Straggler {
	x := slowest(names, behind(s, names, computes), stats.RunPrior, limit, alpha)
	if x == nil {
		return nil
	}
	waitedFor(x, s)
	x.Kernels = slowestIn(s, measure.Subject{Scope: measure.ScopeDevice, Name: x.Rank}, len(names))
	x.Range = mostIn(x.Kernels)
	return x
}

// waitedFor says how long the others wait for it, and in which collective most.
func waitedFor(x *result.Straggler, s *recorded.Index) {
	x.Waited = result.Number(s.Typical(measure.Subject{Scope: measure.ScopeDevice, Name: x.Rank},
		measure.CausedWait.Name))
	x.In = waitsIn(s)
}

// slowest is the rank that is most behind the others, where it is so by more than the limit and than jobs differ by.
// Without degrees of freedom the prior is the least variance.
func slowest(names []measure.Subject, behind [][]float64, prior stats.Variance, limit,
	alpha float64) *result.Straggler {
	jobs := len(behind[0])
	if jobs < stats.MinRuns {
		return nil
	}
	worst, most, variances := 0, math.Inf(-1), []stats.Variance(nil)
	for i := range behind {
		variances = append(variances, stats.SampleVariance(behind[i]))
		if m := stats.Mean(behind[i]); m > most {
			worst, most = i, m
		}
	}
	pooled := stats.Pool(variances...)
	pooled.DF *= 1 - 1/float64(len(names)) // ranks are compared with their own mean
	v := measure.Either(prior.DF == 0, stats.Variance{S2: math.Max(pooled.S2, prior.S2), DF: pooled.DF},
		stats.Moderate(pooled, prior))
	v.S2 /= float64(jobs)
	low := most - stats.Margin(v, 1-2*alpha/float64(len(names)))
	if !(math.Expm1(most) > limit) || low <= 0 {
		return nil
	}
	return &result.Straggler{Rank: names[worst].Name, Slower: result.Number(math.Expm1(most)),
		Low: result.Number(math.Expm1(low)), Base: result.Unknown, Waited: result.Unknown, BaseWaited: result.Unknown}
}

// compareRank says how it was in the base.
func compareRank(x *result.Straggler, base *recorded.Index, limit float64) {
	names := ranksOf(base)
	if i := slices.IndexFunc(names, func(s measure.Subject) bool { return s.Name == x.Rank }); i >= 0 &&
		len(names) > 1 {
		x.BaseWaited = result.Number(base.Typical(names[i], measure.CausedWait.Name))
		takes := measure.Either(x.Late, outside, computes)
		if of := behind(base, names, takes)[i]; len(of) > 0 {
			x.Base = result.Number(math.Expm1(stats.Mean(of)))
			x.Too = float64(x.Base) > limit
		}
	}
}

// slowestIn are the kernels with this rank as the slowest in most jobs.
func slowestIn(s *recorded.Index, rank measure.Subject, ranks int) (out []result.StragglerKernel) {
	number, _ := strconv.ParseFloat(strings.TrimPrefix(rank.Name, rankPrefix), 64)
	for _, k := range s.Subjects() {
		at := jobs(s, k, measure.SlowestRank)
		mine := func(m measure.Metric) (out []float64) {
			for i, v := range jobs(s, k, m) {
				if at[i] == number {
					out = append(out, v)
				}
			}
			return out
		}
		total := mine(measure.SlowestTotal)
		if k.Scope != measure.ScopeKernel || 2*len(total) <= len(at) || attribution.Communicates(k.Name) {
			continue
		}
		// The mean of the others is the rest of the mean over all.
		rest := func(own, of []float64) float64 {
			n := float64(ranks)
			return math.Max(0, (n*stats.Mean(of)-stats.Mean(own))/(n-1))
		}
		launches := mine(measure.SlowestLaunches)
		x := result.StragglerKernel{
			Kernel: k.Short(), Name: k.Name, Role: s.Role(k),
			More:     result.Number(stats.Mean(total) - rest(total, mine(s.Total))),
			Launches: counted(stats.Mean(launches)), Others: counted(rest(launches, mine(measure.Launches))),
		}
		if k.Geometry() != "" {
			x.Grid, x.Block = k.Grid.String(), k.Block.String()
		}
		out = append(out, x)
	}
	measure.Sort(out, func(a, b result.StragglerKernel) int { return cmp.Compare(b.More, a.More) })
	return out
}

// mostIn is the range with most of the additional time of kernels.
func mostIn(kernels []result.StragglerKernel) string {
	by, all := map[string]result.Number{}, result.Number(0)
	for _, k := range kernels {
		by[k.Role[strings.LastIndexByte(k.Role, '/')+1:]] += k.More
		all += k.More
	}
	return majority(by, all)
}

// majority is the name with more than half of all, "" for none.
func majority(by map[string]result.Number, all result.Number) string {
	for name, part := range by {
		if 2*part > all {
			return name
		}
	}
	return ""
}

// waitsIn is the collective with most of the waiting, "" where unknown.
func waitsIn(s *recorded.Index) string {
	by, all := map[string]result.Number{}, result.Number(0)
	for _, k := range s.Subjects() {
		if v := result.Number(s.Typical(k, measure.CollectiveWait.Name)); k.Scope == measure.ScopeKernel && v > 0 {
			by[attribution.Operation(k.Short())] += v
			all += v
		}
	}
	return majority(by, all)
}

// remarksOn are the remarks on a straggler among ranks, with amounts per step or run.
func remarksOn(x *result.Straggler, ranks []measure.Subject, per string) []result.Remark {
	k := result.StragglerKernel{More: result.Unknown, Launches: result.Unknown, Others: result.Unknown}
	if len(x.Kernels) > 0 {
		k = x.Kernels[0]
	}
	out := []result.Remark{result.Say(Straggler{Rank: x.Rank, Slower: x.Slower, Base: x.Base, Too: x.Too,
		Range: x.Range, Kernels: len(x.Kernels), Kernel: k.Kernel, More: k.More, Unit: measure.Total.Unit,
		Launches: k.Launches, Others: k.Others})}
	if x.Late {
		out[0] = result.Say(LateRank{Rank: x.Rank, Slower: x.Slower, Base: x.Base, Too: x.Too, More: x.More,
			Copies: x.Copies, Unit: measure.StepTime.Unit, Per: per})
	}
	if x.Waited > 0 {
		wait := StragglerWait{Rank: x.Rank, Wait: x.Waited, Base: x.BaseWaited, Unit: measure.CausedWait.Unit, In: x.In,
			Per: per}
		if len(ranks) == 2 {
			wait.Other = measure.Either(ranks[0].Name == x.Rank, ranks[1].Name, ranks[0].Name)
		}
		out = append(out, result.Say(wait))
	}
	return out
}

// unmatchedCollectives says that some collectives of the head keep their waiting.
func unmatchedCollectives(s *recorded.Index) []result.Remark {
	n := s.Typical(measure.Workload, measure.UnmatchedCollectives.Name)
	collective := func(k measure.Subject) bool { return attribution.Communicates(k.Name) }
	all := sumOf(recorded.Kernels(s.Subjects()), collective,
		func(k measure.Subject) result.Number { return result.Number(s.Typical(k, measure.Launches.Name)) })
	return result.SayIf(n > 0, Unmatched{result.Number(n), all})
}

// counted is a number of launches without what its arithmetic rounded.
func counted(n float64) result.Number { return result.Number(math.Round(n*1e6) / 1e6) }

// A rank may be late without computing longer: it copies, reads its data, or its CPU is slow. All ranks then have one
// period, and those that wait spend the difference in collectives.

// outside is the time of a rank without exposed communication in a step, a value a job; its waiting is part of that
// communication.
func outside(s *recorded.Index, rank measure.Subject) []float64 {
	steps, talks := jobs(s, rank, measure.RankStep), jobs(s, rank, measure.ExposedCommunication)
	for i := range steps {
		steps[i] -= talks[i]
	}
	return steps
}

// late is the rank that takes longest between its collectives, where it does so by more than the limit and than jobs
// differ by, and the others wait for it. What CPUs do differs from program to program: that the jobs of others were
// steady says nothing of these.
func late(s *recorded.Index, names []measure.Subject, limit, alpha float64) *result.Straggler {
	x := slowest(names, behind(s, names, outside), stats.Variance{S2: stats.StepRunSD * stats.StepRunSD}, limit, alpha)
	if x == nil {
		return nil
	}
	x.Late = true
	if waitedFor(x, s); !(x.Waited > 0) {
		return nil
	}
	x.More = excess(names, x.Rank, func(r measure.Subject) []float64 { return outside(s, r) })
	x.Copies = excess(names, x.Rank, func(r measure.Subject) []float64 { return jobs(s, r, measure.RankCopies) })
	return x
}

// excess is how much more a rank takes than the mean of the others, in the middle job.
func excess(names []measure.Subject, rank string, takes func(measure.Subject) []float64) result.Number {
	var jobs []float64
	others := float64(len(names) - 1)
	for _, x := range names {
		for job, v := range takes(x) {
			if job == len(jobs) {
				jobs = append(jobs, 0)
			}
			if x.Name != rank {
				v /= -others
			}
			jobs[job] += v
		}
	}
	return result.Number(stats.Median(stats.Known(jobs)))
}
