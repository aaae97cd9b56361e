package sample

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/timeline"
	"github.com/nsgate/nsgate/gate/measure"
)

// job is one launch of the workload with all of its processes: a run. Its ranks are in the order of their names.
type job struct {
	ranks []*cut
	names []string // "rank 1"; none where there is one process
	split bool     // its collectives were matched: each lasts as long as its transfer, and the ranks know what they waited
}

// together is the part of the shorter of two processes that both ran at once, from which on they are ranks of one job.
const together = 0.5

// jobs puts the ranks of one job together: those of which the trace names the job, and else the processes of one file that ran at
// the same time, each on a device of its own. Processes that took turns are runs of their own.
func jobs(cuts []*cut) ([]job, error) {
	if named, err := namedJobs(cuts); err != nil || named != nil {
		return named, err
	}
	order := slices.Clone(cuts)
	slices.SortStableFunc(order, func(a, b *cut) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(span(a.Trace).Start, span(b.Trace).Start))
	})
	var out []job
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].Source == order[0].Source && besides(order[:n], order[n]) {
			n++
		}
		j := job{ranks: slices.Clone(order[:n])}
		slices.SortFunc(j.ranks, func(a, b *cut) int { return cmp.Compare(deviceOf(a), deviceOf(b)) })
		out, order = append(out, j.named()), order[n:]
	}
	return alike(out)
}

// besides reports whether a process is a further rank of a job.
func besides(ranks []*cut, c *cut) bool {
	for _, r := range ranks {
		a, b := span(r.Trace), span(c.Trace)
		both := min(a.End, b.End) - max(a.Start, b.Start)
		if float64(both) < together*float64(min(a.End-a.Start, b.End-b.Start)) || deviceOf(r) == deviceOf(c) {
			return false
		}
	}
	return true
}

// deviceOf is the device of the first launch of a process.
func deviceOf(c *cut) int32 {
	if len(c.Launches) == 0 {
		return -1
	}
	return c.Launches[0].Device
}

// namedJobs puts the ranks together whose traces name their job; nil where not every trace does. A rank with several processes,
// which started them on its host, is as many ranks.
func namedJobs(cuts []*cut) ([]job, error) {
	found := map[string][]*cut{}
	var names []string
	for _, c := range cuts {
		if c.Job == "" {
			return nil, nil
		}
		if found[c.Job] == nil {
			names = append(names, c.Job)
		}
		found[c.Job] = append(found[c.Job], c)
	}
	var out []job
	for _, name := range names {
		j := job{ranks: found[name]}
		slices.SortStableFunc(j.ranks, func(a, b *cut) int {
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(deviceOf(a), deviceOf(b)))
		})
		several := false
		for i, c := range j.ranks {
			if i > 0 && j.ranks[i-1].Rank == c.Rank {
				if j.ranks[i-1].Source != c.Source {
					return nil, Reasons.Refuse("rank-twice", c.Rank, j.ranks[i-1].Source, c.Source)
				}
				several = true
			}
			j.names = append(j.names, fmt.Sprintf("rank %d", c.Rank))
		}
		if several || len(j.ranks) == 1 {
			j.names = nil
			j = j.named()
		}
		out = append(out, j)
	}
	for _, j := range out {
		for _, rank := range ranksOf(out) {
			if !slices.ContainsFunc(j.ranks, func(c *cut) bool { return c.Rank == rank }) {
				return nil, Reasons.Refuse("rank-missing", rank, j.first().Job)
			}
		}
	}
	return alike(out)
}

