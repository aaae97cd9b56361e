package trace

import (
	"maps"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// waiting is the collectives of one kernel that count: their waiting in ns, the times without it, the numbers.
type waiting struct {
	ns, count, matched float64
	times              []float64
}

// reduceWaits writes a rank's wait in its collectives, the others' wait for it, and the number without a counterpart.
// It takes the waiting out of the other samples of the rank, in the table. A process on several devices causes its own.
func (c *cut) reduceWaits(run int, t *table) {
	var waited, caused, matched, unmatched float64
	by, moves := make([]waiting, len(c.Kernels)), c.collectives()
	for m, n := range c.counted(moves) {
		k := &by[m.Kernel]
		k.count, k.times = k.count+n, append(k.times, float64(m.transfer))
		if !m.matched {
			unmatched += n
			continue
		}
		matched, k.matched = matched+n, k.matched+n
		k.ns += n * float64(m.Own-m.transfer)
		waited += n * float64(m.Own-m.transfer)
	}
	for _, i := range slices.Sorted(maps.Keys(c.caused)) {
		for _, n := range c.counted(moves[i : i+1]) {
			caused += n * float64(c.caused[i])
		}
	}
	per := c.per()
	if matched+unmatched > 0 {
		t.set(run, measure.Workload, measure.UnmatchedCollectives, counted(unmatched)/per)
	}
	if matched == 0 {
		return
	}
	t.set(run, measure.Workload, measure.CollectiveWait, waited/per)
	if c.caused != nil {
		t.set(run, measure.Workload, measure.CausedWait, caused/per)
	}
	for i := range by {
		if k := &by[i]; k.matched > 0 {
			c.shortenKernel(run, i, k, t)
		}
	}
	c.shortenWholes(run, moves, t)
	c.reduceGrowth(run, t)
}

// shortenKernel writes the waiting in a kernel, and gives it the samples of its transfers.
func (c *cut) shortenKernel(run, kernel int, k *waiting, t *table) {
	subject, per, launches, steady := c.Kernels[kernel].Subject, c.per(), counted(k.count), k.times
	t.set(run, subject, measure.CollectiveWait, k.ns/per)
	before := t.rows[key{subject, measure.Total.Name}]
	if k.ns == 0 || before == nil {
		return
	}
	if len(c.steps) == 0 {
		steady, _ = c.steadyLaunches(kernel, steady)
	}
	was, total := before.Values[run], sum(steady)/float64(len(steady))*launches
	t.add(run, measure.Workload, measure.GPUTime, total/per-was)
	if small := measure.SmallKernel * launches; total < small && was*per >= small {
		t.add(run, measure.Workload, measure.SmallKernels, launches/per)
	}
	slices.Sort(steady)
	t.set(run, subject, measure.Time, stats.TrimmedMean(steady, trim))
	t.set(run, subject, measure.Total, total/per)
	if len(steady) >= fewest {
		t.set(run, subject, measure.Spread, stats.MAD(steady))
	}
}

// shortenWholes takes the waiting out of ranges, devices, sections and phases.
func (c *cut) shortenWholes(run int, moves []collective, t *table) {
	paths, devices, phases := map[int32]float64{}, map[int32]float64{}, make([]float64, len(c.phases))
	var sections [sectionCount]float64
	in := c.sectionOf()
	pathOf, namesOf := c.paths()
	for i := range moves {
		m := &moves[i]
		sections[in(&m.Collective)] += float64(m.Own - m.transfer)
		if p := c.otherPhase(m.API); p > 0 {
			phases[p] += float64(m.Own - m.transfer)
		}
	}
	for m, n := range c.counted(moves) {
		wait := n * float64(m.Own-m.transfer)
		devices[m.Device] += wait
		paths[pathOf(&m.Collective)] += wait
	}
	ranges := map[string]float64{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, name := range namesOf(path) {
			ranges[name] += paths[path]
		}
	}
	for name, ns := range ranges {
		t.add(run, measure.Subject{Scope: measure.ScopeRange, Name: name}, measure.GPUTime, -ns/c.per())
	}
	for device, ns := range devices {
		t.add(run, measure.Device(device), measure.GPUTime, -ns/c.per())
	}
	for i, ns := range sections {
		t.add(run, measure.Sections[i], measure.GPUTime, -ns)
	}
	for i, ns := range phases {
		t.add(run, loopSubject(c.phases[i].of), measure.GPUTime, -c.phases[i].weight*ns)
	}
}

// paths gives the numbers of the ranges around collectives, and the names of these, each once.
func (c *cut) paths() (of func(*model.Collective) int32, names func(int32) []string) {
	if f := c.Fragment; f != nil {
		return func(m *model.Collective) int32 { return m.Range }, func(path int32) []string { return f.Paths[path] }
	}
	roles := c.newRoles()
	of = func(m *model.Collective) int32 {
		return roles.rangeOf(model.Launch{API: m.API, Range: m.Range}, int(m.Step))
	}
	return of, func(r int32) (out []string) {
		for ; r >= 0; r = c.Ranges[r].Parent {
			if name := c.RangeNames[c.Ranges[r].Name]; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		return out
	}
}

// sectionOf gives the section of a collective.
func (c *cut) sectionOf() func(*model.Collective) int {
	s := c.newSectioning()
	if c.Fragment == nil {
		return func(m *model.Collective) int {
			section, _, _ := s.of(m.Device, m.API)
			return section
		}
	}
	return func(m *model.Collective) int {
		return measure.Either(m.Step >= 0 && int(m.Step) < s.from, inWarmup, int(m.Section))
	}
}
