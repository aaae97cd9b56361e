// Command nsgate gates merges of GPU code on what its kernels cost. See `nsgate --help`.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/nsgate/nsgate/gate/command"
)

func main() {
	collectLate()
	os.Exit(command.Main(context.Background(), os.Args[1:], command.Streams{Out: os.Stdout, Err: os.Stderr}))
}

// collectLate has the first collection of garbage wait for 64 MB, and leaves the later ones as they are: a small comparison, which makes
// less than that, would spend much of its time on collecting a few megabytes again and again.
func collectLate() {
	const usualLeast, least = 4 << 20, 64 << 20 // heap in bytes at which the collector starts, by default and here
	usual := debug.SetGCPercent(100 * least / usualLeast)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
