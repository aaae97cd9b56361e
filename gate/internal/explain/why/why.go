// Package why says why a kernel got slower: from the throughput metrics of its launches in base and head it draws a
// short cause with the numbers, by the rules in rules.go, and says where the kernel stands on the roofline. It is pure.
package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// spoken is a rule that applies, with its reason.
type spoken struct {
	rule
	text string
}

// spoken are the rules that apply, the likeliest cause first, and the metrics that untried rules lack.
func (p pair) spoken() (list []spoken, unknown []string) {
	for _, r := range rules {
		missing := p.missing(r.needs)
		unknown = measure.Once(unknown, missing...)
		if len(missing) > 0 || r.last && len(list) > 0 {
			continue
		}
		if text := r.speak(p); text != "" {
			list = append(list, spoken{r, text})
		}
	}
	return list, unknown
}

// Explain compares the medians over the launches of a kernel in base and head. Its text holds numbers and words of this
// package only, no text of a profile.
func Explain(base, head counters.Kernel) *result.Cause {
	p := pair{typical(base), typical(head)}
	before, after := position(p.base), position(p.head)
	c := &result.Cause{Base: before.String(), Head: after.String(), BaseRoof: before.Roofline, HeadRoof: after.Roofline}
	for _, m := range shown {
		if p.known(m) {
			c.Metrics = append(c.Metrics, result.CauseMetric{Name: m.Name, Unit: m.Unit,
				Base: result.Number(p.base.get(m)), Head: result.Number(p.head.get(m))})
		}
	}
	list, unknown := p.spoken()
	for _, r := range list {
		c.Reasons = append(c.Reasons, r.text)
		c.Guides = measure.Once(c.Guides, r.guide)
	}
	if len(c.Metrics) == 0 {
		c.Summary = "The counters have no metric of both sides."
		return c
	}
	var s []string
	if !p.slower() {
		s = append(s,
			"Replayed, one launch at a time on cold caches, the kernel is not slower ("+p.show(measure.ReplayTime)+").")
	}
	reasons := strings.Join(c.Reasons, "; ")
	s = append(s, measure.Either(reasons != "", capital(reasons)+".", p.silence(unknown)))
	if where := standing(before, after); where != "" {
		s = append(s, where)
	}
	c.Summary = strings.Join(s, " ")
	return c
}

var shown = slices.Concat(measure.Throughput, []measure.Metric{measure.Registers,
	measure.StaticShared, measure.DynamicShared}, counters.Evidence)

// Bound is the limiting resource of the launches of a kernel, see [Position].
func Bound(head counters.Kernel) string { return position(typical(head)).Bound }

// Stand describes the launches of a kernel without a base: its limiting resource, its place on the roofline, and the
// limits of its occupancy. The bases of the metrics are NaN.
func Stand(head counters.Kernel) *result.Cause {
	s := typical(head)
	at := position(s)
	c := &result.Cause{Head: at.String(), HeadRoof: at.Roofline}
	for _, m := range shown {
		if v := s.get(m); !math.IsNaN(v) {
			c.Metrics = append(c.Metrics, result.CauseMetric{Name: m.Name, Unit: m.Unit, Base: result.Unknown,
				Head: result.Number(v)})
		}
	}
	var parts []string
	if c.Head != "" {
		parts = append(parts, capital(c.Head)+".")
	}
	if occupancy := s.get(measure.TheoreticalOccupancy); !math.IsNaN(occupancy) {
		text := "Theoretical occupancy " + amount(occupancy, "%")
		if limit := s.limit(); occupancy < 100 && strings.HasPrefix(limit, "limited") {
			text += ", " + limit
		}
		parts = append(parts, text+".")
	}
	c.Summary = cmp.Or(strings.Join(parts, " "), "The counters have no metric that says what limits the kernel.")
	return c
}

// silence says that no rule explains the change, and names the metrics that are equal.
func (p pair) silence(unknown []string) string {
	var same []string
	for _, m := range []measure.Metric{
		measure.Instructions, measure.DRAMBytes, measure.Registers, measure.TheoreticalOccupancy, measure.SMClock,
	} {
		if p.known(m) && p.same(m, 0.02) {
			same = append(same, label(m))
		}
	}
	text := "No rule explains the change"
	text += measure.Either(len(same) > 0, ": "+strings.Join(same, ", ")+" did not change", "")
	if p.slower() && p.known(measure.Instructions) && p.same(measure.Instructions, 0.005) &&
		p.known(measure.DRAMBytes) && p.same(measure.DRAMBytes, 0.02) {
		text += ": same work, slower"
	}
	if grid, changed := strings.CutPrefix(p.grid(), "grid "); changed {
		text += "; the grid has " + grid
	}
	return text + measure.Either(len(unknown) > 0, " (not known: "+labels(unknown)+")", "") + "."
}

// GuideOf is the documentation of a rule.
func GuideOf(name string) result.Guide {
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == name })].guide
}

