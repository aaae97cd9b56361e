package devicecode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The layout of a fat binary, as public parsers document it: a header of 16 bytes (magic, version, header size, size of the
// entries), then entries, each a header and its data.
const (
	fatMagic       = 0xba55ed50
	fatHeader      = 16
	leastEntry     = 64 // bytes of an entry's header
	mostEntry      = 1 << 16
	kindPTX        = 1
	kindELF        = 2
	flagLZ4        = 0x2000
	flagZstd       = 0x8000
	flagCompressed = 0x1000   // of earlier releases: LZ4
	flagExact      = 0x100000 // code for one architecture: the suffix "a"
	flagFamily     = 0x200000 // code for a family of architectures: the suffix "f"
)

// entry is one image of a fat binary.
type entry struct {
	kind       uint16
	flags      uint64
	compressed []byte // as stored, without padding
	size       uint64 // of the decompressed image
}

// suffix is that of the entry's architecture.
func (e *entry) suffix() string {
	switch {
	case e.flags&flagExact != 0:
		return "a"
	case e.flags&flagFamily != 0:
		return "f"
	}
	return ""
}

// fatReader reads the fat binaries of a section or file, one entry at a time.
type fatReader struct {
	r    *io.SectionReader
	end  int64 // of the current fat binary
	at   int64
	read int // fat binaries so far
}

// next is the next entry; io.EOF behind the last.
func (f *fatReader) next() (*entry, error) {
	for f.at >= f.end {
		if err := f.header(); err != nil {
			return nil, err
		}
	}
	var h [leastEntry]byte
	if err := f.load(h[:], f.at); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	header, stored := int64(le.Uint32(h[4:])), le.Uint64(h[8:])
	if header < leastEntry || header > mostEntry || stored > uint64(f.end-f.at-header) {
		return nil, fmt.Errorf("damaged fat binary at byte %d", f.at)
	}
	e := &entry{kind: le.Uint16(h[:]), flags: le.Uint64(h[40:]), size: le.Uint64(h[56:])}
	data := f.at + header
	f.at = data + int64(stored)
	if e.kind != kindELF {
		return e, nil
	}
	if stored > maxImage {
		return nil, fmt.Errorf("an image of %d bytes is above the bound of %d", stored, maxImage)
	}
	e.compressed = make([]byte, stored)
	if err := f.load(e.compressed, data); err != nil {
		return nil, err
	}
	if n := uint64(le.Uint32(h[16:])); n > 0 && n < stored {
		e.compressed = e.compressed[:n]
	}
	return e, nil
}

// header finds the next fat binary behind the current one, on a boundary of 8 bytes.
func (f *fatReader) header() error {
	var h [fatHeader]byte
	const block = 64 << 10
	for f.at = (f.at + 7) &^ 7; f.at+fatHeader <= f.r.Size(); {
		if err := f.load(h[:], f.at); err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(h[:]) != fatMagic {
			skip, err := f.skip(block)
			if err != nil {
				return err
			}
			f.at += skip
			continue
		}
		size, header := binary.LittleEndian.Uint64(h[8:]), int64(binary.LittleEndian.Uint16(h[6:]))
		if header < fatHeader || size > uint64(f.r.Size()-f.at-min(header, f.r.Size()-f.at)) {
			return fmt.Errorf("damaged fat binary at byte %d", f.at)
		}
		f.at, f.end = f.at+header, f.at+header+int64(size)
		f.read++
		return nil
	}
	return io.EOF
}

// skip is the distance to the next magic within a block, or the block's length.
func (f *fatReader) skip(block int64) (int64, error) {
	b := make([]byte, min(block, f.r.Size()-f.at))
	if err := f.load(b, f.at); err != nil {
		return 0, err
	}
	for i := 8; i+4 <= len(b); i += 8 {
		if binary.LittleEndian.Uint32(b[i:]) == fatMagic {
			return int64(i), nil
		}
	}
	return max(8, int64(len(b))&^7), nil
}

func (f *fatReader) load(b []byte, at int64) error {
	if _, err := f.r.ReadAt(b, at); err != nil {
		return fmt.Errorf("cut short at byte %d: %w", at, io.ErrUnexpectedEOF)
	}
	return nil
}

// decompressor decompresses entries. It is not safe for concurrent use.
type decompressor struct{ zstd *zstd.Decoder }

func newDecompressor() (*decompressor, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxImage))
	return &decompressor{z}, err
}

var errCompression = errors.New("unknown compression")

// image is the device ELF of an entry.
func (d *decompressor) image(e *entry) ([]byte, error) {
	switch {
	case bytes.HasPrefix(e.compressed, []byte("\x7fELF")):
		return e.compressed, nil
	case e.size == 0 || e.size > maxImage:
		return nil, fmt.Errorf("an image of %d bytes is above the bound of %d", e.size, maxImage)
	case e.flags&flagZstd != 0:
		out, err := d.zstd.DecodeAll(e.compressed, make([]byte, 0, min(e.size, 64<<10*uint64(len(e.compressed)))))
		if err != nil || uint64(len(out)) != e.size {
			return nil, fmt.Errorf("damaged zstd data: %d of %d bytes (%v)", len(out), e.size, err)
		}
		return out, nil
	case e.flags&(flagLZ4|flagCompressed) != 0:
		// LZ4 expands at most 255 times.
		if e.size > 255*uint64(len(e.compressed)) {
			return nil, errors.New("damaged LZ4 data: it claims more than LZ4 can hold")
		}
		out := make([]byte, e.size)
		n, err := lz4.UncompressBlock(e.compressed, out)
		if err != nil || n != len(out) {
			return nil, fmt.Errorf("damaged LZ4 data: %d of %d bytes (%v)", n, e.size, err)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w (flags %#x)", errCompression, e.flags)
}
