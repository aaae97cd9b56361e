package nsys

import (
	"fmt"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
)

// build writes a database with the given statements and returns its path.
func build(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "built.sqlite")
	conn := create(t, path)
	for _, s := range statements {
		execute(t, conn, s)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func create(t testing.TB, path string) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "PRAGMA journal_mode = OFF")
	execute(t, conn, "PRAGMA synchronous = OFF")
	return conn
}

func execute(t testing.TB, conn *sqlite.Conn, sql string) {
	t.Helper()
	stmt, _, err := conn.PrepareTransient(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer stmt.Finalize()
	for {
		more, err := stmt.Step()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if !more {
			return
		}
	}
}

// The tables as nsys 2025.3 declares them.
const (
	stringTable   = `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)`
	kernelColumns = `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
		deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,
		correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,
		mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,
		gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
		blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
		staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
		localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
		sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER)`
	runtimeColumns = `CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
		eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
		returnValue INTEGER NOT NULL, callchainId INTEGER)`
	copyColumns = `CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
		deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
		globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER,
		graphNodeId INTEGER)`
	rangeColumns = `CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
		rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER,
		textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL,
		uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT)`
	gpuTable = `CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, cuDevice INTEGER)`
	gpuRow   = `INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 'GPU-x', 0)`

	diagnosticColumns = `CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL,
		source INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER)`
)

// The process and thread of generated exports.
const (
	genProcess = int64(1)<<48 | 4711<<24
	genThread  = genProcess | 4712
)

// generate is [generateOf] 12 kernels.
func generate(t testing.TB, path string, n int) {
	t.Helper()
	generateOf(t, path, n, 12)
}

// generateOf writes an export of n launches of some kernels in turns, each launch with its API call and one more call,
// with a copy to every 50 launches and an NVTX range around every 5, ten of these in a step.
func generateOf(t testing.TB, path string, n, kernels int) {
	t.Helper()
	conn := create(t, path)
	for _, s := range []string{stringTable, kernelColumns, runtimeColumns, copyColumns, rangeColumns, gpuTable,
		gpuRow} {
		execute(t, conn, s)
	}
	execute(t, conn, "BEGIN")
	insert := func(sql string) func(...int64) {
		stmt, err := conn.Prepare(sql)
		if err != nil {
			t.Fatal(err)
		}
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
	for i := range kernels {
		execute(t, conn, fmt.Sprintf("INSERT INTO StringIds VALUES (%d, 'void kernel<%d>(float *, int)')", 10+i, i))
	}
	for i, name := range []string{"step", "layer", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020"} {
		execute(t, conn, fmt.Sprintf("INSERT INTO StringIds VALUES (%d, '%s')", 1+i, name))
	}
	kernel := insert(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
		(?, ?, 0, 1, 0, 7, ?, ?, ?, ?, NULL, 1, 1, 32, ?, 1, 1, 256, 1, 1, 0, 1024, 0, 0, ?, 32768, NULL, 0)`)
	call := insert("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)")
	copied := insert("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, 7, ?, ?, ?, 1, 1, 2, NULL)")
	ranged := insert(`INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId)
		VALUES (?, ?, 59, ?, ?, 0)`)
	const pace = 5000 // ns from launch to launch
	of := int64(kernels)
	for i := range int64(n) {
		at := 1_000_000 + i*pace
		if i%50 == 0 {
			ranged(at-10, at+50*pace-10, genThread, 1)
			call(at-8, at-6, genThread, 3*i+1, 4)
			copied(at+20, at+900, 3*i+1, genProcess, 4096)
		}
		if i%5 == 0 {
			ranged(at-5, at+5*pace-20, genThread, 2)
		}
		call(at, at+1500, genThread, 3*i+2, 3)
		call(at+1600, at+1700, genThread, 3*i+3, 4)
		kernel(at+2000, at+2000+32*(30+i*i%97), 3*i+2, genProcess, 10+i%of, 10+i%of, 64+i%of, i+1)
	}
	execute(t, conn, "COMMIT")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}
