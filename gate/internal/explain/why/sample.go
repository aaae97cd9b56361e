package why

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
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
	var out []string
	for _, m := range needs {
		if math.IsNaN(p.base.get(m)) || math.IsNaN(p.head.get(m)) {
			out = append(out, m.Name)
		}
	}
	return out
}

// ratio is head over base: 1 where both are zero, infinite where only the base is.
func (p pair) ratio(m measure.Metric) float64 { return ratio(p.base.get(m), p.head.get(m)) }

func ratio(base, head float64) float64 {
	if base == 0 && head == 0 {
		return 1
	}
	return head / base
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
	s, b, h := p.arrow(m, m.Unit), p.base.get(m), p.head.get(m)
	if r := ratio(b, h); m.Unit != "%" && b > 0 && r != 1 {
		s += ", " + times(r)
	}
	return s
}

// told is the metric's name and change, without the ratio.
func (p pair) told(m measure.Metric) string {
	unit := m.Unit
	if unit == "FLOP" { // which the name says
		unit = "count"
	}
	return label(m) + " " + p.arrow(m, unit)
}

// arrow is the metric's change in a unit.
func (p pair) arrow(m measure.Metric, unit string) string {
	return arrow(p.base.get(m), p.head.get(m), unit)
}

// grown is [pair.told] with the ratio where there is one.
func (p pair) grown(m measure.Metric) string {
	r := p.ratio(m)
	if p.base.get(m) > 0 {
		return p.told(m) + " (" + times(r) + ")"
	}
	return p.told(m)
}
