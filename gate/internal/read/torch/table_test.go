package torch

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// row is a line of a table under construction.
type row []string

// cpu and gpu are rows in the columns of PyTorch 1.8 to today.
func cpu(name, self, total, device, deviceTotal, calls string) row {
	return row{name, "1.00%", self, "2.00%", total, total, device, "3.00%", deviceTotal, deviceTotal, calls}
}

func gpu(name, total, average, calls string) row {
	return row{name, "0.00%", "0.000us", "0.00%", "0.000us", "0.000us", total, "4.00%", total, average, calls}
}

var columns = row{"Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg",
	"Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg", "# of Calls"}

// print lays rows out as torch.profiler does: the names as wide as the longest, all else in twelve characters.
func printTable(header row, rows []row, foot string) string {
	width := len(header[0])
	for _, r := range rows {
		width = max(width, len([]rune(r[0]))+4)
	}
	var b strings.Builder
	line := func(r row) {
		for i, cell := range r {
			w := 12
			if i == 0 || header[i] == "Overload Name" {
				w = width
			}
			b.WriteString(strings.Repeat(" ", max(0, w-len([]rune(cell)))) + cell + "  ")
		}
		b.WriteString("\n")
	}
	rule := func() {
		for i := range header {
			w := 12
			if i == 0 || header[i] == "Overload Name" {
				w = width
			}
			b.WriteString(strings.Repeat("-", w) + "  ")
		}
		b.WriteString("\n")
	}
	rule()
	line(header)
	rule()
	for _, r := range rows {
		line(r)
	}
	rule()
	return b.String() + "Self CPU time total: 13.744ms\n" + foot + "\n\n"
}

// tableRows are a table of three kernels, copies, annotations and what the CPU did. The GPU was busy for 3.9115 ms.
var tableRows = []row{
	cpu("ProfilerStep*", "5.093ms", "10.907ms", "0.000us", "2.554ms", "6"),
	gpu("ProfilerStep*", "7.414ms", "1.236ms", "6"),
	gpu("void gemm<128, 4>(float const*)", "1.200ms", "200.000us", "6"),
	cpu("aten::mm", "640.735us", "777.279us", "1.638ms", "1.638ms", "12"),
	gpu("void gemm<256, 4>(float const*)", "2.400ms", "200.000us", "12"),
	cpu("triton_poi_fused_add_0", "10.000us", "11.000us", "0.000us", "0.000us", "6"),
	gpu("triton_poi_fused_add_0", "11.500us", "1.917us", "6"),
	gpu("Memcpy HtoD (Pinned -> Device)", "200.000us", "33.333us", "6"),
	gpu("Memcpy HtoD (Pageable -> Device)", "90.000us", "90.000us", "1"),
	gpu("Memset (Device)", "10.000us", "5.000us", "2"),
	cpu("forward", "531.413us", "2.794ms", "0.000us", "2.014ms", "6"),
	gpu("forward", "2.863ms", "477.167us", "6"),
	cpu("cudaLaunchKernel", "816.837us", "816.837us", "0.000us", "0.000us", "90"),
	cpu("cudaDriverGetVersion", "0.000us", "0.000us", "0.000us", "0.000us", "1"),
}

const foot = "Self CUDA time total: 3.912ms"

func readTableString(t *testing.T, s string) *model.Session {
	t.Helper()
	r, err := readAny(t.Context(), strings.NewReader(s), "t.txt")
	if err != nil {
		t.Fatal(err)
	}
	if r.Summary == nil || r.Trace != nil {
		t.Fatal("a table was not read as one")
	}
	return r.Summary
}

