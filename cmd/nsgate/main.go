// Command nsgate gates merges of GPU code on what its kernels cost. See `nsgate --help`.
package main

import (
	"os"
	"runtime"

	"github.com/nsgate/nsgate/cmd/nsgate/internal/cli"
)

func main() {
	// Half the time of a small comparison would be spent on collecting a few megabytes again and again. The collector waits for the
	// heap to double, and counts this, which nobody touches and the system therefore gives no memory for.
	unused := make([]byte, 32<<20)
	code := cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	runtime.KeepAlive(unused)
	os.Exit(code)
}
