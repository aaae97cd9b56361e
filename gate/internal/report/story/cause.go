package story

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Cause is one reason for a change, with all comparisons that it explains: a kernel with its time, total time,
// launches, range and share of the step; a kind of copies; a rank; a kind of idle time.
type Cause struct {
	Class   Class
	Rows    []Row  // the row that names the cause first
	Subject string // "saxpy", "rank 1", "GPU idle: waiting for the CPU"
	Short   string // change in a few words: "saxpy +4.8 %"
	Why     []string
	Do      string        // advice on the code, "" where none is known
	Cost    result.Number // added to a step, in ns
	idle    *FallRow      // of idle time
	Rank    bool
	totals  []Row // the total times of kernels that are only launched more often
	added   []Row // the total times of new kernels that are at least half of a longer GPU time, the longest first
	counted bool  // the text counts them
}

// causes folds the rows of some classes into causes: failing ones first, then by cost.
func (v *Story) causes(of ...Class) []Cause {
	var list []Cause
	var program []Row
	for _, g := range Groups(Untold(v.Of(of...))) {
		if g[0].F.Scope == measure.ScopeOutput || g[0].F.Subject() == measure.Workload {
			program = append(program, g...)
			continue
		}
		list = append(list, Cause{Class: g[0].Class, Rows: g, Subject: g[0].Subject, Cost: g.Cost()})
	}
	if !slices.Contains(of, Faster) {
		list = v.foldRanks(list, &program)
	}
	list = foldSections(v.foldDevices(foldRanges(foldLaunches(list)), &program))
	step := measure.Either(v.Fall != nil && v.Fall.Mean, measure.MeanStep, measure.StepTime)
	list = append(list, v.idle(Group(program).of(step.Name), program)...)
	worst(list)
	list = foldProgram(list, program)
	worst(list)
	return list
}

func worst(list []Cause) {
	size := func(c Cause) float64 { return math.Abs(float64(c.Cost.Or(0))) }
	measure.Sort(list, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(size(b), size(a)))
	})
}

// has reports whether a row, nil for none, is of the cause.
func (c *Cause) has(r *Row) bool {
	return r != nil && slices.ContainsFunc(c.Rows, func(x Row) bool { return x.At == r.At })
}

// take moves the rows of a cause into another.
func (c *Cause) take(rows ...Row) {
	c.Rows = append(c.Rows, rows...)
	for i := range rows {
		c.Class = min(c.Class, rows[i].Class)
	}
}

// foldRanks makes one cause of a slower or late rank: comparisons of ranks, and its slowest kernels and ranges.
func (v *Story) foldRanks(list []Cause, program *[]Row) []Cause {
	if v.Report.Ranks == nil || v.Report.Ranks.Straggler == nil {
		return list
	}
	s := v.Report.Ranks.Straggler
	c := Cause{Class: Within, Subject: Clean(s.Rank), Cost: s.Waited, Rank: true}
	imbalance, rest := parted(*program, func(r Row) bool { return r.F.Metric == measure.Imbalance.Name })
	c.take(imbalance...)
	*program = rest
	kernel := func(f result.Finding) bool {
		return slices.ContainsFunc(s.Kernels, func(k result.StragglerKernel) bool { return k.Name == f.Name })
	}
	devices := slices.ContainsFunc(list, func(x Cause) bool { return x.Rows[0].F.Scope == measure.ScopeDevice })
	if !devices && len(c.Rows) == 0 && (!s.Late || Group(*program).of(measure.StepTime.Name) == nil) {
		return list
	}
	of, others := parted(list, func(x Cause) bool {
		f := x.Rows[0].F
		return f.Scope == measure.ScopeDevice || f.Scope == measure.ScopeKernel && kernel(f) ||
			f.Scope == measure.ScopeRange && f.Name == s.Range
	})
	for _, x := range of {
		c.take(x.Rows...)
	}
	if len(c.Rows) == 0 { // a late rank that only the step shows
		step, rest := parted(*program, func(r Row) bool { return r.F.Metric == measure.StepTime.Name })
		c.take(step[0])
		*program = rest
	}
	return append(others, c)
}

// parted are the elements of a list that meet a condition, and the others. Inlined, it adds 8 kB to the binary.
//
//go:noinline
func parted[T any](list []T, is func(T) bool) (those, others []T) {
	for _, x := range list {
		if is(x) {
			those = append(those, x)
		} else {
			others = append(others, x)
		}
	}
	return those, others
}

