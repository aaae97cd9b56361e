package trace

import (
	"cmp"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// cut is one trace and the parts of it that count.
type cut struct {
	*model.Trace                // with the kernels of its graphs
	given        *model.Trace   // without
	launches     []model.Launch // those in the capture window, all without one
	copies       []model.Copy
	seen         model.Outline
	steps        []model.Interval // by the starts of calls, each until the next begins; none where the run is one piece
	ends         []int64          // of the ranges of the steps
	compute      []float64        // kernel time of each step in ns, without collectives
	moves        model.Collectives
	channels     []model.Channel // of the collectives
	// transfers are the times of the collectives in ns, packed: of those with counterparts the complements of their
	// transfers; nil for own times. caused is the mean wait of the other ranks where this rank came last.
	transfers []byte
	caused    map[int]int64
	moved     []float64                  // time of the collectives of each step in ns, without known waiting
	cycles    []model.Interval           // repetitions of a run without steps; none where they are not known
	cyclesOn  map[int32][]model.Interval // those of each device, as many, where a process has several
	turns     []float64                  // kernel time of each cycle in ns
	phases    []phase                    // of a run without steps, that of the cycles first
	startUp   int64                      // the first call of the phases; what comes before is start-up
	// steps or cycles left out; without either, launches left out of every kernel under Skip
	skip    int
	settles []settling // of a run without steps, by kernel
	auto    bool       // the steady state is looked for
	capture bool       // only what lies in captures counts
	steady  bool
}

// file is the name of the recording in messages, as readers give it.
func (c *cut) file() string { return filepath.Base(c.Source) }

// laid are the steps of the run, or its cycles.
func (c *cut) laid() []model.Interval {
	return measure.Either(len(c.steps) == 0, c.cycles, c.steps)
}

// laidOn are the steps of the run, or the cycles of a device.
func (c *cut) laidOn(device int32) []model.Interval {
	if cycles, ok := c.cyclesOn[device]; ok {
		return cycles
	}
	return c.laid()
}

// repeated are the steps or cycles that count.
func (c *cut) repeated() []model.Interval { return c.laid()[c.skipped():] }

// skipped is how many of the steps or cycles do not count.
func (c *cut) skipped() int { return min(max(c.skip, 0), len(c.laid())) }

// newCuts looks at traces, and divides them where the step is asked for; "" is any.
func newCuts(traces []model.Trace, w, step string) ([]*cut, error) {
	cuts := make([]*cut, len(traces))
	for i := range traces {
		cuts[i] = &cut{Trace: &traces[i], given: &traces[i], auto: w == Auto, capture: w == Capture, steady: true}
	}
	return cuts, each(cuts, func(_ int, c *cut) error {
		c.window()
		c.numberGraphs()
		if err := c.captured(); err != nil {
			return err
		}
		c.look(step)
		if step == "" {
			return nil
		}
		return c.divide(step)
	})
}

// cutting bounds how many traces are cut and reduced at once, whoever asks.
var cutting = make(chan struct{}, runtime.GOMAXPROCS(0))

// each calls f with every cut, several at once, and gives the first error in their order. f calls no each.
func each(cuts []*cut, f func(i int, c *cut) error) error {
	errs := make([]error, len(cuts))
	spread(len(cuts), func(i int) { errs[i] = f(i, cuts[i]) })
	return cmp.Or(errs...)
}

// spread calls f with 0 to n-1, several at once. f calls no spread.
func spread(n int, f func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			cutting <- struct{}{}
			f(i)
			<-cutting
		})
	}
	group.Wait()
}

// window applies the capture window.
func (c *cut) window() {
	c.launches, c.copies = c.Launches, c.Copies
	if c.capture {
		outside := func(at int64) bool { return !within(c.Captures, at) }
		c.launches = slices.DeleteFunc(slices.Clone(c.launches), func(l model.Launch) bool { return outside(l.API) })
		c.copies = slices.DeleteFunc(slices.Clone(c.copies), func(x model.Copy) bool { return outside(x.API) })
	}
}

// captured refuses a run without a launch in its capture window.
func (c *cut) captured() error {
	if !c.capture || len(c.launches) > 0 {
		return nil
	}
	if len(c.Captures) == 0 {
		return model.Refuse(model.NoCapture, "call it where the steady part begins, or let the warm-up be found (auto)",
			"%s: the workload never called cudaProfilerStart, so there is no capture to judge", c.file())
	}
	return model.Refuse(model.NoCapture, "move the calls around the launches, or let the warm-up be found (auto)",
		"%s: no kernel was launched between cudaProfilerStart and cudaProfilerStop", c.file())
}

