//go:build unix

// Command fake is the tool whose name it is called by, nsys, ncu or nvidia-smi, as the package faketools fakes it. Tests
// build it under one of the names and link the others to it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/faketools"
)

func main() {
	name := filepath.Base(os.Args[0])
	tool := faketools.Tools[name]
	if tool == nil {
		fmt.Fprintf(os.Stderr, "there is no fake %s\n", name)
		os.Exit(2)
	}
	os.Exit(tool())
}
