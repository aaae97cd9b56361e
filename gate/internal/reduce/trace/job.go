package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
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
		slices.SortStableFunc(j.ranks, func(a, b *cut) int { return cmp.Compare(deviceOf(a), deviceOf(b)) })
		out, order = append(out, j), order[n:]
	}
	return alike(out)
}

// concurrent reports whether a process is a further rank of a job.
func concurrent(ranks []*cut, c *cut) bool {
	// together is the least common part of the shorter of two concurrent processes that makes them ranks of one job.
	const together = 0.5
	return !slices.ContainsFunc(ranks, func(r *cut) bool {
		a, b := r.seen.Span, c.seen.Span
		both := min(a.End, b.End) - max(a.Start, b.Start)
		return float64(both) < together*float64(min(a.End-a.Start, b.End-b.Start))
	})
}

func deviceOf(c *cut) int32 {
	if len(c.seen.Devices) == 0 {
		return -1
	}
	return c.seen.Devices[0]
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
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(deviceOf(a), deviceOf(b)))
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

// apart takes the auxiliary processes from its runs and ranks.
func apart(cuts []*cut) (runs, auxiliary []*cut) {
	// An auxiliary process, such as one that asks for the properties of a device, launches a few kernels: at most these
	// parts of the kernel time and launches of the largest process in its file.
	const auxiliaryTime, auxiliaryLaunches = 0.02, 0.1
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

// unevenFrom is how much more than the mean of the others the rank that spends most on a kernel has to spend for that
// to be noted, of its time and of the mean rank's compute.
const unevenFrom, unevenLeast = 0.01, 0.001

// ofRank are the metrics of a rank's whole workload that are kept for each rank, as which metric.
var ofRank = map[string]measure.Metric{
	measure.StepTime.Name: measure.RankStep, measure.CollectiveWait.Name: measure.CollectiveWait,
	measure.CausedWait.Name:           measure.CausedWait,
	measure.ExposedCommunication.Name: measure.ExposedCommunication,
	measure.HiddenCommunication.Name:  measure.HiddenCommunication,
}

// reduce writes the samples of a job into the table: of each metric the mean over its ranks, and how far its ranks are
// apart.
func (j job) reduce(run int, t *table) (info model.Run, err error) {
	const mergedRanks = 64 // the number of ranks whose samples are held at once
	j.reduceAuxiliary(run, t)
	if len(j.ranks) == 1 {
		c := j.first()
		if info, err = c.reduceRank(run, t); err == nil && c.transfers != nil {
			c.reduceWaits(run, t)
		}
		return info, err
	}
	ranks := newTable(len(j.ranks)) // by rank
	for from := 0; from < len(j.ranks); from += mergedRanks {
		some := j.ranks[from:min(from+mergedRanks, len(j.ranks))]
		infos, tables := make([]model.Run, len(some)), make([]table, len(some))
		if err := each(some, func(i int, c *cut) (err error) {
			tables[i] = newTable(1)
			tables[i].exact = true
			infos[i], err = c.reduceRank(0, &tables[i])
			if err == nil {
				c.reduceWaits(0, &tables[i])
			}
			return err
		}); err != nil {
			return info, err
		}
		for i, x := range infos {
			ranks.addRank(from+i, &tables[i])
			if from+i == 0 {
				info = x
				continue
			}
			info.Launches += x.Launches
			info.Steady = info.Steady && x.Steady
		}
	}
	j.merge(run, &ranks, t)
	return info, nil
}

// addRank adds the samples of a rank.
func (t *table) addRank(i int, of *table) {
	for k, row := range of.rows {
		_, known := t.rows[k]
		if x := t.set(i, k.subject, row.Metric, row.Values[0]); !known {
			x.Role, x.Raw, x.Note = row.Role, row.Raw, row.Note
		}
	}
}

func (j job) merge(run int, ranks, t *table) {
	compute, copies := make([]float64, len(j.ranks)), make([]float64, len(j.ranks))
	var kernels []measure.Subject
	for k, row := range ranks.rows {
		values := row.Values
		setMean(run, row, t)
		switch as, kept := ofRank[k.metric]; {
		case k.subject == measure.Workload && kept:
			for i, v := range values {
				if !math.IsNaN(v) {
					t.set(run, j.rank(i), as, v)
				}
			}
		case k.metric == measure.Total.Name && !attribution.Communicates(k.subject.Name):
			addTo(compute, values)
			kernels = append(kernels, k.subject)
		case k.metric == measure.CopyTime.Name && k.subject.Scope == measure.ScopeWorkload &&
			k.subject != measure.Workload:
			addTo(copies, values)
		}
	}
	slowest, whole := 0.0, 0.0
	for i, ns := range compute {
		t.set(run, j.rank(i), measure.GPUTime, ns)
		t.set(run, j.rank(i), measure.RankCopies, copies[i])
		slowest, whole = max(slowest, ns), whole+ns
	}
	for _, k := range kernels {
		j.setSlowest(run, k, ranks, unevenLeast*whole/float64(len(compute)), t)
	}
	if whole > 0 {
		// Rounded, because sums of many numbers depend on their order.
		t.set(run, measure.Workload, measure.Imbalance, math.Round(slowest/whole*float64(len(compute))*1e6)/1e6)
	}
}

func addTo(sums, values []float64) {
	for i, v := range zeroed(values) {
		sums[i] += v
	}
}

func (j job) rank(i int) measure.Subject {
	return measure.Subject{Scope: measure.ScopeDevice, Name: fmt.Sprintf("rank %d", j.number(i))}
}

func setMean(run int, row *model.Series, t *table) {
	values := stats.Known(row.Values)
	n := measure.Either(row.Metric.OverRanks(), len(row.Values), len(values))
	if n == 0 || row.Metric.Name == measure.CausedWait.Name { // which is of a rank
		return
	}
	out := t.set(run, row.Subject, row.Metric, sum(values)/float64(n))
	out.Role, out.Raw, out.Note = row.Role, row.Raw, row.Note
}

// setSlowest writes the rank with the most time in a kernel, if by at least so many ns more than in the others.
func (j job) setSlowest(run int, kernel measure.Subject, ranks *table, least float64, t *table) {
	total := zeroed(ranks.rows[key{kernel, measure.Total.Name}].Values)
	at, all := 0, 0.0
	for i, v := range total {
		all += v
		if v > total[at] {
			at = i
		}
	}
	others := (all - total[at]) / float64(len(total)-1)
	if total[at]-others < max(least, unevenFrom*others) {
		return
	}
	t.set(run, kernel, measure.SlowestRank, float64(j.number(at)))
	t.set(run, kernel, measure.SlowestTotal, total[at])
	t.set(run, kernel, measure.SlowestLaunches, zeroed(ranks.rows[key{kernel, measure.Launches.Name}].Values)[at])
}

// zeroed puts 0 for missing values of ranks.
func zeroed(values []float64) []float64 {
	out := slices.Clone(values)
	for i, v := range out {
		if math.IsNaN(v) {
			out[i] = 0
		}
	}
	return out
}
