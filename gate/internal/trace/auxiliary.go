package trace

import (
	"slices"

	"github.com/nsgate/nsgate/gate/measure"
)

// A auxiliary process, such as one that asks for the properties of a device, launches a few kernels: at most these parts of
// the kernel time and launches of the largest process in its file.
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
		largest[c.Source] = launched{max(x.busy, c.seen.busy), max(x.launches, c.seen.launches)}
	}
	for _, c := range cuts {
		x := largest[c.Source]
		if float64(c.seen.busy) < auxiliaryTime*float64(x.busy) && float64(c.seen.launches) < auxiliaryLaunches*float64(x.launches) {
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

// distance is the time between the first launches of two processes.
func distance(a, b *cut) int64 {
	d := a.seen.span.Start - b.seen.span.Start
	return max(d, -d)
}

func (j *job) reduceAuxiliary(run int, t *table) {
	busy, launches := int64(0), 0
	for _, c := range j.auxiliary {
		busy, launches = busy+c.seen.busy, launches+c.seen.launches
	}
	if launches > 0 {
		t.set(run, measure.Beside, measure.GPUTime, float64(busy))
		t.set(run, measure.Beside, measure.Launches, float64(launches))
	}
}