func TestTable(t *testing.T) {
	got := readTableString(t, printTable(columns, tableRows, foot))
	kernel := func(name string) measure.Subject { return measure.Subject{Scope: measure.ScopeKernel, Name: name} }
	copies := func(name string) measure.Subject { return measure.Subject{Scope: measure.ScopeWorkload, Name: name} }
	const pinned = "several kinds of memory"
	want := model.Session{
		Environment: model.Environment{Tool: "torch.profiler", Mode: TableMode}, Warmup: "0",
		Runs: []model.Run{{Total: 24, Launches: 24, Steady: true}},
	}
	add := func(s measure.Subject, m measure.Metric, v float64, note string) {
		want.Series = append(want.Series, model.Series{Subject: s, Metric: m, Values: model.Values{v}, Note: note})
	}
	add(measure.Workload, measure.GPUTime, 3611500, "")
	add(measure.Workload, measure.Launches, 24, "")
	add(copies("memcpy HtoD"), measure.Copies, 7, pinned)
	add(copies("memcpy HtoD"), measure.CopyTime, 290000, pinned)
	add(copies("memset"), measure.Copies, 2, "device")
	add(copies("memset"), measure.CopyTime, 10000, "device")
	for _, k := range []struct {
		name                  string
		launches, time, total float64
	}{
		{"triton_poi_fused_add_0", 6, 1917, 11500},
		{"void gemm<128, 4>(float const*)", 6, 200000, 1200000},
		{"void gemm<256, 4>(float const*)", 12, 200000, 2400000},
	} {
		add(kernel(k.name), measure.Launches, k.launches, "")
		add(kernel(k.name), measure.Time, k.time, "")
		add(kernel(k.name), measure.Total, k.total, "")
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
}

// Text around a table, and its printed forms, change nothing.
func TestTableForms(t *testing.T) {
	plain := printTable(columns, tableRows, foot)
	want := readTableString(t, plain)
	insert := func(at int, cells ...string) []row {
		var out []row
		for _, r := range tableRows {
			out = append(out, append(append(append(row{}, r[:at]...), cells...), r[at:]...))
		}
		return out
	}
	header := func(at int, names ...string) row {
		return append(append(append(row{}, columns[:at]...), names...), columns[at:]...)
	}
	hip := append(row{}, columns...)
	for i := range hip {
		hip[i] = strings.ReplaceAll(hip[i], "CUDA", "HIP")
	}
	lines := strings.Split(strings.TrimRight(plain, "\n"), "\n")
	stack := strings.Join(lines[:3], "\n") + "\n"
	for i := 3; i < len(lines)-3; i++ {
		stack += lines[i] + "\n" + strings.Repeat(" ", len(lines[0])) + "train.py(96):  step\n" +
			strings.Repeat(" ", len(lines[0])) + "\n"
	}
	stack += strings.Join(lines[len(lines)-3:], "\n") + "\n"
	for name, text := range map[string]string{
		"in a log": "[2024-05-17 11:54:30] {step} done\nName  of the run\n----  ----\n" + plain +
			"Self CPU time total: nothing\nbye\n",
		"Windows":         strings.ReplaceAll(plain, "\n", "\r\n"),
		"byte order mark": string(byteOrderMark) + plain,
		"trimmed":         strings.ReplaceAll(strings.ReplaceAll(plain, "  \n", "\n"), "  \n", "\n"),
		"no last newline": strings.TrimRight(plain, "\n"),
		"indented":        "    " + strings.ReplaceAll(plain, "\n", "\n    "),
		"printed twice": plain + strings.Join(append(lines[:3:3], lines[5], lines[4], lines[3], ""), "\n") +
			strings.Join(lines[6:], "\n"),
		"memory": printTable(header(10, "CPU Mem", "Self CPU Mem", "CUDA Mem", "Self CUDA Mem"),
			insert(10, "0 b", "-33.50 KB", "1.86 Gb", "0 B"), foot),
		"shapes":    printTable(header(11, "Input Shapes", "Total MFLOPs"), insert(11, "[[1, 2], []]", "--"), foot),
		"node":      printTable(header(11, "Node ID"), insert(11, "-1"), foot),
		"overloads": printTable(header(1, "Overload Name"), insert(1, ""), foot),
		"HIP":       printTable(hip, tableRows, strings.ReplaceAll(foot, "CUDA", "HIP")),
		"stacks":    stack,
		"old foot":  printTable(columns, tableRows, "Self CUDA time total: 14.189ms"),
		"in µs":     strings.ReplaceAll(plain, "   1.200ms", "1200.000us"),
	} {
		got, err := readAny(t.Context(), iotest.HalfReader(strings.NewReader(text)), "t.txt")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got.Summary); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !Sniff([]byte(text)) {
			t.Errorf("%s: not recognised", name)
		}
	}
}

