package profile_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// everyRank is the slow rank where all are.
const everyRank = -2

// perStep is how many launches a step of a generated rank has; the last of them is a collective.
const perStep = 50

// generateRank writes the export of a rank of so many launches.
func generateRank(t testing.TB, path string, launches int) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const process = int64(1)<<48 | 4711<<24
	const thread = process | 4712
	quick(t, conn)
	script := `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
		CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, cuDevice INTEGER);
		INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 'GPU-x', 0);
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
			streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,
			registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
			blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
			dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, graphNodeId INTEGER);
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
			correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
		CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
		INSERT INTO StringIds VALUES (1, 'step'), (2, 'forward'), (3, 'cudaLaunchKernel_v7000'), (4, 'cudaStreamSynchronize_v3020'),
			(9, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)');`
	for i := range 12 {
		script += fmt.Sprintf("INSERT INTO StringIds VALUES (%d, 'void kernel%d<float>(float *, int)');", 10+i, i)
	}
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(conn, "BEGIN", nil); err != nil {
		t.Fatal(err)
	}
	insert := func(sql string) func(...int64) {
		stmt := conn.Prep(sql)
		return func(values ...int64) {
			for i, v := range values {
				stmt.BindInt64(i+1, v)
			}
			if _, err := stmt.Step(); err != nil {
				t.Fatal(err)
			}
			if err := stmt.Reset(); err != nil {
				t.Fatal(err)
			}
		}
	}
	kernel := insert(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?, 32, ?, 1, 1, 256, 1, 1, 0, 0, 0, NULL)`)
	call := insert("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)")
	ranged := insert("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, ?, 0)")
	const pace = 20_000 // ns from launch to launch
	for i := range int64(launches) {
		at := 1_000_000 + i*pace
		if i%perStep == 0 {
			ranged(at-10, at+perStep*pace-10, thread, 1)
			ranged(at-5, at+perStep/2*pace-10, thread, 2)
			call(at-4, at-2, thread, 2*i+1, 4)
		}
		name := 10 + i%perStep%12
		if i%perStep == perStep-1 {
			name = 9
		}
		call(at, at+1500, thread, 2*i+2, 3)
		kernel(at+2000, at+2000+32*(300+(i%perStep)*(i%perStep)%97+i/perStep*7%3), 2*i+2, process, name, name, 64+name)
	}
	if err := sqlitex.ExecuteTransient(conn, "COMMIT", nil); err != nil {
		t.Fatal(err)
	}
}

// quick lets a database that can be written again be written without care.
func quick(t testing.TB, conn *sqlite.Conn) {
	t.Helper()
	for _, sql := range []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF"} {
		if err := sqlitex.ExecuteTransient(conn, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// generateJobs writes jobs of ranks into a directory: copies of one rank, each with noise of its own. The kernels of
// one rank take 8 % longer where it is slow, and its collectives as much less.
func generateJobs(t testing.TB, dir string, jobs, ranks, launches, slow int) {
	t.Helper()
	one := filepath.Join(t.TempDir(), "one.sqlite")
	generateRank(t, one, launches)
	data, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for job := range jobs {
		for rank := range ranks {
			path := filepath.Join(dir, fmt.Sprintf("run.%03d.rank%d.sqlite", job, rank))
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			more := (job*7+rank*3)%5*4 + rank%7
			if rank == slow || slow == everyRank {
				more += 900
			}
			quick(t, conn)
			later := job*ranks + rank // no two recordings are the same
			script := fmt.Sprintf(`UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start + %d,
				end = end + CASE demangledName WHEN 9 THEN %d ELSE %d END`, later, later+max(0, 4000-4*more), later+more)
			if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// judge compares two directories.
func judge(t testing.TB, base, head string) *result.Report {
	t.Helper()
	var sides []*profile.Recording
	for _, dir := range []string{base, head} {
		r, err := profile.Tools{}.Open(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, r)
	}
	cut, err := profile.Cut(profile.Rule{}, sides...)
	if err != nil {
		t.Fatal(err)
	}
	return insight.Judge(decide.Input{Baseline: cut[0], Head: cut[1], Policy: thresholds.Default().For("")}).Shown(nil)
}

// Of many ranks those that matter are named, and the others summed up.
func TestManyRanks(t *testing.T) {
	base, head := filepath.Join(t.TempDir(), "base"), filepath.Join(t.TempDir(), "head")
	generateJobs(t, base, 2, 12, 10*perStep, -1)
	generateJobs(t, head, 2, 12, 10*perStep, 7)
	r := judge(t, base, head)
	if r.Ranks == nil || len(r.Ranks.Ranks) != 12 || r.Ranks.Straggler == nil || r.Ranks.Straggler.Rank != "rank 7" {
		t.Fatalf("%s: %s, ranks %+v", r.Verdict, r.Reason, r.Ranks)
	}
	if x := r.HeadSessions[0].Environment; x.Processes != 12 || len(r.HeadSessions[0].Runs) != 2 {
		t.Errorf("%d processes, %d runs", x.Processes, len(r.HeadSessions[0].Runs))
	}
	for _, format := range []string{"text", "markdown"} {
		var out bytes.Buffer
		if err := report.Render(format, &out, r, report.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"rank 7 is", "the others wait", "median", "the 10 that compute longest, of 12"} {
			if !strings.Contains(strings.ReplaceAll(out.String(), "\u00a0", " "), want) {
				t.Errorf("%s lacks %q:\n%s", format, want, out.String())
			}
		}
	}
	// Where all are slower, what they have in common is not hidden behind them.
	slower := filepath.Join(t.TempDir(), "slower")
	generateJobs(t, slower, 2, 12, 10*perStep, everyRank)
	r = judge(t, base, slower)
	var out bytes.Buffer
	if err := report.Render("text", &out, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), " rank "); r.Ranks.Straggler != nil || n > 2 ||
		!strings.Contains(out.String(), " kernel") || strings.Count(r.Reason, "rank ") != 1 {
		t.Errorf("%s: %s: %d ranks in\n%s", r.Verdict, r.Reason, n, out.String())
	}
	if r := judge(t, base, base+"/."); r.Verdict != result.Pass || r.Ranks.Straggler != nil {
		t.Errorf("unchanged: %s, %+v", r.Verdict, r.Ranks.Straggler)
	}
}

// BenchmarkManyRanks judges jobs of many ranks, five of them against one.
func BenchmarkManyRanks(b *testing.B) {
	for _, x := range []struct {
		ranks, launches int
		fragments       bool
	}{{8, 2000, false}, {16, 2000, false}, {32, 2000, false}, {32, 2000, true}, {512, 10_000, false},
		{1000, 1000, true}} {
		name := fmt.Sprint("ranks=", x.ranks)
		if x.fragments {
			name += " fragments"
		}
		b.Run(name, func(b *testing.B) {
			if testing.Short() && x.ranks > 32 {
				b.Skip("four gigabytes of exports")
			}
			base, head := filepath.Join(b.TempDir(), "base"), filepath.Join(b.TempDir(), "head")
			generateJobs(b, base, 2, x.ranks, x.launches, -1)
			generateJobs(b, head, 5, x.ranks, x.launches, x.ranks/5)
			if x.fragments {
				fragmentAll(b, base, base+"-fragments", "")
				fragmentAll(b, head, head+"-fragments", "")
				base, head = base+"-fragments", head+"-fragments"
			}
			for b.Loop() {
				if r := judge(b, base, head); r.Verdict != result.Fail {
					b.Fatal(r.Reason)
				}
			}
		})
	}
}

// The recording of a rank that another user put into a gather directory is not read, neither with the directory nor
// alone.
func TestRankOfOthers(t *testing.T) {
	dir := recordedJobs(t, "../../../../testdata/h100/stacks-*.sqlite", func(i int, _ string) string {
		return fmt.Sprintf("run.000.rank%d.sqlite", i)
	})
	planted := filepath.Join(dir, "run.000.rank1.sqlite")
	if os.Chmod(dir, 0o777) != nil || os.Chown(planted, 4711, -1) != nil {
		t.Skip("only root can give a file to another user")
	}
	for _, path := range []string{dir, planted} {
		_, err := profile.Tools{}.Open(t.Context(), path)
		if err == nil || !strings.Contains(err.Error(), "rank1.sqlite was put there by another user (uid 4711)") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
