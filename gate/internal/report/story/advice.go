package story

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// idleAdvice is the advice on code for each class of idle time that got longer.
var idleAdvice = map[string]string{
	measure.IdleLaunch:     "move the host's work out of the step, or issue larger kernels or a CUDA graph",
	measure.IdleSync:       "remove the wait: .item(), a synchronous copy, cudaDeviceSynchronize",
	measure.IdleDependency: "check the order of streams and events, and that no other program uses the GPU",
	measure.IdleGaps:       "launch fewer, larger kernels, or a CUDA graph",
	measure.IdleUnknown:    "record with --trace=cuda,nvtx, which holds the CUDA calls",
}

// advice is a row of the table of advice on code.
type advice struct {
	when func(*Story, *Cause) bool
	text string
}

// advices are in their order; the first that applies holds. A cause that meets none has no advice.
var advices = []advice{
	{func(v *Story, c *Cause) bool { return c.Rank && v.Report.Ranks.Straggler.Late },
		"see what this rank does between its collectives: copies, input data, its CPU"},
	{func(_ *Story, c *Cause) bool { return c.Rank },
		"balance the work of the ranks, or see why this one computes longer"},
	{func(_ *Story, c *Cause) bool { return Group(c.Rows).of(measure.SyncCalls.Name) != nil },
		"remove the new synchronising call, or move it out of the step: the next operation is issued after it"},
	{func(_ *Story, c *Cause) bool { return len(c.totals) > 0 },
		"look for more iterations, layers or batches in the loop that launches them"},
	{spilled, "lower the registers a thread needs: __launch_bounds__, smaller tiles, fewer values in flight"},
	{unfused, "restore the fusion: several kernels do what one did, and each reads and writes memory"},
	{replaces, "compare data types, layouts, shapes and library versions: another kernel does the work"},
	{func(_ *Story, c *Cause) bool { return c.metric(measure.Launches.Name) },
		"look at the loop that launches it, and batch the launches"},
	{pageable, "copy from pinned memory: cudaMallocHost, pin_memory=True"},
	{func(_ *Story, c *Cause) bool { return c.metric(measure.Copies.Name) },
		"copy once, in larger pieces, or keep the data on the GPU"},
	{func(_ *Story, c *Cause) bool { return c.metric(measure.CopyBytes.Name) }, "copy less, or keep the data on the GPU"},
}

// do is the place in the code to check, "" where unknown.
func (v *Story) do(c *Cause) string {
	for _, a := range advices {
		if a.when(v, c) {
			return a.text
		}
	}
	if c.idle != nil {
		return idleAdvice[c.idle.Class]
	}
	return ""
}

// metric reports whether a metric of the cause's subject, or of copies in it, increased.
func (c *Cause) metric(name string) bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool {
		return r.F.Metric == name && r.F.Outcome == result.Slower && r.F.Subject() != measure.Workload
	})
}

// fact reports whether a fact of the cause's comparisons meets a condition.
func (c *Cause) fact(key string, is func(result.Args) bool) bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool {
		return slices.ContainsFunc(r.F.Facts, func(x result.Remark) bool { return x.Key == key && is(x.Args) })
	})
}

// replaces reports whether other kernels do the work.
func replaces(_ *Story, c *Cause) bool {
	f := c.Lead().F
	return f.Replaces()
}

// spilled reports whether a kernel uses more local memory.
func spilled(_ *Story, c *Cause) bool {
	return c.fact(result.KeyAttribute, func(a result.Args) bool {
		base, _ := a["base"].(result.Number)
		head, _ := a["head"].(result.Number)
		return (a["metric"] == measure.LocalMemory.Name || a["metric"] == measure.SpillBytes.Name) && head > base
	})
}

// unfused reports whether more kernels do the work of fewer.
func unfused(_ *Story, c *Cause) bool {
	lead := c.Lead()
	gone, _ := lead.parts(true)
	fresh, _ := lead.parts(false)
	return len(gone) > 0 && len(fresh) > len(gone)
}

// pageable reports whether copies use pageable memory that did not, or copy more of it.
func pageable(_ *Story, c *Cause) bool {
	return Group(c.Rows).of(measure.PageableBytes.Name) != nil || c.fact(result.KeyMemory, func(a result.Args) bool {
		base, _ := a["base"].(string)
		head, _ := a["head"].(string)
		return strings.Contains(strings.ToLower(head), "pageable") && !strings.Contains(strings.ToLower(base), "pageable")
	})
}
