package ncu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
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

var written = input.Pattern(`(20[0-9]{2}\.[0-9]+\.[0-9]+)(?:\.[0-9]+)? \(build [0-9]+\)`)

// SniffReport reports whether a file that begins with head looks like a report of ncu. A game's files begin with the
// same four bytes.
func SniffReport(head []byte) bool {
	if len(head) < 9 {
		return len(head) >= 4 && string(head[:4]) == string(magic)
	}
	size := binary.LittleEndian.Uint32(head[4:])
	return string(head[:4]) == string(magic) && size >= 2 && size <= 4096 && head[8] == versionID<<3
}

// reportFile is an open report and how far it was read.
type reportFile struct {
	f        *os.File
	name     string // for messages
	size, at int64
	version  string // of the ncu that wrote it, "" if unknown
}

func openReport(report string) (*reportFile, error) {
	f, err := input.Open(report)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &reportFile{f: f, name: filepath.Base(report), size: info.Size()}, nil
}

func (r *reportFile) move(n int64) error {
	r.at += n
	if r.at > r.size {
		return model.Refuse(model.Truncated, "copy it again, or profile again",
			"%s is cut off: it should have at least %d bytes and has %d", r.name, r.at, r.size)
	}
	return nil
}

func (r *reportFile) read(n int64) ([]byte, error) {
	if err := r.move(n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := r.f.ReadAt(b, r.at-n); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, proc.Cause(err))
	}
	return b, nil
}

// length reads the length of the next item.
func (r *reportFile) length() (int64, error) {
	b, err := r.read(4)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint32(b)), nil
}

// by names the ncu that wrote the report, "" if unknown.
func (r *reportFile) by() string {
	if r.version == "" {
		return ""
	}
	return fmt.Sprintf(" (ncu %s wrote it)", r.version)
}

// header reads a header, nil if there is none.
func (r *reportFile) header() (message, error) {
	n, err := r.length()
	if err != nil || n > headerLimit && r.at+n <= r.size {
		return nil, err
	}
	return r.read(n)
}

// blocks walks over the blocks of a report and refuses one whose blocks do not end with the file. It notes the version
// of ncu that the first block names. For each block visit may read the payload, up to its end. [ErrLayout] is the error
// for an unknown layout.
func (r *reportFile) blocks(visit func(header message, end int64) error) error {
	if strings.EqualFold(filepath.Ext(r.name), ".ncu-repz") { // of another make, which only ncu knows
		return ErrLayout
	}
	const least = 16
	head, err := r.read(min(least, r.size))
	switch {
	case err != nil:
		return err
	case !SniffReport(head):
		return model.Refuse(model.OtherFormat, "give a file that ncu -o wrote", "%s is no report of ncu", r.name)
	case r.size < least:
		return r.move(least - r.at)
	}
	r.at = int64(len(magic))
	block, err := r.header()
	if err != nil {
		return err
	}
	if layout, ok := block.number(versionID); !ok || layout != known {
		return ErrLayout
	}
	for first := true; first || r.at < r.size; first = false {
		block, err := r.header()
		if err != nil {
			return err
		}
		if m := written().FindSubmatch(block); first && m != nil {
			r.version = string(m[1])
		}
		payload, ok := block.number(payloadID)
		if !ok || payload > 1<<40 {
			return ErrLayout
		}
		begin := r.at
		if err := r.move(int64(payload)); err != nil {
			return err
		}
		end := r.at
		r.at = begin
		if err := visit(block, end); err != nil {
			return err
		}
		r.at = end
	}
	return nil
}

// inspect refuses a file that is not a whole report, and names the ncu that wrote it, as far as it says.
// A layout that is not known is for ncu to read.
func inspect(report string) (by, version string, err error) {
	r, err := openReport(report)
	if err != nil {
		return "", "", err
	}
	defer r.f.Close()
	if err = r.blocks(func(message, int64) error { return nil }); errors.Is(err, ErrLayout) {
		err = nil
	}
	return r.by(), r.version, err
}

// ErrLayout is the error for a report that is laid out in a way that only ncu knows, or that holds results of ranges:
// [Export] it.
var ErrLayout = errors.New("not laid out as known")

// message is one of Protocol Buffers.
type message []byte

// field is a field of a message: a number, or bytes that hold a text or another message.
type field struct {
	id     protowire.Number
	kind   protowire.Type
	number uint64 // the bits of a fraction
	bytes  message
}

// each shows the fields of a message to f until it says no. It is false for bytes that are no message.
func (m message) each(f func(field) bool) bool {
	for len(m) > 0 {
		var x field
		var n int
		x.id, x.kind, n = protowire.ConsumeTag(m)
		if n < 0 {
			return false
		}
		m = m[n:]
		switch x.kind {
		case protowire.VarintType:
			x.number, n = protowire.ConsumeVarint(m)
		case protowire.Fixed64Type:
			x.number, n = protowire.ConsumeFixed64(m)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(m)
			x.number = uint64(v)
		case protowire.BytesType:
			x.bytes, n = protowire.ConsumeBytes(m)
		default:
			n = -1
		}
		if n < 0 {
			return false
		}
		m = m[n:]
		if !f(x) {
			return true
		}
	}
	return true
}

// find gives the first field of an id.
func (m message) find(id protowire.Number) (found field, ok bool) {
	m.each(func(x field) bool {
		if x.id == id {
			found, ok = x, true
		}
		return !ok
	})
	return found, ok
}

// number is the whole number of an id.
func (m message) number(id protowire.Number) (uint64, bool) {
	x, ok := m.find(id)
	return x.number, ok && x.kind == protowire.VarintType
}
