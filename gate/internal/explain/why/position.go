package why

import (
	"fmt"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/result"
)

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
	var s string
	switch {
	case base.Bound == "" || head.Bound == "":
	case base.Bound == head.Bound:
		s = fmt.Sprintf("%s before and after", bound(head.Bound))
	default:
		s = fmt.Sprintf("%s before, %s after", bound(base.Bound), bound(head.Bound))
	}
	if b, h := base.Roofline, head.Roofline; b != nil && h != nil {
		if s != "" {
			s += "; "
		}
		precision, ridge := b.Precision, amount(float64(h.Ridge), "")
		if h.Precision != precision {
			precision += " → " + h.Precision
			ridge = arrow(float64(b.Ridge), float64(h.Ridge), "")
		}
		s += fmt.Sprintf("roofline (%s): %s FLOP/B (ridge %s), %s of the roof",
			precision, arrow(float64(b.Intensity), float64(h.Intensity), ""), ridge, arrow(percent(b), percent(h), "%"))
	}
	if s == "" {
		return ""
	}
	return capital(s) + "."
}

func bound(s string) string {
	if s == "balanced" {
		return "balanced between compute and memory"
	}
	return s + "-bound"
}
