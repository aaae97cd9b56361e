package nsysstats

import (
	"encoding/csv"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/nsys"
	steps "github.com/nsgate/nsgate/gate/internal/reduce/trace"
)

// The tables are made by SQL from recordings of H200s as the releases print them, and must agree with package nsys and
// with SQL.

// printed is the result of a query, as CSV under that header.
func printed(t testing.TB, db *sqlite.Conn, header, query string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(header)
	w := csv.NewWriter(&b)
	rows := 0
	err := sqlitex.ExecuteTransient(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		row := make([]string, s.ColumnCount())
		for i := range row {
			row[i] = s.ColumnText(i)
		}
		rows++
		return w.Write(row)
	}})
	w.Flush()
	if err != nil {
		t.Fatalf("%v in %s", err, query)
	}
	return b.String()
}

// kernelNames is the kernel table with its names.
const kernelNames = "CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds n ON n.id = k.demangledName"

// operations are copies and memsets with their common columns.
const operations = `(SELECT start, end, correlationId, globalPid, deviceId, streamId, bytes, '[CUDA memcpy ' || o.label || ']' AS name, s.label AS source, d.label AS target
	FROM CUPTI_ACTIVITY_KIND_MEMCPY LEFT JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = copyKind LEFT JOIN ENUM_CUDA_MEM_KIND s ON s.id = srcKind
	LEFT JOIN ENUM_CUDA_MEM_KIND d ON d.id = dstKind
	UNION ALL SELECT start, end, correlationId, globalPid, deviceId, streamId, bytes, '[CUDA memset]', k.label, ''
	FROM CUPTI_ACTIVITY_KIND_MEMSET LEFT JOIN ENUM_CUDA_MEM_KIND k ON k.id = memKind)`

func gpuTrace2025(t testing.TB, db *sqlite.Conn) string {
	const device = "(SELECT name FROM TARGET_INFO_GPU LIMIT 1) || ' (' || deviceId || ')'"
	return printed(t, db, head2025, `SELECT * FROM (
		SELECT start, end - start, correlationId, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
			printf('%.3f', staticSharedMemory / 1e6), printf('%.3f', dynamicSharedMemory / 1e6), '', '', '', '', `+device+`, contextId, '', streamId, n.value FROM `+kernelNames+`
		UNION ALL SELECT start, end - start, correlationId, '', '', '', '', '', '', '', '', '', printf('%.3f', bytes / 1e6),
			printf('%.3f', bytes * (1000000000 / (end - start)) / 1e6), source, target, `+device+`, 1, '', streamId, name FROM `+operations+`) ORDER BY 1, 2`)
}

func gpuTrace2021(t testing.TB, db *sqlite.Conn) string {
	const device = "(SELECT name FROM TARGET_INFO_GPU LIMIT 1) || ' (' || deviceId || ')'"
	return printed(t, db, head2021, `SELECT * FROM (
		SELECT printf('%.6f', start / 1e9), end - start, correlationId, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory,
			'', '', '', '', `+device+`, contextId, streamId, n.value FROM `+kernelNames+`
		UNION ALL SELECT printf('%.6f', start / 1e9), end - start, correlationId, '', '', '', '', '', '', '', '', '', bytes, printf('%.3f', bytes * 1000.0 / (end - start)),
			source, target, `+device+`, 1, streamId, name FROM `+operations+`) ORDER BY 1, 2`)
}

func kernSum2025(t testing.TB, db *sqlite.Conn) string {
	return printed(t, db, headSum, `SELECT round(100.0 * sum(end - start) / (SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL), 1), sum(end - start), count(*),
		round(avg(end - start), 1), avg(end - start), min(end - start), max(end - start), 0, n.value FROM `+kernelNames+" GROUP BY n.value ORDER BY 2 DESC")
}

func memTimes(t testing.TB, db *sqlite.Conn) string {
	return printed(t, db, "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation\n",
		"SELECT round(100.0 * sum(end - start) / (SELECT sum(end - start) FROM "+operations+"), 1), sum(end - start), "+
			"count(*), round(avg(end - start), 1), avg(end - start), min(end - start), max(end - start), 0, name FROM "+
			operations+" GROUP BY name")
}

func memSizes(t testing.TB, db *sqlite.Conn) string {
	return printed(t, db, "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n",
		"SELECT printf('%.3f', sum(bytes) / 1e6), count(*), printf('%.3f', avg(bytes) / 1e6), printf('%.3f', "+
			"avg(bytes) / 1e6), printf('%.3f', min(bytes) / 1e6), printf('%.3f', max(bytes) / 1e6), 0, name "+
			"FROM "+operations+" GROUP BY name")
}

