package nsys

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// gpuMetricNames are the metrics that are read, by prefix and content of their names: numbers follow the set of metrics
// and the driver, names do not. NVLink counts requests and responses apart, as parts of one peak.
var gpuMetricNames = []struct {
	prefix, holds string
	metric        measure.Metric
}{
	{"SMs Active", "", measure.SMActive}, {"SM Active", "", measure.SMActive},
	{"SM Issue", "", measure.SMIssue},
	{"Tensor Active", "", measure.TensorActive},
	{"DRAM Read", "", measure.DRAMRead}, {"DRAM Write", "", measure.DRAMWrite},
	{"PCIe RX", "", measure.PCIeRX}, {"PCIe TX", "", measure.PCIeTX},
	{"NVLink RX", "User Data", measure.NVLinkRX}, {"NVLink TX", "User Data", measure.NVLinkTX},
}

// gpuMetric finds the metric of a name as nsys writes it, with its unit in brackets: "SMs Active [Throughput %]". Only
// names in per cent of the peak are metrics.
func gpuMetric(name string) (measure.Metric, bool) {
	for _, x := range gpuMetricNames {
		if strings.HasPrefix(name, x.prefix) && strings.Contains(name, x.holds) && strings.HasSuffix(name, "%]") {
			return x.metric, true
		}
	}
	return measure.Metric{}, false
}

type gpuSample struct {
	at     int64
	values []float64 // by measure.GPUMetrics; NaN where the GPU does not count it
}

// readGPUMetrics reads the samples of every GPU.
func (r *reader) readGPUMetrics() error {
	columns := []string{"timestamp", "typeId", "metricId", "value"}
	if err := r.db.require(gpuMetricTable, columns...); err != nil || r.db.tables[gpuMetricTable] == nil {
		return err
	}
	type id struct{ typeID, metric int64 }
	index := make(map[id]int) // in measure.GPUMetrics
	err := r.db.scan(gpuMetricNameTable, []string{"typeId", "metricId", "metricName"}, func(x *row) {
		if m, ok := gpuMetric(x.text(2)); ok {
			index[id{x.intOr(0, 0), x.intOr(1, 0)}] = slices.Index(measure.GPUMetrics, m)
		}
	})
	if err != nil || len(index) == 0 {
		return err
	}
	r.samples = make(map[int64][]gpuSample)
	return r.db.scan(gpuMetricTable, columns, func(x *row) {
		typeID := x.int(1)
		m, ok := index[id{typeID, x.int(2)}]
		if !ok {
			return
		}
		gpu := typeID & 0xFF // as TARGET_INFO_GPU numbers it
		s := r.samples[gpu]
		// A sample is one row a metric, one after the other.
		if at := x.int(0); len(s) == 0 || s[len(s)-1].at != at {
			s = append(s, gpuSample{at, slices.Repeat([]float64{math.NaN()}, len(measure.GPUMetrics))})
			r.samples[gpu] = s
		}
		if v := &s[len(s)-1].values[m]; math.IsNaN(*v) {
			*v = float64(x.int(3))
		} else {
			*v += float64(x.int(3))
		}
	})
}

// sampling gives the samples of the GPUs with kernels of a process, nil if there are none. A sample covers the time
// from its timestamp to the next. On an H100 at 10 kHz the SMs' activity fits the kernels in that interval to within 4
// of 100, in the interval before to within 40.
func (r *reader) sampling(t *model.Trace) *model.Sampling {
	if len(r.samples) == 0 {
		return nil
	}
	var used []int64
	for _, number := range model.Devices(t.Launches) {
		d := int64(number)
		if g, ok := r.facts.find(device{int64(t.Process), d}); ok {
			d = g.id
		}
		used = measure.Once(used, d)
	}
	type sample struct {
		model.Interval
		values []float64
	}
	var samples []sample
	out := &model.Sampling{}
	for _, d := range used {
		var own []int64
		for i := 1; i < len(r.samples[d]); i++ {
			own = append(own, r.samples[d][i].at-r.samples[d][i-1].at)
		}
		if len(own) == 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(own))
		period := sorted[len(sorted)/2]
		out.Period = max(out.Period, period)
		for i, gap := range own {
			if gap > 0 && 2*gap < 3*period { // else samples between them were lost
				x := r.samples[d][i]
				samples = append(samples, sample{model.Interval{Start: x.at, End: x.at + gap}, x.values})
			}
		}
	}
	if len(samples) == 0 {
		return nil
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.Start, b.Start) })
	out.Spans = measure.Map(samples, func(x sample) model.Interval { return x.Interval })
	for m, metric := range measure.GPUMetrics {
		column, some := make([]float64, len(samples)), false
		for i, x := range samples {
			column[i] = x.values[m]
			some = some || !math.IsNaN(column[i])
		}
		if some {
			out.Metrics, out.Values = append(out.Metrics, metric), append(out.Values, column)
		}
	}
	return out
}
