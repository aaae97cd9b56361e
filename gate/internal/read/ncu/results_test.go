package ncu_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
	"google.golang.org/protobuf/encoding/protowire"
)

// message writes a message of pairs of a field's number and its value.
func message(fields ...any) (b []byte) {
	for i := 0; i < len(fields); i += 2 {
		id := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, id, protowire.VarintType), uint64(v))
		case float32:
			b = protowire.AppendFixed32(protowire.AppendTag(b, id, protowire.Fixed32Type), math.Float32bits(v))
		case float64:
			b = protowire.AppendFixed64(protowire.AppendTag(b, id, protowire.Fixed64Type), math.Float64bits(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, id, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, id, protowire.BytesType), v)
		}
	}
	return b
}

func part(m []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(m))), m...)
}

// result is a launch with metrics, each a name's number and a value.
func result(kernel string, metrics ...[]byte) []byte {
	m := message(5, "_Z6mangled", 6, "function", 7, kernel, 10, message(1, 64, 2, 1, 3, 1), 11,
		message(1, 256, 2, 2, 3, 1))
	for _, x := range metrics {
		m = append(m, message(13, x)...)
	}
	return append(m, message(23, 7)...)
}

func metric(name int, value ...any) []byte { return message(1, name, 2, message(value...)) }

// block is a block with sources before its results, and a string table unless there are no names.
func block(names []string, sources int, results ...[]byte) []byte {
	var payload, table []byte
	for range sources {
		payload = append(payload, part([]byte("\x7fELF"))...)
	}
	for _, r := range results {
		payload = append(payload, part(r)...)
	}
	for _, n := range names {
		table = append(table, message(1, n)...)
	}
	header := message(1, sources, 2, len(results), 3, message(8, message(1, "ncu", 2, "2025.3.1.0 (build 36398880)")),
		4, table, 5, len(payload))
	return append(part(header), payload...)
}

func file(blocks ...[]byte) []byte {
	b := append([]byte("NVR\x00"), part(message(1, 7))...)
	for _, x := range blocks {
		b = append(b, x...)
	}
	return b
}

var (
	names = []string{"gpu__time_duration.sum", "launch__registers_per_thread", "device__attribute_display_name",
		"sm__throughput.avg.pct_of_peak_sustained_elapsed", "launch__device_id", "gpc__cycles_elapsed.max",
		"nobody__reads.this"}
	first = result("saxpy(float *)", metric(0, 3, 99000.0), metric(0, 3, 81472.0), metric(1, 5, 42),
		metric(2, 1, "NVIDIA H200"), metric(3, 2, float32(62.5)), metric(4, 4, 1), metric(5), metric(6, 9, 1))
)

func readReport(t testing.TB, content []byte) (*counters.Profile, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.ncu-rep")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return ncu.ReadReport(path)
}

