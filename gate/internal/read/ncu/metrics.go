package ncu

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
)

// formula computes a metric from ncu's: (Σ factor × term) × times ÷ over.
type formula struct {
	terms       []term
	times, over string
	names       []string // of ncu's metrics that are needed
}

type term struct {
	factor float64
	name   string
}

// formulas reads formulas as they are written in metrics.txt: "a | b + c | 32 b + 32 c | 2 b × d ÷ e", where times
// and over are those of the whole sum.
func formulas(text string) (all []formula) {
	for one := range strings.SplitSeq(text, " | ") {
		var f formula
		one, f.over, _ = strings.Cut(one, " ÷ ")
		one, f.times, _ = strings.Cut(one, " × ")
		for part := range strings.SplitSeq(one, " + ") {
			t := term{1, part}
			if factor, name, ok := strings.Cut(part, " "); ok {
				t.name = name
				t.factor, _ = strconv.ParseFloat(factor, 64)
			}
			f.terms, f.names = append(f.terms, t), append(f.names, t.name)
		}
		f.names = append(f.names, strings.Fields(f.times+" "+f.over)...)
		all = append(all, f)
	}
	return all
}

// source is a metric of nsgate, or one of [counters.Evidence], with its formulas over those of ncu, whose meaning is in
// NVIDIA's Kernel Profiling Guide, "Metrics Reference". The first formula whose metrics are all there holds: names
// differ between versions, chips and sets of sections.
type source struct {
	metric measure.Metric
	from   []formula
}

//go:embed metrics.txt
var metricsText string

// sources are those of metrics.txt: a metric a line, whose further formulas may stand on lines that begin with spaces.
// ncu's sections give operations only as rates a cycle: a fused multiply-add is two, and a half-precision instruction
// works on two numbers at once (as in ncu's own derived__…_pred_on_x2 and _x4). A sector has 32 bytes. A peak is the
// rate if every cycle issued fused multiply-adds on every lane. TensorPeak has its own way.
var sources = sync.OnceValue(func() (all []source) {
	for line := range strings.Lines(strings.ReplaceAll(metricsText, "\n  ", " ")) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		metric, known := measure.MetricByName(name)
		if !known {
			at := slices.IndexFunc(counters.Evidence, func(m measure.Metric) bool { return m.Name == name })
			metric = counters.Evidence[at]
		}
		all = append(all, source{metric, formulas(text)})
	}
	return all
})

// kept are the cells that stay in a record, but for the tensor families.
var kept = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{deviceName: true}
	for _, s := range sources() {
		for _, f := range s.from {
			for _, n := range f.names {
				names[n] = true
			}
		}
	}
	return names
})

const deviceName = "device__attribute_display_name"

// keeps reports whether a cell stays in a record.
func (b *builder) keeps(name string) bool {
	return kept()[name] || slices.Contains(b.raw, name) || strings.HasPrefix(name, tensor) &&
		(strings.HasSuffix(name, sum) || strings.HasSuffix(name, sum+peakRate))
}

const (
	sum      = ".sum"
	peakRate = ".peak_sustained_elapsed.per_second"
)

// tensor is the family of the operations of the tensor cores, one metric for each type of input. Which ones a chip has
// differs, so that they are added up as they come.
const tensor = "sm__ops_path_tensor_src_"

// joined is a metric with its formulas over the cells of a launch.
type joined struct {
	source
	raw bool    // it is a metric of ncu, as it stands
	at  [][]int // of the names of each formula, their places
}

// layout is the cells that the launches of a table have, and what follows from them.
type layout struct {
	names   []string
	metrics []joined
	tensor  [][2]int // the operations of the tensor cores by type, and their peak rate, -1 for none
	device  int      // the name of the GPU, -1 for none
}

