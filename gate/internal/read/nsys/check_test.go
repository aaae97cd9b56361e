package nsys

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Rows of a program of so many launches, each 10 µs after the other, each with its call 5 µs before it. A condition
// on i leaves out rows.
func kernelRows(launches int, where string) string {
	return rows(launches, fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1000000 + i * 10000, 1002000 + i * 10000,
		0, 1, 0, 7, i + 1, %d, 1, 2, NULL, 1, 1, 32, 4, 1, 1, 256, 1, 1, 16, 1024, 0, 0, 1, 32768, NULL, 0`, pidA), where)
}

func callRows(launches, name, result int, where string) string {
	return rows(launches, fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 995000 + i * 10000, 999000 + i * 10000,
		0, %d, i + 1, %d, %d, NULL`, tidA, name, result), where)
}

// A window that closes while the host is ahead of the GPU: what was queued then is left out with its step.
func TestQueuedAtTheEnd(t *testing.T) {
	// 400 calls, one a µs and ten a step; kernels of 10 µs from 1,000,000 ns on. The window holds 305 of them.
	rowsOf := func(kernels int) []string {
		out := []string{"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL",
			rows(kernels, fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1000000 + i * 10000, 1009000 + i * 10000,
				0, 1, 0, 7, i + 1, %d, 1, 2, NULL, 1, 1, 32, 4, 1, 1, 256, 1, 1, 16, 1024, 0, 0, 1, 32768, NULL, 0`, pidA), ""),
			rows(400,
				fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 990000 + i * 1000, 990500 + i * 1000, 0, %d, i + 1, %d, 0, NULL`,
					tidA, 3), ""),
			rangeRow(59, 0, 1e12, tidA, "NULL", "'all'", "NULL", 0),
		}
		for step := range 40 {
			out = append(out, rangeRow(59, 990_000+step*10_000-100, 990_000+step*10_000+9_900, tidA, "NULL", "'step'",
				"NULL", 0))
		}
		return out
	}
	file := build(t, with(rowsOf(305)...)...)
	traces, err := Read(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	x := traces[0]
	if len(x.Launches) != 300 || len(x.Ranges) != 31 || len(x.Warnings) != 1 || !strings.Contains(x.Warnings[0],
		"ended while 95 launches were queued, which have no kernel: what was launched after 1289900 ns") {
		t.Errorf("%d launches, %d ranges, %q", len(x.Launches), len(x.Ranges), x.Warnings)
	}
	if span := x.Calls.Span(); span.End > 1_289_900 || x.Calls.Len() != 300 {
		t.Errorf("%d calls, until %d ns: those of the tail make the end of the run longer", x.Calls.Len(), span.End)
	}
	// Fewer than half of the launches: the loss is no tail.
	refused(t, build(t, with(rowsOf(150)...)...), model.KernelsLost, "250 of 400 kernel launches")
}

func rows(n int, insert, where string) string {
	if where != "" {
		where = " WHERE " + where
	}
	const numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d) "
	return fmt.Sprintf(numbers+"%s FROM n%s", n, insert, where)
}

