package trace

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// roles finds the ranges around launches and numbers the paths of their names.
type roles struct {
	c     *cut
	ids   []int32                // path by range, 0 while unknown
	paths model.Interned[string] // their names
	// inside lists the ranges below each step, by start, for launches of threads without ranges of their own; nil until
	// there is one.
	inside [][]int32
}

func (c *cut) newRoles() *roles {
	r := &roles{c: c, ids: make([]int32, len(c.Ranges))}
	r.paths.Of("")
	return r
}

func (r *roles) listInside() {
	r.inside = make([][]int32, len(r.c.steps))
	steps := finder{spans: r.c.steps}
	for i, x := range r.c.Ranges {
		if at := steps.find(x.Start); at >= 0 && x.End <= r.c.steps[at].End+1 {
			r.inside[at] = append(r.inside[at], int32(i))
		}
	}
}

// rangeOf is the innermost range of a launch. A thread that has no range of its own (PyTorch's backward pass runs on
// one) launches for the range that the step is in at that moment.
func (r *roles) rangeOf(l model.Launch, step int) int32 {
	if l.Range >= 0 || step < 0 {
		return l.Range
	}
	if r.inside == nil {
		r.listInside()
	}
	for _, i := range slices.Backward(r.inside[step]) {
		if x := &r.c.Ranges[i]; x.Start <= l.API && l.API <= x.End {
			return i
		}
	}
	return -1
}

// path numbers the names from the outermost range to this one; 0 is no range.
func (r *roles) path(x int32) int32 {
	if x < 0 {
		return 0
	}
	if r.ids[x] != 0 {
		return r.ids[x]
	}
	var names []string
	for at := x; at >= 0 && len(names) < 16; at = r.c.Ranges[at].Parent {
		names = append(names, r.c.RangeNames[r.c.Ranges[at].Name])
	}
	slices.Reverse(names)
	r.ids[x], _ = r.paths.Of(strings.Join(names, "/"))
	return r.ids[x]
}

// Ranges that are worth a row: those with at least this share of the kernel time, and not more than this many.
const (
	rangeShare = 0.001
	rangeCount = 200
)

// dropSmallRanges keeps the ranges that matter. The step itself is left out: it is the whole workload.
func dropSmallRanges(series []model.Series, step string) []model.Series {
	var whole float64
	var sizes []float64
	size := map[measure.Subject]float64{}
	for _, x := range series {
		switch {
		case x.Metric.Name != measure.GPUTime.Name:
		case x.Subject == measure.Workload:
			whole = largest(x.Values)
		case x.Subject.Scope == measure.ScopeRange:
			size[x.Subject] = largest(x.Values)
			sizes = append(sizes, size[x.Subject])
		}
	}
	least := rangeShare * whole
	if len(sizes) > rangeCount {
		slices.Sort(sizes)
		least = max(least, sizes[len(sizes)-rangeCount])
	}
	return slices.DeleteFunc(series, func(x model.Series) bool {
		cost, timed := size[x.Subject]
		return x.Subject.Scope == measure.ScopeRange && (x.Subject.Name == step || !timed || cost < least)
	})
}
