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

// BenchmarkRead reads exports of n launches with two API rows a launch. It reports the peak of the heap's system
// memory. Wall and CPU time are relative to sqlite3's sum of the same tables, where it is installed: alternating, the
// shortest of each.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("launches=%d", n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("large")
			}
			path := filepath.Join(b.TempDir(), "large.sqlite")
			generate(b, path, n)
			own, c := shortest(), shortest()
			most := uint64(0)
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				c.time(b, syscall.RUSAGE_CHILDREN, func() { sumInC(b, path) })
				runtime.GC() // what the last one left is not this one's
				peak := watchHeap(b)
				b.StartTimer()
				own.time(b, syscall.RUSAGE_SELF, func() {
					traces, err := Read(b.Context(), path)
					if err != nil {
						b.Fatal(err)
					}
					if len(traces) != 1 || len(traces[0].Launches) != n {
						b.Fatalf("%d traces", len(traces))
					}
				})
				most = max(most, peak())
			}
			b.ReportMetric(float64(most)/float64(n), "peak-B/launch")
			b.ReportMetric(own.busy/float64(n)*1e9, "cpu-ns/launch")
			if _, err := exec.LookPath("sqlite3"); err == nil {
				b.ReportMetric(own.took/c.took, "x-C-library")
				b.ReportMetric(own.busy/c.busy, "cpu-x-C-library")
			}
		})
	}
}

// BenchmarkGrowth shows how time, CPU time and memory grow with launches, and with kernels, each size twice the one
// before. C-s is the time of sqlite3's sum of the same tables, where it is installed.
func BenchmarkGrowth(b *testing.B) {
	for _, x := range []struct {
		name              string
		launches, kernels int
	}{
		{"launches=250000", 250_000, 10}, {"launches=500000", 500_000, 10}, {"launches=1000000", 1_000_000, 10},
		{"launches=10000000", 10_000_000, 10},
		{"kernels=1000", 250_000, 1000}, {"kernels=2000", 250_000, 2000}, {"kernels=4000", 250_000, 4000},
	} {
		b.Run(x.name, func(b *testing.B) {
			if testing.Short() && x.launches > 1_000_000 {
				b.Skip("large")
			}
			path := filepath.Join(b.TempDir(), "large.sqlite")
			generateOf(b, path, x.launches, x.kernels)
			best, c, most := shortest(), shortest(), uint64(0)
			for b.Loop() {
				c.time(b, syscall.RUSAGE_CHILDREN, func() { sumInC(b, path) })
				runtime.GC()
				peak := watchHeap(b)
				best.time(b, syscall.RUSAGE_SELF, func() {
					traces, err := Read(b.Context(), path)
					if err != nil {
						b.Fatal(err)
					}
					if len(traces) != 1 || len(traces[0].Launches) != x.launches ||
						len(traces[0].Kernels) != x.kernels {
						b.Fatalf("%d traces", len(traces))
					}
				})
				most = max(most, peak())
			}
			b.ReportMetric(0, "ns/op") // which has the collection of garbage in it
			b.ReportMetric(best.took, "s")
			b.ReportMetric(best.busy, "cpu-s")
			b.ReportMetric(float64(most)/1e6, "peak-MB")
			if _, err := exec.LookPath("sqlite3"); err == nil {
				b.ReportMetric(c.took, "C-s")
			}
		})
	}
}

// timing is the shortest of several times, in seconds, and the shortest CPU time.
type timing struct{ took, busy float64 }

func shortest() *timing { return &timing{math.Inf(1), math.Inf(1)} }

func (t *timing) time(b *testing.B, who int, f func()) {
	begin, before := time.Now(), processorTime(b, who)
	f()
	t.took, t.busy = min(t.took, time.Since(begin).Seconds()), min(t.busy, processorTime(b, who)-before)
}

// sumInC lets the shell of the C library sum the durations of launches, calls and ranges; it does nothing without the
// shell.
func sumInC(b *testing.B, path string) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		return
	}
	sql := "SELECT sum(end - start) FROM " + strings.Join([]string{kernelTable, runtimeTable, rangeTable},
		"; SELECT sum(end - start) FROM ")
	if out, err := exec.CommandContext(b.Context(), shell, path, sql).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
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
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-stopped
		return most.Load()
	}
}