// on joins the formulas with the cells of a launch, by their names. Launches of one table have the same ones, mostly.
func (b *builder) on(names []string) *layout {
	if b.layout != nil && slices.Equal(b.layout.names, names) {
		return b.layout
	}
	p := &layout{names: slices.Clone(names), device: slices.Index(names, deviceName)}
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	ops := tensorOps(names)
	for _, name := range ops {
		peak, known := at[name+peakRate]
		if !known {
			peak = -1
		}
		p.tensor = append(p.tensor, [2]int{at[name], peak})
	}
	join := func(of []source, x joined) {
		for _, s := range of {
			x.source, x.at = source{metric: s.metric}, nil
			for _, f := range s.from {
				places, all := make([]int, len(f.names)), true
				for i, name := range f.names {
					place, there := at[name]
					places[i], all = place, all && there
				}
				if all {
					x.from, x.at = append(x.from, f), append(x.at, places)
				}
			}
			if len(x.at) > 0 {
				p.metrics = append(p.metrics, x)
			}
		}
	}
	join(sources(), joined{})
	if len(ops) > 0 {
		join([]source{{measure.TensorOps, formulas(strings.Join(ops, " + "))}}, joined{})
	}
	for _, name := range b.raw {
		join([]source{{measure.Metric{Name: measure.RawPrefix + name}, formulas(name)}}, joined{raw: true})
	}
	b.layout = p
	return p
}

// derive adds the metrics and the evidence of a launch by its cells, and reports whether the launch has a duration.
func (p *layout) derive(to map[string][]float64, cells []value) (timed bool) {
	for i := range p.metrics {
		x := &p.metrics[i]
		v := x.value(cells)
		if x.metric.Exact {
			v = math.Round(v*exactness(x.metric)) / exactness(x.metric)
		}
		if !math.IsNaN(v) {
			to[x.metric.Name] = append(to[x.metric.Name], v)
			timed = timed || x.metric == measure.ReplayTime
		}
	}
	if peak := p.tensorPeak(cells); peak > 0 && !math.IsInf(peak, 0) {
		to[counters.TensorPeak.Name] = append(to[counters.TensorPeak.Name], peak)
	}
	return timed
}

// value is that of the first formula that can be computed, NaN where none can.
func (x *joined) value(cells []value) float64 {
	if x.raw {
		return cells[x.at[0][0]].number
	}
	for i, f := range x.from {
		// A duration that is broken is not made up for by another column.
		if v := f.compute(cells, x.at[i], x.metric.Exact); !math.IsNaN(v) || x.metric == measure.ReplayTime {
			return v
		}
	}
	return math.NaN()
}

// tensorPeak is the peak rate of the tensor cores for the operations of a launch, each type at its own peak. It is NaN
// where the peak of a type is unknown.
func (p *layout) tensorPeak(cells []value) float64 {
	var all, seconds float64
	for _, x := range p.tensor {
		if n := cells[x[0]].number; n != 0 {
			all += n
			if x[1] < 0 {
				return math.NaN()
			}
			seconds += n / cells[x[1]].number
		}
	}
	return all / seconds
}

// tensorOps lists the metrics that add up to the operations of the tensor cores. Where one is the total of others
// (src_fp16 of src_fp16_dst_fp32) only the total counts.
func tensorOps(names []string) []string {
	of := measure.Where(names, func(n string) bool { return strings.HasPrefix(n, tensor) && strings.HasSuffix(n, sum) })
	slices.Sort(of)
	return measure.Where(of, func(name string) bool {
		return !slices.ContainsFunc(of, func(total string) bool {
			return strings.HasPrefix(name, strings.TrimSuffix(total, sum)+"_")
		})
	})
}

// exactness is how much of a unit an exact metric is known to: counts are whole, ncu writes percentages to two
// decimals.
func exactness(m measure.Metric) float64 {
	return measure.Either(m.Unit == "%", 100.0, 1)
}

// compute gives the value by the cells at the places of its names, NaN where one is no amount, or is rounded and must
// be exact.
func (f formula) compute(cells []value, at []int, exact bool) (value float64) {
	for _, i := range at {
		if c := &cells[i]; math.IsNaN(c.number) || c.number < 0 || exact && c.step >= 1 {
			return math.NaN()
		}
	}
	for i, t := range f.terms {
		value += t.factor * cells[at[i]].number
	}
	if f.times != "" {
		value *= cells[at[len(f.terms)]].number
	}
	if f.over != "" {
		value /= cells[at[len(at)-1]].number
	}
	if math.IsInf(value, 0) { // a ratio to nothing does not exist
		value = math.NaN()
	}
	return value
}

// quote shows a cell, which is untrusted.
func quote(text string) string {
	return measure.Either(text == "", "nothing", measure.Quote(text))
}
