//go:build unix

package app

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/nsgate/nsgate/gate/internal/read/nsys"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
	"github.com/nsgate/nsgate/testdata/tools/shapes"
)

// kineto is a trace of torch.profiler with an event of each kind.
const kineto = `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],
"distributedInfo":{"rank":0,"world_size":1},"cuda_runtime_version":13000,
"baseTimeNanoseconds":1790857026000000000,"traceEvents":[
{"ph":"X","cat":"kernel","name":"void k<float>(int)","pid":0,"tid":7,"ts":30.5,"dur":28.2,
"args":{"External id":7,"device":0,"context":1,"stream":7,"correlation":55,
"registers per thread":39,"shared memory":24,"grid":[8,1,1],"block":[32,4,1]}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":9,"tid":9,"ts":5.1,"dur":80.1,
"args":{"External id":361}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":6.1,"dur":10,
"args":{"External id":7,"Input Dims":[[1,2],[3]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":7.1,"dur":2,
"args":{"External id":7,"correlation":55}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":70.5,"dur":1,
"args":{"device":0,"context":1,"stream":7,"correlation":56,"bytes":33554432}},
{"name":"process_name","ph":"M","ts":4.1,"pid":9,"tid":0,"args":{"name":"python3"}}],"traceName":"t"}`

// grown are the shapes of files of each row of [profile.Formats], by the name of a file.
func grown(t *testing.T) map[string]map[string][]shapes.Shape {
	saved, err := os.ReadFile("../report/testdata/noverdict.json")
	if err != nil {
		t.Fatal(err)
	}
	table := func(names []string) string {
		b := new(strings.Builder)
		w := csv.NewWriter(b)
		w.Write(strings.Split("Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"+
			"DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name", ","))
		for i, n := range names {
			launch := fmt.Sprint(1000*i+1, ",100,", i+1, ",1,1,1,32,1,1,16,0.000,0.000,,,,,NVIDIA H200 (0),1,,7")
			w.Write(append(strings.Split(launch, ","), n))
		}
		w.Flush()
		return b.String()
	}
	sums := func(names []string) string {
		b := new(strings.Builder)
		w := csv.NewWriter(b)
		w.Write(strings.Split("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name",
			","))
		for _, n := range names {
			sum := fmt.Sprint(100/float64(len(names)), ",3088571,20,154428.5,154401.0,153858,155073,345.1")
			w.Write(append(strings.Split(sum, ","), n))
		}
		w.Flush()
		return b.String()
	}
	raw, err := os.ReadFile("../../../testdata/ncu/base.raw.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	page := func(names []string) string {
		rows, _ := csv.NewReader(strings.NewReader(strings.Join(lines[:3], ""))).ReadAll()
		b := new(strings.Builder)
		w := csv.NewWriter(b)
		w.WriteAll(rows[:2])
		for i, n := range names {
			rows[2][0], rows[2][6] = strconv.Itoa(i), n
			w.Write(rows[2])
		}
		w.Flush()
		return b.String()
	}
	return map[string]map[string][]shapes.Shape{
		"SQLite export of nsys": {"a.sqlite": shapes.Names(func(n []string) string { return export(t, n, nil) }),
			"b.sqlite": shapes.Names(func(n []string) string { return export(t, []string{"k"}, n) })},
		"fragment of nsgate rank": {"a.trace": shapes.Names(func(n []string) string { return packed(t, n, nil) }),
			"b.trace": shapes.Names(func(n []string) string { return packed(t, []string{"k"}, n) })},
		"report of nsys":           {}, // nsys makes an export of it
		"compressed report of ncu": {}, // ncu makes a page of it
		"results of a benchmark harness": {
			"a.json": shapes.JSON(`[{"name":"a","unit":"ms","value":1,"extra":"b"}]`)},
		"archive of nsys-jax": {
			"a.zip": shapes.Names(func(n []string) string { return archive(t, n) })},
		"report of ncu":         {"a.ncu-rep": shapes.Names(counted)},
		"JSON report of nsgate": {"a.json": shapes.JSON(string(saved))},
		"trace or key_averages table of torch.profiler": {"a.pt.trace.json": shapes.JSON(kineto)},
		"page of ncu, CSV or printed":                   {"a.csv": shapes.Names(page)},
		"table of nsys stats, CSV or printed": {
			"a_cuda_gpu_trace.csv": shapes.Names(table), "a_cuda_gpu_kern_sum.csv": shapes.Names(sums),
			"b_cuda_gpu_kern_sum.csv": shapes.Table(sums([]string{"k"}), ","),
			"b_cuda_gpu_trace.csv":    shapes.Table(table([]string{"k"}), ",")},
	}
}

