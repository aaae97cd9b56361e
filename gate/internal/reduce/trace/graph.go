package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// CUDA graphs that were recorded as a whole are kernels. Their numbers differ between runs, so the place in the step
// identifies a graph.

// numberGraphs tells the graphs of a device apart by the order of their first launches, those that it launches often:
// until the steps are known, that names them.
func (c *cut) numberGraphs() {
	if !c.hasGraphs() {
		return
	}
	launches, times := c.given.Launches, make([]int, len(c.given.Kernels))
	for i := range launches {
		times[launches[i].Kernel]++
	}
	number, most, on := map[int32]int32{}, int32(0), map[int32]int32{} // by graph, in all, by device
	for i := range launches {
		l := &launches[i]
		if c.given.Kernels[l.Kernel].Graph > 0 && times[l.Kernel] > minSteps && number[l.Kernel] == 0 {
			on[l.Device]++
			number[l.Kernel] = on[l.Device]
			most = max(most, on[l.Device])
		}
	}
	c.nameGraphs(int(most), func(l *model.Launch) int32 { return number[l.Kernel] })
}

// placeGraphs names the graphs of a run by their places in a typical step, the n-th launch of a graph in each step: one
// that is launched at several places has the first of them. Graphs outside the steps are one kernel. Where devices have
// cycles of their own, so have their graphs.
func (c *cut) placeGraphs() {
	if !c.hasGraphs() {
		return
	}
	n := 0
	byLaunch, byGraph := map[*model.Launch]int32{}, map[int32]int32{}
	for _, device := range append(slices.Collect(maps.Keys(c.cyclesOn)), anyDevice) {
		n = max(n, placesOfGraphs(c.graphsOfSteps(device), byLaunch, byGraph))
	}
	c.nameGraphs(n, func(l *model.Launch) int32 { return cmp.Or(byGraph[l.Kernel], byLaunch[l]) })
}

// placesOfGraphs gives the places of the graphs of steps by launch and by graph, and how many places there are.
func placesOfGraphs(steps [][]*model.Launch, byLaunch map[*model.Launch]int32, byGraph map[int32]int32) int {
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
	return len(places.List)
}

// graphsOfSteps are the launches of graphs in each step, or cycle of a device, in the order of calls. Of cycles, what
// was launched in the phases before the first and after the last comes first and last.
func (c *cut) graphsOfSteps(device int32) [][]*model.Launch {
	laid := c.laidOn(device)
	out := make([][]*model.Launch, len(laid)+2)
	steps := finder{spans: laid}
	for i := range c.given.Launches {
		l := &c.given.Launches[i]
		own := len(c.cyclesOn[l.Device]) > 0 && l.Device != device // in cycles of its own
		if c.given.Kernels[l.Kernel].Graph == 0 || len(laid) == 0 || own {
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
	return slices.ContainsFunc(c.given.Kernels, func(k model.KernelInfo) bool { return k.Graph > 0 })
}

// nameGraphs gives the launches of whole graphs new kernels: of each the number that place gives, from 1 to n, 0 for
// none. The first has the name that the only graph of a step has.
func (c *cut) nameGraphs(n int, place func(*model.Launch) int32) {
	t := *c.given
	first := slices.IndexFunc(t.Kernels, func(k model.KernelInfo) bool { return k.Graph > 0 })
	size := int32(len(t.Kernels))
	t.Kernels, t.Launches = slices.Clone(t.Kernels), slices.Clone(t.Launches)
	for i := range max(n, 1) {
		graph := t.Kernels[first]
		graph.Graph = 0
		if i > 0 {
			graph.Subject.Name = fmt.Sprintf("(CUDA graph %d)", i+1)
			graph.Raw = graph.Subject.Name
		}
		t.Kernels = append(t.Kernels, graph)
	}
	for i := range t.Launches {
		if l := &c.given.Launches[i]; t.Kernels[l.Kernel].Graph > 0 {
			t.Launches[i].Kernel = size + max(place(l), 1) - 1
		}
	}
	c.Trace = &t
	c.window()
}