func TestReadReport(t *testing.T) {
	// The launch of the third block has no demangled name, no model and no device.
	p, err := readReport(t, file(block(nil, 0), block(names, 2, first), block(nil, 0, result("", metric(0, 5, 81500))),
		block(nil, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if p.Source != "run.ncu-rep" || p.GPU != "NVIDIA H200" || p.Devices != 1 || p.Cells != 9 || p.Launches != 2 {
		t.Fatalf("%+v", p)
	}
	a, b := records(p)[0], records(p)[1]
	dims := func(x, y uint32) measure.Dim3 { return measure.Dim3{X: x, Y: y, Z: 1} }
	want := measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy(float *)", Grid: dims(64, 1), Block: dims(256, 2)}
	if diff := cmp.Diff(want, a.Subject); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]float64{"ncu_time": 81472, "registers": 42, "sm_throughput": 62.5},
		a.Metrics); diff != "" {
		t.Error(diff)
	}
	if v, ok := a.Metrics[measure.Cycles.Name]; ok {
		t.Errorf("a metric without a value: %v", v)
	}
	if b.Subject.Name != "function" || b.Metrics["ncu_time"] != 81500 {
		t.Errorf("%+v", b)
	}
}

// The string tables of all blocks are one, and a launch may use a name of a later one, as with the metrics of NVLink.
func TestStringTables(t *testing.T) {
	p, err := readReport(t, file(
		block(names[:2], 0, result("a", metric(0, 5, 100), metric(3, 2, float32(50)))),
		block(names[2:], 0, result("b", metric(0, 5, 200), metric(1, 5, 32), metric(2, 1, "NVIDIA H200"),
			metric(4, 4, 0)))))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := records(p)[0].Metrics, records(p)[1].Metrics; a["ncu_time"] != 100 || a["sm_throughput"] != 50 ||
		b["registers"] != 32 || p.GPU != "NVIDIA H200" {
		t.Errorf("%v %v on %q", a, b, p.GPU)
	}
}

// A launch whose profiling broke off names no device and has no time: it is no second GPU, and is named.
func TestBrokenOff(t *testing.T) {
	p, err := readReport(t, file(block(names, 0, first, result("gemm", metric(1, 5, 255)), first)))
	if err != nil {
		t.Fatal(err)
	}
	if p.Devices != 1 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0],
		`1 launch to the end (launch 2, of "gemm")`) {
		t.Errorf("%d devices, %q", p.Devices, p.Warnings)
	}
}

// Until 2019 the duration had no suffix.
func TestDurationWithoutSuffix(t *testing.T) {
	p, err := readReport(t, file(block([]string{"gpu__time_duration"}, 0, result("k", metric(0, 5, 1234)))))
	if err != nil || records(p)[0].Metrics["ncu_time"] != 1234 {
		t.Fatalf("%v, %+v", err, p)
	}
	p, err = ncu.Read(strings.NewReader("\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric "+
		"Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"7\",\"k\",\"Command line profiler "+
		"metrics\",\"gpu__time_duration\",\"usecond\",\"1.50\"\n"), "x.csv")
	if err != nil || records(p)[0].Metrics["ncu_time"] != 1500 {
		t.Fatalf("%v, %+v", err, p)
	}
}

func TestReadReportRefuses(t *testing.T) {
	whole, timed := file(block(names, 1, first)), result("saxpy", metric(0, 3, 1.0))
	many := message(2, 3, 4, message(1, names[0]), 5, len(timed)+4)
	for _, tt := range []struct {
		name    string
		content []byte
		key     model.Kind // "" for ErrLayout
		want    string
	}{
		{"cut", whole[:len(whole)-1], "truncated", "is cut off"},
		{"empty", file(block(nil, 0)), "no-kernels", "(ncu 2025.3.1 wrote it) holds no kernel"},
		{"sources alone", file(block(nil, 2)), "no-kernels", "holds no kernel"},
		{"no metrics", file(block(names, 0, result("saxpy"))), "ncu-failed", `launch 1, of "saxpy", has no metrics`},
		{"no string table", file(block(nil, 0, first)), "damaged", "launch 1: a metric without a name"},
		{"an unknown kind of value", file(block(names, 0, result("saxpy", metric(0, 8, 1)))), "damaged",
			`"gpu__time_duration.sum" has no value of a known kind`},
		{"a wrong kind of number", file(block(names, 0, result("saxpy", metric(0, 3, 1)))), "damaged",
			"no value of a known kind"},
		{"no message", file(block(names, 0, []byte("\xff\xff"))), "damaged", "launch 1 is no message"},
		{"fewer results than counted", file(append(part(many), part(timed)...)), "damaged",
			"holds less than it counts"},
		{"more than counted", file(append(part(message(2, 0, 5, len(first)+4)), part(first)...)), "damaged",
			"holds more than it counts"},
		{"a result beyond its block", file(append(part(message(2, 1, 4, message(1, names[0]), 5, 20)), part(first)...),
			block(nil, 0)), "damaged", "longer than its block"},
		{"no name", file(block(names, 0, message(13, metric(0, 3, 1.0)))), "bad-value", "has no kernel name"},
		{"a huge grid", file(block(names, 0, append(first, message(10, message(1, 1<<40))...))), "bad-value",
			"larger than any grid"},
		{"two models", file(block(names, 0, first, result("x", metric(2, 1, "Tesla T4")))), "other-gpu",
			"different models"},
		{"results of ranges", file(append(part(message(2, 1, 5, 0, 7, 1)), 0)), "", ""},
		{"a range as a kernel", file(block(names, 0, message(7, "range", 13, metric(0, 3, 1.0)))), "", ""},
		{"a later layout", append([]byte("NVR\x00"), part(message(1, 8))...), "truncated", ""},
		{"a later layout, longer", append(append([]byte("NVR\x00"), part(message(1, 8))...), "what nobody knows"...),
			"", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readReport(t, tt.content)
			var refusal *model.Refusal
			switch {
			case tt.key == "":
				if !errors.Is(err, ncu.ErrLayout) {
					t.Errorf("error %v, want that of the layout", err)
				}
			case !errors.As(err, &refusal) || refusal.Kind != tt.key || !strings.Contains(err.Error(), tt.want):
				t.Errorf("got %v, want %s: %q", err, tt.key, tt.want)
			}
		})
	}
}