// export is an export of nsys with a launch of each kernel and a range of each name.
func export(t *testing.T, kernels, ranges []string) string {
	file := filepath.Join(t.TempDir(), "x.sqlite")
	conn, err := sqlite.OpenConn(file, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	for _, pragma := range []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "BEGIN"} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			t.Fatal(err)
		}
	}
	script := `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
		CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, cuDevice INTEGER);
		INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 'GPU-x', 0);
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
			deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
			globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,
			registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
			blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
			staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
			localMemoryPerThread INTEGER NOT NULL, graphNodeId INTEGER);
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
			eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
			returnValue INTEGER NOT NULL, callchainId INTEGER);
		CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
			globalTid INTEGER, textId INTEGER, domainId INTEGER);
		INSERT INTO StringIds VALUES (3, 'cudaLaunchKernel_v7000')`
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		t.Fatal(err)
	}
	const process = int64(1)<<48 | 4711<<24
	run := func(sql string, args ...any) {
		if err := sqlitex.Execute(conn, sql, &sqlitex.ExecOptions{Args: args}); err != nil {
			t.Fatal(err)
		}
	}
	text := func(i int, s string) { run("INSERT INTO StringIds VALUES (?, ?)", i, s) }
	for i, k := range kernels {
		text(10+2*i, k)
		run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 3, 0, NULL)",
			1000*i+1, 1000*i+100, process|4712, i+1)
		run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?, "+
			"32, 1, 1, 1, 256, 1, 1, 0, 0, 0, NULL)", 1000*i+200, 1000*i+600, i+1, process, 10+2*i, 10+2*i)
	}
	for i, r := range ranges {
		text(11+2*i, r)
		run("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, ?, 0)", i, 1000*len(kernels)+2*len(ranges)-i,
			process|4712, 11+2*i)
	}
	run("COMMIT")
	conn.Close()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func packed(t *testing.T, kernels, ranges []string) string {
	file := filepath.Join(t.TempDir(), "x.sqlite")
	os.WriteFile(file, []byte(export(t, kernels, ranges)), 0o666)
	traces, err := nsys.Read(t.Context(), file)
	if err != nil {
		return "" // which a rank does not pack
	}
	data, err := rank.Fragment(traces, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// counted is a report of ncu with a launch of each kernel.
func counted(names []string) string {
	var launches []byte
	part := func(m []byte) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(m))), m...) }
	text := func(to []byte, id protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(to, id, protowire.BytesType), s)
	}
	number := func(to []byte, id protowire.Number, v int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(to, id, protowire.VarintType), uint64(v))
	}
	for _, n := range names {
		size := string(number(number(number(nil, 1, 64), 2, 1), 3, 1))
		time := protowire.AppendFixed64(protowire.AppendTag(nil, 3, protowire.Fixed64Type), math.Float64bits(81472))
		metric := string(text(number(nil, 1, 0), 2, string(time)))
		launch := text(text(text(text(nil, 6, "function"), 7, n), 10, size), 11, size)
		launches = append(launches, part(text(launch, 13, metric))...)
	}
	header := number(number(nil, 1, 0), 2, len(names))
	header = text(header, 3, string(text(nil, 8, string(text(text(nil, 1, "ncu"), 2, "2025.3.1.0 (build 36398880)")))))
	header = number(text(header, 4, string(text(nil, 1, "gpu__time_duration.sum"))), 5, len(launches))
	return "NVR\x00" + string(part(number(nil, 1, 7))) + string(part(header)) + string(launches)
}

func archive(t *testing.T, names []string) string {
	cols := exporttest.Projected(0, 0, 1)
	for k := range cols {
		cells := cols[k].Cells
		for i := range names {
			cell := cells[1+i%(len(cells)-1)]
			if cols[k].Name == "Name" && i < len(names) {
				cell = "TSL:Thunk:#name=" + names[i] + ",hlo_op=" + names[i] + "#"
			}
			if cols[k].Name == "RangeId" {
				cell = float64(10_000 + i)
			}
			cols[k].Cells = append(cols[k].Cells, cell)
		}
	}
	files := map[string][]byte{}
	for name, c := range map[string][]exporttest.Column{
		"nvtx_gpu_proj_trace/trace.parquet": cols, "thread-metadata.parquet": exporttest.Threads(0),
		"device-metadata.parquet": exporttest.Devices, "system-metadata.parquet": exporttest.System} {
		data, err := exporttest.Parquet(c, false)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	data, err := exporttest.Archive(files)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestGrowth wants a sample of each row of [profile.Formats] that is read without another program, and that no file of
// one takes long to show. Package bench has the samples of benchmark harnesses.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	all, dir := grown(t), t.TempDir()
	for _, f := range profile.Formats() {
		if all[f.Name] == nil {
			t.Errorf("format %q has no sample in grown", f.Name)
		}
		for name, list := range all[f.Name] {
			file := filepath.Join(dir, name)
			shapes.Check(t, name, list, os.Getenv("NSGATE_TEST_FULL") != "", func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				Show(t.Context(), profile.Tools{}, profile.Rule{}, file)
			})
		}
	}
}
