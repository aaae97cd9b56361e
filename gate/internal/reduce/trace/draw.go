package trace

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
)

const (
	// drawnOperations, drawnIdle and drawnRanges are how many of a step are drawn, the longest, drawnDepth how deep
	// ranges go.
	drawnOperations, drawnIdle, drawnRanges, drawnDepth = 1000, 300, 200, 5
	// drawnQuantiles is how many quantiles tell how the times of launches are distributed.
	drawnQuantiles = 41
)

// The kinds of time of a [model.DrawnSpan].
const (
	computes = iota
	communicates
	copies
	idles
)

// Draw takes out of the traces of one side what pictures of it need, cut as [Reduce] cuts them by the step that is
// named: the step nearest the median, of one rank where that is named and there is one, and how the launches of these
// kernels spread.
func Draw(traces []model.Trace, o Options, kernels []measure.Subject, rank string) (*model.Drawing, error) {
	sides, err := newSides(o, [][]model.Trace{traces})
	if err != nil {
		return nil, err
	}
	layCycles(sides, o)
	placeGraphs(sides)
	cuts := sides[0].cuts
	if err := skipWarmup(cuts, o); err != nil {
		return nil, err
	}
	var d drawing
	times := make([][]float64, len(kernels))
	var all []drawable
	if !slices.ContainsFunc(cuts, func(c *cut) bool { return c.rankName() == rank }) {
		rank = ""
	}
	for run, c := range cuts {
		if rank == "" || c.rankName() == rank {
			all = append(all, c.drawable(run)...)
		}
		for i, k := range kernels {
			times[i] = append(times[i], c.timesOf(k)...)
		}
	}
	d.step(cuts, all)
	for i, k := range kernels {
		d.launches(k, times[i])
	}
	d.Subjects = d.known.List
	return &d.Drawing, nil
}

type drawing struct {
	model.Drawing
	known model.Interned[measure.Subject]
}

// of is the index of a subject, which is added where it is new.
func (d *drawing) of(s measure.Subject) int64 {
	i, _ := d.known.Of(s)
	return int64(i)
}

// rankName names the rank of a job that a cut is of, "" where it is of none.
func (c *cut) rankName() string {
	return measure.Either(c.Job == "", "", "rank "+strconv.Itoa(c.Rank))
}

type drawable struct {
	run    int
	device int32
	period model.Interval
}

// drawable are the steps of a run that may be drawn, those of one device.
func (c *cut) drawable(run int) []drawable {
	if len(c.repeated()) == 0 || len(c.launches) == 0 {
		return nil
	}
	device := c.launches[0].Device
	all, _ := periods(c.firsts(device))
	return measure.Map(all, func(p model.Interval) drawable { return drawable{run, device, p} })
}

// step draws the step whose period is nearest the median.
func (d *drawing) step(cuts []*cut, all []drawable) {
	if len(all) == 0 {
		return
	}
	lengths := measure.Map(all, func(x drawable) float64 { return float64(x.period.End - x.period.Start) })
	median := stats.Median(lengths)
	x := slices.MinFunc(all, func(a, b drawable) int {
		far := func(p model.Interval) float64 { return math.Abs(float64(p.End-p.Start) - median) }
		return cmp.Compare(far(a.period), far(b.period))
	})
	c := cuts[x.run]
	s := &model.DrawnStep{Rank: c.rankName(), Run: x.run + 1, Steps: len(c.steps), Device: x.device,
		Length: x.period.End - x.period.Start}
	d.Step = s
	within := map[int32]model.Interval{} // where on the GPU a range lies
	busy := d.operations(c, s, x.period, within)
	d.idle(c, s, x.period, busy)
	d.ranges(c, s, x.period, within)
}

// operations draws what ran on the device, and returns when something did.
func (d *drawing) operations(c *cut, s *model.DrawnStep, period model.Interval,
	within map[int32]model.Interval) (busy []model.Interval) {
	add := func(subject measure.Subject, start, end int64, kind int64, in int32, api int64) {
		a, b := max(start, period.Start), min(end, period.End)
		if a >= b {
			return
		}
		busy = append(busy, model.Interval{Start: a, End: b})
		s.Operations = append(s.Operations, model.DrawnSpan{d.of(subject), a - period.Start, b - a, kind})
		if at := c.stepOf(api); s.Step == 0 && at >= 0 {
			s.Step = at + 1
		}
		for ; in >= 0; in = c.Ranges[in].Parent {
			within[in] = within[in].Cover(a, b)
		}
	}
	roles := c.newRoles()
	for i := range c.launches {
		if l := &c.launches[i]; l.Device == s.Device {
			subject, kind := c.Kernels[l.Kernel].Subject, int64(computes)
			if attribution.Communicates(subject.Name) {
				kind = communicates
			}
			add(subject, l.Start, l.End, kind, roles.rangeOf(*l, c.stepOf(l.API)), l.API)
		}
	}
	for i := range c.copies {
		if x := &c.copies[i]; x.Device == s.Device {
			add(measure.Subject{Scope: measure.ScopeWorkload, Name: x.Kind.String()}, x.Start, x.End, copies, x.Range,
				x.API)
		}
	}
	s.Operations, s.Left = longest(s.Operations, drawnOperations)
	return busy
}

