package trace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// CUDA graphs that were recorded as a whole are kernels. Their numbers differ between runs, so the place in the step
// identifies a graph.

// numberGraphs tells the graphs of a run apart by the order of their first launches, those that it launches often:
// until the steps are known, that names them.
func (c *cut) numberGraphs() error {
	if !c.hasGraphs() {
		return nil
	}
	launches, times := c.whole.Unpacked().Launches, make([]int, len(c.whole.Kernels))
	for i := range launches {
		times[launches[i].Kernel]++
	}
	var order model.Interned[int32]
	for i := range launches {
		if k := launches[i].Kernel; c.whole.Kernels[k].Graph > 0 && times[k] > minSteps {
			order.Of(k)
		}
	}
	return c.nameGraphs(launches, len(order.List), func(l *model.Launch) int32 {
		if at, ok := order.Number[l.Kernel]; ok {
			return at + 1
		}
		return 0
	})
}

// placeGraphs names the graphs of a run by their places in a typical step, the n-th launch of a graph in each step: one
// that is launched at several places has the first of them. Graphs outside the steps are one kernel.
func (c *cut) placeGraphs() error {
	launches := c.whole.Unpacked().Launches
	steps := c.graphsOfSteps(launches)
	lengths := map[int]float64{}
	for _, of := range steps[1 : len(steps)-1] {
		lengths[len(of)]++
	}
	most := heaviest(lengths)
	var typical []*model.Launch // of the last of the typical steps
	for _, of := range steps {
		if len(of) == most {
			typical = of
		}
	}
	var places model.Interned[int32] // the graphs of the typical step in their order
	for _, l := range typical {
		places.Of(l.Kernel)
	}
	byLaunch, byGraph := map[*model.Launch]int32{}, map[int32]int32{}
	for i, of := range steps {
		from := 0
		switch {
		case len(of) == most:
		case len(of) > most || i > 0 && i < len(steps)-1:
			continue
		case i == 0:
			from = most - len(of)
		}
		for k, l := range of {
			byLaunch[l] = places.Number[typical[from+k].Kernel] + 1
			byGraph[l.Kernel] = cmp.Or(byGraph[l.Kernel], byLaunch[l])
		}
	}
	for i, k := range places.List {
		byGraph[k] = int32(i) + 1
	}
	return c.nameGraphs(launches, len(places.List),
		func(l *model.Launch) int32 { return cmp.Or(byGraph[l.Kernel], byLaunch[l]) })
}

// graphsOfSteps are the launches of graphs in each step, in the order of calls. Of cycles, what was launched in the
// phases before the first and after the last comes first and last.
func (c *cut) graphsOfSteps(launches []model.Launch) [][]*model.Launch {
	laid := c.laid()
	out := make([][]*model.Launch, len(laid)+2)
	steps := finder{spans: laid}
	for i := range launches {
		l := &launches[i]
		if c.whole.Kernels[l.Kernel].Graph == 0 || len(laid) == 0 {
			continue
		}
		switch at := steps.find(l.API); {
		case at >= 0:
			out[at+1] = append(out[at+1], l)
		case len(c.cycles) > 0 && l.API > laid[0].Start:
			out[len(laid)+1] = append(out[len(laid)+1], l)
		case len(c.cycles) > 0 && l.API >= c.startUp:
			out[0] = append(out[0], l)
		}
	}
	for _, of := range out {
		slices.SortStableFunc(of, func(a, b *model.Launch) int { return cmp.Compare(a.API, b.API) })
	}
	return out
}

// hasGraphs reports whether graphs were recorded as a whole.
func (c *cut) hasGraphs() bool {
	return slices.ContainsFunc(c.whole.Kernels, func(k model.KernelInfo) bool { return k.Graph > 0 })
}

// nameGraphs gives the launches of whole graphs new kernels: of each the number that place gives, from 1 to n, 0 for
// none. The first has the name that the only graph of a step has.
func (c *cut) nameGraphs(launches []model.Launch, n int, place func(*model.Launch) int32) error {
	t := *c.whole
	first := slices.IndexFunc(t.Kernels, func(k model.KernelInfo) bool { return k.Graph > 0 })
	size := int32(len(t.Kernels))
	t.Kernels = slices.Clone(t.Kernels)
	for i := range max(n, 1) {
		graph := t.Kernels[first]
		if graph.Graph = 0; i > 0 {
			graph.Subject.Name = fmt.Sprintf("(CUDA graph %d)", i+1)
			graph.Raw = graph.Subject.Name
		}
		t.Kernels = append(t.Kernels, graph)
	}
	c.graphs = nil
	for i := range launches {
		if l := &launches[i]; t.Kernels[l.Kernel].Graph > 0 {
			c.graphs = append(c.graphs, size+max(place(l), 1)-1)
		}
	}
	c.whole, c.launches = &t, nil
	return c.load()
}

// withGraphs is a trace with the kernels of its graphs.
func (c *cut) withGraphs(t *model.Trace) *model.Trace {
	if c.graphs == nil {
		return t
	}
	out, next := *t, 0
	out.Launches = slices.Clone(t.Launches)
	for i := range out.Launches {
		if l := &out.Launches[i]; t.Kernels[l.Kernel].Graph > 0 {
			l.Kernel = c.graphs[next]
			next++
		}
	}
	return &out
}