// A call of CUDA is no work of the GPU, whatever time PyTorch 2.0 gives it, and whether the foot counts it or not.
func TestTableCalls(t *testing.T) {
	rows := append([]row{gpu("cudaLaunchKernel", "700.000us", "7.000us", "100"),
		gpu("cuLaunchKernel", "50.000us", "5.000us", "10")}, tableRows...)
	want := readTableString(t, printTable(columns, tableRows, foot))
	for _, foot := range []string{foot, "Self CUDA time total: 4.662ms"} {
		if diff := cmp.Diff(want, readTableString(t, printTable(columns, rows, foot))); diff != "" {
			t.Errorf("%s (-without +with):\n%s", foot, diff)
		}
	}
}

// Rows of one kernel are one.
func TestTableNotes(t *testing.T) {
	got := readTableString(t, printTable(columns, []row{
		gpu("slow", "2.500s", "2.500s", "1"), gpu("void at::native::elementwise_kernel<128, 4, at::nati...", "3.000ms",
			"1.500ms", "2"),
		gpu("twice", "10.000us", "10.000us", "1"), gpu("twice", "50.000us", "16.667us", "3"),
	}, "Self CUDA time total: 2.503s"))
	for _, c := range []struct {
		name, note string
		value      float64
	}{
		{"slow", "", 2.5e9},
		{"void at::native::elementwise_kernel<128, 4, at::nati...", "", 1.5e6},
		{"twice", "", 15000},
	} {
		x, ok := got.Find(measure.Subject{Scope: measure.ScopeKernel, Name: c.name}, measure.Time.Name)
		if !ok || x.Note != c.note || x.Values[0] != c.value {
			t.Errorf("%s: %+v, want %v, %q", c.name, x, c.value, c.note)
		}
	}
}

// Names that are alike because the table cut them off may be two kernels: only what they take together is known.
func TestTableCutNames(t *testing.T) {
	const name = "void at::native::vectorized_elementwise_kernel<4, at..."
	got := readTableString(t, printTable(columns, []row{
		gpu(name, "6.000ms", "3.000us", "2000"), gpu("softmax_kernel", "5.000ms", "50.000us", "100"),
		gpu(name, "250.000us", "1.000us", "250"),
	}, "Self CUDA time total: 11.250ms"))
	subject := measure.Subject{Scope: measure.ScopeKernel, Name: name}
	if x, ok := got.Find(subject, measure.Time.Name); ok {
		t.Errorf("two kernels have one time: %+v", x)
	}
	for metric, want := range map[string]float64{measure.Total.Name: 6.25e6, measure.Launches.Name: 2250} {
		if x, ok := got.Find(subject, metric); !ok || x.Values[0] != want {
			t.Errorf("%s: %+v, want %v", metric, x, want)
		}
	}
	if x, _ := got.Find(subject, measure.Total.Name); x.Note != "rows whose truncated names are equal, taken together" {
		t.Errorf("note %q", x.Note)
	}
}