func (d *drawing) idle(c *cut, s *model.DrawnStep, period model.Interval, busy []model.Interval) {
	var gaps []model.Interval
	now := period.Start
	for _, x := range model.Union(busy) {
		if x.Start > now {
			gaps = append(gaps, model.Interval{Start: now, End: x.Start})
		}
		now = max(now, x.End)
	}
	if now < period.End {
		gaps = append(gaps, model.Interval{Start: now, End: period.End})
	}
	attribution.Partition(c.Trace, s.Device, gaps, func(gap attribution.Breakdown) {
		at := gap.Start - period.Start
		for _, p := range gap.Parts {
			if p.Class.Idle() || p.Class == attribution.Profiler {
				s.Idle = append(s.Idle, model.DrawnSpan{d.of(c.owner(p.Cause)), at, p.Time, idles})
				at += p.Time
			}
		}
	})
	s.Idle, _ = longest(s.Idle, drawnIdle)
}

// ranges draws where on the GPU the work of the ranges lies, and the marks.
func (d *drawing) ranges(c *cut, s *model.DrawnStep, period model.Interval, within map[int32]model.Interval) {
	for _, r := range slices.Sorted(maps.Keys(within)) {
		x := within[r]
		depth := int64(0)
		for p := c.Ranges[r].Parent; p >= 0; p = c.Ranges[p].Parent {
			depth++
		}
		if depth < drawnDepth {
			subject := measure.Subject{Scope: measure.ScopeRange, Name: c.RangeNames[c.Ranges[r].Name]}
			s.Ranges = append(s.Ranges, model.DrawnSpan{d.of(subject), x.Start - period.Start, x.End - x.Start, depth})
		}
	}
	for i := range c.Ranges {
		name, at := c.RangeNames[c.Ranges[i].Name], c.Ranges[i].Start
		if strings.HasPrefix(name, model.MarkPrefix) && at >= period.Start && at < period.End {
			s.Ranges = append(s.Ranges, model.DrawnSpan{d.of(measure.Subject{Scope: measure.ScopeRange, Name: name}),
				at - period.Start, 0, 0})
		}
	}
	slices.SortFunc(s.Ranges, func(a, b model.DrawnSpan) int {
		return cmp.Or(cmp.Compare(a.Level(), b.Level()), cmp.Compare(a.Start(), b.Start()),
			cmp.Compare(a.Subject(), b.Subject()))
	})
	s.Ranges = s.Ranges[:min(len(s.Ranges), drawnRanges)]
}

// longest keeps so many spans, sorted by start, and says how many it left out.
func longest(spans []model.DrawnSpan, most int) (longestSpans []model.DrawnSpan, omitted int) {
	omitted = len(spans) - most
	if omitted > 0 {
		slices.SortStableFunc(spans, func(a, b model.DrawnSpan) int { return cmp.Compare(b.Length(), a.Length()) })
		spans = spans[:most]
	}
	slices.SortStableFunc(spans, func(a, b model.DrawnSpan) int { return cmp.Compare(a.Start(), b.Start()) })
	return spans, max(omitted, 0)
}

func (c *cut) timesOf(kernel measure.Subject) (out []float64) {
	k := int32(slices.IndexFunc(c.Kernels, func(x model.KernelInfo) bool { return x.Subject == kernel }))
	for i := range c.launches {
		if l := &c.launches[i]; l.Kernel == k && c.share(l.API) > 0 {
			out = append(out, float64(l.End-l.Start))
		}
	}
	return out
}

func (d *drawing) launches(kernel measure.Subject, times []float64) {
	n := len(times)
	if n == 0 {
		return
	}
	slices.Sort(times)
	x := model.DrawnLaunches{Subject: int(d.of(kernel)), Count: n}
	for i := range drawnQuantiles {
		x.Quantiles = append(x.Quantiles, int64(times[i*(n-1)/(drawnQuantiles-1)]))
	}
	d.Launches = append(d.Launches, x)
}