// ranksOf are the ranks that any of the jobs has.
func ranksOf(all []job) []int {
	var out []int
	for _, j := range all {
		for _, c := range j.ranks {
			out = append(out, c.Rank)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// named numbers the ranks of a job from 0.
func (j job) named() job {
	for i := range j.ranks {
		if len(j.ranks) > 1 {
			j.names = append(j.names, fmt.Sprintf("rank %d", i))
		}
	}
	return j
}

// alike refuses jobs of different numbers of ranks.
func alike(all []job) ([]job, error) {
	for _, j := range all {
		if len(j.ranks) != len(all[0].ranks) {
			return nil, Reasons.Refuse("ranks-differ", j.ranks[0].Source, len(j.ranks), len(all[0].ranks), all[0].ranks[0].Source)
		}
	}
	return all, nil
}

// transfers takes the waiting out of collectives: each lasts as long in every rank as in the one where it is shortest, which
// came last and waited for nobody (TraceLens' communication latency, Megatron-Bridge's transfer proxy). They are matched by
// their order; where the ranks do not make the same ones, nothing is done.
func (j *job) transfers() {
	collectives := make([][]int, len(j.ranks)) // indices of launches
	for r, c := range j.ranks {
		moves := make([]bool, len(c.Kernels))
		for i := range c.Kernels {
			moves[i] = timeline.Communicates(c.Kernels[i].Subject.Short())
		}
		for i := range c.launches {
			if moves[c.launches[i].Kernel] {
				collectives[r] = append(collectives[r], i)
			}
		}
	}
	name := func(r, i int) string {
		c := j.ranks[r]
		return c.Kernels[c.launches[collectives[r][i]].Kernel].Subject.Short()
	}
	for r := range j.ranks {
		if len(collectives[r]) != len(collectives[0]) {
			return
		}
		for i := range collectives[r] {
			if name(r, i) != name(0, i) {
				return
			}
		}
	}
	j.split = len(collectives[0]) > 0
	for _, c := range j.ranks {
		c.launches = slices.Clone(c.launches) // those of the trace stay as they were
	}
	for i := range collectives[0] {
		shortest := int64(-1)
		for r, c := range j.ranks {
			l := &c.launches[collectives[r][i]]
			if d := l.End - l.Start; shortest < 0 || d < shortest {
				shortest = d
			}
		}
		for r, c := range j.ranks {
			l := &c.launches[collectives[r][i]]
			c.waits = append(c.waits, wait{l.API, l.End - l.Start - shortest})
			l.End = l.Start + shortest
		}
	}
}

// wait is how long a rank waited in a collective, in ns, and when it called that.
type wait struct{ api, ns int64 }

// waited is how long a rank waited in the steps that count, in ns.
func (c *cut) waited() float64 {
	sum := 0.0
	for _, w := range c.waits {
		if len(c.steps) == 0 || c.stepOf(w.api) >= c.skip {
			sum += float64(w.ns)
		}
	}
	return sum
}

// summed are the metrics of which a rank without a value has none: 0.
var summed = []measure.Metric{
	measure.Launches, measure.Total, measure.GPUTime, measure.CopyTime, measure.CopyBytes, measure.Copies, measure.Owned,
	measure.SyncCalls, measure.Allocations, measure.PageableBytes, measure.SmallKernels,
}

// reduce writes the samples of a job into the table: of each metric the mean over its ranks, and how far its ranks are apart.
func (j job) reduce(run int, t *table) measure.Run {
	if len(j.ranks) == 1 {
		return j.ranks[0].reduce(run, t)
	}
	ranks := table{runs: len(j.ranks), rows: map[key]*measure.Series{}}
	var info measure.Run
	per := 1.0
	for i, c := range j.ranks {
		one := c.reduce(i, &ranks)
		if i == 0 {
			info = one
			if len(c.steps) > 0 {
				per = float64(len(c.steps) - c.skip)
			}
			continue
		}
		info.Launches += one.Launches
		info.Steady = info.Steady && one.Steady
	}
	compute := make([]float64, len(j.ranks))
	for k, row := range ranks.rows {
		sum, n := 0.0, 0
		for i, v := range row.Values {
			if !math.IsNaN(v) {
				sum += v
				n++
				if k.metric == measure.Total.Name && !timeline.Communicates(k.subject.Short()) {
					compute[i] += v
				}
			}
		}
		if slices.ContainsFunc(summed, func(m measure.Metric) bool { return m.Name == k.metric }) {
			n = len(j.ranks)
		}
		if n > 0 {
			out := t.set(run, k.subject, row.Metric, sum/float64(n))
			out.Role, out.Raw, out.Note = row.Role, row.Raw, row.Note
		}
	}
	slowest, mean := 0.0, 0.0
	for i, ns := range compute {
		t.set(run, measure.Subject{Scope: measure.ScopeDevice, Name: j.names[i]}, measure.GPUTime, ns)
		slowest = max(slowest, ns)
		mean += ns / float64(len(compute))
	}
	if mean > 0 {
		t.set(run, measure.Workload, measure.Imbalance, slowest/mean)
	}
	if j.split {
		waited := 0.0
		for _, c := range j.ranks {
			waited += c.waited() / per / float64(len(j.ranks))
		}
		t.set(run, measure.Workload, measure.CollectiveWait, waited)
	}
	return info
}

// first is the rank that stands for the job's environment.
func (j job) first() *cut { return j.ranks[0] }

// sources names the files of a job.
func (j job) sources() string {
	var names []string
	for _, c := range j.ranks {
		if !slices.Contains(names, c.Source) {
			names = append(names, c.Source)
		}
	}
	return strings.Join(names, ", ")
}
