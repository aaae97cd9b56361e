package nsys

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// CUPTI's work on the threads of a process while it ran delayed the process. All names of releases count, and adjacent
// times are joined.
func TestOverhead(t *testing.T) {
	names := []string{
		"CUPTI: Buffer flush overhead", "CUPTI Instrumentation", "CUPTI Resource Management", // 20 to 22
		"CUDA profiling stop overhead", "CUDA profiling data flush on process exit", // 23, 24
		// 25 to 28: none of it
		"CUDA profiling initialization", "CUDA profiling memory allocation", "NVTX profiling initialization",
		"TLS allocation",
	}
	overhead := func(start, end, thread, name any) string {
		return fmt.Sprintf("INSERT INTO PROFILER_OVERHEAD VALUES (%v, %v, %v, 0, %v)", start, end, thread, name)
	}
	statements := []string{"CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER, " +
		"correlationId INTEGER, nameId INTEGER)"}
	for i, name := range names {
		statements = append(statements, stringRow(20+i, name))
	}
	for _, c := range []struct {
		name string
		rows []string
		want []model.Interval
	}{
		{"none", nil, nil},
		{"every name", []string{
			overhead(900, 950, tidA, 22), overhead(100, 110, tidA, 20), overhead(200, 230, tidA, 21),
			overhead(300, 301, tidA, 23), overhead(400, 402, tidA, 24),
		}, []model.Interval{{Start: 100, End: 110}, {Start: 200, End: 230}, {Start: 300, End: 301},
			{Start: 400, End: 402}, {Start: 900, End: 950}}},
		{"on two threads, at once", []string{overhead(100, 200, tidA, 20), overhead(150, 250, tidA2, 21),
			overhead(250, 260, tidA, 20), overhead(300, 310, tidA, 20)},
			[]model.Interval{{Start: 100, End: 260}, {Start: 300, End: 310}}},
		{"initialisation and what is not CUPTI's", []string{overhead(100, 110, tidA, 25), overhead(120, 130, tidA, 26),
			overhead(140, 150, tidA, 27), overhead(160, 170, tidA, 28)}, nil},
		{"ends before it begins, or at once", []string{overhead(110, 100, tidA, 20), overhead(120, 120, tidA, 20)},
			nil},
		{"another process, or none", []string{overhead(100, 110, tidB, 20), overhead(100, 110, "NULL", 20),
			overhead(100, 110, 77<<24, 20)}, nil},
	} {
		traces := read1(t, with(append(statements[:len(statements):len(statements)], c.rows...)...)...)
		if diff := cmp.Diff(c.want, traces[1].Overhead); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// The calls of a process are those that no other call of their thread encloses.
func TestOutermostCalls(t *testing.T) {
	a := read1(t, with(
		stringRow(20, "cudaMalloc_v3020"), stringRow(21, "cuMemAlloc_v2"), stringRow(22, "cudaStreamSynchronize_v3020"),
		stringRow(23, "cuLaunchKernelEx"),
		stringRow(24, "cudaStreamSynchronize_ptsz"), stringRow(25, "cudaMalloc_v11020"),
		// the driver's call inside the runtime's
		callRow(500, 510, tidA2, 30, 22), callRow(100, 110, tidA, 11, 3), callRow(102, 108, tidA, 11, 23),
		callRow(200, 300, tidA, 31, 20), callRow(201, 299, tidA, 32, 21), callRow(210, 220, tidA, 33, 21),
		callRow(290, 300, tidA, 34, 21),
		callRow(250, 260, tidA2, 35, 24),                                   // at that time, on another thread
		callRow(300, 310, tidA, 36, 25),                                    // begins where the other ends
		callRow(400, 390, tidA, 37, 20), callRow(420, 430, tidA, 38, 4321), // never ended; of no name
		callRow(600, 610, tidB, 39, 20),
	)...)[1]
	type named struct {
		Name       string
		Start, End int64
		Thread     int32
	}
	var got []named
	for c := range a.Calls.All() {
		got = append(got, named{a.CallNames[c.Name], c.Start, c.End, c.Thread})
	}
	// The threads are numbered as they come.
	want := []named{
		{"cudaStreamSynchronize_ptsz", 250, 260, 0}, {"cudaStreamSynchronize", 500, 510, 0},
		{"cudaLaunchKernel", 100, 110, 1}, {"cudaMalloc", 200, 300, 1}, {"cudaMalloc", 300, 310, 1},
		{"a CUDA call", 420, 430, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(a.CallNames) != 5 {
		t.Errorf("names %q: want each once", a.CallNames)
	}
}

// A program without NVTX ranges, all of whose launches have their kernel, has its calls: they tell why the GPU idles.
func TestCallsWithoutRanges(t *testing.T) {
	a := read1(t, with("DELETE FROM NVTX_EVENTS", "DELETE FROM StringIds WHERE value LIKE '%Profiler%'",
		"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", kernelRows(200, ""),
		callRows(200, 3, 0, ""))...)[0]
	if len(a.Ranges) > 0 || len(a.Launches) != 200 {
		t.Fatalf("%d ranges, %d launches", len(a.Ranges), len(a.Launches))
	}
	if l := a.Launches[7]; l.API != 995000+7*10000 || l.Thread < 0 || len(a.CallNames) != 1 {
		t.Errorf("a launch at %d was asked for at %d by thread %d; calls %q", l.Start, l.API, l.Thread, a.CallNames)
	}
}
