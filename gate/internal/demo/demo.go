// Package demo holds two recordings of one program on an H200: five runs, and three of a build that waits 200 µs a
// step for the CPU.
package demo

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io/fs"
)

// Base and Head are the directories of both sides.
const (
	Base = "base"
	Head = "idle_200us"
)

//go:embed recordings.zip
var recordings []byte

// Files are the exports of the profiler, in a directory a side.
func Files() (fs.FS, error) {
	return zip.NewReader(bytes.NewReader(recordings), int64(len(recordings)))
}
