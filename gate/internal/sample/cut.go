package sample

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// cut is one trace and what of it counts.
type cut struct {
	*measure.Trace
	launches []measure.Launch // those in the capture window, all without one
	copies   []measure.Copy
	steps    []measure.Interval // of the API's time line; none where the run is one piece
	cycles   []measure.Interval // of a run without steps: what it repeats, without the warm-up; none where that is not known
	repeats  int                // how often it does, the warm-up included
	skip     int                // steps left out; without steps, launches left out of every kernel under Skip
	auto     bool               // the steady state is looked for
	steady   bool
	waits    []wait // in collectives that other ranks came late to
	// processes of the same run launched kernels at the same time as this one, itself included, on so many devices.
	processes, devices int
}

// newCut applies the capture window.
func newCut(t *measure.Trace, w Warmup) (*cut, error) {
	c := &cut{Trace: t, launches: t.Launches, copies: t.Copies, auto: w.mode == "auto", steady: true}
	if w.mode != "capture" {
		return c, nil
	}
	if len(t.Captures) == 0 {
		return nil, Reasons.Refuse("no-capture", t.Source)
	}
	c.launches, c.copies = nil, nil
	for _, l := range t.Launches {
		if within(t.Captures, l.API) {
			c.launches = append(c.launches, l)
		}
	}
	for _, x := range t.Copies {
		if within(t.Captures, x.API) {
			c.copies = append(c.copies, x)
		}
	}
	if len(c.launches) == 0 {
		return nil, Reasons.Refuse("empty-capture", t.Source)
	}
	return c, nil
}

func newCuts(traces []measure.Trace, w Warmup) (cuts []*cut, err error) {
	for i := range traces {
		c, err := newCut(&traces[i], w)
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, c)
	}
	return cuts, nil
}

// within reports whether an instant lies in one of the sorted, disjoint intervals.
func within(spans []measure.Interval, at int64) bool { return spanOf(spans, at) >= 0 }

// occurrences are the outermost occurrences of a range, one after the other.
func (c *cut) occurrences(name int32) []measure.Interval {
	var out []measure.Interval
	for _, r := range c.Ranges {
		if r.Name != name || len(out) > 0 && r.Start < out[len(out)-1].End {
			continue
		}
		if len(c.Trace.Captures) > 0 && len(c.launches) < len(c.Launches) && !within(c.Captures, r.Start) {
			continue
		}
		out = append(out, measure.Interval{Start: r.Start, End: r.End})
	}
	return out
}

// coverage is the share of the kernel time after the first occurrence that was launched during one.
func (c *cut) coverage(spans []measure.Interval) float64 {
	var in, all int64
	for _, l := range c.launches {
		if l.API < spans[0].Start {
			continue
		}
		all += l.End - l.Start
		if within(spans, l.API) {
			in += l.End - l.Start
		}
	}
	if all == 0 {
		return 0
	}
	return float64(in) / float64(all)
}

// chooseStep finds the range that every run repeats: the one that covers most of the kernel time, of equals the
// outermost, which is the one with the fewest occurrences or else the first to start. A name that the caller gives
// must be there.
func chooseStep(cuts []*cut, want string) (string, error) {
	if want == NoStep {
		return "", nil
	}
	const enough, equal = 0.5, 0.02
	type candidate struct {
		name   string
		covers float64 // in the run where it covers least
		count  int
		first  int64 // start of the first occurrence, summed over runs
		runs   int
	}
	var found []*candidate
	for _, c := range cuts {
		for i, name := range c.RangeNames {
			if want != "" && name != want {
				continue
			}
			spans := c.occurrences(int32(i))
			if len(spans) < minSteps && want == "" || len(spans) == 0 {
				continue
			}
			at := slices.IndexFunc(found, func(x *candidate) bool { return x.name == name })
			if at < 0 {
				at = len(found)
				found = append(found, &candidate{name: name, covers: 1})
			}
			x := found[at]
			x.covers = min(x.covers, c.coverage(spans))
			x.count = max(x.count, len(spans))
			x.first += spans[0].Start
			x.runs++
		}
	}
	found = slices.DeleteFunc(found, func(x *candidate) bool { return x.runs < len(cuts) })
	if want != "" {
		if len(found) == 0 {
			return "", Reasons.Refuse("no-step-range", strconv.Quote(want))
		}
		return want, nil
	}
	most := 0.0
	for _, x := range found {
		most = max(most, x.covers)
	}
	found = slices.DeleteFunc(found, func(x *candidate) bool { return x.covers < enough || x.covers < most-equal })
	if len(found) == 0 {
		return "", nil
	}
	return slices.MinFunc(found, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.first, b.first), cmp.Compare(a.name, b.name))
	}).name, nil
}

// divide lays the steps over the run: each lasts until the next begins, the last until its range ends. What comes
// before the first step and after the last is neither.
func (c *cut) divide(step string) {
	if step == "" {
		return
	}
	i := slices.Index(c.RangeNames, step)
	c.steps = c.occurrences(int32(i))
	for i := range len(c.steps) - 1 {
		c.steps[i].End = c.steps[i+1].Start - 1
	}
}

// stepOf is the index of the step in which an API call lies, -1 for none.
func (c *cut) stepOf(api int64) int { return spanOf(c.steps, api) }

// spanOf is the index of the sorted, disjoint interval in which an instant lies, -1 for none.
func spanOf(spans []measure.Interval, at int64) int {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].Start > at }) - 1
	if i >= 0 && at <= spans[i].End {
		return i
	}
	return -1
}

// kernelTime is the summed kernel time of each step.
func (c *cut) kernelTime() []float64 {
	out := make([]float64, len(c.steps))
	for _, l := range c.launches {
		if i := c.stepOf(l.API); i >= 0 {
			out[i] += float64(l.End - l.Start)
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
				return Reasons.Refuse("long-warmup", c.Source, w.n, n)
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