// within reports whether an instant lies in one of the sorted, disjoint intervals.
func within(spans []model.Interval, at int64) bool { return spanOf(spans, at) >= 0 }

// divide lays the steps over the run: each lasts until the next begins, the last until its range ends. What comes
// before the first step and after the last is neither. It sums up what kernels take in each, and lists the collectives.
func (c *cut) divide(step string) error {
	if c.Fragment != nil {
		return c.divideFragment(step)
	}
	if step != "" && step != NoStep {
		c.steps = nil
		if i := slices.Index(c.RangeNames, step); i >= 0 {
			c.steps = c.occurrences(step)[i]
		}
		c.ends = make([]int64, len(c.steps))
		for i := range c.steps {
			c.ends[i] = c.steps[i].End
			if i+1 < len(c.steps) {
				c.steps[i].End = c.steps[i+1].Start - 1
			}
		}
	}
	c.compute = make([]float64, len(c.steps))
	communicates := c.communicates()
	steps := finder{spans: c.steps}
	for i := range c.launches {
		l := &c.launches[i]
		if at := steps.find(l.API); at >= 0 && !communicates[l.Kernel] {
			c.compute[at] += float64(l.End - l.Start)
		}
	}
	c.collect(&steps)
	return nil
}

// stepOf is the index of the step that contains an API call, -1 for none.
func (c *cut) stepOf(api int64) int { return spanOf(c.steps, api) }

// spanOf is the index of the sorted, disjoint interval that contains an instant, -1 for none.
func spanOf(spans []model.Interval, at int64) int {
	return (&finder{spans: spans}).find(at)
}

// finder finds the intervals of instants. Most instants lie in the interval of the one before.
type finder struct {
	spans []model.Interval
	last  int // the interval that began before the last instant
}

func (f *finder) find(at int64) int {
	if i := f.last; i < 0 || i >= len(f.spans) || f.spans[i].Start > at || i+1 < len(f.spans) &&
		f.spans[i+1].Start <= at {
		f.last = sort.Search(len(f.spans), func(i int) bool { return f.spans[i].Start > at }) - 1
	}
	if i := f.last; i >= 0 && at <= f.spans[i].End {
		return i
	}
	return -1
}

// commonDevices are the devices that all runs use, those with at least half of the kernel time of the busiest first;
// none where a run uses a single one.
func commonDevices(cuts []*cut) (out []int32) {
	if len(cuts) == 0 || slices.ContainsFunc(cuts, func(c *cut) bool { return len(c.seen.Devices) < 2 }) {
		return nil
	}
	busy, most := map[int32]int64{}, int64(0)
	for i := range cuts[0].launches {
		l := &cuts[0].launches[i]
		busy[l.Device] += l.End - l.Start
		most = max(most, busy[l.Device])
	}
	out = slices.DeleteFunc(slices.Clone(cuts[0].seen.Devices), func(device int32) bool {
		return slices.ContainsFunc(cuts, func(c *cut) bool { return !slices.Contains(c.seen.Devices, device) })
	})
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(busy[b]/((most+1)/2), busy[a]/((most+1)/2)) })
	return out
}

// kernelTime is the summed kernel time of each step, of collectives what they take without waiting.
func (c *cut) kernelTime() []float64 {
	out := slices.Clone(c.compute)
	if c.moved == nil {
		c.moved = make([]float64, len(out))
		for _, m := range c.collectives() {
			if m.Step >= 0 {
				c.moved[m.Step] += float64(m.Own)
			}
		}
	}
	for i, ns := range c.moved {
		out[i] += ns
	}
	return out
}

// placer finds the steps or cycles of calls on the devices of a run.
type placer struct {
	*cut
	on map[int32]*finder
}

// find is the number of the step or cycle of a call for a device, -1 for none.
func (p *placer) find(device int32, api int64) int {
	if len(p.cyclesOn) == 0 {
		device = 0
	}
	of := p.on[device]
	if of == nil {
		of = &finder{spans: p.laidOn(device)}
		p.on[device] = of
	}
	return of.find(api)
}

type settling struct {
	skip   int
	steady bool
}
