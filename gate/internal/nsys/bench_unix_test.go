//go:build unix

package nsys

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRead reads exports of n launches with two API rows a launch. It reports the most memory that the heap took from the
// system in between, and the time as a multiple of what the C library takes to sum the same tables, where its shell is installed.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("launches=%d", n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("large")
			}
			path := filepath.Join(b.TempDir(), "large.sqlite")
			generate(b, path, n)
			runtime.GC()
			peak, before := watchHeap(b), processorTime(b, syscall.RUSAGE_SELF)
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				runtime.GC() // what the last one left is not this one's
				b.StartTimer()
				traces, err := Read(b.Context(), path)
				if err != nil {
					b.Fatal(err)
				}
				if len(traces) != 1 || len(traces[0].Launches) != n {
					b.Fatalf("%d traces", len(traces))
				}
			}
			took := b.Elapsed().Seconds() / float64(b.N)
			busy := (processorTime(b, syscall.RUSAGE_SELF) - before) / float64(b.N)
			b.ReportMetric(float64(peak())/float64(n), "peak-B/launch")
			b.ReportMetric(busy/float64(n)*1e9, "cpu-ns/launch")
			if c, cpu := sumInC(b, path); c > 0 {
				b.ReportMetric(took/c, "x-C-library")
				b.ReportMetric(busy/cpu, "cpu-x-C-library")
			}
		})
	}
}

// sumInC is how long the shell of the C library takes to sum the durations of launches, calls and ranges, and for how much of that a
// processor was busy: the shortest of three, in seconds; 0 without the shell.
func sumInC(b *testing.B, path string) (took, busy float64) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		return 0, 0
	}
	sql := "SELECT sum(end - start) FROM " + strings.Join([]string{kernelTable, runtimeTable, rangeTable}, "; SELECT sum(end - start) FROM ")
	took, busy = math.Inf(1), math.Inf(1)
	for range 3 {
		begin, before := time.Now(), processorTime(b, syscall.RUSAGE_CHILDREN)
		if out, err := exec.CommandContext(b.Context(), shell, path, sql).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		took, busy = min(took, time.Since(begin).Seconds()), min(busy, processorTime(b, syscall.RUSAGE_CHILDREN)-before)
	}
	return took, busy
}

// processorTime is how long processors were busy for this process or its children, in seconds.
func processorTime(b *testing.B, who int) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// watchHeap samples the live heap until the returned function is called, which gives its largest size in bytes.
func watchHeap(b *testing.B) func() uint64 {
	var most atomic.Uint64
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
		for {
			metrics.Read(s)
			most.Store(max(most.Load(), s[0].Value.Uint64()+s[1].Value.Uint64()))
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-stopped
		return most.Load()
	}
}
