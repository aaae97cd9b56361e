package command_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// seeds are the formats with two sides each: recordings of an H200, a trace of an H100 with launches that vary by 0.2
// %, and what nsgate writes of them.
func seeds(t *testing.T) []*format {
	t.Helper()
	dir, err := filepath.Abs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	recordings := [2][]string{}
	for i, side := range []string{"base", "unchanged"} {
		recordings[i], _ = filepath.Glob("../../testdata/h200/kernels/" + side + "/*.sqlite")
		if len(recordings[i]) == 0 {
			t.Fatal("no recordings")
		}
	}
	// made lays the files of both sides that write makes of the recordings.
	made := func(name, suffix string, open func(string) (export, error),
		write func(recording string, run int) []byte,
	) *format {
		f := &format{name: name, open: open}
		for i, side := range []string{"base", "head"} {
			at := filepath.Join(dir, name, side)
			if err := os.MkdirAll(at, 0o700); err != nil {
				t.Fatal(err)
			}
			for j, recording := range recordings[i] {
				file := filepath.Join(at, fmt.Sprintf("run%d%s", j, suffix))
				if err := os.WriteFile(file, write(recording, i*len(recordings[0])+j), 0o600); err != nil {
					t.Fatal(err)
				}
				if i == 1 {
					f.head = append(f.head, file)
				}
			}
			if i == 0 {
				f.base = at
			}
		}
		return f
	}
	trace := unzipped(t, "../internal/read/torch/testdata/h100-steps.pt.trace.json.gz")
	formats := []*format{
		made("nsys", ".sqlite", openSQLite, func(recording string, _ int) []byte { return contents(t, recording) }),
		made("kineto", ".json", openKineto, func(_ string, run int) []byte { return varied(t, trace, run) }),
		made("gpu_trace", ".csv", openTable, func(recording string, _ int) []byte {
			return table(t, recording, "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,"+
				"StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name",
				`SELECT start, end - start, correlationId, gridX, gridY, gridZ, blockX, blockY, blockZ,
				registersPerThread, printf('%.3f', staticSharedMemory / 1e6), printf('%.3f', dynamicSharedMemory / 1e6),
				'', '', '', '', 'NVIDIA H200 (0)', contextId, streamId, value
				FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName ORDER BY start`)
		}),
		made("kern_sum", ".csv", openTable, func(recording string, _ int) []byte {
			return table(t, recording, "Time (%),Total Time (ns),Instances,Avg (ns),Min (ns),Max (ns),Name",
				`SELECT round(100.0 * sum(end - start) / (SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL), 1),
				sum(end - start), count(*), round(avg(end - start), 1), min(end - start), max(end - start), value
				FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName GROUP BY value ORDER BY 2 DESC`)
		}),
	}
	for _, f := range formats[:3] {
		f.calls = true
	}
	// The last two are of all runs: one file a side.
	for _, last := range []struct {
		name, file string
		open       func(string) (export, error)
		argv       []string
	}{
		{"report", "report.json", openReport,
			[]string{"nsgate", "compare", "--report", "json=report.json", formats[0].base}},
		{"baseline", "", openBaseline, []string{"nsgate", "record", "--baseline", "store", "--from"}},
	} {
		f := &format{name: last.name, open: last.open}
		for i, side := range []string{"base", "head"} {
			at := filepath.Join(dir, last.name, side)
			if err := os.MkdirAll(at, 0o700); err != nil {
				t.Fatal(err)
			}
			of := []string{formats[0].base, filepath.Dir(formats[0].head[0])}[i]
			cmd := exec.Command(last.argv[0], append(last.argv[1:], of)...)
			cmd.Dir = at
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s", out)
			}
			store := filepath.Join(at, "store", "*", "*")
			steps, _ := filepath.Glob(filepath.Join(store, "*.step.json")) // nothing is judged by them
			for _, step := range steps {
				if err := os.Remove(step); err != nil {
					t.Fatal(err)
				}
			}
			files, _ := filepath.Glob(filepath.Join(store, "*.csv"))
			if last.file != "" {
				files = []string{filepath.Join(at, last.file)}
			}
			if len(files) != 1 {
				t.Fatalf("%s: %d files", last.name, len(files))
			}
			if i == 0 {
				f.base = filepath.Dir(files[0])
			} else {
				f.head = files
			}
		}
		formats = append(formats, f)
	}
	return formats
}

