package trace

import (
	"cmp"
	"hash/maphash"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/thresholds"
)

// cut is one trace and what of it counts.
type cut struct {
	// Trace lacks launches, copies, ranges and calls while it is not loaded: see [each].
	*model.Trace
	whole    *model.Trace // as it was given, perhaps packed
	warmup   Warmup
	launches []model.Launch // those in the capture window, all without one
	copies   []model.Copy
	seen     sight
	steps    []model.Interval // of the API's time line; none where the run is one piece
	compute  []float64        // kernel time of each step in ns, without collectives
	moves    []collective     // in the order of their starts
	cycles   []model.Interval // of a run without steps: what it repeats, without the warm-up; none where that is not known
	repeats  int              // how often it does, the warm-up included
	skip     int              // steps left out; without steps, launches left out of every kernel under Skip
	auto     bool             // the steady state is looked for
	steady   bool
	// processes of the same run launched kernels at the same time as this one, itself included, on so many devices.
	processes, devices int
}

// sight is what is known of a trace that is not loaded.
type sight struct {
	span       model.Interval // from the first launch to the last
	devices    []int32        // that of the first launch first
	launches   int
	print      uint64 // of all launches
	candidates []candidate
}

// newCuts looks at traces, and divides them where the step is asked for; "" is any.
func newCuts(traces []model.Trace, w Warmup, step string) ([]*cut, error) {
	cuts := make([]*cut, len(traces))
	for i := range traces {
		cuts[i] = &cut{Trace: &traces[i], whole: &traces[i], warmup: w, auto: w.mode == "auto", steady: true}
	}
	return cuts, each(cuts, func(_ int, c *cut) error {
		c.look(step)
		switch step {
		case "":
		case NoStep:
			c.divide("")
		default:
			c.divide(step)
		}
		return nil
	})
}

// loading bounds how many traces are loaded at once, whoever asks.
var loading = make(chan struct{}, runtime.GOMAXPROCS(0))

