package nsys

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestGPUMetricNames(t *testing.T) {
	for name, want := range map[string]string{
		"SMs Active [Throughput %]":                       "sm_active",
		"SM Issue [Throughput %]":                         "sm_issue",
		"Tensor Active [Throughput %]":                    "tensor_active",
		"Tensor Active / FP16 Active [Throughput %]":      "tensor_active", // before Ampere
		"DRAM Read Bandwidth [Throughput %]":              "dram_read",
		"DRAM Write Bandwidth [Throughput %]":             "dram_write",
		"PCIe RX Throughput [Throughput %]":               "pcie_rx",
		"NVLink TX Responses User Data [Throughput %]":    "nvlink_tx",
		"NVLink RX Requests Protocol Data [Throughput %]": "",
		"GPC Clock Frequency [MHz]":                       "",
		"SMs Active [Avg]":                                "",
		"Unallocated Warps in Active SMs [Throughput %]":  "",
		"Compute Warps in Flight [Avg Warps per Cycle]":   "",
		"":                         "",
		"DRAM Read Bandwidth":      "", // its unit is not known
		"GR Active [Throughput %]": "",
		"Vertex/Tess/Geometry Warps in Flight [Throughput]": "",
	} {
		if m, ok := gpuMetric(name); m.Name != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", name, m.Name, want)
		}
	}
}

// The recording of an H100 holds what its README says.
func TestGPUMetricsRecording(t *testing.T) {
	traces, err := Read(t.Context(), filepath.Join("..", "..", "..", "..", "testdata", "h100", "gpu-metrics.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	s := traces[0].Sampling
	if s == nil || s.Period != 100_002 || len(s.Spans) != 389 || len(s.Metrics) != 7 {
		t.Fatalf("sampling %+v", s)
	}
	// A kernel of 155 µs that has the GPU for itself: while it runs the SMs are active.
	sgemm := slices.IndexFunc(traces[0].Kernels, func(k model.KernelInfo) bool { return k.Subject.Short() == "sgemm" })
	var windows []model.Interval
	for _, l := range traces[0].Launches {
		if int(l.Kernel) == sgemm {
			windows = append(windows, model.Interval{Start: l.Start, End: l.End})
		}
	}
	if mean, n := s.Mean(slices.Index(s.Metrics, measure.SMActive), windows); n < 20 || mean < 99 {
		t.Errorf("SMs active %v %% of the time in %d samples inside sgemm", mean, n)
	}
}

func TestGPUMetrics(t *testing.T) {
	const one, two = int64(1)<<48 | 1<<32, int64(1)<<48 | 1<<32 | 1 // GPUs 0 and 1
	statements := []string{
		"CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, " +
			"metricName TEXT)",
		"CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, metricId INTEGER, value " +
			"INTEGER)",
	}
	for _, gpu := range []int64{one, two} {
		for id, name := range []string{"GPC Clock Frequency [MHz]", "SMs Active [Throughput %]",
			"NVLink RX Requests User Data [Throughput %]", "NVLink RX Responses User Data [Throughput %]"} {
			statements = append(statements,
				fmt.Sprintf("INSERT INTO TARGET_INFO_GPU_METRICS VALUES (%d, 0, '', %d, '%s')", gpu, id, name))
		}
	}
	sample := func(at, gpu int64, values ...int64) {
		for id, v := range values {
			statements = append(statements, fmt.Sprintf("INSERT INTO GPU_METRICS VALUES (0, %d, %d, %d, %d)", at, gpu,
				id, v))
		}
	}
	for i, at := range []int64{-100, 0, 100, 200, 700, 800} { // between 200 and 700 samples were lost
		sample(at, one, 1_000_000, 10*int64(i), 3, 4)
		sample(at, two, 1_000_000, 99)
	}
	s := read1(t, with(statements...)...)[1].Sampling
	if s == nil {
		t.Fatal("nothing sampled")
	}
	want := &model.Sampling{
		Period: 100,
		Spans: []model.Interval{{Start: -100, End: 0}, {Start: 0, End: 100}, {Start: 100, End: 200},
			{Start: 700, End: 800}},
		Metrics: []measure.Metric{measure.SMActive, measure.NVLinkRX},
		Values:  [][]float64{{0, 10, 20, 40}, {7, 7, 7, 7}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("the process used GPU 0 alone (-want +got):\n%s", diff)
	}
	if s := read1(t, base...)[1].Sampling; s != nil {
		t.Errorf("a recording without the table gives %+v", s)
	}
	if s := read1(t, with(statements[0], statements[1])...)[1].Sampling; s != nil {
		t.Errorf("empty tables give %+v", s)
	}
	// A cell that is missing is no zero.
	statements = append(statements, "DELETE FROM GPU_METRICS WHERE metricId = 1 AND timestamp = 100")
	s = read1(t, with(statements...)...)[1].Sampling
	if v := s.Values[0][2]; !math.IsNaN(v) {
		t.Errorf("the missing value is %v", v)
	}
	if mean, n := s.Mean(0, []model.Interval{{Start: 0, End: 200}}); mean != 10 || n != 1 {
		t.Errorf("mean %v of %d", mean, n)
	}
	if mean, n := s.Mean(0, []model.Interval{{Start: 10, End: 105}}); !math.IsNaN(mean) || n != 0 {
		t.Errorf("no sample lies in the window, and its mean is %v of %d", mean, n)
	}
}