func contents(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unzipped(t *testing.T, file string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(contents(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// table prints the rows of a query as CSV.
func table(t *testing.T, recording, head, query string) []byte {
	t.Helper()
	db, err := sqlite.OpenConn(recording, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b bytes.Buffer
	b.WriteString(head + "\n")
	w := csv.NewWriter(&b)
	err = sqlitex.ExecuteTransient(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		var cells []string
		for i := range s.ColumnCount() {
			cells = append(cells, s.ColumnText(i))
		}
		return w.Write(cells)
	}})
	w.Flush()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// varied is a trace whose kernels take other times in each run.
func varied(t *testing.T, trace []byte, run int) []byte {
	t.Helper()
	x, err := parseKineto(trace)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(uint64(run), 1))
	for i := range x.launches() {
		x.scale(i, 1+0.002*r.NormFloat64())
	}
	b, err := json.Marshal(x.file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// odd are values that stand in place of others.
var odd = []string{"", "-1", "0", "1e308", "-1e308", "9223372036854775807", "NaN", "x", "999999999999", "\x00"}

// sqliteExport is an export of nsys.
type sqliteExport struct {
	rows    []launch
	ids     []int64
	changes []string // SQL
	tables  [][2]string
}

func openSQLite(file string) (export, error) {
	db, err := sqlite.OpenConn(file, sqlite.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	x := &sqliteExport{}
	err = sqlitex.ExecuteTransient(db,
		`SELECT k.rowid, value, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON id = demangledName
		ORDER BY start`,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			x.ids = append(x.ids, s.ColumnInt64(0))
			x.rows = append(x.rows, launch{s.ColumnText(1), s.ColumnFloat(2), 1})
			return nil
		}})
	if err != nil {
		return nil, err
	}
	err = sqlitex.ExecuteTransient(db,
		"SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			x.tables = append(x.tables, [2]string{s.ColumnText(0), s.ColumnText(1)})
			return nil
		}})
	return x, err
}

func (x *sqliteExport) launches() []launch { return x.rows }

func (x *sqliteExport) change(format string, args ...any) {
	x.changes = append(x.changes, fmt.Sprintf(format, args...))
}

func (x *sqliteExport) remove(i int) {
	x.change("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = %d", x.ids[i])
}

func (x *sqliteExport) repeat(i int) {
	x.change("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = %d",
		x.ids[i])
}

func (x *sqliteExport) scale(i int, factor float64) {
	x.change("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start + CAST((end - start) * %g AS INTEGER) WHERE rowid = %d",
		factor, x.ids[i])
}

func (x *sqliteExport) damage(r *rand.Rand) {
	at := x.tables[r.IntN(len(x.tables))]
	x.change("UPDATE OR IGNORE %q SET %q = '%s' WHERE rowid = "+
		"(SELECT rowid FROM %q LIMIT 1 OFFSET abs(%d %% max(1, (SELECT count(*) FROM %q))))",
		at[0], at[1], strings.ReplaceAll(odd[r.IntN(len(odd))], "\x00", ""), at[0], r.Int64(), at[0])
}

func (x *sqliteExport) save(file string, blind bool) error {
	db, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer db.Close()
	if blind {
		x.change("DELETE FROM DIAGNOSTIC_EVENT")
	}
	defer sqlitex.Save(db)(&err)
	for _, c := range x.changes {
		err := sqlitex.ExecuteTransient(db, c, nil)
		code := sqlite.ErrCode(err).ToPrimary()
		if err != nil && code != sqlite.ResultConstraint && code != sqlite.ResultMismatch {
			return err
		}
	}
	return nil
}

// kineto is a trace of torch.profiler.
type kineto struct {
	file   map[string]any
	events []any
	at     []int // the kernels among the events
}

func parseKineto(text []byte) (*kineto, error) {
	x := &kineto{}
	if err := json.Unmarshal(text, &x.file); err != nil {
		return nil, err
	}
	x.events, _ = x.file["traceEvents"].([]any)
	for i, e := range x.events {
		if e, ok := e.(map[string]any); ok && e["cat"] == "kernel" {
			x.at = append(x.at, i)
		}
	}
	return x, nil
}

func openKineto(file string) (export, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseKineto(text)
}

func (x *kineto) event(i int) map[string]any { return x.events[x.at[i]].(map[string]any) }

func (x *kineto) launches() (out []launch) {
	for i := range x.at {
		e := x.event(i)
		name, _ := e["name"].(string)
		us, _ := e["dur"].(float64)
		out = append(out, launch{name, us * 1000, 1})
	}
	return out
}

func (x *kineto) remove(i int) { x.event(i)["cat"] = "removed" }

func (x *kineto) repeat(i int) {
	x.events = append(x.events, x.event(i))
	x.file["traceEvents"] = x.events
}

func (x *kineto) scale(i int, factor float64) {
	us, _ := x.event(i)["dur"].(float64)
	x.event(i)["dur"] = math.Round(us*factor*1000) / 1000
}

func (x *kineto) damage(r *rand.Rand) {
	e := x.events[r.IntN(len(x.events))].(map[string]any)
	if args, ok := e["args"].(map[string]any); ok && r.IntN(2) == 0 && len(args) > 0 {
		e = args
	}
	keys := []string{}
	for k := range e {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var value any = odd[r.IntN(len(odd))]
	if n, err := strconv.ParseFloat(value.(string), 64); err == nil && !math.IsNaN(n) {
		value = n
	}
	e[keys[r.IntN(len(keys))]] = value
}

func (x *kineto) save(file string, _ bool) error { return saveJSON(file, x.file) }

func saveJSON(file string, x any) error {
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