// Position is the limiting resource of a kernel.
type Position struct {
	// Bound is "compute", "memory", "balanced" (both alike), "latency" (neither is busy), or "" where unknown.
	Bound string
	// Roofline is the place under the roofs of the main precision (Williams, Waterman and Patterson 2009; Nsight
	// Compute Profiling Guide, Roofline Charts). It is nil where operations, bytes or peaks are unknown, where the
	// kernel does no arithmetic, and where the tensor cores do most of it and their peak is unknown.
	Roofline *result.Roof
}

// percent is the part of the roof that was reached.
func percent(r *result.Roof) float64 { return 100 * float64(r.Achieved) / float64(r.Roof) }

// String is the position in words: "memory-bound, 25 % of the fp32 roof at 10 FLOP/B (ridge 15)"; "" if unknown.
func (p Position) String() string {
	var parts []string
	if p.Bound != "" {
		parts = append(parts, bound(p.Bound))
	}
	if r := p.Roofline; r != nil {
		parts = append(parts, fmt.Sprintf("%s of the %s roof at %s FLOP/B (ridge %s)",
			amount(percent(r), "%"), r.Precision, amount(float64(r.Intensity), ""), amount(float64(r.Ridge), "")))
	}
	return strings.Join(parts, ", ")
}

// The limits of Nsight Compute's own rule on the bottleneck (SOLBottleneck, in the section GPU Speed Of Light
// Throughput). A unit at 80 % of its peak or more is the limit, with both under 60 % latency is. In between it is the
// unit that is busier by 10 points.
const (
	busy  = 80
	idle  = 60
	apart = 10
)

func position(s sample) Position {
	var p Position
	sm, memory := s.get(measure.SMThroughput), s.get(measure.MemoryThroughput)
	switch {
	case math.IsNaN(sm) || math.IsNaN(memory):
	case sm < idle && memory < idle:
		p.Bound = "latency"
	case math.Max(sm, memory) < busy && math.Abs(sm-memory) < apart:
		p.Bound = "balanced"
	case sm > memory:
		p.Bound = "compute"
	default:
		p.Bound = "memory"
	}
	p.Roofline = roofline(s)
	return p
}

func roofline(s sample) *result.Roof {
	ops := s.get(measure.TensorOps)
	switch {
	case math.IsNaN(ops) && s.get(counters.TensorBusy) > 0: // how much they did is unknown
		return nil
	case ops > 0 && math.IsNaN(s.get(counters.TensorPeak)) && !(ops < s.flops()):
		return nil
	}
	var best *result.Roof
	var load float64
	bytes, seconds, bandwidth := s.get(measure.DRAMBytes), s.get(measure.ReplayTime)/1e9, s.get(measure.PeakDRAM)
	for _, x := range []struct {
		name        string
		flops, peak measure.Metric
	}{
		{"fp64", measure.FP64, measure.PeakFP64}, {"fp32", measure.FP32, measure.PeakFP32},
		{"fp16", measure.FP16, measure.PeakFP16},
		{"tensor", measure.TensorOps, counters.TensorPeak},
	} {
		flops, peak := s.get(x.flops), s.get(x.peak)
		if !(flops > 0 && peak > 0 && bytes > 0 && seconds > 0 && bandwidth > 0) || flops/peak <= load {
			continue
		}
		load = flops / peak // the precision that needs the most time at its peak
		intensity := flops / bytes
		best = &result.Roof{Precision: x.name, Intensity: result.Number(intensity),
			Ridge:    result.Number(peak / bandwidth),
			Achieved: result.Number(flops / seconds), Roof: result.Number(math.Min(peak, intensity*bandwidth))}
	}
	if best == nil {
		return nil
	}
	for _, v := range []result.Number{best.Intensity, best.Ridge, best.Achieved, best.Roof,
		result.Number(percent(best))} {
		if !(v > 0) || !v.Known() { // of counters that cannot be true
			return nil
		}
	}
	return best
}

func standing(base, head Position) string {
	after := measure.Either(base.Bound == head.Bound, " and after", ", "+bound(head.Bound)+" after")
	s := measure.Either(base.Bound == "" || head.Bound == "", "", bound(base.Bound)+" before"+after)
	if b, h := base.Roofline, head.Roofline; b != nil && h != nil {
		s += result.Given(s, "; ")
		precision, ridge := b.Precision, amount(float64(h.Ridge), "")
		if h.Precision != precision {
			precision += " → " + h.Precision
			ridge = arrow(float64(b.Ridge), float64(h.Ridge), "")
		}
		s += fmt.Sprintf("roofline (%s): %s FLOP/B (ridge %s), %s of the roof",
			precision, arrow(float64(b.Intensity), float64(h.Intensity), ""), ridge, arrow(percent(b), percent(h), "%"))
	}
	return result.Given(s, capital(s), ".")
}

func bound(s string) string {
	return measure.Either(s == "balanced", "balanced between compute and memory", s+"-bound")
}