// each calls f with every trace loaded, several at once, and gives the first error in their order. f calls no each.
func each(cuts []*cut, f func(i int, c *cut) error) error {
	errs := make([]error, len(cuts))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(cap(loading), len(cuts)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(cuts); i = int(next.Add(1)) - 1 {
				loading <- struct{}{}
				if errs[i] = cuts[i].load(); errs[i] == nil {
					errs[i] = f(i, cuts[i])
				}
				cuts[i].unload()
				<-loading
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

// load unpacks the trace and applies the capture window.
func (c *cut) load() error {
	if c.launches != nil {
		return nil
	}
	c.Trace = c.whole.Unpacked()
	c.launches, c.copies = c.Launches, c.Copies
	if c.warmup.mode != "capture" {
		return nil
	}
	if len(c.Captures) == 0 {
		return model.Refuse(model.NoCapture, "call it where the steady part begins, or let the warm-up be found (auto)",
			"%s: the workload never called cudaProfilerStart, so there is no capture to judge", c.Source)
	}
	c.launches, c.copies = nil, nil
	for _, l := range c.Launches {
		if within(c.Captures, l.API) {
			c.launches = append(c.launches, l)
		}
	}
	for _, x := range c.Copies {
		if within(c.Captures, x.API) {
			c.copies = append(c.copies, x)
		}
	}
	if len(c.launches) == 0 {
		return model.Refuse(model.NoCapture, "move the calls around the launches, or let the warm-up be found (auto)",
			"%s: no kernel was launched between cudaProfilerStart and cudaProfilerStop", c.Source)
	}
	return nil
}

// unload lets go of what a packed trace was unpacked to.
func (c *cut) unload() {
	if c.whole.Packed != nil {
		c.Trace, c.launches, c.copies = c.whole, nil, nil
	}
}

// look notes what has to be known of a trace beside the others.
func (c *cut) look(step string) {
	c.seen = sight{launches: len(c.Launches), candidates: c.candidates(step)}
	if n := len(c.Launches); n > 0 {
		c.seen.span = model.Interval{Start: c.Launches[0].Start, End: c.Launches[n-1].End}
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	for i := range c.Launches {
		l := &c.Launches[i]
		maphash.WriteComparable(&hash, *l)
		if !slices.Contains(c.seen.devices, l.Device) {
			c.seen.devices = append(c.seen.devices, l.Device)
		}
	}
	c.seen.print = hash.Sum64()
}

var seed = maphash.MakeSeed()

// within reports whether an instant lies in one of the sorted, disjoint intervals.
func within(spans []model.Interval, at int64) bool { return spanOf(spans, at) >= 0 }

// occurrences are the outermost occurrences of a range, one after the other.
func (c *cut) occurrences(name int32) []model.Interval {
	var out []model.Interval
	for _, r := range c.Ranges {
		if r.Name != name || len(out) > 0 && r.Start < out[len(out)-1].End {
			continue
		}
		if len(c.Trace.Captures) > 0 && len(c.launches) < len(c.Launches) && !within(c.Captures, r.Start) {
			continue
		}
		out = append(out, model.Interval{Start: r.Start, End: r.End})
	}
	return out
}

// coverage is the share of the kernel time after the first occurrence that was launched during one.
func (c *cut) coverage(spans []model.Interval) float64 {
	var in, all int64
	within := finder{spans: spans}
	for _, l := range c.launches {
		if l.API < spans[0].Start {
			continue
		}
		all += l.End - l.Start
		if within.find(l.API) >= 0 {
			in += l.End - l.Start
		}
	}
	if all == 0 {
		return 0
	}
	return float64(in) / float64(all)
}

// candidate is a range that may be the step.
type candidate struct {
	name   string
	covers float64 // share of the kernel time; of several runs, in the one where it covers least
	count  int
	first  int64 // start of the first occurrence, summed over runs
	runs   int
}

// candidates are the ranges that a run repeats, or the one that is wanted.
func (c *cut) candidates(want string) (out []candidate) {
	if want == NoStep {
		return nil
	}
	for i, name := range c.RangeNames {
		if want != "" && name != want {
			continue
		}
		spans := c.occurrences(int32(i))
		if len(spans) < minSteps && want == "" || len(spans) == 0 {
			continue
		}
		out = append(out, candidate{name: name, covers: c.coverage(spans), count: len(spans), first: spans[0].Start, runs: 1})
	}
	return out
}

// chooseStep finds the range that every run repeats: the one that covers most of the kernel time, of equals the
// outermost, which is the one with the fewest occurrences or else the first to start. A name that the caller gives
// must be there.
func chooseStep(cuts []*cut, want string) (string, error) {
	if want == NoStep {
		return "", nil
	}
	const enough, equal = 0.5, 0.02
	var found []candidate
	at := map[string]int{}
	for _, c := range cuts {
		for _, x := range c.seen.candidates {
			i, ok := at[x.name]
			if !ok {
				at[x.name] = len(found)
				found = append(found, x)
				continue
			}
			f := &found[i]
			f.covers, f.count, f.first, f.runs = min(f.covers, x.covers), max(f.count, x.count), f.first+x.first, f.runs+1
		}
	}
	found = slices.DeleteFunc(found, func(x candidate) bool { return x.runs < len(cuts) })
	if want != "" {
		if len(found) == 0 {
			return "", model.Refuse(model.NoStep, "name a range that every run has as the step, or none",
				"not every run has the step range %s%s", strconv.Quote(want), meant(want, cuts))
		}
		return want, nil
	}
	most := 0.0
	for _, x := range found {
		most = max(most, x.covers)
	}
	found = slices.DeleteFunc(found, func(x candidate) bool { return x.covers < enough || x.covers < most-equal })
	if len(found) == 0 {
		return "", nil
	}
	return slices.MinFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.first, b.first), cmp.Compare(a.name, b.name))
	}).name, nil
}

