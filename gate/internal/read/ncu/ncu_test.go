package ncu_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
)

const recordings = "../../../../testdata/ncu"

func open(t testing.TB, file string) *counters.Profile {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := ncu.Read(f, filepath.Base(file))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func recording(t testing.TB, name string) *counters.Profile {
	return open(t, filepath.Join(recordings, name))
}

// find is the first launch of the kernel of that short name.
func find(t testing.TB, p *counters.Profile, short string) record {
	t.Helper()
	all := records(p)
	i := slices.IndexFunc(all, func(r record) bool { return r.Subject.Short() == short })
	if i < 0 {
		t.Fatalf("%s: no kernel %s", p.Source, short)
	}
	return all[i]
}

// record is a launch of a kernel, all launches of which have the same counters.
type record struct {
	Subject           measure.Subject
	Metrics, Evidence map[string]float64
}

// records are the launches of a profile, kernel by kernel.
func records(p *counters.Profile) (out []record) {
	for _, k := range p.Kernels {
		first := len(out)
		out = append(out, record{k.Subject, map[string]float64{}, map[string]float64{}})
		for name, values := range k.Values {
			for i, v := range values {
				if first+i == len(out) {
					out = append(out, record{k.Subject, map[string]float64{}, map[string]float64{}})
				}
				to := out[first+i].Metrics
				if _, metric := measure.MetricByName(name); !metric {
					to = out[first+i].Evidence
				}
				to[name] = v
			}
		}
	}
	return out
}

func read(text string) (*counters.Profile, error) { return ncu.Read(strings.NewReader(text), "x.csv") }

// rawPage is a raw page of one launch with the named metrics: name, unit, value, name, unit, value …
func rawPage(cells ...string) string {
	header, units,
		row := `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"`,
		`"","","","","","","","","","",""`, `"0","17","app","host","k(int)","1","7","(64, 1, 1)","(2, 1, 1)","0","9.0"`
	for i := 0; i < len(cells); i += 3 {
		header += `,"` + cells[i] + `"`
		units += `,"` + cells[i+1] + `"`
		row += `,"` + cells[i+2] + `"`
	}
	return header + "\n" + units + "\n" + row + "\n"
}

func TestReadRaw(t *testing.T) {
	p := recording(t, "base.raw.csv")
	if p.GPU != "NVIDIA H200" || p.Devices != 1 || p.Launches != 12 {
		t.Fatalf("GPU %q, %d devices, %d launches", p.GPU, p.Devices, p.Launches)
	}
	r := find(t, p, "sgemm")
	if want := "sgemm(int, int, int, const float *, const float *, float *)"; r.Subject.Name != want ||
		r.Subject.Geometry() != "32x32x1/32x32x1" {
		t.Errorf("subject %+v", r.Subject)
	}
	for name, want := range map[string]float64{
		"ncu_time": 155744, "cycles": 308060, "sm_clock": 1975779163.24, "sm_throughput": 70.77,
		"memory_throughput": 84.39,
		"dram_bytes":        5247488 + 0, "dram_bandwidth": 33693034723.65, "dram_throughput": 0.70,
		"l1_hit_rate":        1.35,
		"l2_hit_rate":        91.93,
		"achieved_occupancy": 93.53, "theoretical_occupancy": 100, "limit_registers": 2, "limit_shared": 3,
		"limit_warps": 2,
		"registers":   32, "static_shared": 8192, "dynamic_shared": 0, "local_loads": 0, "local_stores": 0,
		"instructions": 63635456,
		"waves":        3.88, "load_sectors": 4, "store_sectors": 4, "tensor_ops": 0, "global_bytes": 5373952 * 32,
	} {
		if got, ok := r.Metrics[name]; !ok || got != want {
			t.Errorf("%s = %v, %v; want %v", name, got, ok, want)
		}
	}
	// 1024 × 1024 × 640 multiply-adds; the page has them a cycle, to two decimals.
	if got, want := r.Metrics["flops_fp32"], 2.0*1024*1024*640; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("flops_fp32 = %v, want %v", got, want)
	}
	if got := r.Metrics["peak_dram"]; math.Abs(got/4.8106e12-1) > 1e-3 {
		t.Errorf("peak_dram = %v", got)
	}
}

