package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// fewest is the fewest launches of a run that have a spread worth a number.
const fewest = 5

// sums are one run's sums over the steps that count, or over all of it.
type sums struct {
	kernels  []kernelSum
	inRange  []float64 // kernel time by name of range
	onDevice map[int32]float64
}

func (c *cut) addUp(roles *roles) sums {
	out := sums{make([]kernelSum, len(c.Kernels)), make([]float64, len(c.RangeNames)), map[int32]float64{}}
	steps := finder{spans: c.steps}
	counts := make([]int, len(c.Kernels))
	for i := range c.launches {
		counts[c.launches[i].Kernel]++
	}
	var seen []int32
	for _, l := range c.launches {
		at := steps.find(l.API)
		if len(c.steps) > 0 && at < c.skip { // -1: outside the steps
			continue
		}
		share := 1.0
		if len(c.steps) == 0 {
			share = c.share(l.API)
		}
		if share == 0 {
			continue
		}
		ns := float64(l.End - l.Start)
		k := &out.kernels[l.Kernel]
		if len(k.times) == 0 || l.API < k.first {
			k.first = l.API
		}
		if k.times == nil {
			k.times = make([]float64, 0, counts[l.Kernel])
		}
		k.times = append(k.times, ns)
		k.count += share
		ns *= share
		out.onDevice[l.Device] += ns
		r := roles.rangeOf(l, at)
		k.inRole(roles.path(r), ns)
		seen = seen[:0]
		for ; r >= 0; r = c.Ranges[r].Parent {
			if name := c.Ranges[r].Name; !slices.Contains(seen, name) {
				out.inRange[name] += ns
				seen = append(seen, name)
			}
		}
	}
	return out
}

// reduceRank writes the samples of a run, or of a rank by itself, into the table.
func (c *cut) reduceRank(run int, t *table) (model.Run, error) {
	if c.Fragment != nil {
		return c.reduceFragment(run, t)
	}
	return c.reduce(run, t), nil
}

func (c *cut) reduce(run int, t *table) model.Run {
	info := model.Run{Total: len(c.steps), Steady: c.steady, Start: c.Trace.Start}
	if len(c.steps) > 0 {
		info.Skipped = c.skip
	}
	steps := make(chan attributed, 1)
	go func() { steps <- c.attribute() }()
	roles := c.newRoles()
	sums := c.addUp(roles)
	c.reduceKernels(run, &info, sums.kernels, roles, t)
	c.reduceLost(run, t)
	c.reduceCalls(run, roles, t)
	c.reduceSections(run, t)
	c.reducePhases(run, t)
	c.reduceReplay(run, t)
	c.reduceMemory(run, roles, t)
	for name, ns := range sums.inRange {
		if ns > 0 {
			subject := measure.Subject{Scope: measure.ScopeRange, Name: c.RangeNames[name]}
			if row := t.set(run, subject, measure.GPUTime, ns/c.per()); len(c.RangeCategories) > 0 {
				row.Note = c.RangeCategories[name]
			}
		}
	}
	for device, ns := range sums.onDevice {
		if len(sums.onDevice) > 1 { // one device alone is the workload
			t.set(run, measure.Device(device), measure.GPUTime, ns/c.per())
		}
	}
	c.reduceCopies(run, t)
	c.reduceMessages(run, t)
	c.reduceSteps(run, <-steps, t)
	return info
}

func (c *cut) reduceKernels(run int, info *model.Run, kernels []kernelSum, roles *roles, t *table) {
	var all, unsteady, count, smalls float64
	per := c.per()
	for i := range kernels {
		k, kernel := &kernels[i], &c.Kernels[i]
		if len(k.times) == 0 {
			continue
		}
		steady, settled := k.times, true
		if len(c.steps) == 0 {
			steady, settled = c.steadyLaunches(i, k.times)
			skipped := len(k.times) - len(steady)
			info.Total += len(k.times)
			info.Skipped += skipped
			t.set(run, kernel.Subject, measure.WarmupLaunches, float64(skipped))
		}
		// Without steps the left-out launches still count: the total is the time of all launches when steady.
		launches := counted(k.count)
		total := sum(steady) / float64(len(steady)) * launches
		all += total
		if !settled {
			unsteady += total
		}
		count += launches
		if total < measure.SmallKernel*launches {
			smalls += launches
		}
		info.Launches += len(steady)

		role, spread := roles.paths.List[k.role()], -1.0
		slices.Sort(steady) // after what reads their order
		if len(steady) >= fewest {
			spread = stats.MAD(steady)
		}
		for _, x := range []struct {
			metric measure.Metric
			value  float64
		}{
			{measure.Time, stats.TrimmedMean(steady, trim)},
			{measure.Spread, spread},
			{measure.Launches, launches / per},
			{measure.Total, total / per},
			{measure.Registers, float64(kernel.Registers)},
			{measure.StaticShared, float64(kernel.StaticShared)},
			{measure.DynamicShared, float64(kernel.DynamicShared)},
			{measure.LocalMemory, float64(kernel.LocalMemory)},
		} {
			if x.value >= 0 { // -1 is a value that the profile lacks
				row := t.set(run, kernel.Subject, x.metric, x.value)
				row.Role = role
				if x.metric == measure.Total && kernel.Raw != kernel.Subject.Name {
					row.Raw = kernel.Raw
				}
			}
		}
	}
	c.reduceOrder(run, kernels, t)
	if unsteady > all/2 {
		info.Steady = false
	}
	t.set(run, measure.Workload, measure.GPUTime, all/per)
	t.set(run, measure.Workload, measure.Launches, count/per)
	t.set(run, measure.Workload, measure.SmallKernels, smalls/per)
	c.reduceGrowth(run, t)
}