// first is the index of the first cause of a scope, -1 for none.
func first(list []Cause, scope measure.Scope) int {
	return slices.IndexFunc(list, func(c Cause) bool { return c.Rows[0].F.Scope == scope })
}

// fold moves the rows of some causes into the one at an index.
func fold(list []Cause, at int, these func(Cause) bool) []Cause {
	for i := range list {
		if i != at && these(list[i]) {
			list[at].take(list[i].Rows...)
			list[i].Rows = nil
		}
	}
	return slices.DeleteFunc(list, func(c Cause) bool { return len(c.Rows) == 0 })
}

// foldRanges puts each range into the cause in it that costs most.
func foldRanges(list []Cause) []Cause {
	ranges, out := parted(list, func(c Cause) bool { return c.Rows[0].F.Scope == measure.ScopeRange })
	worst(out)
	n := len(out)
	for _, r := range ranges {
		i := slices.IndexFunc(out[:n], func(c Cause) bool {
			return !c.Rank && slices.ContainsFunc(c.Rows, func(x Row) bool {
				return x.F.Scope == measure.ScopeKernel && isWithin(x.F.Role, r.Rows[0].F.Name)
			})
		})
		if i < 0 {
			out = append(out, r)
			continue
		}
		out[i].take(r.Rows...)
	}
	return out
}

// foldDevices puts slower devices, where all or at least three are, into their common cause: what makes the GPU time of
// the program longer, else the kernel that costs most, else the first device.
func (v *Story) foldDevices(list []Cause, program *[]Row) []Cause {
	const many = 3
	worst(list)
	device := func(c Cause) bool { return !c.Rank && c.Rows[0].F.Scope == measure.ScopeDevice }
	devices, others := parted(list, device)
	slower := slices.Concat(measure.Map(devices, func(c Cause) []Row { return c.Rows })...)
	all, _ := parted(v.Rows, func(r Row) bool { return r.F.Scope == measure.ScopeDevice })
	if len(slower) < 2 || len(slower) < min(many, len(all)) {
		return list
	}
	if Group(*program).of(measure.GPUTime.Name) != nil {
		*program = append(*program, slower...)
		return others
	}
	at := first(list, measure.ScopeKernel)
	if at < 0 {
		at = first(list, measure.ScopeDevice)
	}
	return fold(list, at, device)
}

// foldSections puts sections outside of the steps, such as the warm-up, into the first slower kernel, which is launched
// there too.
func foldSections(list []Cause) []Cause {
	worst(list)
	kernel := first(list, measure.ScopeKernel)
	if kernel < 0 {
		return list
	}
	return fold(list, kernel, func(c Cause) bool {
		f := c.Rows[0].F
		return f.Scope == measure.ScopeSection && f.Metric == measure.GPUTime.Name && c.Class >= list[kernel].Class
	})
}

// idle is the cause of a slower step where idle time is at least half of the change, else none.
func (v *Story) idle(step *Row, program []Row) []Cause {
	if step == nil || v.Fall == nil || len(v.Fall.Rows) == 0 {
		return nil
	}
	part := v.Fall.Rows[0]
	// More kernels bring more gaps.
	launched := Group(program).of(measure.Launches.Name) != nil && part.Class == measure.IdleGaps
	if result.IdleCauses[part.Class] == "" || launched || !(part.Change/(v.Fall.Head-v.Fall.Base) >= 0.5) {
		return nil
	}
	return []Cause{{Class: step.Class, Subject: part.What, Cost: part.Change, idle: &part}}
}

// foldProgram puts the comparisons of the whole program into the first cause, where the causes explain them; an
// increased count goes to the cause that it belongs to. The others of a class are a cause of their own.
func foldProgram(list []Cause, program []Row) []Cause {
	explained := explainedBy(list, program)
	var own []Cause
	outputs, others := parted(program, func(r Row) bool { return r.F.Scope == measure.ScopeOutput })
	for _, r := range append(others, outputs...) {
		at := -1
		if r.Class == Increased {
			at = slices.IndexFunc(list, func(c Cause) bool { return c.counts(r.F.Metric) })
		} else if len(list) > 0 && explained(r) {
			at = 0
		}
		if at >= 0 {
			list[at].take(r)
			continue
		}
		same := slices.IndexFunc(own, func(c Cause) bool {
			return c.Class == r.Class && r.Class != Increased && c.Rows[0].F.Scope == measure.ScopeWorkload &&
				(r.F.Scope == measure.ScopeWorkload || r.F.Scope == measure.ScopeDevice)
		})
		if same >= 0 {
			own[same].take(r)
		} else {
			own = append(own, Cause{Class: r.Class, Rows: []Row{r}, Subject: r.Subject, Cost: r.Cost()})
		}
	}
	list = append(list, own...)
	return slices.DeleteFunc(list, func(c Cause) bool { return len(c.Rows) == 0 })
}

