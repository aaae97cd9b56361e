package trace

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// The sections of a run, by their places in [measure.Sections].
const (
	beforeSteps = iota
	inWarmup
	inSteps
	betweenSteps
	afterSteps
	sectionCount
)

type section struct {
	elapsed, busy int64 // wall time and kernel time in ns
	launches      int
}

// sectioning divides a run into sections: operations by the times of their calls, wall time by the operations on the
// GPU. The steps begin with the first operation of the first step that counts, and end with the last operation of the
// last step, or one typical period after its first if that is earlier. The time between the steps is outside of a
// step's range and of its operations. A run without steps is all steps, from its first operation to its last.
type sectioning struct {
	c    *cut
	laid []model.Interval
	from int // the first step that counts
	// firsts are the first starts in the main stream of each step, lasts the last ends of its operations, owns that of
	// those within its range.
	firsts, lasts, owns []int64
	at                  placer
	run, work           model.Interval   // from the first event to the last, and from the first operation to the last
	warm                int64            // when the warm-up begins, or the steps where there is none
	phases              []model.Interval // from the first operation of each phase beside the steps to its last
	out                 [sectionCount]section
}

func (c *cut) newSectioning() *sectioning {
	laid := c.laid()
	from := min(max(c.skip, 0), max(len(laid)-1, 0))
	return &sectioning{c: c, laid: laid, from: from, at: placer{c, map[int32]*finder{}}}
}

func (c *cut) sections() *sectioning {
	s := c.newSectioning()
	n := len(s.laid)
	s.firsts, s.lasts, s.owns = c.mainStream(0, func(int32) bool { return true }), make([]int64, n), make([]int64, n)
	s.run, s.work = c.events(), model.Interval{Start: math.MaxInt64, End: math.MinInt64}
	s.phases = make([]model.Interval, len(c.phases))
	for i := range c.launches {
		l := &c.launches[i]
		x := &s.out[s.add(l.Device, l.API, l.Start, l.End)]
		x.busy += l.End - l.Start
		x.launches++
	}
	for i := range c.copies {
		x := &c.copies[i]
		s.add(x.Device, x.API, x.Start, x.End)
	}
	if s.work.Start <= s.work.End {
		s.divide()
	}
	return s
}

// add takes in an operation, and tells its section.
func (s *sectioning) add(device int32, api, start, end int64) int {
	s.work = model.Interval{Start: min(s.work.Start, start), End: max(s.work.End, end)}
	section, i, phase := s.of(device, api)
	if phase > 0 {
		s.phases[phase] = s.phases[phase].Cover(start, end)
	}
	if i >= 0 {
		s.lasts[i] = max(s.lasts[i], end)
		if s.owned(i, api) {
			s.owns[i] = max(s.owns[i], end)
		}
	}
	return section
}

// owned reports whether a call of a step is within its range.
func (s *sectioning) owned(step int, api int64) bool {
	return len(s.c.ends) == 0 || api <= s.c.ends[step]
}

// of is the section of a call for a device, its step, -1 for none, and its phase beside the steps, -1 for none.
func (s *sectioning) of(device int32, api int64) (section, step, phase int) {
	if len(s.laid) == 0 {
		return inSteps, -1, -1
	}
	i := s.at.find(device, api)
	if i < 0 {
		phase = s.c.otherPhase(api)
	}
	switch {
	case i >= 0 && i < s.from:
		return inWarmup, i, -1
	case i >= 0 && s.owned(i, api):
		return inSteps, i, -1
	case i >= 0 || phase > 0:
		return betweenSteps, i, phase
	case api >= s.c.laidOn(device)[0].Start:
		return afterSteps, -1, -1
	case len(s.c.phases) == 0 || api < s.c.startUp:
		return beforeSteps, -1, -1
	case s.from > 0: // in the first cycle, before the kernel that divides cycles
		return inWarmup, -1, -1
	}
	return inSteps, -1, -1
}

func (s *sectioning) divide() {
	warm, begin, end, gaps := s.work.Start, s.work.Start, s.work.End, int64(0)
	if len(s.laid) > 0 {
		warm, begin, end, gaps = s.bounds()
	}
	start := min(s.run.Start, s.work.Start)
	warm = max(start, warm)
	begin = max(warm, begin)
	end = max(begin, end)
	gaps = min(gaps, end-begin)
	s.warm = warm
	last := max(s.run.End, s.work.End, end)
	earlier, later := s.phasesIn(model.Interval{Start: start, End: warm}),
		s.phasesIn(model.Interval{Start: end, End: last})
	s.out[beforeSteps].elapsed = warm - start - earlier
	s.out[inWarmup].elapsed = begin - warm
	s.out[inSteps].elapsed = end - begin - gaps
	s.out[betweenSteps].elapsed = gaps + earlier + later
	s.out[afterSteps].elapsed = last - end - later
}

