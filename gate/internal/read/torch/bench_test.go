package torch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkRead reads files of about 200 MB and reports the peak of live heap memory: one file with mostly operators,
// one with mostly launches, and one with mostly functions of Python.
func BenchmarkRead(b *testing.B) {
	for _, g := range []generated{
		{steps: 400, operators: 1000, launches: 100},
		{steps: 400, operators: 50, launches: 530},
		{steps: 400, functions: 2000, launches: 50},
	} {
		b.Run(fmt.Sprintf("operators=%d,launches=%d,functions=%d", g.steps*g.operators, g.steps*g.launches,
			g.steps*g.functions), func(b *testing.B) {
			launches := g.steps * g.launches
			f, err := os.Create(filepath.Join(b.TempDir(), "large.json"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			size, err := io.Copy(f, &g)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			b.ReportAllocs()
			peak := watchHeap()
			for b.Loop() {
				if _, err := f.Seek(0, io.SeekStart); err != nil {
					b.Fatal(err)
				}
				r, err := readAny(b.Context(), f, "large.json")
				if err != nil {
					b.Fatal(err)
				}
				if len(r.Trace.Launches) != launches {
					b.Fatalf("%d launches, want %d", len(r.Trace.Launches), launches)
				}
			}
			b.ReportMetric(float64(peak())/1e6, "peak-MB")
		})
	}
}

// watchHeap samples the live heap until the returned function is called, which gives by how many bytes it grew at most.
func watchHeap() func() uint64 {
	heap := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	runtime.GC()
	before := heap()
	var most atomic.Uint64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if now := heap(); now > before {
				most.Store(max(most.Load(), now-before))
			}
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