// explainedBy reports whether causes explain a comparison of the whole program: an output only where it is of speed and
// the program is slower, and no bound that was broken before.
func explainedBy(list []Cause, program []Row) func(Row) bool {
	// explains is the least share of a change of the whole program that causes have to add up to in order to explain
	// it.
	const explains = 1.0 / 3
	sum := measure.Sum(list, func(c Cause) result.Number { return c.Cost.Or(0) })
	step := Group(program).of(measure.StepTime.Name)
	slower := step != nil || Group(program).of(measure.GPUTime.Name) != nil
	return func(r Row) bool {
		output := r.F.Scope == measure.ScopeOutput
		better := r.F.Head == r.F.Base || (r.F.Head < r.F.Base) == (r.F.AtMost != nil)
		switch {
		case output && !(slower && r.F.OfSpeed()), r.F.Bounded() && better:
			return false
		case r.Cost().Known():
			return sum/r.Cost() >= explains
		}
		return r.Class >= list[0].Class || output && step != nil && sum/step.Cost() >= explains
	}
}

// counts reports whether an increased count of the whole program belongs to the cause.
func (c *Cause) counts(metric string) bool {
	f := measure.Subject{}
	if len(c.Rows) > 0 {
		f = c.Rows[0].F.Subject()
	}
	switch metric {
	case measure.SyncCalls.Name:
		return c.idle != nil
	case measure.Launches.Name, measure.SmallKernels.Name:
		return f.Scope == measure.ScopeKernel && Group(c.Rows).of(measure.Launches.Name) != nil || c.Rank
	case measure.PageableBytes.Name:
		return f.Scope == measure.ScopeWorkload && f.Name != ""
	}
	return c.Rank
}

// foldLaunches makes one cause of three or more kernels that are launched more often, all by about the same factor, and
// take no longer a launch: more iterations, layers or batches are one change, not one of each kernel.
func foldLaunches(list []Cause) []Cause {
	const many, alike = 3, 0.1
	worst(list)
	at := slices.IndexFunc(list, func(c Cause) bool { return c.launched() > 0 })
	if at < 0 {
		return list
	}
	first := &list[at]
	same := func(c Cause) bool {
		return c.Class == first.Class && math.Abs(c.launched()/first.launched()-1) <= alike
	}
	var totals []Row
	cost := result.Number(0)
	for _, c := range list {
		if same(c) {
			totals, cost = append(totals, *Group(c.Rows).of(measure.Total.Name)), cost+c.Cost
		}
	}
	if len(totals) < many {
		return list
	}
	first.totals, first.Cost = totals, cost
	return fold(list, at, same)
}

// launched is the ratio of the launches of a kernel, head to base, where that explains its time, else 0.
func (c Cause) launched() float64 {
	g := Group(c.Rows)
	total, launches := g.of(measure.Total.Name), g.of(measure.Launches.Name)
	if g[0].F.Scope != measure.ScopeKernel || total == nil || launches == nil || len(total.Parts) > 0 {
		return 0
	}
	const alike = 0.03
	factor := float64(launches.F.Head / launches.F.Base)
	unlike := !(factor > 1) || math.Abs(float64(total.F.Head/total.F.Base)/factor-1) > alike
	return measure.Either(unlike, 0, factor)
}

// moreLaunches is the text of a cause of [foldLaunches].
func moreLaunches(c *Cause, per string) (why []string, short string) {
	sum := result.Finding{Unit: NS}
	for _, r := range c.totals {
		sum.Base += r.F.Base
		sum.Head += r.F.Head
	}
	n := Count(len(c.totals), "kernel")
	launches := Group(c.Rows).of(measure.Launches.Name)
	return []string{n + " are launched more often, each launch takes as long as before: " + Values(sum) + " a " + per +
		", " + Changed(sum.Head/sum.Base-1),
		"first " + Elide(c.Subject, 60) + ", " + launches.Metric + " " + launches.Values}, n + " launched more often"
}
