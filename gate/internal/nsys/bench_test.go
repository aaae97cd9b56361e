package nsys

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkRead reads exports of n launches with two API rows a launch, and reports the most memory that the heap took
// from the system in between.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000, 4_000_000} {
		b.Run(fmt.Sprintf("launches=%d", n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("large")
			}
			path := filepath.Join(b.TempDir(), "large.sqlite")
			generate(b, path, n)
			runtime.GC()
			peak := watchHeap(b)
			b.ResetTimer()
			for b.Loop() {
				traces, err := Read(b.Context(), path)
				if err != nil {
					b.Fatal(err)
				}
				if len(traces) != 1 || len(traces[0].Launches) != n {
					b.Fatalf("%d traces", len(traces))
				}
			}
			b.ReportMetric(float64(peak())/1e6, "peak-MB")
		})
	}
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