// Scaled and base units are two ways to print one report.
func TestScaledUnits(t *testing.T) {
	base, scaled := recording(t, "base.raw.csv"), recording(t, "scaled.raw.csv")
	for i := range records(base) {
		b, s := records(base)[i], records(scaled)[i]
		if b.Subject != s.Subject || len(b.Metrics) != len(s.Metrics) {
			t.Fatalf("launch %d: %v with %d metrics, %v with %d", i, b.Subject, len(b.Metrics), s.Subject,
				len(s.Metrics))
		}
		for _, m := range measure.Metrics {
			x, ok := b.Metrics[m.Name]
			y, also := s.Metrics[m.Name]
			if !ok && !also {
				continue
			}
			if m.Exact && x != y || math.Abs(x-y) > 0.006*math.Max(1, math.Abs(x)) &&
				!strings.HasPrefix(m.Name, "flops_") {
				t.Errorf("launch %d, %s: %v in base units, %v scaled", i, m.Name, x, y)
			}
		}
		if len(b.Evidence) != len(s.Evidence) {
			t.Errorf("launch %d: %v in base units, %v scaled", i, b.Evidence, s.Evidence)
		}
	}
}

// The details page says the same as the raw page as far as its rounding goes, and refuses what it rounded away.
func TestReadDetails(t *testing.T) {
	raw, details := find(t, recording(t, "base.raw.csv"), "sgemm"), find(t, recording(t, "base.details.csv"), "sgemm")
	if len(details.Metrics) < 20 {
		t.Errorf("%d metrics: %v", len(details.Metrics), details.Metrics)
	}
	for name, got := range details.Metrics {
		if want := raw.Metrics[name]; math.Abs(got-want) > 0.01*math.Max(1, want) {
			t.Errorf("%s = %v, the raw page says %v", name, got, want)
		}
	}
	if v, ok := details.Metrics[measure.StaticShared.Name]; ok {
		t.Errorf("static shared memory of 8.19 Kbyte: %v", v)
	}
}

// Every layout of the details page that a version or an option makes.
func TestDetailsLayouts(t *testing.T) {
	id := `"0","17","app","host","k(int)","1","7","(64, 1, 1)","(2, 1, 1)","0","9.0",`
	old := `"0","17","app","host","k(int)","1","7",`
	head := `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name",`
	rule := `,"Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"`
	nvtxHead := strings.Replace(head, `"Kernel Name"`,
		`"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",`+
			`"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Kernel Name"`, 1)
	nvtx := strings.Replace(id, `"k(int)"`, `"1 ""<default domain>:step:none""","","k(int)"`, 1)
	metric := `"GPU Speed Of Light Throughput","Duration","us","2.88"`
	for _, tt := range []struct {
		name, text string
		grid       string
	}{
		{"12 columns, before 2023",
			`"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"` +
				"\n" + old + metric, "0x0x0"},
		{"15 columns", head + `"Metric Name","Metric Unit","Metric Value"` + "\n" + id + metric, "2x1x1"},
		{"20 columns, rows of 16", head + `"Metric Name","Metric Unit","Metric Value"` + rule + "\n" + id + metric +
			",", "2x1x1"},
		{"a rule", head + `"Metric Name","Metric Unit","Metric Value"` + rule + "\n" + id + metric + ",\n" +
			id + `"SpeedOfLight","","","","SOLBottleneck","INF","two` + "\n" + `lines","",""`, "2x1x1"},
		{"21 columns, rows of 17", head + `"Body Item Label","Metric Name","Metric Unit","Metric Value"` + rule + "\n" +
			id + `"GPU Speed Of Light Throughput","","Duration","usecond","2.88",`, "2x1x1"},
		{"22 columns, rows of 18", nvtxHead + `"Metric Name","Metric Unit","Metric Value"` + rule + "\n" + nvtx +
			metric + ",", "2x1x1"},
		{"real names", head + `"Metric Name","Metric Unit","Metric Value"` + "\n" + id +
			`"Any","gpu__time_duration.sum","msecond","0.00288"`, "2x1x1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := read(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if p.Launches != 1 {
				t.Fatalf("%d launches", p.Launches)
			}
			r := records(p)[0]
			if v := r.Metrics[measure.ReplayTime.Name]; math.Abs(v-2880) > 1e-9 {
				t.Errorf("ncu_time = %v", v)
			}
			if r.Subject.Name != "k(int)" || r.Subject.Grid.String() != tt.grid {
				t.Errorf("%+v", r.Subject)
			}
		})
	}
}

