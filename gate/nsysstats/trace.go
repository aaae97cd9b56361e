package nsysstats

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// traced is what a table of single launches holds.
type traced struct {
	launches []measure.Launch
	copies   []measure.Copy
	threads  []thread // of each launch, in an execTrace only
	kernels  []kernel
	number   map[kernel]int32
	count    []int          // launches of each kernel
	devices  map[string]gpu // by the text of the cell
	used     []gpu          // those that launched kernels
	// rounded are the copies whose bytes are not exact, sizes the exact ones of others.
	rounded []int
	sizes   sizes
	// ignored counts what is neither a kernel nor a copy, by its name.
	ignored map[string]int
}

// kernel is all that a row says of a kernel itself.
type kernel struct {
	name                       string
	grid, block                measure.Dim3
	registers, static, dynamic int64
}

type gpu struct {
	model  string
	number int32
}

type thread struct{ process, thread int64 }

func newTraced() *traced {
	return &traced{number: map[kernel]int32{}, devices: map[string]gpu{}, ignored: map[string]int{}, sizes: sizes{}}
}

// intern numbers the kernels and counts their launches.
func (t *traced) intern(k kernel) int32 {
	i, ok := t.number[k]
	if !ok {
		k.name = strings.Clone(k.name) // the cell is part of a whole row
		i = int32(len(t.kernels))
		t.number[k] = i
		t.kernels = append(t.kernels, k)
		t.count = append(t.count, 0)
	}
	t.count[i]++
	return i
}

// numbered is the form of "NVIDIA H200 (0)". A recording that does not know the GPU gives " (0)".
var numbered = regexp.MustCompile(`^(.*?)\s*\(([0-9]{1,6})\)$`)

func (t *traced) device(cell string) gpu {
	d, ok := t.devices[cell]
	if !ok {
		d = gpu{model: cell, number: -1}
		if m := numbered.FindStringSubmatch(cell); m != nil {
			n, _ := strconv.Atoi(m[2])
			d = gpu{model: m[1], number: int32(n)}
		}
		d.model = measure.NormalizeLine(d.model)
		t.devices[strings.Clone(cell)] = d
	}
	return d
}

func (t *traced) add(l measure.Launch, d gpu) {
	l.Device = d.number
	t.launches = append(t.launches, l)
	if !slices.Contains(t.used, d) {
		t.used = append(t.used, d)
	}
}

// field is a cell, the name of its column, and the unit of that.
type field struct {
	column, cell string
	unit         unit
}

// span reads a start and a duration.
func (r *rows) span(start, duration field, p *precision) (from, to int64, err error) {
	s, err := r.number(start.column, start.cell)
	if err != nil {
		return 0, 0, err
	}
	d, err := r.number(duration.column, duration.cell)
	if err != nil {
		return 0, 0, err
	}
	from, ok := s.int(start.unit)
	if !ok || from > latest {
		return 0, 0, r.cell(start.column, start.cell, "is more than can be", again)
	}
	ns, ok := d.int(duration.unit)
	if !ok || ns > longest {
		return 0, 0, r.cell(duration.column, duration.cell, "is longer than any launch", again)
	}
	p.start, p.duration = max(p.start, s.step(start.unit)), max(p.duration, d.step(duration.unit))
	return from, from + ns, nil
}

// coarse refuses durations that are rounded to more than many a kernel lasts.
func (r *rows) coarse(p precision) error {
	if p.duration > coarsest {
		return refuse(r.file, r.from, fmt.Sprintf("the durations are rounded to %.0f ns", p.duration), nanosecond)
	}
	return nil
}

// extent reads one dimension of a grid or block.
func (r *rows) extent(name, text string) (uint32, error) {
	v, err := r.whole(name, text, 1<<32-1)
	return uint32(v), err
}

