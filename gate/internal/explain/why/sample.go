package why

import (
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/result"
)

type sample struct {
	metrics map[string]float64
	grid    float64 // blocks, 0 where unknown
}

// typical takes the medians over launches.
func typical(k counters.Kernel) sample {
	g := k.Subject.Grid
	s := sample{metrics: map[string]float64{}, grid: float64(g.X) * float64(g.Y) * float64(g.Z)}
	for name, v := range k.Values {
		s.metrics[name] = stats.Median(v)
	}
	return s
}

func (s sample) get(m measure.Metric) float64 {
	if v, ok := s.metrics[m.Name]; ok {
		return v
	}
	return math.NaN()
}

// operations are the floating-point and tensor operations, NaN where not every kind was counted.
func (s sample) operations() float64 { return s.flops() + s.get(measure.TensorOps) }

// flops are the floating-point operations outside the tensor cores, NaN where not every precision was counted.
func (s sample) flops() float64 {
	return s.get(measure.FP64) + s.get(measure.FP32) + s.get(measure.FP16)
}

// The least growth of the replayed time of a slower kernel: relative, and two of the 32 ns ticks of GPUs.
const (
	least      = 0.01
	leastTicks = 64
)

type pair struct{ base, head sample }

func (p pair) known(m measure.Metric) bool { return len(p.missing([]measure.Metric{m})) == 0 }

func (p pair) missing(needs []measure.Metric) []string {
	lack := func(m measure.Metric) bool { return math.IsNaN(p.base.get(m)) || math.IsNaN(p.head.get(m)) }
	return measure.Map(measure.Where(needs, lack), func(m measure.Metric) string { return m.Name })
}

// ratio is head over base: 1 where both are zero, infinite where only the base is.
func (p pair) ratio(m measure.Metric) float64 { return ratio(p.base.get(m), p.head.get(m)) }

func ratio(base, head float64) float64 {
	return measure.Either(base == 0 && head == 0, 1, head/base)
}

func (p pair) by(m measure.Metric) float64 { return p.head.get(m) - p.base.get(m) }

// slower reports whether the kernel is slower when it is replayed, or may be where its time is unknown.
func (p pair) slower() bool {
	return !p.known(measure.ReplayTime) || p.ratio(measure.ReplayTime) >= 1+least &&
		p.by(measure.ReplayTime) > leastTicks
}

func (p pair) same(m measure.Metric, tolerance float64) bool {
	return math.Abs(p.ratio(m)-1) <= tolerance
}

// show prints a metric's change: "75.7 µs → 82.4 µs, +8.9 %".
func (p pair) show(m measure.Metric) string {
	r := p.ratio(m)
	return p.arrow(m, m.Unit) + measure.Either(m.Unit != "%" && p.base.get(m) > 0 && r != 1, ", "+times(r), "")
}

// told is the metric's name and change, without the ratio.
func (p pair) told(m measure.Metric) string {
	return label(m) + " " + p.arrow(m, measure.Either(m.Unit == "FLOP", "count", m.Unit)) // the name says FLOP
}

// arrow is the metric's change in a unit.
func (p pair) arrow(m measure.Metric, unit string) string {
	return arrow(p.base.get(m), p.head.get(m), unit)
}

// grown is [pair.told] with the ratio where there is one.
func (p pair) grown(m measure.Metric) string {
	return p.told(m) + measure.Either(p.base.get(m) > 0, " ("+times(p.ratio(m))+")", "")
}

func label(m measure.Metric) string { return labels([]string{m.Name}) }

func labels(names []string) string {
	s := strings.ReplaceAll(strings.Join(names, ", "), "_", " ")
	return acronyms.Replace(s)
}

var acronyms = strings.NewReplacer("dram", "DRAM", "l1", "L1", "l2", "L2", "sm clock", "SM clock", "sm throughput",
	"SM throughput", "flops fp", "FLOPs in fp", measure.ReplayTime.Title(), "replayed time")

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// amount prints a value as package measure does, and large counts in short: "20.97 M".
func amount(v float64, unit string) string {
	if _, _, known := measure.BaseUnit(unit); known {
		return measure.Quantity(v, unit)
	}
	if unit == "count" || unit == "per thread" {
		unit = ""
	}
	scale, prefix := 1.0, ""
	if abs := math.Abs(v); abs >= 10_000 || unit != "" && abs >= 1000 {
		for _, prefix = range []string{"k", "M", "G", "T", "P"} {
			scale *= 1000
			if measure.Round(abs/scale) < 1000 {
				break
			}
		}
	}
	return strings.TrimSpace(measure.Quantity(v/scale, "") + " " + prefix + unit)
}

// arrow prints a change: "75.71 µs → 82.40 µs".
func arrow(base, head float64, unit string) string {
	return amount(base, unit) + " → " + amount(head, unit)
}

// times prints a ratio: "+10.0 %", "-3.20 %", "×5.184".
func times(r float64) string {
	switch {
	case math.IsInf(r, 0):
		return "×∞"
	case r >= 2:
		return "×" + amount(r, "")
	}
	return measure.Change(r - 1)
}

// The titles and the addresses were looked up in copies of the published pages: the Profiling Guide of Nsight Compute
// 2026.1 and the Best Practices Guide of CUDA 12.4. The numbers of sections change from release to release, titles and
// fragments have not.

// profiling is a section of Nsight Compute's Profiling Guide, called Kernel Profiling Guide until 2024.
func profiling(title, fragment string) result.Guide {
	return result.Guide{Title: "Nsight Compute Profiling Guide, " + title,
		Link: result.Documentation + "nsight-compute/ProfilingGuide/index.html#" + fragment}
}

// practices is a section of the CUDA C++ Best Practices Guide.
func practices(title, fragment string) result.Guide {
	return result.Guide{Title: "CUDA C++ Best Practices Guide, " + title,
		Link: result.Documentation + "cuda/cuda-c-best-practices-guide/index.html#" + fragment}
}

// sectionsAndRules is the page that says what a section of a report shows.
func sectionsAndRules(section string) result.Guide {
	return profiling("Metric Collection, Sections and Rules: "+section, "sections-and-rules")
}

var (
	hardwareModel = profiling("Metrics Guide, Hardware Model", "hardware-model") // waves
	stallReasons  = profiling("Metrics Reference, Warp Stall Reasons", "warp-stall-reasons")
	clockControl  = profiling("Reproducibility, Clock Control", "clock-control")
	l1Table       = profiling("Memory Tables, L1/TEX Cache", "l1-tex-cache")
	l2Table       = profiling("Memory Tables, L2 Cache", "l2-cache")
	deviceTable   = profiling("Memory Tables, Device Memory", "device-memory")

	coalesced = practices("Device Memory Spaces, Coalesced Access to Global Memory",
		"coalesced-access-to-global-memory")
	memoryBanks   = practices("Device Memory Spaces, Shared Memory and Memory Banks", "shared-memory-and-memory-banks")
	localMemory   = practices("Device Memory Spaces, Local Memory", "local-memory")
	pressure      = practices("Device Memory Spaces, Register Pressure", "register-pressure")
	calculating   = practices("Execution Configuration Optimizations, Calculating Occupancy", "calculating-occupancy")
	sharedEffects = practices("Execution Configuration Optimizations, Effects of Shared Memory",
		"effects-of-shared-memory")
	arithmetic = practices("Instruction Optimization, Arithmetic Instructions", "arithmetic-instructions")
	branching  = practices("Control Flow, Branching and Divergence", "branching-and-divergence")
)