// Text around the tables, and the encoding of the file, do not matter.
func TestSurroundings(t *testing.T) {
	page := rawPage("gpu__time_duration.sum", "ns", "81,472", "smsp__inst_executed.sum", "inst", "9")
	utf := func(s string) string {
		b := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return string(b)
	}
	for _, tt := range []struct {
		name, text string
		launches   int
	}{
		{"alone", page, 1},
		{"preamble", "==PROF== Connected to process 1 (/usr/bin/x)\nloss, 0.5\n==PROF== Disconnected from process 1\n" +
			page, 1},
		{"glued", "done." + page + "==PROF== Disconnected\nbye\n", 1},
		{"two tables", page + "between\n" + page, 2},
		{"two tables without a line between", page + page, 2},
		{"carriage returns and a byte order mark", "\uFEFF" + strings.ReplaceAll(page, "\n", "\r\n"), 1},
		{"UTF-16", utf(page), 1},
		{"no quotes", strings.ReplaceAll(strings.NewReplacer(`"81,472"`, "81472", `"(64, 1, 1)"`, "'64'", `"(2, 1, 1)"`,
			"'2'").Replace(page), `"`, ""), -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := read(tt.text)
			if tt.launches < 0 {
				if err == nil || !strings.Contains(err.Error(), "(X, Y, Z)") {
					t.Errorf("got %v", err) // the table was found, and its geometry is not one
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Launches != tt.launches {
				t.Fatalf("%d launches", p.Launches)
			}
			for _, r := range records(p) {
				if r.Metrics["ncu_time"] != 81472 || r.Metrics["instructions"] != 9 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	good := rawPage("gpu__time_duration.sum", "ns", "81,472")
	lines := strings.SplitAfter(good, "\n")
	const perm = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "x.csv holds no table of ncu"},
		{"text", "hello\nworld\n", "x.csv holds no table of ncu"},
		{"no kernels", "==WARNING== No kernels were profiled.\nAvailable Kernels:\n1. k\n",
			"x.csv:1: ncu profiled no kernel; compare the kernel filter"},
		{"no kernels by NVTX", "==WARNING== No kernels were profiled.\n==WARNING== Note that specified NVTX include " +
			"expressions match only push/pop ranges.\n",
			"x.csv:1: ncu profiled no kernel, because no NVTX range matched"},
		{"permission, the program goes on", "==PROF== Connected to process 1\n" + perm +
			"==PROF== Disconnected from process 1\n",
			"x.csv:2: ncu may not read the GPU's performance counters (ERR_NVGPUCTRPERM)"},
		{"permission, the program is ended",
			perm + "==PROF== Trying to shutdown target application\n==WARNING== No kernels were profiled.\n",
			"x.csv:1: ncu may not read"},
		{"permission beside a table", perm + good, "x.csv:1: ncu may not read"},
		{"metric", "==ERROR== Failed to find metric foo\n", "x.csv:1: ncu does not know a metric"},
		{"program", good + "==ERROR== The application returned an error code (1).\n",
			"x.csv:4: the program failed under ncu"},
		{"other", "==ERROR== Something at /home/me\n" + good, "x.csv:1: ncu reports an error; read"},
		{"header alone", lines[0], "x.csv:1: the table holds no kernel"},
		{"units alone", lines[0] + lines[1], "x.csv:1: the table holds no kernel"},
		{"no units", lines[0] + lines[2], "x.csv:2: the row of units is missing"},
		{"units twice", lines[0] + lines[1] + lines[1] + lines[2], "x.csv:3: a second row of units"},
		{"cut row", strings.Replace(good, `,"81,472"`, "", 1), "x.csv:3: the row has 11 cells, the header 12"},
		{"cut in a cell", good[:len(good)-3], "x.csv:3: the output ends in the middle of a cell: it is cut"},
		{"long row", strings.TrimSuffix(good, "\n") + `,"1"` + "\n", "x.csv:3: the row has 13 cells, the header 12"},
		{"row outside", good + "interrupted\n" + lines[2], "x.csv:5: a row of a table outside of any table"},
		{"column twice", rawPage("a", "", "1", "a", "", "2"), `x.csv:1: column "a" is there twice`},
		{"no name", strings.Replace(good, `"Kernel Name"`, `"Name"`, 1), `x.csv:1: no column "Kernel Name"`},
		{"empty name", strings.Replace(good, `"k(int)"`, `""`, 1), "x.csv:3: the launch has no kernel name"},
		{"geometry", strings.Replace(good, "(2, 1, 1)", "(2.048, 1, 1)", 1),
			`x.csv:3: column "Grid Size": "(2.048, 1, 1)": not of the form`},
		{"huge geometry", strings.Replace(good, "(2, 1, 1)", "(99999999999, 1, 1)", 1), "larger than any grid"},
		{"decimal comma", rawPage("a", "%", "65,77"),
			`x.csv:3: column "a": "65,77": the number is written with a decimal comma`},
		{"decimal comma of zero", rawPage("a", "%", "0,123"), `"0,123": the number is written with a decimal comma`},
		{"points between thousands", rawPage("a", "ns", "27.595.520"),
			`"27.595.520": the number is written with a decimal comma, or with other signs`},
		{"both", rawPage("a", "ns", "1.024,50"), `"1.024,50": the number is written`},
		{"ambiguous", rawPage("gpu__time_duration.sum", "ns", "117.344"),
			`x.csv:3: column "gpu__time_duration.sum": "117.344": the number is ambiguous`},
		{"German beside whole numbers", rawPage("a", "", "3", "b", "ns", "117.344", "c", "%", "12,5"),
			`"12,5": the number is written`},
		{"summary", `"Process ID","Kernel Name","Invocations","Metric Name","Minimum"` + "\n",
			"x.csv:1: a summary (--print-summary)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := read(tt.text)
			var refusal *model.Refusal
			if !errors.As(err, &refusal) || refusal.Next == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v\nwant %s", p, err, tt.want)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		unit, text string
		number     float64
		base       string
	}{
		{"ns", "81,472", 81472, "ns"},
		{"us", "81.472000", 81472, "ns"},
		{"usecond", "81.47", 81470, "ns"},
		{"nsecond", "10,776,576", 10776576, "ns"},
		{"s", "1.5", 1.5e9, "ns"},
		{"Tbyte/s", "3.472713", 3.472713e12, "byte/s"},
		{"Gbyte/s", "60.80", 60.8e9, "byte/s"},
		{"Kbyte", "175.10", 175100, "byte"},
		{"Kbyte/block", "8.192000", 8192, "byte/block"},
		{"Ghz", "1.98", 1.98e9, "hz"},
		{"cycle/nsecond", "1.98", 1.98e9, "hz"},
		{"cycle/usecond", "877.63", 877.63e6, "hz"},
		{"sector/ns", "175.2996", 175.2996e9, "sector/s"},
		{"%/Kbyte", "12.5", 0.0125, "%/byte"},
		{"inst/cycle", "1.63", 1.63, "inst/cycle"},
		{"register/thread", "255", 255, "register/thread"},
		{"", "2520000.00", 2520000, ""},
		{"", "1e3", 1000, ""},
		{"", "-1", -1, ""},
		{"furlong", "2.5", 2.5, "furlong"},
		{"us", "117.344", 117344, "ns"}, // with the evidence of the other cell
	} {
		if v, base := ncu.Number(tt.unit, tt.text); math.Abs(v/tt.number-1) > 1e-12 || base != tt.base {
			t.Errorf("%s %s: %v %s, want %v %s", tt.text, tt.unit, v, base, tt.number, tt.base)
		}
		p, err := read(rawPage("gpu__time_duration.sum", tt.unit, tt.text, "evidence", "%", "0.57"))
		if err != nil {
			t.Errorf("%s %s: %v", tt.text, tt.unit, err)
			continue
		}
		if v := records(p)[0].Metrics[measure.ReplayTime.Name]; tt.number > 0 && math.Abs(v/tt.number-1) > 1e-12 {
			t.Errorf("%s %s: a duration of %v, want %v", tt.text, tt.unit, v, tt.number)
		}
	}
}

// A cell without a number gives no metric.
func TestNeverZero(t *testing.T) {
	for _, text := range []string{"", "n/a", "nan", "NaN", "(nan)", "no data", "inf", "-nan", "PolicySpread", "1e999",
		"0x10", "-5"} {
		p, err := read(rawPage("gpu__time_duration.sum", "ns", text, "smsp__inst_executed.sum", "inst", "9"))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if v, ok := records(p)[0].Metrics[measure.ReplayTime.Name]; ok {
			t.Errorf("%q: %v", text, v)
		}
		if p.Cells != 2 {
			t.Errorf("%q: counted %d of 2 cells", text, p.Cells)
		}
	}
}

// A later formula takes the place of one whose metrics are no numbers, and one of several names is enough.
func TestFormulas(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cells  []string
		metric measure.Metric
		want   float64 // NaN for none
	}{
		{"read and write", []string{"dram__bytes_read.sum", "Mbyte", "2", "dram__bytes_write.sum", "Kbyte", "500"},
			measure.DRAMBytes, 2.5e6},
		{"newer names", []string{"dram__bytes_op_read.sum", "byte", "2", "dram__bytes_op_write.sum", "byte", "3"},
			measure.DRAMBytes, 5},
		{"half of it", []string{"dram__bytes_read.sum", "byte", "2"}, measure.DRAMBytes, math.NaN()},
		{"the other", []string{"dram__bytes.sum", "byte", "n/a", "dram__bytes_read.sum", "byte", "2",
			"dram__bytes_write.sum", "byte", "3"}, measure.DRAMBytes, 5},
		{"rate and time", []string{"dram__bytes.sum.per_second", "Gbyte/s", "2", "gpu__time_duration.sum", "us", "3"},
			measure.DRAMBytes, 6000},
		{"fused", []string{"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", "inst", "1",
			"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", "inst", "2",
			"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "inst", "3"}, measure.FP64, 9},
		{"half precision", []string{"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", "inst", "1",
			"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", "inst", "2",
			"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", "inst", "3"}, measure.FP16, 18},
		{"tensor types", []string{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "", "5",
			"sm__ops_path_tensor_src_int8.sum", "", "7",
			"sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum", "", "5"}, measure.TensorOps, 12},
		{"tensor total", []string{"sm__ops_path_tensor_src_fp16.sum", "", "5",
			"sm__ops_path_tensor_src_fp16_dst_fp32.sum",
			"", "5"}, measure.TensorOps, 5},
		{"tensor unknown", []string{"sm__ops_path_tensor_src_fp16.sum", "", "5", "sm__ops_path_tensor_src_fp8.sum", "",
			"n/a"}, measure.TensorOps, math.NaN()},
		{"older name", []string{"smsp__inst_executed_op_local_ld.sum", "inst", "4"}, measure.LocalLoads, 4},
		{"no requests", []string{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector", "0",
			"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "", "0"}, measure.LoadSectors, math.NaN()},
		{"rounded count", []string{"launch__shared_mem_per_block_static", "Kbyte/block", "8.19"}, measure.StaticShared,
			math.NaN()},
		{"scaled count", []string{"launch__shared_mem_per_block_static", "Kbyte/block", "8.192000"},
			measure.StaticShared, 8192},
	} {
		p, err := read(rawPage(tt.cells...))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, ok := records(p)[0].Metrics[tt.metric.Name]
		if ok == math.IsNaN(tt.want) || ok && math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, ok, tt.want)
		}
	}
}

// Every metric of the vocabulary has counters to collect, and every counter gives back its metric.
func TestCounters(t *testing.T) {
	for _, m := range append(slices.Clone(measure.Throughput), measure.Registers, measure.StaticShared,
		measure.DynamicShared) {
		names := ncu.Counters(m)
		if len(names) == 0 {
			t.Errorf("%s comes from no counter", m.Name)
			continue
		}
		if m == measure.TensorOps {
			continue
		}
		var cells []string
		for _, n := range names {
			cells = append(cells, n, "", "2")
		}
		p, err := read(rawPage(cells...))
		if err != nil {
			t.Fatal(err)
		}
		if v := records(p)[0].Metrics[m.Name]; v <= 0 {
			t.Errorf("%s: %v", m.Name, v)
		}
	}
}

func TestRepeatedCells(t *testing.T) {
	head := `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"` + "\n"
	id := `"0","17","app","host","k(int)","1","7","(64, 1, 1)","(2, 1, 1)","0","9.0",`
	rough := id + `"GPU Speed Of Light Throughput","Duration","us","2.88"` + "\n"
	fine := id + `"Command line profiler metrics","gpu__time_duration.sum","ns","2,881.00"` + "\n"
	for _, text := range []string{head + rough + fine, head + fine + rough} {
		p, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := records(p)[0].Metrics["ncu_time"]; got != 2881 || p.Cells != 2 {
			t.Errorf("ncu_time = %v of %d cells", got, p.Cells)
		}
	}
	if _, err := read(head + fine + strings.Replace(rough, "2.88", "9.88", 1)); err == nil ||
		!strings.Contains(err.Error(), `line 2 says "2,881.00"`) {
		t.Errorf("two answers: %v", err)
	}
	if _, err := read(head + fine + strings.Replace(rough, "k(int)", "j(int)", 1)); err == nil ||
		!strings.Contains(err.Error(), "another kernel than on line 2") {
		t.Errorf("two kernels: %v", err)
	}
}

func TestFind(t *testing.T) {
	p := recording(t, "base.raw.csv")
	sgemm := find(t, p, "sgemm").Subject
	other := sgemm
	other.Name = "void ns::sgemm<float>(int)"
	wider := other
	wider.Grid.X = 7
	for _, s := range []measure.Subject{sgemm, other, wider} {
		if got := p.Find(s); len(got) != 1 || got[0].Subject != sgemm || len(got[0].Values[measure.Cycles.Name]) != 2 {
			t.Errorf("%v: %v", s, got)
		}
	}
	if got := p.Find(measure.Subject{Scope: measure.ScopeKernel, Name: "none()"}); got != nil {
		t.Errorf("found %v", got)
	}
}

func TestNames(t *testing.T) {
	for raw, want := range map[string]string{
		"void unnamed>::layer_norm<float>(int)": "void (anonymous namespace)::layer_norm<float>(int)",
		"unnamed>::gemm(int)":                   "(anonymous namespace)::gemm(int)",
		"<unnamed>::gemm(int)":                  "(anonymous namespace)::gemm(int)",
		"_Z3addPfS_i":                           "add(float*, float*, int)",
	} {
		p, err := read(strings.Replace(rawPage("a", "", "1"), "k(int)", raw, 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := records(p)[0].Subject.Name; got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestSession(t *testing.T) {
	base, head := recording(t, "base.raw.csv"), recording(t, "softmax_1.10.raw.csv")
	s, err := ncu.Session(base, head)
	if err != nil {
		t.Fatal(err)
	}
	softmax := find(t, base, "softmax").Subject
	for metric, want := range map[string]model.Values{
		"instructions": {52580864, 57823744}, "ncu_time": {(75680 + 75904) / 2, (82432 + 83264) / 2},
		"registers": {31, 31},
	} {
		x, ok := s.Find(softmax, metric)
		if !ok || !cmp.Equal(x.Values, want) {
			t.Errorf("%s = %v, want %v", metric, x.Values, want)
		}
	}
	if s.GPU != "NVIDIA H200" || s.GPUs != 1 || len(s.Runs) != 2 || s.Runs[0].Launches != 12 {
		t.Errorf("%+v %+v", s.Environment, s.Runs)
	}
	back := counters.Kernels(&s)[softmax]
	if v := back.Values["instructions"]; len(v) != 2 || v[1] != 57823744 ||
		len(back.Values) != len(find(t, base, "softmax").Metrics) {
		t.Errorf("back from the session: %+v", back)
	}
	if _, err := ncu.Session(base, recording(t, "base.details.csv")); err == nil {
		t.Error("two pages made one session")
	}
	spill, err := ncu.Session(base, recording(t, "spill.raw.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if x, _ := spill.Find(find(t, base, "sgemm").Subject, "ncu_time"); !math.IsNaN(x.Values[1]) {
		t.Errorf("a kernel that one run did not have: %v", x.Values)
	}
	if _, err := ncu.Session(); err == nil {
		t.Error("no run made a session")
	}
	nothing, err := read(rawPage("l1tex__m_xbar2l1tex_read_bytes.sum", "byte", "5"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ncu.Session(nothing); err == nil || !strings.Contains(err.Error(),
		"x.csv holds none of the counters that a metric is made of") {
		t.Errorf("a page without a metric made a session: %v", err)
	}
}

// Whatever the numbers are, what is written as a raw page comes back, thousands separators or not.
func TestRawRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint32().Draw(t, "n")
		text := fmt.Sprint(n)
		if rapid.Bool().Draw(t, "grouped") {
			for i := len(text) - 3; i > 0; i -= 3 {
				text = text[:i] + "," + text[i:]
			}
		}
		name := rapid.StringMatching(`[a-z<>:]{1,8}\([a-z ,*"=]{0,8}\)`).Draw(t, "name")
		page := strings.Replace(rawPage("smsp__inst_executed.sum", "inst", text), "k(int)",
			strings.ReplaceAll(name, `"`, `""`), 1)
		p, err := read(page)
		if err != nil {
			t.Fatal(err)
		}
		if got := records(p)[0].Metrics["instructions"]; got != float64(n) {
			t.Fatalf("%s read as %v", text, got)
		}
	})
}

// The published samples and the full recordings, where this checkout has them.
func TestSamples(t *testing.T) {
	want := map[string]string{ // launches, metrics of the first one, cells; or the refusal
		"samples/ncu-details-2023.AveryClapp.csv":        "9 4 45",
		"samples/ncu-details-body-item.CodeGandee.csv":   "1 5 22",
		"samples/ncu-details.CodeGandee.csv":             "1 17 44",
		"samples/ncu-raw-b200.meinie0826.csv":            "16 11 7424",
		"samples/ncu-raw-broken.meinie0826.csv":          "the program failed under ncu",
		"samples/ncu-counter-permission.amacharla15.txt": "ERR_NVGPUCTRPERM",
		"h200/ncu/base.details.csv":                      "12 23 1044",
		"h200/ncu/base.raw.base.csv":                     "12 44 26724",
		"h200/ncu/base.raw.csv":                          "12 44 26724",
		"h200/ncu/softmax_1.10.raw.base.csv":             "12 44 26724",
		"h200/ncu/spill.details.csv":                     "12 23 1044",
		"h200/ncu/spill.raw.base.csv":                    "12 44 26724",
		"h200/ncu/spill.raw.csv":                         "12 44 26724",
		"h200/ncu/torch.raw.csv":                         "4 17 2220",
		"h200/ncu/empty.raw.csv":                         "no NVTX range matched",
	}
	const shared = "../../../../../shared"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the published samples are not in this checkout")
	}
	for file, want := range want {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(filepath.Join(shared, file))
			if err != nil {
				t.Skip(err)
			}
			defer f.Close()
			p, err := ncu.Read(f, filepath.Base(file))
			if err != nil {
				if !strings.Contains(err.Error(), want) {
					t.Error(err)
				}
				return
			}
			if got := fmt.Sprintf("%d %d %d", p.Launches, len(records(p)[0].Metrics), p.Cells); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"base.raw.csv", "base.details.csv"} {
		data, err := os.ReadFile(filepath.Join(recordings, name))
		if err != nil {
			f.Fatal(err)
		}
		lines := strings.SplitAfterN(string(data), "\n", 5)
		f.Add(strings.Join(lines[:4], ""))
	}
	f.Add(rawPage("gpu__time_duration.sum", "ns", "81,472", "a", "Kbyte/block", "8.19"))
	f.Add("==WARNING== No kernels were profiled.\n")
	f.Add(rows(`,ID,Process ID,Kernel Name,Block Size,gpu__time_duration.sum`, `0,,,,,ns`,
		`1,0.0,17.0,"k(int, float *)","(256, 1, 1)","81,472"`))
	f.Add(rows(whoRange+metricEnd+speedEnd,
		`"0","42","python","h",""," ""0:<default domain>:a:none:none:none:none:none:none"" ","range","1","n/a","0","10.0",`+
			asked+`"gpu__time_duration.avg","ns","123",`))
	f.Add(rows(who2023+metricEnd, is2023+sol+`"Duration (gpu__time_duration.sum)","ns","2,881"`, "..."))
	f.Add("\xff\xfeI\x00")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := read(text)
		if err != nil {
			var refusal *model.Refusal
			if !errors.As(err, &refusal) || refusal.Reason == "" || refusal.Next == "" {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		if p.Launches == 0 {
			t.Fatal("neither a launch nor a refusal")
		}
		for _, r := range records(p) {
			for name, v := range r.Metrics {
				if m, ok := measure.MetricByName(name); !ok || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("%s = %v (%v)", name, v, m)
				}
			}
		}
		if s, err := ncu.Session(p); err == nil {
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// BenchmarkRead reads the raw page of many launches with 2,200 metrics each, as --set full has them.
func BenchmarkRead(b *testing.B) {
	const columns, launches = 2200, 1200
	var page strings.Builder
	row := func(cells ...string) { page.WriteString(`"` + strings.Join(cells, `","`) + "\"\n") }
	header := []string{"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
		"Block Size", "Grid Size", "Device", "CC", "gpu__time_duration.sum", "launch__registers_per_thread"}
	units := append(make([]string, len(header)-2), "ns", "register/thread")
	for i := len(header); i < columns; i++ {
		header, units = append(header, fmt.Sprintf("sm__counter_%d.sum", i)), append(units, "%")
	}
	row(header...)
	row(units...)
	cells := []string{"", "4711", "program", "127.0.0.1", "", "1", "7", "(256, 1, 1)", "(1024, 1, 1)", "0", "9.0", "",
		"32"}
	for i := range launches {
		cells = cells[:13]
		cells[0], cells[4], cells[11] = fmt.Sprint(i), fmt.Sprintf("void kernel<%d>(float *)", i%12),
			fmt.Sprint(81472+i)
		for c := len(cells); c < columns; c++ {
			cells = append(cells, fmt.Sprintf("%d.%06d", c*i%100, (c*7919+i)%1000000))
		}
		row(cells...)
	}
	text := page.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	runtime.GC()
	before, most := heap(), uint64(0)
	for b.Loop() {
		p, err := ncu.Read(&sampled{Reader: strings.NewReader(text), most: &most}, "page.csv")
		if err != nil {
			b.Fatal(err)
		}
		if p.Launches != launches {
			b.Fatalf("%d launches", p.Launches)
		}
	}
	b.ReportMetric(float64(int64(most-before))/1e6, "peak-MB")
}

func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// sampled notes the most that lay on the heap while it was read, and what was not yet collected.
type sampled struct {
	io.Reader
	reads int
	most  *uint64
}

func (s *sampled) Read(b []byte) (int, error) {
	if s.reads++; s.reads%64 == 0 {
		*s.most = max(*s.most, heap())
	}
	return s.Reader.Read(b)
}

// A duration that is no measurement is not made up for by another column of the page.
func TestBrokenDuration(t *testing.T) {
	page := func(sum string) string {
		return `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__time_duration.avg","gpu__time_duration.sum","launch__registers_per_thread"` + "\n" +
			`"","","","","","","","","","","","ns","ns","register/thread"` + "\n" +
			`"0","1","k","h","k(int)","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","100","` + sum + `","16"` + "\n"
	}
	for sum, want := range map[string]bool{"100": true, "-5": false, "nan": false, "n/a": false, "inf": false,
		"": false} {
		p, err := ncu.Read(strings.NewReader(page(sum)), "page.csv")
		if err != nil {
			t.Fatalf("%q: %v", sum, err)
		}
		if v, has := records(p)[0].Metrics[measure.ReplayTime.Name]; has != want {
			t.Errorf("%q: a duration of %v, want one: %v", sum, v, want)
		}
	}
}