// phasesIn is the time of the phases beside the steps in a part of the run.
func (s *sectioning) phasesIn(of model.Interval) int64 {
	return measure.Sum(model.Union(slices.Clone(s.phases)), func(x model.Interval) int64 {
		return max(0, min(x.End, of.End)-max(x.Start, of.Start))
	})
}

// bounds are the start of the warm-up, that of the steps, their end, and the time between them.
func (s *sectioning) bounds() (warm, begin, end, gaps int64) {
	first := func(steps []int64) int64 { // a step may have no operation
		if i := slices.IndexFunc(steps, func(at int64) bool { return at < math.MaxInt64 }); i >= 0 {
			return steps[i]
		}
		return s.work.End
	}
	warm, begin = first(s.firsts), first(s.firsts[min(s.from, len(s.firsts)):])
	last := len(s.firsts) - 1
	for last >= s.from && s.firsts[last] == math.MaxInt64 {
		last--
	}
	if last < s.from {
		return warm, begin, begin, 0
	}
	end = s.lasts[last]
	if all, _ := periods(s.firsts[s.from:]); len(all) > 0 {
		end = min(end, s.firsts[last]+int64(mean(typical(all))))
	}
	for i := s.from; i < last && len(s.c.ends) > 0; i++ {
		if s.firsts[i+1] < math.MaxInt64 {
			gaps += max(0, min(s.laid[i+1].Start, s.firsts[i+1])-max(s.c.ends[i], s.owns[i]))
		}
	}
	return warm, begin, end, gaps
}

// events is the time from the first event of the process to the last; what is restricted to a capture, of that.
func (c *cut) events() model.Interval {
	if n := len(c.Captures); n > 0 && c.capture {
		return model.Interval{Start: c.Captures[0].Start, End: c.Captures[n-1].End}
	}
	out := c.Calls.Span()
	if out == (model.Interval{}) {
		out = model.Interval{Start: math.MaxInt64, End: math.MinInt64}
	}
	for i := range c.Ranges {
		out = model.Interval{Start: min(out.Start, c.Ranges[i].Start), End: max(out.End, c.Ranges[i].End)}
	}
	for i := range c.launches {
		out = model.Interval{Start: min(out.Start, c.launches[i].API), End: max(out.End, c.launches[i].End)}
	}
	return out
}

// reduceLifetime writes how long the process took before its first step and after its last event, where it is known
// when the process began and ended. A clock that puts events outside that time is not trusted.
func (s *sectioning) reduceLifetime(run int, t *table) {
	life, begun := s.c.Lifetime, s.run.Start
	if s.c.Overlapped {
		begun = s.work.Start // events come before its turn
	}
	if life.Start >= life.End || s.work.Start > s.work.End || begun < life.Start ||
		max(s.run.End, s.work.End) > life.End {
		return
	}
	t.set(run, measure.Workload, measure.TeardownTime, float64(life.End-max(s.run.End, s.work.End)))
	if s.c.Overlapped {
		return
	}
	initialising := int64(0)
	for thread := range int32(s.c.Calls.Threads()) {
		for at := s.c.Calls.From(thread, 0); at.OK && at.Call.Start < s.work.Start; at.Next() {
			initialising += min(at.Call.End, s.work.Start) - at.Call.Start
		}
	}
	t.set(run, measure.Workload, measure.StartupTime, float64(s.warm-life.Start))
	t.set(run, measure.Workload, measure.InitTime, float64(min(initialising, s.work.Start-life.Start)))
}

// reduceSections writes what the run spent in its sections into the table. The time of a run without a step range is a
// metric of the workload as well.
func (c *cut) reduceSections(run int, t *table) {
	s := c.sections()
	s.reduceLifetime(run, t)
	for i, x := range s.out {
		subject := measure.Sections[i]
		if i != beforeSteps || !c.Overlapped {
			t.set(run, subject, measure.Elapsed, float64(x.elapsed))
		}
		t.set(run, subject, measure.GPUTime, float64(x.busy))
		t.set(run, subject, measure.Launches, float64(x.launches))
		if i == inWarmup {
			t.set(run, subject, measure.Repeats, float64(min(c.skip, len(c.laid()))))
		}
	}
	if len(c.steps) == 0 && len(c.launches) > 0 {
		t.set(run, measure.Workload, measure.RunTime, float64(c.End()-c.launches[0].Start))
	}
}
