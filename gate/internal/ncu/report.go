package ncu

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A report is "NVR\0" and a file header, then blocks to the end: each a block header, which says how long the payload
// behind it is, and the payload. Before each header its length stands in four bytes, the low one first; the
// headers are Protocol Buffers messages (NVIDIA ships the .proto files in ncu's extras/FileFormat).
var magic = []byte("NVR\x00")

const (
	known       = 7 // the version of that layout, from ncu 2021.2 to at least 2025.3
	versionID   = 1 // of the file header
	payloadID   = 5 // of a block header
	headerLimit = 16 << 20
)

var written = regexp.MustCompile(`(20[0-9]{2}\.[0-9]+\.[0-9]+)(?:\.[0-9]+)? \(build [0-9]+\)`)

// SniffReport reports whether a file that begins with head looks like a report of ncu. A game's files begin with the same
// four bytes.
func SniffReport(head []byte) bool {
	if len(head) < 9 {
		return len(head) >= 4 && string(head[:4]) == string(magic)
	}
	size := binary.LittleEndian.Uint32(head[4:])
	return string(head[:4]) == string(magic) && size >= 2 && size <= 4096 && head[8] == versionID<<3
}

// inspect walks over the blocks of a report and refuses one whose blocks do not end with the file. It gives the version of
// ncu that the first block names, "" where it names none. What is not laid out as known is for ncu to decide.
func inspect(report string) (version string, err error) {
	f, err := os.Open(report)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if strings.EqualFold(filepath.Ext(report), ".ncu-repz") { // of another make, which only ncu knows
		return "", nil
	}
	name, size, at := filepath.Base(report), info.Size(), int64(0)
	move := func(n int64) error {
		if at += n; at > size {
			return Reasons.Refuse("cut-report", name, at, size)
		}
		return nil
	}
	read := func(n int64) ([]byte, error) {
		if err := move(n); err != nil {
			return nil, err
		}
		b := make([]byte, n)
		if _, err := f.ReadAt(b, at-n); err != nil {
			return nil, fmt.Errorf("%s: %w", name, cause(err))
		}
		return b, nil
	}
	header := func() ([]byte, error) {
		b, err := read(4)
		if err != nil {
			return nil, err
		}
		n := int64(binary.LittleEndian.Uint32(b))
		if n > headerLimit && at+n <= size {
			return nil, nil
		}
		return read(n)
	}
	const least = 16
	head, err := read(min(least, size))
	switch {
	case err != nil:
		return "", err
	case !SniffReport(head):
		return "", Reasons.Refuse("no-report", name)
	case size < least:
		return "", Reasons.Refuse("cut-report", name, least, size)
	}
	at = int64(len(magic))
	block, err := header()
	if layout, ok := field(block, versionID); err != nil || !ok || layout != known {
		return "", err
	}
	for first := true; first || at < size; first = false {
		block, err := header()
		if err != nil {
			return version, err
		}
		if m := written.FindSubmatch(block); first && m != nil {
			version = string(m[1])
		}
		payload, ok := field(block, payloadID)
		if !ok || payload > 1<<40 {
			return version, nil
		}
		if err := move(int64(payload)); err != nil {
			return version, err
		}
	}
	return version, nil
}

// field finds a whole number in a Protocol Buffers message of such numbers and of messages.
func field(message []byte, id uint64) (value uint64, ok bool) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		value, m := binary.Uvarint(message[max(n, 0):])
		if n <= 0 || m <= 0 {
			return 0, false
		}
		message = message[n+m:]
		switch {
		case key == id<<3:
			return value, true
		case key&7 == 2 && value <= uint64(len(message)):
			message = message[value:]
		case key&7 != 0:
			return 0, false
		}
	}
	return 0, false
}