func recording(t testing.TB, name string) (*sqlite.Conn, string) {
	t.Helper()
	file := filepath.Join("..", "..", "..", "..", "testdata", "h200", filepath.FromSlash(name))
	db, err := sqlite.OpenConn(file, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, file
}

// cut is a trace reduced to its samples, by name.
func cut(t testing.TB, trace model.Trace, step string) (map[string]float64, model.Session) {
	t.Helper()
	sides, err := steps.Reduce(steps.Options{Step: step}, []model.Trace{trace})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, x := range sides[0][0].Series {
		if x.Metric == measure.SilentCalls { // exports list the calls
			continue
		}
		if x.Subject.Scope == measure.ScopeSection || x.Subject.Scope == measure.ScopeCall ||
			x.Metric == measure.SyncCalls || x.Metric == measure.Allocations {
			continue // tables do not list the calls, and say little of their times
		}
		if x.Subject.Scope == measure.ScopeIdle {
			values["idle"] += x.Values[0] // tables do not say when an operation was issued
			continue
		}
		values[fmt.Sprintf("%s %s %s %s %s %s", x.Subject.Scope, x.Subject.Name, x.Subject.Geometry(), x.Metric.Name,
			x.Role, x.Note)] = x.Values[0]
	}
	if idle, ok := values["idle"]; ok {
		values["idle"] = math.Round(idle*10) / 10 // the order of the sum differs
	}
	return values, sides[0][0]
}

// withoutAttributes leaves out what the table does not print, or rounds.
func withoutAttributes(values map[string]float64, metrics ...measure.Metric) map[string]float64 {
	for key := range values {
		for _, m := range metrics {
			if strings.Contains(key, " "+m.Name+" ") {
				delete(values, key)
			}
		}
	}
	return values
}

func TestRecordings(t *testing.T) {
	shared := []measure.Metric{measure.MeanStep, measure.MeanToTypical, measure.Sensitivity, measure.ReplayError,
		measure.Order, measure.LocalMemory, measure.StaticShared, measure.DynamicShared}
	for _, name := range []string{"kernels/base/base.000.sqlite", "kernels/copies_4/copies_4.000.sqlite",
		"kernels/spill/spill.000.sqlite", "graph-node.sqlite"} {
		t.Run(name, func(t *testing.T) {
			db, file := recording(t, name)
			traces, err := nsys.Read(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			kern, times, sizes := kernSum2025(t, db), memTimes(t, db), memSizes(t, db)

			// As printed today: times to the ns, sizes rounded to thousands of bytes.
			rounded := append(shared, measure.Owned, measure.StepTime, measure.CopyBytes, measure.PageableBytes)
			want, session := cut(t, traces[0], steps.NoStep)
			run, err := read(t, gpuTrace2025(t, db), kern, times, sizes)
			if err != nil {
				t.Fatal(err)
			}
			got, now := cut(t, *run.Trace, steps.NoStep)
			if now.GPU != session.GPU || now.GPUs != session.GPUs || now.Tick != session.Tick {
				t.Errorf("%+v, want %+v", now.Environment, session.Environment)
			}
			delete(want, "idle")
			delete(got, "idle")
			if diff := cmp.Diff(anywhere(withoutAttributes(want, rounded...)),
				anywhere(withoutAttributes(got, rounded...))); diff != "" {
				t.Errorf("cuda_gpu_trace (-SQLite +CSV):\n%s", diff)
			}

			// Without ranges, as 2021 printed it: to the byte. What repeats begins where it was called, which this
			// table does not say.
			within := []measure.Metric{measure.LocalMemory, measure.Order, measure.StepTime, measure.MeanStep,
				measure.MeanToTypical, measure.RunTime, measure.Sensitivity, measure.ReplayError, measure.Owned}
			want, _ = cut(t, traces[0], steps.NoStep)
			if run, err = read(t, gpuTrace2021(t, db), kern, times); err != nil {
				t.Fatal(err)
			}
			got, _ = cut(t, *run.Trace, steps.NoStep)
			delete(want, "idle")
			delete(got, "idle")
			if diff := cmp.Diff(anywhere(withoutAttributes(want, within...)),
				anywhere(withoutAttributes(got, within...))); diff != "" {
				t.Errorf("gputrace (-SQLite +CSV):\n%s", diff)
			}
		})
	}
}

// anywhere leaves the ranges out of the names of samples.
func anywhere(values map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for key, v := range values {
		if strings.HasPrefix(key, "range ") {
			continue
		}
		parts := strings.Split(key, " ")
		if parts[0] == "kernel" {
			key = strings.Join(parts[:len(parts)-2], " ")
		}
		out[key] = v
	}
	return out
}

// The summaries agree with SQL in totals, launches and bytes of kernels, copies and the whole.
func TestRecordedSummaries(t *testing.T) {
	db, _ := recording(t, "kernels/base/base.000.sqlite")
	run, err := read(t, kernSum2025(t, db), memTimes(t, db), memSizes(t, db))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, x := range run.Summary.Series {
		got[fmt.Sprintf("%s/%s/%s/%s", x.Subject.Scope, x.Subject.Name, x.Subject.Geometry(),
			x.Metric.Name)] = x.Values[0]
	}
	want := map[string]float64{}
	fill := func(query string) {
		err := sqlitex.ExecuteTransient(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			want[s.ColumnText(0)] = s.ColumnFloat(1)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	const geometry = "'//'"
	for metric, value := range map[string]string{"launches": "count(*)", "total": "sum(end - start)",
		"time": "round(avg(end - start), 3)"} {
		fill("SELECT 'kernel/' || n.value || " + geometry + " || '" + metric + "', " + value + " FROM " + kernelNames +
			" GROUP BY 1")
	}
	fill("SELECT 'workload///gpu_time', sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL")
	fill("SELECT 'workload///launches', count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")
	for _, kind := range []struct{ label, name string }{{"[CUDA memcpy Host-to-Device]", "memcpy HtoD"},
		{"[CUDA memcpy Device-to-Host]", "memcpy DtoH"}, {"[CUDA memset]", "memset"}} {
		for metric, value := range map[string]string{"copies": "count(*)", "copy_time": "sum(end - start)",
			"copy_bytes": "round(sum(bytes) / 1e3) * 1e3"} {
			if metric == "copy_bytes" && kind.name != "memcpy HtoD" {
				continue // some bytes only, which a table in MB does not know
			}
			fill("SELECT 'workload/" + kind.name + "//" + metric + "', " + value + " FROM " + operations +
				" WHERE name = '" + kind.label + "' GROUP BY name")
		}
	}
	for key := range want {
		if math.IsNaN(want[key]) {
			t.Errorf("SQL knows no %s", key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-SQL +CSV):\n%s", diff)
	}
}