// Reports of others, in the directories that NSGATE_RECORDINGS lists, are read; a page beside one, of the same name,
// says the same.
func TestReports(t *testing.T) {
	read, compared := 0, 0
	for _, dir := range append(filepath.SplitList(os.Getenv("NSGATE_RECORDINGS")),
		filepath.Join("..", "..", "..", "..", "shared", "samples")) {
		files, err := filepath.Glob(filepath.Join(dir, "*.ncu-rep"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			p, err := ncu.ReadReport(file)
			if errors.Is(err, ncu.ErrLayout) {
				t.Logf("%s: %v", file, err)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			read++
			page := strings.TrimSuffix(file, ".ncu-rep") + ".csv"
			if _, err := os.Stat(page); err == nil {
				compared += comparePage(t, p, open(t, page))
			}
		}
	}
	t.Logf("%d reports, %d values as on their pages", read, compared)
}

// comparePage checks that the metrics of a page are in the report it was made of, and gives their number.
func comparePage(t *testing.T, report, page *counters.Profile) (values int) {
	t.Helper()
	if report.Launches != page.Launches {
		t.Fatalf("%s: %d launches, %d on its page", report.Source, report.Launches, page.Launches)
	}
	for i, want := range records(page) {
		got := records(report)[i]
		if got.Subject != want.Subject {
			t.Errorf("%s: launch %d is %v, on its page %v", report.Source, i+1, got.Subject, want.Subject)
		}
		for name, w := range want.Metrics {
			const rounded = 0.01 // of the last place of a page
			if g, ok := got.Metrics[name]; !ok || math.Abs(g-w) > max(rounded, 1e-4*math.Abs(w)) {
				t.Errorf("%s: launch %d: %s is %v, on its page %v", report.Source, i+1, name, g, w)
			}
			values++
		}
	}
	return values
}

// FuzzReadReport: any bytes give a profile or an error, and never a launch without a name.
func FuzzReadReport(f *testing.F) {
	f.Add(file(block(nil, 0), block(names, 2, first), block(nil, 0, first)))
	f.Add(file(block(names, 0, result("", metric(0, 5, 1)))))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := readReport(t, content)
		if (err == nil) != (p != nil) {
			t.Fatalf("%v and %v", p, err)
		}
		if p == nil {
			return
		}
		for _, r := range records(p) {
			if r.Subject.Name == "" {
				t.Fatalf("%+v", r)
			}
			for name, v := range r.Metrics {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("%s is %v", name, v)
				}
			}
		}
	})
}
