package trace

import (
	"fmt"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
)

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

// mergedRanks is the number of ranks whose samples are held at once.
const mergedRanks = 64

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
	values := slices.DeleteFunc(slices.Clone(row.Values), math.IsNaN)
	n := len(values)
	if row.Metric.OverRanks() {
		n = len(row.Values)
	}
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