// The parts of a recording are checked against each other: missing rows show in the others.
func TestCheck(t *testing.T) {
	const launch, begin, end = 3, 20, 21
	tables := []string{
		"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL",
		stringRow(begin, "cudaStreamBeginCapture_v10000"), stringRow(end, "cudaStreamEndCapture_v10000"),
	}
	ranged := rangeRow(59, 0, 1e12, tidA, "NULL", "'step'", "NULL", 0)
	// moved shifts a share of the launches by so many ns.
	moved := func(by, of, every int) string {
		const sql = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start + %d, end = end + %[1]d WHERE rowid %% %d < %d"
		return fmt.Sprintf(sql, by, every, of)
	}
	instant := func(of, every int) string {
		return fmt.Sprintf("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start WHERE rowid %% %d < %d", every, of)
	}
	for _, c := range []struct {
		name string
		rows []string
		key  model.Kind // "" for a usable recording
		says string     // part of the refusal, or the only warning
	}{
		{name: "sound", rows: []string{kernelRows(2000, ""), callRows(2000, launch, 0, "")}},
		{name: "buffers lost", rows: []string{kernelRows(2000, "i NOT BETWEEN 500 AND 532"),
			callRows(2000, launch, 0, "")},
			key: "kernels-lost", says: "33 of 2000 kernel launches of process 4711"},
		{name: "the end lost", rows: []string{kernelRows(2000, "i < 1500"), callRows(2000, launch, 0, "")},
			key: "kernels-lost", says: "500 of 2000"},
		{name: "in flight at the end", rows: []string{kernelRows(100, "i < 70"), callRows(100, launch, 0, "")},
			says: "30 of 100 kernel launches left no trace of their kernel"},
		{name: "most of a few", rows: []string{kernelRows(30, "i < 10"), callRows(30, launch, 0, "")},
			key: "kernels-lost", says: "20 of 30"},
		{name: "less than one in a hundred", rows: []string{kernelRows(5000, "i < 4960"),
			callRows(5000, launch, 0, "")},
			says: "40 of 5000 kernel launches left no trace of their kernel"},
		{name: "launches that failed", rows: []string{kernelRows(200, "i < 100"), callRows(200, launch, 0, "i < 100"),
			callRows(200, launch, 98, "i >= 100")}, key: "launches-failed",
			says: "100 of 200 kernel launches failed, the first with CUDA error 98 (cudaErrorInvalidDeviceFunction), " +
				"of process 4711"},
		{name: "a few launches that failed", rows: []string{kernelRows(200, "i < 190"),
			callRows(200, launch, 0, "i < 190"), callRows(200, launch, 12345, "i >= 190")},
			says: "10 of 200 kernel launches failed, the first with CUDA error 12345"},
		{name: "captured as a graph", rows: []string{kernelRows(200, "i < 100"), callRows(200, launch, 0, ""),
			// the driver's
			callRow(1_990_000, 1_990_001, tidA, 900, begin), callRow(1_990_002, 1_990_003, tidA, 901, begin),
			callRow(4_000_000, 4_000_001, tidA, 902, end), callRow(4_000_002, 4_000_003, tidA, 903, end)}},
		{name: "after a graph", rows: []string{kernelRows(200, "i < 100"), callRows(200, launch, 0, ""),
			callRow(500_000, 500_001, tidA, 900, begin), callRow(500_002, 500_003, tidA, 901, begin),
			callRow(600_000, 600_001, tidA, 902, end), callRow(600_002, 600_003, tidA, 903, end)},
			key: "kernels-lost", says: "100 of 200"},
		{name: "another process", rows: []string{kernelRows(200, ""), callRows(200, launch, 0, ""),
			callRow(1, 2, tidB, 1, launch), callRow(3, 4, tidB, 2, launch),
			strings.Replace(callRow(5, 6, tidB, 3, launch), "0, NULL)", "1, NULL)", 1)},
			says: "process 4811 launched 2 kernels, but none of them is in the recording"},

		{name: "clocks apart", rows: []string{kernelRows(200, ""), callRows(200, launch, 0, ""), ranged,
			moved(-900_000, 6, 10)},
			key: "clock-backwards", says: "120 of 200 launches begin before the call that made them"},
		{name: "clocks apart without ranges", rows: []string{"DELETE FROM NVTX_EVENTS", kernelRows(200, ""),
			callRows(200, launch, 0, ""), moved(-900_000, 6, 10)},
			says: "120 of 200 launches begin before the call that made them: the clocks of CPU and GPU do not agree, " +
				"and idle time has no known cause"},
		{name: "clocks apart at times",
			rows: []string{kernelRows(200, ""), callRows(200, launch, 0, ""), ranged, moved(-900_000, 5, 10)},
			says: "100 of 200 launches begin before the call that made them: the clocks of CPU and GPU do not agree"},
		{name: "clocks as good as CUPTI's",
			rows: []string{kernelRows(200, ""), callRows(200, launch, 0, ""), ranged, moved(-15_000, 10, 10)}},

		{name: "no clock", rows: []string{kernelRows(200, ""), instant(6, 10)}, key: "zero-length",
			says: "120 of 200 launches"},
		{name: "a coarse clock", rows: []string{kernelRows(200, ""), instant(5, 10)},
			says: "100 of 200 launches took no time: they are shorter than a tick of the GPU's timer"},
		{name: "a launch of no time", rows: []string{kernelRows(200, ""), instant(1, 100)}},

		{name: "no correlation", rows: []string{kernelRows(200, ""), callRows(200, launch, 0, "i < 90"), ranged},
			key: "correlation-missing", says: "110 of 200 launches"},
		{name: "some correlation", rows: []string{kernelRows(200, ""), callRows(200, launch, 0, "i < 110"), ranged},
			says: "90 of 200 launches have no CUDA call in the recording: they belong to no NVTX range"},
		{name: "no correlation and no need of it", rows: []string{kernelRows(200, ""),
			callRows(200, launch, 0, "i < 90")}},
		{name: "calls of nobody", rows: []string{kernelRows(200, ""), ranged},
			says: "200 of 200 launches have no CUDA call in the recording: they belong to no NVTX range"},
		{name: "a table without calls", rows: []string{"DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME", kernelRows(200, ""),
			ranged},
			says: "no CUDA calls were recorded: no launch can be assigned to its NVTX range"},

		{name: "ranges backwards", rows: []string{kernelRows(200, ""), callRows(200, launch, 0, ""), ranged,
			rangeRow(59, 20, 10, tidA, "NULL", "'x'", "NULL", 0)},
			says: "1 NVTX ranges end before they begin and were left out"},
		{name: "another GPU", rows: []string{kernelRows(200, ""), "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 3"},
			says: "GPU 3 is not described in the recording: its model is not known"},
	} {
		// Without ranges and profiler calls the table of calls is read only where it holds more launches than there
		// are.
		for _, more := range []string{"SELECT 1", "DELETE FROM StringIds WHERE value GLOB 'cu*Profiler*'"} {
			t.Run(c.name, func(t *testing.T) {
				file := build(t, with(slices.Concat(tables, c.rows, []string{more})...)...)
				if c.key != "" {
					refused(t, file, c.key, c.says)
					return
				}
				traces, err := Read(t.Context(), file)
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				if c.says != "" {
					want = []string{c.says}
				}
				if len(traces) != 1 || !slices.Equal(traces[0].Warnings, want) {
					t.Errorf("%d traces, warnings %q, want %q", len(traces), traces[0].Warnings, want)
				}
			})
		}
	}
}