// meant names the range that a step may have been meant for, else those that every run has.
func meant(want string, cuts []*cut) string {
	const most = 8
	var names []string
	for i, name := range cuts[0].RangeNames {
		if len(cuts[0].occurrences(int32(i))) > 0 && !slices.ContainsFunc(cuts, func(c *cut) bool { return !slices.Contains(c.RangeNames, name) }) {
			names = append(names, name)
		}
	}
	near := thresholds.Nearest(want, names)
	slices.Sort(names)
	switch {
	case near != "":
		return "; did you mean " + strconv.Quote(near) + "?"
	case len(names) == 0:
		return ""
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return "; they have " + strings.Join(names, ", ")
}

// divide lays the steps over the run: each lasts until the next begins, the last until its range ends. What comes
// before the first step and after the last is neither. It sums up what kernels take in each, and lists the collectives.
func (c *cut) divide(step string) {
	if step != "" {
		i := slices.Index(c.RangeNames, step)
		c.steps = c.occurrences(int32(i))
		for i := range len(c.steps) - 1 {
			c.steps[i].End = c.steps[i+1].Start - 1
		}
	}
	c.compute, c.moves = make([]float64, len(c.steps)), nil
	moves := c.communicates()
	streams := map[int32]int{}
	for i := range c.launches {
		l := &c.launches[i]
		at := c.stepOf(l.API)
		if moves[l.Kernel] {
			c.moves = append(c.moves, c.collective(i, at, streams))
		} else if at >= 0 {
			c.compute[at] += float64(l.End - l.Start)
		}
	}
}

// stepOf is the index of the step in which an API call lies, -1 for none.
func (c *cut) stepOf(api int64) int { return spanOf(c.steps, api) }

// spanOf is the index of the sorted, disjoint interval in which an instant lies, -1 for none.
func spanOf(spans []model.Interval, at int64) int {
	f := finder{spans: spans, last: -1}
	return f.find(at)
}

// begunBefore is the index of the last of the sorted intervals that had begun at an instant, -1 for none.
func begunBefore(spans []model.Interval, at int64) int {
	return sort.Search(len(spans), func(i int) bool { return spans[i].Start > at }) - 1
}

// finder finds instants of which most lie where the one before did.
type finder struct {
	spans []model.Interval
	last  int // the interval that began before the last instant
}

// find is [spanOf].
func (f *finder) find(at int64) int {
	if i := f.last; i < 0 || i >= len(f.spans) || f.spans[i].Start > at || i+1 < len(f.spans) && f.spans[i+1].Start <= at {
		f.last = begunBefore(f.spans, at)
	}
	if i := f.last; i >= 0 && at <= f.spans[i].End {
		return i
	}
	return -1
}

// kernelTime is the summed kernel time of each step, of collectives what they take without waiting.
func (c *cut) kernelTime() []float64 {
	out := slices.Clone(c.compute)
	for _, m := range c.moves {
		if m.step >= 0 {
			out[m.step] += float64(m.transfer)
		}
	}
	return out
}

// skipWarmup decides how much of every run is warm-up. Under Auto each run's series of kernel time per step says
// where it settles; the latest of them, and at least a tenth of the steps, is left out of every run, so that all runs
// are cut alike.
func skipWarmup(cuts []*cut, w Warmup) error {
	most := 0
	for _, c := range cuts {
		switch n := len(c.steps); {
		case w.mode == "skip":
			if n > 0 && w.n >= n {
				return model.Refuse(model.LongWarmup, "leave out fewer, or let the workload run longer",
					"%s: a warm-up of %d steps leaves none of the %d", c.Source, w.n, n)
			}
			c.skip = w.n
		case w.mode == "auto" && n > 0:
			skip, steady := stats.Steady(c.kernelTime())
			c.steady = steady
			if steady {
				most = max(most, skip, n/10)
			}
		}
	}
	if w.mode == "auto" {
		for _, c := range cuts {
			if n := len(c.steps); n > 0 {
				c.skip = min(most, n-1)
			}
		}
	}
	return nil
}
