package trace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// job is one launch of the workload with all of its processes: a run. Its ranks are in the order of their names.
type job struct {
	ranks     []*cut
	numbered  bool   // the ranks have the numbers of their traces, else those of their order
	auxiliary []*cut // small processes of the same file
}

func (j job) number(i int) int {
	if j.numbered {
		return j.ranks[i].Rank
	}
	return i
}

// together is the least common part of the shorter of two concurrent processes that makes them ranks of one job.
const together = 0.5

// jobs puts the ranks of one job together: those whose traces name the same job, or else the processes of one file that
// ran at the same time, on one device or several. Processes that took turns are runs of their own.
func jobs(cuts []*cut) ([]job, error) {
	if named, err := namedJobs(cuts); err != nil || named != nil {
		return named, err
	}
	order := slices.Clone(cuts)
	slices.SortStableFunc(order, func(a, b *cut) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.seen.Span.Start, b.seen.Span.Start))
	})
	var out []job
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].Source == order[0].Source && concurrent(order[:n], order[n]) {
			n++
		}
		j := job{ranks: slices.Clone(order[:n])}
		slices.SortStableFunc(j.ranks, func(a, b *cut) int {
			return cmp.Compare(a.seen.Devices[0], b.seen.Devices[0])
		})
		out, order = append(out, j), order[n:]
	}
	return alike(out)
}

// concurrent reports whether a process is a further rank of a job.
func concurrent(ranks []*cut, c *cut) bool {
	return !slices.ContainsFunc(ranks, func(r *cut) bool {
		a, b := r.seen.Span, c.seen.Span
		both := min(a.End, b.End) - max(a.Start, b.Start)
		return float64(both) < together*float64(min(a.End-a.Start, b.End-b.Start))
	})
}

// namedJobs puts the ranks together whose traces name their job; nil where not every trace does. A rank with several
// processes, which started them on its host, is as many ranks.
func namedJobs(cuts []*cut) ([]job, error) {
	var names model.Interned[string]
	var out []job
	for _, c := range cuts {
		if c.Job == "" {
			return nil, nil
		}
		i, isNew := names.Of(c.Job)
		if isNew {
			out = append(out, job{numbered: true})
		}
		out[i].ranks = append(out[i].ranks, c)
	}
	for i := range out {
		j := &out[i]
		slices.SortStableFunc(j.ranks, func(a, b *cut) int {
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.seen.Devices[0], b.seen.Devices[0]))
		})
		for i, c := range j.ranks {
			if i > 0 && j.ranks[i-1].Rank == c.Rank {
				if j.ranks[i-1].Source != c.Source {
					return nil, model.Refuse(model.RankTwice,
						"give each job of several ranks a name of its own: run.000.rank0, run.001.rank0",
						"rank %d is recorded twice in one job: %s and %s", c.Rank, j.ranks[i-1].file(), c.file())
				}
				j.numbered = false
			}
		}
	}
	all := slices.Clone(cuts)
	slices.SortStableFunc(all, func(a, b *cut) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, j := range out {
		for _, other := range all {
			if !slices.ContainsFunc(j.ranks, func(c *cut) bool { return c.Rank == other.Rank }) {
				return nil, model.Refuse(model.RankMissing, "find out why that rank wrote none, and measure the job "+
					"again; or judge one rank alone, in a directory of its own",
					"rank %d of %s is missing: its recording is not among the files", other.Rank, j.first().Job)
			}
		}
	}
	return alike(out)
}

// alike refuses jobs of different numbers of ranks.
func alike(all []job) ([]job, error) {
	for _, j := range all {
		if len(j.ranks) != len(all[0].ranks) {
			return nil, model.Refuse(model.RanksDiffer,
				"measure every job with the same number of processes, or give each run a file of its own",
				"the job in %s has %d ranks, and %d that in %s", j.ranks[0].file(), len(j.ranks), len(all[0].ranks),
				all[0].ranks[0].file())
		}
	}
	return all, nil
}

// first is the rank that stands for the job's environment.
func (j job) first() *cut { return j.ranks[0] }

func (j job) sources() string {
	return strings.Join(measure.Once(nil, measure.Map(j.ranks, (*cut).file)...), ", ")
}

// devices is how many devices the ranks used: in each file those that its processes used together, and no more in all
// than there are ranks, since files name the devices of one host alike.
func (j job) devices() int {
	most, all, byFile := 0, 0, map[string][]int32{}
	for _, c := range j.ranks {
		used := slices.Concat(byFile[c.Source], c.seen.Devices)
		slices.Sort(used)
		byFile[c.Source] = slices.Compact(used)
		most = max(most, c.GPUs, len(byFile[c.Source]))
	}
	for _, used := range byFile {
		all += len(used)
	}
	return max(most, min(all, len(j.ranks)))
}

// An auxiliary process, such as one that asks for the properties of a device, launches a few kernels: at most these
// parts of the kernel time and launches of the largest process in its file.
const auxiliaryTime, auxiliaryLaunches = 0.02, 0.1

// apart takes the auxiliary processes from its runs and ranks.
func apart(cuts []*cut) (runs, auxiliary []*cut) {
	type launched struct {
		busy     int64
		launches int
	}
	largest := map[string]launched{}
	for _, c := range cuts {
		x := largest[c.Source]
		largest[c.Source] = launched{max(x.busy, c.seen.Busy), max(x.launches, c.seen.Launches)}
	}
	for _, c := range cuts {
		x := largest[c.Source]
		if float64(c.seen.Busy) < auxiliaryTime*float64(x.busy) &&
			float64(c.seen.Launches) < auxiliaryLaunches*float64(x.launches) {
			auxiliary = append(auxiliary, c)
		} else {
			runs = append(runs, c)
		}
	}
	return runs, auxiliary
}

// attach gives each auxiliary process to the job of its file that it is nearest to.
func attach(all []job, auxiliary []*cut) {
	for _, c := range auxiliary {
		var at *job
		for i := range all {
			j := &all[i]
			same := slices.ContainsFunc(j.ranks, func(r *cut) bool { return r.Source == c.Source })
			if same && (at == nil || distance(j.first(), c) < distance(at.first(), c)) {
				at = j
			}
		}
		if at != nil {
			at.auxiliary = append(at.auxiliary, c)
		}
	}
}

func distance(a, b *cut) int64 {
	d := a.seen.Span.Start - b.seen.Span.Start
	return max(d, -d)
}

func (j *job) reduceAuxiliary(run int, t *table) {
	busy := measure.Sum(j.auxiliary, func(c *cut) int64 { return c.seen.Busy })
	launches := measure.Sum(j.auxiliary, func(c *cut) int { return c.seen.Launches })
	if launches > 0 {
		t.set(run, measure.Beside, measure.GPUTime, float64(busy))
		t.set(run, measure.Beside, measure.Launches, float64(launches))
	}
}