// Indexes, which other programs add to an export, change nothing.
func TestIndexed(t *testing.T) {
	plain := with("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", kernelRows(10_000, ""), callRows(10_000, 3, 0, ""),
		rangeRow(59, 0, 1e12, tidA, "NULL", "'step'", "NULL", 0),
		"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = rowid % 7")
	indexed := append(plain[:len(plain):len(plain)], "CREATE INDEX a ON CUPTI_ACTIVITY_KIND_KERNEL ("+
		strings.Join([]string{"streamId", "start", "end", "correlationId", "globalPid", "deviceId", "graphNodeId",
			"demangledName", "mangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
			"registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread"}, ", ")+")",
		"CREATE INDEX b ON CUPTI_ACTIVITY_KIND_RUNTIME (nameId, start DESC, globalTid, correlationId)", "ANALYZE")
	want, got := read1(t, plain...), read1(t, indexed...)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(model.Trace{}, "Source")); diff != "" {
		t.Errorf("with indexes (-without +with):\n%s", diff)
	}
}

// nsys says how many CUDA events it collected: an export that holds fewer is a part of it.
func TestCollected(t *testing.T) {
	meta := func(schema string, more ...string) []string {
		s := []string{"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)",
			"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '" + schema + "')"}
		for i := 0; i < len(more); i += 2 {
			s = append(s, fmt.Sprintf("INSERT INTO META_DATA_EXPORT VALUES ('%s', '%s')", more[i], more[i+1]))
		}
		return s
	}
	collected := func(n int) string {
		return diagnosticRow(1, fmt.Sprintf("Number of CUDA events collected: \t%d.", n), pidA)
	}
	rows := []string{callRow(1, 2, tidA, 11, 3), copyRow(3, 4, 0, pidA, 1, 1, 1, 1)} // and two kernels
	for _, c := range []struct {
		name    string
		meta    []string
		more    []string
		key     model.Kind
		warning string
	}{
		{name: "all", meta: meta("3.20.3"), more: []string{collected(4)}},
		{name: "collected twice", meta: meta("3.20.3"), more: []string{collected(4), collected(4)}},
		{name: "one missing", meta: meta("3.20.3"), more: []string{collected(5)}, key: "rows-missing"},
		{name: "before this was known to hold", meta: meta("3.15.0"), more: []string{collected(500)}},
		{name: "after this was known to hold", meta: meta("4.0.0"), more: []string{collected(500)},
			warning: "newer than this nsgate"},
		{name: "without a version", more: []string{collected(500)}},
		{name: "a part of the time", meta: meta("3.24.0", "EXPORT_PARAM_TIMES_TO_EXPORT", "1s-2s"),
			more: []string{collected(500)}, warning: "only a part of the recording was exported"},
		{name: "a table that was not asked for", meta: meta("3.24.0", "EXPORT_PARAM_TABLES_TO_EXPORT",
			"StringIds .*_KERNEL CUPTI_ACTIVITY_KIND_MEM.*"),
			more: []string{"DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME", collected(500)}},
		{name: "a table that was asked for", meta: meta("3.24.0", "EXPORT_PARAM_TABLES_TO_EXPORT",
			"CUPTI_ACTIVITY_KIND_.*"),
			more: []string{"DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME", collected(500)}, key: "rows-missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := build(t, with(slices.Concat(rows, c.meta, c.more)...)...)
			if c.key != "" {
				refused(t, file, c.key, "CUDA events that were collected")
				return
			}
			traces, err := Read(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range traces {
				if all := strings.Join(x.Warnings, "\n"); (c.warning == "") != (all == "") ||
					!strings.Contains(all, c.warning) {
					t.Errorf("warnings %q, want %q", x.Warnings, c.warning)
				}
			}
		})
	}
}
