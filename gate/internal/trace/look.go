package trace

import (
	"cmp"
	"hash/maphash"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// sight is what is known of a trace that is not loaded.
type sight struct {
	span       model.Interval // from the first launch to the last
	devices    []int32        // that of the first launch first
	launches   int
	busy       int64  // kernel time in ns
	print      uint64 // of all launches
	candidates []candidate
}

// look notes what the choice of the step and of the runs needs while the trace is not loaded.
func (c *cut) look(step string) {
	c.seen = sight{launches: len(c.Launches), devices: model.Devices(c.Launches), candidates: c.candidates(step)}
	if n := len(c.Launches); n > 0 {
		c.seen.span = model.Interval{Start: c.Launches[0].Start, End: c.Launches[n-1].End}
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	for i := range c.Launches {
		l := &c.Launches[i]
		maphash.WriteComparable(&hash, *l)
		c.seen.busy += l.End - l.Start
	}
	c.seen.print = hash.Sum64()
}

var seed = maphash.MakeSeed()

// minSteps is the fewest occurrences that make a range a step.
const minSteps = 5

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
	if len(out) > 0 && strings.HasPrefix(c.RangeNames[name], model.MarkPrefix) {
		for i := 1; i < len(out); i++ {
			out[i-1].End = out[i].Start - 1
		}
		out = out[:max(len(out)-1, 0)]
	}
	return out
}

// coverage is the share of the kernel time launched since a time that was launched within the intervals.
func (c *cut) coverage(spans []model.Interval, since int64) float64 {
	var in, all int64
	within := finder{spans: spans}
	for _, l := range c.launches {
		if l.API < since {
			continue
		}
		all += l.End - l.Start
		if within.find(l.API) >= 0 {
			in += l.End - l.Start
		}
	}
	return float64(in) / float64(max(all, 1))
}

type candidate struct {
	name   string
	spans  []model.Interval // of one run
	covers float64          // share of the kernel time; of several runs, in the one where it covers least
	count  int
	first  int64 // start of the first occurrence, summed over runs
	runs   int
}

// candidates are the ranges that a run repeats, or the one that is wanted. Their shares are of one span, from the first occurrence of
// any of them: a short loop at the end of a run does not cover all of it.
func (c *cut) candidates(want string) (out []candidate) {
	if want == NoStep {
		return nil
	}
	since := int64(0)
	for i, name := range c.RangeNames {
		if want != "" && name != want || want == "" && strings.HasPrefix(name, model.MarkPrefix) {
			continue
		}
		spans := c.occurrences(int32(i))
		if len(spans) < minSteps && want == "" || len(spans) == 0 {
			continue
		}
		if len(out) == 0 || spans[0].Start < since {
			since = spans[0].Start
		}
		out = append(out, candidate{name: name, spans: spans, count: len(spans), first: spans[0].Start, runs: 1})
	}
	for i := range out {
		out[i].covers, out[i].spans = c.coverage(out[i].spans, since), nil
	}
	return out
}

// order puts the runs of one GPU together, the first to start first.
func order(a, b *cut) int {
	return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.GPUHash, b.GPUHash), a.Trace.Start.Compare(b.Trace.Start),
		cmp.Compare(a.Source, b.Source))
}

// sameEnvironment reports whether two runs of one side belong to one session. Unlike model.SameSession, which must
// not assume what it does not know, it puts runs of an unknown GPU or time together: they were handed in together.
func sameEnvironment(a, b *model.Environment) bool {
	return a.GPU == b.GPU && a.GPUHash == b.GPUHash && b.Start.Sub(a.Start).Abs() <= time.Hour
}