func TestRefusedTables(t *testing.T) {
	plain := printTable(columns, tableRows, foot)
	lines := strings.SplitAfter(plain, "\n")
	replace := func(old, new string) string {
		if !strings.Contains(plain, old) {
			t.Fatalf("%q is not in the table", old)
		}
		return strings.Replace(plain, old, new, 1)
	}
	xpu := append(row{}, columns...)
	for i := range xpu {
		xpu[i] = strings.ReplaceAll(xpu[i], "CUDA", "XPU")
	}
	wide := printTable(columns, []row{gpu(strings.Repeat("k", 100_000), "1.000us", "1.000us", "1")}, foot)
	wideRow := strings.SplitAfter(wide, "\n")[3]
	for _, c := range []struct{ name, file, words string }{
		{"no table", "nothing here\n", "holds neither a trace nor a table"},
		{"space", " \n\n", "holds neither a trace nor a table"},
		{"CPU only", printTable(append(columns[:6:6], "# of Calls"), []row{append(tableRows[0][:6:6], "6")}, ""),
			"t.txt:2: the table has no GPU times"},
		{"old", strings.NewReplacer("Self CUDA %", "CUDA total %", "Self CUDA", "CUDA xx").Replace(plain),
			"the table has no GPU times"},
		{"XPU", printTable(xpu, tableRows, foot), `the table is of "XPU"`},
		{"no column", strings.Replace(plain, "CUDA time avg", "CUDA time med", 1), `no column "CUDA time avg"`},
		{"no calls", printTable(append(columns[:10:10], "# of Things", "Number of Calls"), nil, foot),
			"holds neither a trace nor a table"},
		{"row limit", printTable(columns, tableRows[:4], foot),
			"add up to 1.200 ms, the foot of the table says 3.912 ms: rows are missing"},
		{"foot too small", printTable(columns, tableRows, "Self CUDA time total: 3.000ms"),
			"kernels and annotations cannot be told apart"},
		{"annotation without its row of the CPU", printTable(columns, append([]row{{"engine_step", "0.00%", "0.000us",
			"0.00%", "0.000us", "0.000us", "9.000ms", "230.00%", "9.000ms", "9.000ms", "1"}}, tableRows...), foot),
			"cannot be told apart"},
		{"no foot", printTable(columns, tableRows, ""), `no line "Self CUDA time total" at its foot`},
		{"odd foot", printTable(columns, tableRows, "Self CUDA time total: many"), `"many" is no time`},
		{"ends", strings.Join(lines[:8], ""), "the table that begins here ends in the middle"},
		{"ends in a row", strings.Join(lines[:7], "") + lines[7][:30], "the row is no row of the table"},
		{"no rule", strings.Join(append(lines[:2:2], lines[3:]...), ""),
			"the line under the header is no rule, or has other columns"},
		{"short rule", lines[0] + lines[1] + "----  ----\n" + strings.Join(lines[3:], ""),
			"the line under the header is no rule, or has other columns"},
		{"before the names", strings.Replace("    "+strings.ReplaceAll(plain, "\n", "\n    "), "\n    "+lines[5],
			"\n  x "+lines[5], 1),
			"the row is no row of the table"},
		{"log line", strings.Replace(plain, lines[5], "INFO: something else happened meanwhile, which is rather long\n",
			1), "is no row of the table"},
		{"table inside", strings.Join(lines[:6], "") + lines[1], "the table that begins here ends in the middle"},
		{"other numbers", plain + strings.ReplaceAll(strings.ReplaceAll(plain, "1.200ms", "1.201ms"),
			"200.000us             6", "200.167us             6"),
			"there is another table in line 2, with other numbers"},
		{"no time", replace("2.400ms        ", "2.400mm        "), `column "Self CUDA": "2.400mm" is no time`},
		{"no count", replace("200.000us            12", "200.000us            1k"),
			`column "# of Calls": "1k" is no count`},
		{"no calls at all", replace("200.000us            12", "200.000us             0"), `"0" is no count`},
		{"wrong average", replace("200.000us            12", "201.000us            12"),
			"average times calls is not the total"},
		{"decimal comma", strings.ReplaceAll(plain, "1.200ms", "1,200ms"), "is no time"},
		{"copies only", printTable(columns, []row{tableRows[9]}, "Self CUDA time total: 10.000us"),
			"the table lists no GPU kernel"},
		{"CPU rows only", printTable(columns, []row{tableRows[3]}, "Self CUDA time total: 0.000us"),
			"the table lists no GPU kernel"},
		{"wide rows", strings.Replace(wide, wideRow, strings.Repeat(wideRow, 700), 1),
			"the table is larger than 64 MB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, strings.NewReader(strings.ReplaceAll(c.file, "t.txt", "t.json")),
				strings.ReplaceAll(c.words, "t.txt", "t.json"))
		})
	}
}

