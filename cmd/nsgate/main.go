// Command nsgate gates merges of GPU code on what its kernels cost. See `nsgate --help`.
package main

import (
	"os"

	"github.com/nsgate/nsgate/cmd/nsgate/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