// times are the units of columns of times.
func (r *rows) times(names ...string) ([]unit, error) {
	units := make([]unit, len(names))
	for i, name := range names {
		var err error
		if units[i], err = r.time(r.file, r.from, name); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// finishTrace makes a trace of a table, and of the ranges if they are there.
func (c *collection) finishTrace(t *table) (*measure.Trace, error) {
	x := t.traced
	busy := slices.ContainsFunc(x.launches, func(l measure.Launch) bool { return l.End > l.Start })
	switch {
	case len(x.launches) == 0:
		return nil, refuse(t.file, t.line, fmt.Sprintf("%s lists %d copies and no kernel", t.kind, len(x.copies)), noKernel)
	case !busy:
		return nil, refuse(t.file, t.line, fmt.Sprintf("all %d launches took no time", len(x.launches)), noTime)
	}
	trace := &measure.Trace{Source: t.file, Launches: x.launches, Copies: x.copies, MemoryPeak: -1}
	trace.Kernels = x.named()
	x.order()
	trace.Environment = x.environment(t.units.duration)
	if err := c.ranges(trace, t); err != nil {
		return nil, err
	}
	if t.open {
		t.warn(trace, "the last row has no line end; if the file was cut there, launches are missing")
	}
	const listed = 5
	for i, name := range slices.Sorted(maps.Keys(x.ignored)) {
		if i == listed {
			t.warn(trace, "and so are rows of %d other names", len(x.ignored)-listed)
			break
		}
		t.warn(trace, "%d rows of %s are neither kernels nor copies and are not judged", x.ignored[name], name)
	}
	processes := map[int64]bool{}
	for _, by := range x.threads {
		processes[by.process] = true
		trace.Process = int(by.process)
	}
	if len(processes) > 1 {
		trace.Process = 0
		t.warn(trace, "the kernels are of %d processes, which count as one run", len(processes))
	}
	return trace, nil
}

// warn adds a doubt about a table.
func (t *table) warn(trace *measure.Trace, format string, args ...any) {
	trace.Warnings = append(trace.Warnings, t.place()+": "+fmt.Sprintf(format, args...))
}

// order sorts launches and copies by their start, and the threads of launches with them.
func (t *traced) order() {
	slices.SortStableFunc(t.copies, func(a, b measure.Copy) int { return cmp.Compare(a.Start, b.Start) })
	byStart := func(a, b measure.Launch) int { return cmp.Compare(a.Start, b.Start) }
	if slices.IsSortedFunc(t.launches, byStart) {
		return
	}
	if t.threads == nil {
		slices.SortStableFunc(t.launches, byStart)
		return
	}
	type pair struct {
		measure.Launch
		thread
	}
	pairs := make([]pair, len(t.launches))
	for i := range pairs {
		pairs[i] = pair{t.launches[i], t.threads[i]}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return byStart(a.Launch, b.Launch) })
	for i := range pairs {
		t.launches[i], t.threads[i] = pairs[i].Launch, pairs[i].thread
	}
}

// named merges the kernels of one subject and renumbers the launches.
func (t *traced) named() []measure.KernelInfo {
	kernels := make([]measure.KernelInfo, len(t.kernels))
	for i, k := range t.kernels {
		kernels[i] = measure.KernelInfo{
			Subject: measure.KernelSubject(k.name, k.grid, k.block), Raw: k.name,
			Registers: k.registers, StaticShared: k.static, DynamicShared: k.dynamic, LocalMemory: -1,
		}
	}
	merged, to := measure.MergeKernels(kernels, t.count)
	for i := range t.launches {
		t.launches[i].Kernel = to[t.launches[i].Kernel]
	}
	return merged
}

// environment is what the rows say of the GPUs. Durations are rounded to step.
func (t *traced) environment(step float64) measure.Environment {
	var models []string
	for _, d := range t.used {
		if d.model != "" && !slices.Contains(models, d.model) {
			models = append(models, d.model)
		}
	}
	slices.Sort(models)
	tick := tick(len(t.launches), func(i int) int64 { return t.launches[i].End - t.launches[i].Start }, step)
	return measure.Environment{Tool: Tool, GPU: strings.Join(models, " + "), GPUs: len(t.used), Tick: tick}
}