// A table that PyTorch 2.11 printed on an H100, without most rows of the CPU, and the trace of the same profile.
func TestTableAgainstTrace(t *testing.T) {
	table, err := readFile(t, filepath.Join("testdata", "h100-steps.table.txt"))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := readFile(t, filepath.Join("testdata", "h100-steps.pt.trace.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	type sum struct{ launches, time float64 }
	want := map[string]sum{}
	for _, l := range trace.Trace.Launches {
		name := trace.Trace.Kernels[l.Kernel].Subject.Name
		s := want[name]
		want[name] = sum{s.launches + 1, s.time + float64(l.End-l.Start)}
	}
	kernels := 0
	for _, x := range table.Summary.Series {
		if x.Subject.Scope != measure.ScopeKernel {
			continue
		}
		s, ok := want[x.Subject.Name]
		if !ok {
			t.Errorf("%s is not in the trace", x.Subject.Name)
		}
		rounding := 0.5
		if s.time >= 1e6 {
			rounding = 500
		}
		switch x.Metric {
		case measure.Launches:
			kernels++
			if x.Values[0] != s.launches {
				t.Errorf("%s: %v launches, %v in the trace", x.Subject.Short(), x.Values[0], s.launches)
			}
		case measure.Total:
			if math.Abs(x.Values[0]-s.time) > rounding+0.001 {
				t.Errorf("%s: %v ns, %v in the trace", x.Subject.Short(), x.Values[0], s.time)
			}
		case measure.Time:
			if math.Abs(x.Values[0]-s.time/s.launches) > 0.5+0.001 {
				t.Errorf("%s: %v ns a launch, %v in the trace", x.Subject.Short(), x.Values[0], s.time/s.launches)
			}
		}
	}
	if kernels != len(want) || kernels < 20 {
		t.Errorf("%d kernels, %d in the trace", kernels, len(want))
	}
}

func TestSniff(t *testing.T) {
	recorded, err := os.ReadFile(filepath.Join("testdata", "h200.pt.trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join("testdata", "h100-steps.pt.trace.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	large := compress(t, `{"traceEvents": [`+strings.Repeat(base[0]+",", 5000)+"{}]}")
	for name, head := range map[string][]byte{
		"recorded": recorded, "its beginning": recorded[:900], "compressed": packed,
		"compressed beginning": packed[:2000],
		"large":                large[:len(large)/2], "bare list": []byte(`[` + base[1] + `]`),
		"events first":    []byte(`{"traceEvents": [{"ph": "M"}, ` + base[0] + `], "x": 1}`),
		"metadata behind": []byte(`{"traceEvents": [{"ph": "M"}], ` + devices + `}`),
		"long metadata":   []byte(`{"schemaVersion": 1, ` + devices + `, "distributedInfo": {"pg_co`),
		"table":           []byte(printTable(columns, tableRows, foot)),
		"table of the CPU": []byte(printTable(columns[:6], nil, "") +
			strings.Join(append(columns[:6:6], "# of Calls"), "  ")),
	} {
		if !Sniff(head) {
			t.Errorf("%s is not recognised", name)
		}
	}
	for name, head := range map[string]string{
		"nothing": "", "brace": "{",
		"report":       `{"schema": "nsgate/1", "findings": [{"name": "\"traceEvents\": [{\"cat\": \"kernel\"}]"}]}`,
		"other traces": `{"displayTimeUnit": "ns", "metadata": {"highres-ticks": true}, "traceEvents": [{"ph": "M", "name": "process_name"}, {"ph": "X", "cat": "toplevel", "ts": 1}]}`,
		"list":         `[1, 2, 3]`, "events that are none": `{"traceEvents": 7}`,
		"schema": `{"schemaVersion": 1, "results": []}`,
		"log":    "[INFO] loss 0.1\n", "CSV": `"Time (%)","Total Time (ns)","Instances","Name"` + "\n",
		"ncu":         "==PROF== Connected\n\"ID\",\"Process ID\"\n",
		"other table": "Name   Size   # of Calls\n----   ----   ----------\n", "SQLite": "SQLite format 3\x00",
		"gzip": string(compress(t, "hello")), "broken gzip": "\x1f\x8b\x00",
	} {
		if Sniff([]byte(head)) {
			t.Errorf("%s is taken for a trace or table", name)
		}
	}
	if !Sniff(bytes.TrimSpace(recorded)) {
		t.Error("white space decides")
	}
}
