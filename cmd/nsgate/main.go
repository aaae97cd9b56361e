// Command nsgate gates merges of GPU code on what its kernels cost. See `nsgate --help`.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/nsgate/nsgate/gate/command"
)

func main() {
	collectLate()
	os.Exit(command.Main(context.Background(), os.Args[1:], command.Streams{Out: os.Stdout, Err: os.Stderr}))
}

// collectLate has the first collection of garbage wait for 64 MB: a small comparison, which makes less than that, would
// spend much of its time on collecting a few megabytes again and again.
func collectLate() {
	const usualLeast, least = 4 << 20, 64 << 20 // heap in bytes at which the collector starts, by default and here
	usual := debug.SetGCPercent(100 * least / usualLeast)
	runtime.AddCleanup(new([64]byte), pace, usual)
}

// pace follows each collection. It has the next one wait for the usual garbage, in percent of the heap; of a large heap
// only the part with pointers counts, or a tenth: launches, which are most of one, hold none and cost no time.
func pace(usual int) {
	const large = 256 << 20 // bytes
	heap, percent := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}, usual
	metrics.Read(heap)
	if live, looked := heap[0].Value.Uint64(), heap[1].Value.Uint64(); live > large && usual > 0 {
		percent = usual * int(min(live, max(live/10, looked))) / int(live)
	}
	debug.SetGCPercent(percent)
	runtime.AddCleanup(new([64]byte), pace, usual)
}
