package ncu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
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

var (
	errForeign = errors.New("no report")
	written    = regexp.MustCompile(`(20[0-9]{2}\.[0-9]+\.[0-9]+)(?:\.[0-9]+)? \(build [0-9]+\)`)
)

// cutError says that a report ends too early.
type cutError struct{ want, have int64 }

func (e *cutError) Error() string { return fmt.Sprintf("%d of %d bytes", e.have, e.want) }

// SniffReport reports whether a file that begins with head looks like a report of ncu. A game's files begin with the same
// four bytes.
func SniffReport(head []byte) bool {
	if len(head) < 9 {
		return len(head) >= 4 && string(head[:4]) == string(magic)
	}
	size := binary.LittleEndian.Uint32(head[4:])
	return string(head[:4]) == string(magic) && size >= 2 && size <= 4096 && head[8] == versionID<<3
}

// inspect walks over the blocks of a report. It gives the version of ncu that the first block names, "" where it
// names none, and a *cutError where the blocks do not end with the file.
func inspect(r io.ReaderAt, size int64) (version string, err error) {
	head := make([]byte, min(size, 16))
	if err := readAt(r, head, 0); err != nil {
		return "", err
	}
	if !SniffReport(head) {
		return "", errForeign
	}
	if size < 16 {
		return "", &cutError{16, size}
	}
	next := 8 + int64(binary.LittleEndian.Uint32(head[4:]))
	if next > size {
		return "", &cutError{next, size}
	}
	file := make([]byte, next-8)
	if err := readAt(r, file, 8); err != nil {
		return "", err
	}
	if layout, ok := field(file, versionID); !ok || layout != known {
		return "", nil // its blocks may be others
	}
	if next == size {
		return "", &cutError{size + 4, size}
	}
	for first := true; next < size; first = false {
		var length [4]byte
		if next+4 > size {
			return version, &cutError{next + 4, size}
		}
		if err := readAt(r, length[:], next); err != nil {
			return version, err
		}
		n := int64(binary.LittleEndian.Uint32(length[:]))
		next += 4
		if next+n > size {
			return version, &cutError{next + n, size}
		}
		if n > headerLimit {
			return version, nil
		}
		header := make([]byte, n)
		if err := readAt(r, header, next); err != nil {
			return version, err
		}
		if m := written.FindSubmatch(header); first && m != nil {
			version = string(m[1])
		}
		payload, ok := field(header, payloadID)
		if !ok || payload > 1<<40 {
			return version, nil // not as known: ncu decides
		}
		next += n + int64(payload)
		if next > size {
			return version, &cutError{next, size}
		}
	}
	return version, nil
}

func readAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	return err
}

// field finds an integer field of a Protocol Buffers message.
func field(message []byte, id uint64) (value uint64, ok bool) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 {
			return 0, false
		}
		message = message[n:]
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(message)
			if n <= 0 {
				return 0, false
			}
			if key>>3 == id {
				return v, true
			}
			message = message[n:]
		case 1, 5:
			n := 8
			if key&7 == 5 {
				n = 4
			}
			if len(message) < n {
				return 0, false
			}
			message = message[n:]
		case 2:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return 0, false
			}
			message = message[n+int(length):]
		default:
			return 0, false
		}
	}
	return 0, false
}
