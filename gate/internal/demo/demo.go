// Package demo holds two recordings of one program on an H200: five runs, and three of a build that waits 200 µs a
// step for the CPU.
package demo

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// Base and Head are the directories of both sides.
const (
	Base = "base"
	Head = "idle_200us"
)

// recordings is an archive without compression of its own, so that zstd finds what the recordings share: zip -0 and
// zstd --ultra -22 made it.
//
//go:embed recordings.zip.zst
var recordings []byte

// Files are the exports of the profiler, in a directory a side.
func Files() (fs.FS, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	archive, err := z.DecodeAll(recordings, nil)
	if err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
}
