package nsys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"pgregory.net/rapid"
)

// Two processes, as a globalPid and the globalTid of a thread write them.
const (
	pidA, tidA, tidA2 = genProcess, genProcess | 1, genProcess | 2
	pidB, tidB        = int64(1)<<48 | 4811<<24, pidB | 1
)

// Short rows: what the statements leave out is null or fixed.
func kernelRow(start, end, correlation, process, name any) string {
	return fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%v, %v, 0, 1, 0, 7, %v, %v, %v, 2, NULL, 1, 1, 32,
		4, 1, 1, 256, 1, 1, 16, 1024, 0, 0, 1, 32768, NULL, 0)`, start, end, correlation, process, name)
}

func callRow(start, end, thread, correlation, name any) string {
	return fmt.Sprintf("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%v, %v, 0, %v, %v, %v, 0, NULL)",
		start, end, thread, correlation, name)
}

func copyRow(start, end, correlation, process, bytes, kind, source, target any) string {
	return fmt.Sprintf("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (%v, %v, 0, 1, 7, %v, %v, %v, %v, %v, %v, NULL)",
		start, end, correlation, process, bytes, kind, source, target)
}

func rangeRow(kind, start, end, thread, endThread, text, textID, domain any) string {
	return fmt.Sprintf(`INSERT INTO NVTX_EVENTS (eventType, start, end, globalTid, endGlobalTid, text, textId, domainId)
		VALUES (%v, %v, %v, %v, %v, %v, %v, %v)`, kind, start, end, thread, endThread, text, textID, domain)
}

func diagnosticRow(severity int, text string, process int64) string {
	return fmt.Sprintf("INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 1, %d, '%s', %d)", severity, text, process)
}

func stringRow(id int, value string) string {
	return fmt.Sprintf("INSERT INTO StringIds VALUES (%d, '%s')", id, value)
}

// base is an export with one launch of each of two processes and every table that the rows above need.
var base = []string{
	stringTable, kernelColumns, runtimeColumns, copyColumns, rangeColumns, diagnosticColumns,
	gpuTable, gpuRow,
	stringRow(1, "void ns::scale<float>(float *, int)"), stringRow(2, "scale"),
	stringRow(3, "cudaLaunchKernel_v7000"), stringRow(4, "cudaProfilerStart_v4000"),
	stringRow(5, "cudaProfilerStop_v4000"),
	stringRow(6, "cuProfilerStart"), stringRow(7, "from the table"), stringRow(8, "_Z5scalePfi"), stringRow(9, ""),
	kernelRow(1000, 1640, 11, pidA, 1), kernelRow(900, 1700, 11, pidB, 1),
}

func with(more ...string) []string { return append(base[:len(base):len(base)], more...) }

func read1(t *testing.T, statements ...string) []model.Trace {
	t.Helper()
	traces, err := Read(t.Context(), build(t, statements...))
	if err != nil {
		t.Fatal(err)
	}
	return traces
}

func TestProcesses(t *testing.T) {
	traces := read1(t, with(
		kernelRow(500, 600, 12, pidA, 1), kernelRow(400, 402, 0, "NULL", 1),
		callRow(100, 110, tidA, 11, 3), callRow(101, 102, tidA, 11, 3), callRow(99, 120, tidB, 11, 3),
		rangeRow(59, 50, 200, tidA, "NULL", "'outer'", "NULL", 0),
		rangeRow(59, 90, 95, tidB, "NULL", "'done'", "NULL", 0),
		copyRow(300, 310, 11, pidB, 64, 2, 2, "NULL"), copyRow(300, 310, 11, 77<<24, 64, 2, 2, 0),
	)...)
	if len(traces) != 3 {
		t.Fatalf("%d traces, want 3: a process without launches has none", len(traces))
	}
	if traces[0].Process != 0 || traces[1].Process != 4711 || traces[2].Process != 4811 {
		t.Errorf("processes %d, %d, %d: want the order of their first launches",
			traces[0].Process, traces[1].Process, traces[2].Process)
	}
	a, b := traces[1], traces[2]
	want := []model.Launch{
		{Start: 500, End: 600, API: 500, Range: -1, Stream: 7, Thread: -1},
		{Start: 1000, End: 1640, API: 100, Range: 0, Stream: 7},
	}
	if diff := cmp.Diff(want, a.Launches); diff != "" {
		t.Errorf("launches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1 of 2 launches have no CUDA call in the recording: they belong to no NVTX range"},
		a.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if b.Launches[0].API != 99 || b.Launches[0].Range != -1 {
		t.Errorf("launch %+v: want the call of its own process, in no range", b.Launches[0])
	}
	wantCopy := []model.Copy{{Start: 300, End: 310, API: 99, Bytes: 64, Range: -1, Stream: 7, Kind: 2, Source: 2,
		Target: 7}}
	if diff := cmp.Diff(wantCopy, b.Copies); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
}

func TestKernels(t *testing.T) {
	other := strings.Replace(kernelRow(2000, 2100, 12, pidA, 1), "1, 1, 32,", "1, 1, 40,", 1)
	traces := read1(t, with(
		other, strings.Replace(other, "2000, 2100", "2200, 2300", 1), // the same kernel twice with 40 registers
		// only the mangled name
		strings.Replace(kernelRow(2400, 2500, 13, pidA, 9), "9, 2, NULL", "9, 9, 8", 1),
		strings.Replace(kernelRow(2600, 2700, 13, pidA, 12345), "12345, 2,", "12345, 67890,", 1), // no name at all
		strings.Replace(kernelRow(2800, 2900, 13, pidA, 1), "4, 1, 1, 256", "8, 1, 1, 256", 1),   // another grid
	)...)
	a := traces[1]
	if a.Process != 4711 {
		t.Fatal("processes out of order")
	}
	grid, block := measure.Dim3{X: 4, Y: 1, Z: 1}, measure.Dim3{X: 256, Y: 1, Z: 1}
	kernel := func(name string, grid measure.Dim3, raw string, registers int64) model.KernelInfo {
		return model.KernelInfo{
			Subject:   measure.Subject{Scope: measure.ScopeKernel, Name: name, Grid: grid, Block: block},
			Raw:       raw,
			Registers: registers, StaticShared: 16, DynamicShared: 1024,
		}
	}
	const scale = "void ns::scale<float>(float *, int)"
	want := []model.KernelInfo{
		kernel(scale, grid, scale, 40),
		kernel("scale(float*, int)", grid, "_Z5scalePfi", 32),
		kernel("(unnamed kernel)", grid, "", 32),
		kernel(scale, measure.Dim3{X: 8, Y: 1, Z: 1}, scale, 32),
	}
	if diff := cmp.Diff(want, a.Kernels); diff != "" {
		t.Errorf("kernels (-want +got):\n%s", diff)
	}
	var of []int32
	for _, l := range a.Launches {
		of = append(of, l.Kernel)
	}
	if diff := cmp.Diff([]int32{0, 0, 0, 1, 2, 3}, of); diff != "" {
		t.Errorf("kernels of the launches (-want +got):\n%s", diff)
	}
}

// A mark is a range without a length.
func TestMarks(t *testing.T) {
	x := read1(t, with(rangeRow(34, 4000, "NULL", tidA, "NULL", "'iteration'", "NULL", 0))...)[1]
	i := slices.IndexFunc(x.Ranges,
		func(r model.Range) bool { return x.RangeNames[r.Name] == model.MarkPrefix+"iteration" })
	if i < 0 || x.Ranges[i].Start != 4000 || x.Ranges[i].End != 4000 {
		t.Errorf("%+v of %q", x.Ranges, x.RangeNames)
	}
}

func TestRanges(t *testing.T) {
	traces := read1(t, with(
		callRow(100, 110, tidA, 11, 3),
		rangeRow(75, 0, "NULL", tidA, "NULL", "NULL", 7, 3),
		rangeRow(75, 0, "NULL", tidB, "NULL", "'other'", "NULL", 3),
		rangeRow(59, 100, 300, tidA, "NULL", "'step 7'", 7, 0), // begins with the call; its text wins
		rangeRow(60, 40, "NULL", tidA, "NULL", "NULL", 7, 3),
		rangeRow(60, 90, 400, tidA, tidA2, "'crosses threads'", "NULL", 0),
		rangeRow(59, 95, 400, tidA2, "NULL", "'another thread'", "NULL", 0),
		rangeRow(59, 99, 400, tidA, "NULL", "' '", "NULL", 0), // no name
		rangeRow(59, 98, 20, tidA, "NULL", "'backwards'", "NULL", 0),
	)...)
	a := traces[1]
	if diff := cmp.Diff([]string{"step #", "from the table:from the table", "another thread"},
		a.RangeNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	want := []model.Range{
		{Start: 40, End: 1640, Name: 1, Parent: -1}, {Start: 95, End: 400, Name: 2, Parent: -1, Thread: 1},
		{Start: 100, End: 300, Name: 0, Parent: 0},
	}
	if diff := cmp.Diff(want, a.Ranges); diff != "" {
		t.Errorf("ranges (-want +got):\n%s", diff)
	}
	if a.Launches[0].Range != 2 {
		t.Errorf("launch in range %d, want 2", a.Launches[0].Range)
	}
}

func TestCaptures(t *testing.T) {
	a := read1(t, with(
		callRow(10, 30, tidA, 1, 4), callRow(12, 20, tidA, 2, 6), // the driver's call inside the runtime's
		callRow(40, 41, tidA, 3, 5), callRow(42, 43, tidA, 4, 5), callRow(50, 60, tidA, 5, 6),
		callRow(70, 71, tidB, 6, 5),
	)...)[1]
	want := []model.Interval{{Start: 10, End: 40}, {Start: 50, End: 1640}}
	if diff := cmp.Diff(want, a.Captures); diff != "" {
		t.Errorf("captures (-want +got):\n%s", diff)
	}
}

func TestMemoryPeak(t *testing.T) {
	if traces := read1(t, base...); traces[0].MemoryPeak != -1 {
		t.Errorf("peak %d without a table, want -1", traces[0].MemoryPeak)
	}
	event := func(start, process, address, bytes, kind, operation int64) string {
		return fmt.Sprintf("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (%d, %d, 0, 1, %d, 0, %d, %d, %d)",
			start, process, address, bytes, kind, operation)
	}
	a := read1(t, with(
		`CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER,
			address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER)`,
		// out of order
		event(1, pidA, 100, 1000, 2, 0), event(4, pidA, 200, 500, 2, 0), event(3, pidA, 100, 1000, 2, 1),
		event(5, pidA, 300, 600, 2, 0), event(6, pidA, 300, 600, 2, 0), // reported twice
		event(7, pidA, 999, 5000, 2, 1),                                // allocated before the recording
		event(8, pidA, 400, 1e6, 1, 0), event(9, pidB, 500, 1e6, 2, 0), // host memory; another process
	)...)[1]
	if a.MemoryPeak != 1100 {
		t.Errorf("peak %d, want 1100", a.MemoryPeak)
	}
}

func TestEnvironment(t *testing.T) {
	const uuid = "554a6988-03dd-6206-3dd1-f43fb60a3ed0"
	node := strings.Replace(kernelRow(2000, 2100, 12, pidA, 1), "32768, NULL", "32768, 5", 1)
	traces := read1(t, with(
		strings.Replace(node, "VALUES (2000, 2100, 0,", "VALUES (2000, 2100, 1,", 1),
		"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, globalPid INTEGER)",
		fmt.Sprintf("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (2500, 2600, %d)", pidB),
		"DELETE FROM TARGET_INFO_GPU",
		"INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 'GPU-x', 1), (1, 'NVIDIA  H200', '"+uuid+"', 0), "+
			"(2, 'Another', '00000000-0000-0000-0000-000000000000', 2)",
		"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)",
		"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (2, 0, 4711), (0, 1, 4711), (NULL, 0, 4811)",
		"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)",
		"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.3.2.474-26113717666v0'), "+
			"('EXPORT_SCHEMA_VERSION', '3.20.3'), ('EXPORT_TIME_UTC', '2026-01-22T16:57:41'), ('EXPORT_USER', "+
			"'secret')",
		"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.3.2.474')",
		"CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)",
		"INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('CudaDriverVersion', '13000'), ('NvDriverVersion', '580.159'), "+
			"('DeviceEnvironment', 'TOKEN=secret'), ('HostDriverVersion', 'secret')",
		"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)",
		"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1776781226557295056)",
	)...)
	zero := time.Unix(0, 1776781226557295056).UTC()
	e := model.Environment{
		Driver: "580.159", CUDA: "13.0", Tool: "nsys 2025.3.2", Schema: "3.20.3", Tick: 32, GPUs: 1,
		GraphTrace: "graph",
		GPU:        "NVIDIA H200", GPUHash: model.HashUUID("GPU-" + uuid), Start: zero.Add(900),
	}
	if diff := cmp.Diff(e, traces[0].Environment); diff != "" {
		t.Errorf("one GPU, by CUDA's ordinal (-want +got):\n%s", diff)
	}
	if len(traces[0].Warnings) != 1 || !strings.Contains(traces[0].Warnings[0], "--cuda-graph-trace=node") {
		t.Errorf("warnings %q, want one on whole graphs", traces[0].Warnings)
	}
	e.GPU, e.GPUs, e.GPUHash, e.GraphTrace = "Another + NVIDIA H200", 2, model.HashUUID("GPU-x"), "node"
	e.Start = zero.Add(1000)
	if diff := cmp.Diff(e, traces[1].Environment); diff != "" {
		t.Errorf("two GPUs, as the process numbers them (-want +got):\n%s", diff)
	}
}

// Adapters that cannot run CUDA are not taken for the GPU, whatever their numbers.
func TestAdapters(t *testing.T) {
	const adapters = "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, cuDevice INTEGER, smCount " +
		"INTEGER)"
	for _, rows := range []string{
		"(0, 'Microsoft Basic Render Driver', '', 0, 0), (1, 'NVIDIA H200', 'GPU-x', 0, 132)",
		"(0, 'NVIDIA H200', 'GPU-x', 0, 0)", // unknown to nsys
	} {
		x := read1(t, with("DROP TABLE TARGET_INFO_GPU", adapters, "INSERT INTO TARGET_INFO_GPU VALUES "+rows)...)[0]
		if x.GPU != "NVIDIA H200" || x.GPUHash != model.HashUUID("GPU-x") || len(x.Warnings) > 0 {
			t.Errorf("GPU %q, warnings %q", x.GPU, x.Warnings)
		}
	}
}

func TestStart(t *testing.T) {
	const meta = "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)"
	exported := "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_TIME_UTC', '2026-01-22T16:57:41')"
	if got, want := read1(t, with(meta, exported)...)[0].Start,
		time.Date(2026, 1, 22, 16, 57, 41, 0, time.UTC); got != want {
		t.Errorf("start %v, want the time of the export %v", got, want)
	}
	normalized := "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true')"
	if got := read1(t, with(meta, exported, normalized)...)[0].Start; got != time.Unix(0, 900).UTC() {
		t.Errorf("start %v, want that of the first launch", got)
	}
	if got := read1(t, base...)[0].Start; !got.IsZero() {
		t.Errorf("start %v, want none", got)
	}
}

// Exports of old releases and of other programs miss tables, columns and cells.
func TestSparse(t *testing.T) {
	const minimal = `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, shortName,
		gridX, gridY, gridZ, blockX, blockY, blockZ)`
	row := "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 1, 1, 1, 1, 32, 1, 1)"
	traces := read1(t, stringTable, stringRow(1, "k"), stringRow(2, "r"), minimal, row, runtimeColumns, rangeColumns,
		rangeRow(59, 0, 5, tidA, "NULL", "NULL", 2, "NULL"))
	if len(traces) != 1 || traces[0].Process != 0 || traces[0].Kernels[0].Subject.Name != "k" {
		t.Fatalf("traces %+v", traces)
	}
	if k := traces[0].Kernels[0]; k.Registers != -1 || k.DynamicShared != -1 {
		t.Errorf("attributes that the export lacks are %d and %d, want -1", k.Registers, k.DynamicShared)
	}
	if e := traces[0].Environment; e.Tool != "nsys" || e.GPU != "" || e.GPUs != 1 {
		t.Errorf("environment %+v", e)
	}
	// Without process ids the calls of the only process are found by correlation id alone.
	traces = read1(t, stringTable, stringRow(1, "k"), stringRow(2, "r"), kernelColumns, runtimeColumns, rangeColumns,
		kernelRow(100, 200, 5, "NULL", 1), callRow(50, 60, tidB, 5, 2),
		rangeRow(59, 40, 70, tidB, "NULL", "NULL", 2, "NULL"))
	if l := traces[0].Launches[0]; l.API != 50 || l.Range != 0 {
		t.Errorf("launch %+v, want the call at 50 in range 0", l)
	}
}

func TestRefusals(t *testing.T) {
	capture := func(values string) []string {
		return []string{stringTable, "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT)",
			"INSERT INTO META_DATA_CAPTURE VALUES " + values}
	}
	for _, c := range []struct {
		name       string
		statements []string
		key        model.Kind
		want       string // part of the message
	}{
		{"other-format", []string{"CREATE TABLE Version (version)",
			"CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value)",
			"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (_id_)"}, "other-format", ""},
		{"another program", []string{"CREATE TABLE bookmarks (url)"}, "other-format", "it has no table StringIds"},
		{"rocpd", []string{"CREATE TABLE rocpd_info_agent_0001 (id)", "CREATE TABLE rocpd_string_0001 (id)"},
			"other-format", "is a database of rocprofiler-sdk (rocpd, AMD), which nsgate does not read"},
		{"rpd", []string{"CREATE TABLE rocpd_api (id)", "CREATE TABLE rocpd_op (id)"}, "other-format",
			"rocmProfileData (rpd, AMD), which"},
		{"no kernel table", []string{stringTable}, "no-kernels", ""},
		{"empty kernel table", []string{stringTable, kernelColumns}, "no-kernels", ""},
		{"no CUDA", []string{stringTable, diagnosticColumns,
			diagnosticRow(2, "No CUDA events collected. Does the process use CUDA?", pidA)}, "no-kernels", ""},
		{"calls only", []string{stringTable, runtimeColumns, callRow(1, 2, tidA, 1, 1)}, "no-kernels", ""},
		{"lost kernels", []string{stringTable, runtimeColumns, stringRow(1, "cudaLaunchKernel_v7000"),
			callRow(1, 2, tidA, 1, 1)}, "kernels-lost", "ends by itself"},
		{"failed launches", []string{stringTable, runtimeColumns, stringRow(1, "cudaLaunchKernel_v7000"),
			strings.Replace(callRow(1, 2, tidA, 1, 1), "0, NULL)", "701, NULL)", 1)}, "launches-failed",
			"1 of 1 kernel launches failed, the first with CUDA error 701 (cudaErrorLaunchOutOfResources)"},
		{"CUDA not traced",
			capture("('CAPTURE_EVENT_TYPE', 'NvtxEvents'), ('CAPTURE_EVENT_TYPE', 'OsRuntimeEvents'), " +
				"('PROCESS_0:ENVIRONMENT_VARIABLE', 'TOKEN=cuda')"), "not-traced", ""},
		{"CUDA switched off", capture("('COLLECT_CUDA_TRACE', 'false')"), "not-traced", "--trace=cuda"},
		{"CUDA traced", capture("('CAPTURE_EVENT_TYPE', 'Cuda'), ('COLLECT_CUDA_TRACE', 'true')"), "no-kernels",
			"see that the workload launched kernels while it was recorded"},
		{"CUDA traced, by its injection", []string{stringTable, diagnosticColumns,
			diagnosticRow(1, "CUDA injection initialized successfully.", pidA)}, "no-kernels", ""},
		{"no CUDA, before 2024.2", []string{stringTable,
			stringRow(1, "No CUDA events collected. Does the process use CUDA?")},
			"no-kernels", ""},
		{"not all collected", []string{stringTable, runtimeColumns, callRow(1, 2, tidA, 1, 1), diagnosticColumns,
			diagnosticRow(2, "Not all CUDA events might have been collected.", pidA)}, "kernels-lost", "synchronise"},
		{"not all collected, before 2024.2", []string{stringTable, runtimeColumns, callRow(1, 2, tidA, 1, 1),
			stringRow(2, "Not all CUDA events might have been collected.")}, "kernels-lost", ""},
		{"not all collected, beside a helper", []string{stringTable, runtimeColumns, callRow(1, 2, tidA, 1, 1),
			stringRow(2, "Not all CUDA events might have been collected."),
			stringRow(3, "No CUDA events collected. Does the process use CUDA?")}, "kernels-lost", ""},
		{"not all collected, of a program without CUDA", []string{stringTable,
			stringRow(2, "Not all CUDA events might have been collected."),
			stringRow(3, "No CUDA events collected. Does the process use CUDA?")}, "no-kernels", ""},
		{"not all collected, launches", []string{stringTable, runtimeColumns, callRow(1, 2, tidA, 1, 1),
			stringRow(1, "cuLaunchKernel"), stringRow(2, "Not all CUDA events might have been collected.")},
			"kernels-lost", ""},
		{"a view", []string{stringTable, "CREATE TABLE k (start)",
			"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM k"},
			"bad-table", "CUPTI_ACTIVITY_KIND_KERNEL is not a table of its own"},
		{"a table without row numbers", []string{stringTable,
			"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start PRIMARY KEY, end) WITHOUT ROWID"},
			"bad-table",
			"table CUPTI_ACTIVITY_KIND_KERNEL has no row numbers (WITHOUT ROWID): nsys did not write it so"},
		{"UTF-16", append([]string{"PRAGMA encoding = 'UTF-16'"}, base...), "bad-table", "its text is in UTF-16"},
		{"other columns", []string{stringTable, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (_id_ INTEGER, start, end)"},
			"bad-table", "table CUPTI_ACTIVITY_KIND_KERNEL has no column gridX"},
		{"text for a time", with(kernelRow("'soon'", 5, 1, pidA, 1)),
			"bad-value", "table CUPTI_ACTIVITY_KIND_KERNEL, row 3: column start holds text, not an integer"},
		{"text for an id", with(kernelRow(1, 5, "'first'", pidA, 1)), "bad-value",
			"row 3: column correlationId holds text"},
		{"no bytes", []string{stringTable, stringRow(1, "k"), kernelColumns, kernelRow(1, 2, 1, pidA, 1),
			"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, bytes)",
			"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1, 2, NULL)"},
			"bad-value", "table CUPTI_ACTIVITY_KIND_MEMSET, row 1: column bytes holds nothing"},
		{"end before start", with(kernelRow(10, 5, 1, pidA, 1)), "clock-backwards",
			"row 3: the end 5 is before the start 10"},
		{"a copy's end before its start", with(copyRow(10, 5, 1, pidA, 1, 1, 1, 1)), "clock-backwards",
			"table CUPTI_ACTIVITY_KIND_MEMCPY, row 1: the end 5 is before the start 10"},
		{"negative start", with(kernelRow(-10, 5, 1, pidA, 1)), "clock-backwards",
			"the start -10 is before the recording began"},
		{"endless", with(kernelRow(0, "9223372036854775807", 1, pidA, 1)), "bad-value", "longer than any launch"},
		{"negative grid", with(strings.Replace(kernelRow(0, 5, 1, pidA, 1), "4, 1, 1, 256", "-4, 1, 1, 256", 1)),
			"bad-value", "column gridX holds -4"},
		{"no grid", []string{stringTable, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, shortName, " +
			"gridX, gridY, gridZ, blockX, blockY, blockZ)",
			"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 1, 1, 1, 1, NULL, 1, 1)"}, "bad-value",
			"blockX holds nothing"},
		{"no durations", []string{stringTable, kernelColumns, kernelRow(1, 1, 1, pidA, 1)}, "zero-length",
			"1 of 1 launches"},
		{"a row gone", with(kernelRow(1, 2, 1, pidA, 1), kernelRow(3, 4, 1, pidA, 1),
			"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = 2"), "rows-missing", "has 3 rows, numbered up to 4"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, build(t, c.statements...), c.key, c.want) })
	}
}

// Cells of unused rows may hold anything.
func TestOtherRows(t *testing.T) {
	plain := with(callRow(100, 110, tidA, 11, 3), callRow(200, 210, tidA, 12, 3), callRow(300, 310, tidB, 13, 3),
		stringRow(20, "CUPTI buffer flush"), "CREATE TABLE META_DATA_EXPORT (name, value)",
		"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.1.1')",
		"CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value)",
		"INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('nvidiadriverversion', '580.1')",
		"CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId)",
		fmt.Sprintf("INSERT INTO PROFILER_OVERHEAD VALUES (5, 6, %d, 20)", tidA),
		"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs)",
		"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)")
	odd := append(plain[:len(plain):len(plain)],
		"INSERT INTO META_DATA_EXPORT VALUES (1.5, 2.5), ('EXPORT_LAZY', 1.5), (x'00', 'x'), (NULL, NULL), (7, 1.5)",
		"INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Version', 1.5), (2.5, 2.5), ('DriverVersions', 1.5)",
		"INSERT INTO PROFILER_OVERHEAD VALUES ('a', 'b', 'c', 4), ('a', 'b', 'c', NULL), ('a', 'b', 'c', 1.5)",
		"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ('later')",
		"INSERT INTO StringIds VALUES (30, x'6375'), (31, 'Nothing of CUDA'), (32, 'C')")
	want, got := read1(t, plain...), read1(t, odd...)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(model.Trace{}, "Source")); diff != "" {
		t.Errorf("with odd rows (-without +with):\n%s", diff)
	}
	x := want[len(want)-1]
	if x.Tool != "nsys 2025.1.1" || x.Driver != "580.1" || x.Zero.IsZero() || len(x.Overhead) != 1 {
		t.Errorf("%+v, %v, overhead %v", x.Environment, x.Zero, x.Overhead)
	}
}

// refused checks that reading the file ends in the refusal of that key and says so.
func refused(t *testing.T, file string, key model.Kind, want string) {
	t.Helper()
	traces, err := Read(t.Context(), file)
	if err == nil {
		t.Fatalf("%d traces, want the refusal %q", len(traces), key)
	}
	checkRefusal(t, err, key, want)
	if strings.Contains(err.Error(), filepath.Dir(file)) {
		t.Errorf("%q names a directory of this machine", err)
	}
}

func checkRefusal(t *testing.T, err error, key model.Kind, want string) {
	t.Helper()
	var refusal *model.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v, want a refusal", err)
	}
	if got := model.KindOf(err); got != key {
		t.Errorf("%q is of kind %q, want %q", err, got, key)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
}

// Reading leaves the directory as it was, also for a file that was last written with a write-ahead log.
func TestImmutable(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		file := build(t, append(base[:len(base):len(base)], "PRAGMA journal_mode = "+mode)...)
		strange := filepath.Join(filepath.Dir(file), "a?b#c%41 d.sqlite")
		if err := os.Rename(file, strange); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(strange)
		if _, err := Read(t.Context(), strange); err != nil {
			t.Fatal(err)
		}
		after, _ := os.ReadFile(strange)
		if !bytes.Equal(before, after) {
			t.Error("the file was changed")
		}
		if entries, _ := os.ReadDir(filepath.Dir(strange)); len(entries) != 1 {
			t.Errorf("files left behind: %v", entries)
		}
		if err := os.WriteFile(strange+"-wal", []byte("unfinished"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, strange, "being-written", "unfinished changes lie in a?b#c%41 d.sqlite-wal")
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Read(ctx, build(t, base...))
	var refusal *model.Refusal
	if !errors.Is(err, context.Canceled) || errors.As(err, &refusal) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// A table of many pages, which are decoded side by side, gives its rows in order.
func TestManyPages(t *testing.T) {
	if testing.Short() {
		t.Skip("writes an export of 120,000 launches")
	}
	const n = 120_000
	file := filepath.Join(t.TempDir(), "large.sqlite")
	generate(t, file, n)
	traces, err := Read(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	x := traces[0]
	if len(traces) != 1 || len(x.Launches) != n || len(x.Kernels) != 12 || len(x.Warnings) != 0 ||
		len(x.Copies) != n/50 {
		t.Fatalf("%d traces, %d launches, %d kernels, %d copies, warnings %q",
			len(traces), len(x.Launches), len(x.Kernels), len(x.Copies), x.Warnings)
	}
	for i, l := range x.Launches {
		layer := x.Ranges[l.Range]
		if l.API != l.Start-2000 || x.RangeNames[layer.Name] != "layer" || l.API-layer.Start > 5*5000 ||
			x.RangeNames[x.Ranges[layer.Parent].Name] != "step" {
			t.Fatalf("launch %d: %+v in %+v", i, l, layer)
		}
		if want := fmt.Sprintf("void kernel<%d>(float *, int)", i%12); x.Kernels[l.Kernel].Raw != want {
			t.Fatalf("launch %d is of %q, want %q", i, x.Kernels[l.Kernel].Raw, want)
		}
	}
}

// small is an export of a few pages of 512 bytes with a row of everything.
var small = append([]string{"PRAGMA page_size = 512"}, with(
	callRow(100, 110, tidA, 11, 3), rangeRow(60, 40, "NULL", tidA, "NULL", "NULL", 7, 3),
	rangeRow(60, 50, 60, tidA, "NULL", "'x'", "NULL", 0), copyRow(300, 310, 11, pidB, 64, 2, 2, "NULL"))...)

// Whatever bytes of an export are changed, reading ends with traces or with a refusal.
func TestDamaged(t *testing.T) {
	whole, err := os.ReadFile(build(t, small...))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "damaged.sqlite")
	rapid.Check(t, func(t *rapid.T) {
		content := bytes.Clone(whole)
		for range rapid.IntRange(1, 10).Draw(t, "bytes") {
			content[rapid.IntRange(len(magic), len(content)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "to")
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		checkRead(t, file)
	})
}

func FuzzRead(f *testing.F) {
	files := []string{
		build(f, small...), build(f, stringTable), build(f,
			append(small[:len(small):len(small)], "PRAGMA journal_mode = WAL")...),
		build(f, "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value)",
			"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (_id_)"),
		build(f, with("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V2")...),
		put(f, []byte("version https://git-lfs.github.com/spec/v1\n")), put(f, []byte("<!DOCTYPE html>")),
		put(f, []byte("\x1f\x8b\x08\x00")),
	}
	for i := range ages {
		files = append(files, ages[i].write(f))
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "fuzz.sqlite")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		checkRead(t, file)
	})
}

// checkRead checks that reading gives well-formed traces or a refusal.
func checkRead(t rapid.TB, file string) {
	traces, err := Read(context.Background(), file)
	var refusal *model.Refusal
	if errors.As(err, &refusal) == (len(traces) > 0) {
		t.Fatalf("%d traces and error %v", len(traces), err)
	}
	for _, x := range traces {
		for _, l := range x.Launches {
			if l.Start < 0 || l.End < l.Start || int(l.Kernel) >= len(x.Kernels) || int(l.Range) >= len(x.Ranges) {
				t.Fatalf("launch %+v", l)
			}
		}
		for i, r := range x.Ranges {
			if r.End < r.Start || int(r.Name) >= len(x.RangeNames) || int(r.Parent) >= i {
				t.Fatalf("range %d: %+v", i, r)
			}
		}
	}
}