// reduceOrder writes the order of the kernels that share geometry and role.
func (c *cut) reduceOrder(run int, kernels []kernelSum, t *table) {
	type place struct {
		geometry string
		role     int32
	}
	alike := map[place][]int{}
	for i := range kernels {
		if k := &kernels[i]; len(k.times) > 0 {
			at := place{c.Kernels[i].Subject.Geometry(), k.role()}
			alike[at] = append(alike[at], i)
		}
	}
	for _, of := range alike {
		slices.SortFunc(of, func(a, b int) int { return cmp.Compare(kernels[a].first, kernels[b].first) })
		for at, i := range of {
			if len(of) > 1 {
				t.set(run, c.Kernels[i].Subject, measure.Order, float64(at+1))
			}
		}
	}
}

// reduceCopies writes the samples of copies and memsets, kind by kind.
func (c *cut) reduceCopies(run int, t *table) {
	type sums struct {
		ns, bytes, count float64
		between          map[string]float64 // bytes by the kinds of memory at both ends
	}
	kinds := map[model.CopyKind]*sums{}
	pageable, told := 0.0, c.Profiler().TellsMemory()
	for i := range c.copies {
		x := &c.copies[i]
		n := c.share(x.API)
		if n == 0 {
			continue
		}
		if x.Kind != model.Memset {
			told = told && x.Source != model.MemoryUnknown && x.Target != model.MemoryUnknown
			if x.Source == model.Pageable || x.Target == model.Pageable {
				pageable += n * float64(x.Bytes)
			}
		}
		k := kinds[x.Kind]
		if k == nil {
			k = &sums{between: map[string]float64{}}
			kinds[x.Kind] = k
		}
		k.ns += n * float64(x.End-x.Start)
		k.bytes += n * float64(x.Bytes)
		k.count += n
		k.between[x.Memory()] += n * float64(x.Bytes)
	}
	if told {
		t.set(run, measure.Workload, measure.PageableBytes, counted(pageable)/c.per())
	}
	for kind, k := range kinds {
		subject := measure.Subject{Scope: measure.ScopeWorkload, Name: kind.String()}
		note := heaviest(k.between)
		t.set(run, subject, measure.CopyTime, k.ns/c.per()).Note = note
		t.set(run, subject, measure.CopyBytes, counted(k.bytes)/c.per()).Note = note
		t.set(run, subject, measure.Copies, counted(k.count)/c.per()).Note = note
	}
}

type kernelSum struct {
	times []float64
	count float64           // of the launches; cycles have weights
	first int64             // call of its first launch
	roles map[int32]float64 // kernel time by path of ranges,
	path  int32             // apart from that of the last path
	inIt  float64
}

func (k *kernelSum) inRole(path int32, ns float64) {
	if k.roles == nil {
		k.roles, k.path = map[int32]float64{}, path
	}
	if path != k.path {
		k.roles[k.path] = k.inIt
		k.path, k.inIt = path, k.roles[path]
	}
	k.inIt += ns
}

// role is the path of most of the kernel's time.
func (k *kernelSum) role() int32 {
	k.roles[k.path] = k.inIt
	return heaviest(k.roles)
}

type key struct {
	subject measure.Subject
	metric  string
}

// table collects series run by run; what a run does not set stays NaN.
type table struct {
	runs  int
	rows  map[key]*model.Series
	exact bool // not rounded yet: they are changed, or merged
}

func newTable(runs int) table {
	return table{runs: runs, rows: map[key]*model.Series{}}
}

func (t *table) set(run int, subject measure.Subject, metric measure.Metric, value float64) *model.Series {
	k := key{subject, metric.Name}
	row := t.rows[k]
	if row == nil {
		row = &model.Series{Subject: subject, Metric: metric, Values: slices.Repeat(model.Values{math.NaN()}, t.runs)}
		t.rows[k] = row
	}
	if metric.Unit == "ns" && !t.exact {
		value = math.Round(value*1000) / 1000 // finer than any timer, and readable in a baseline
	}
	row.Values[run] = value
	return row
}

// add changes the value of a row that the run has.
func (t *table) add(run int, subject measure.Subject, metric measure.Metric, change float64) {
	if row := t.rows[key{subject, metric.Name}]; row != nil {
		t.set(run, subject, metric, row.Values[run]+change)
	}
}

func heaviest[K cmp.Ordered](weights map[K]float64) K {
	var best K
	most := math.Inf(-1)
	for k, w := range weights {
		if w > most || w == most && k < best {
			best, most = k, w
		}
	}
	return best
}

func largest(values []float64) float64 {
	return measure.Most(values, func(v float64) float64 { return v })
}

// counted is a count of weighted cycles, without the error of their sum.
func counted(n float64) float64 { return math.Round(n*1e6) / 1e6 }

func sum(x []float64) float64 {
	return measure.Sum(x, func(v float64) float64 { return v })
}
