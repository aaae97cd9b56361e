package devicecode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The layout of a fat binary, as public parsers document it: a header of 16 bytes (magic, version, header size, size of
// the entries), then entries, each a header and its data.
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

type entry struct {
	kind   uint16
	flags  uint64
	at     int64  // of the image in the section
	stored int64  // bytes there, without padding
	size   uint64 // of the decompressed image, 0 without compression
}

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
	r   *io.SectionReader
	end int64 // of the current fat binary
	at  int64
}

// next is the next entry; io.EOF behind the last.
func (f *fatReader) next() (*entry, error) {
	for f.at >= f.end {
		if err := f.header(); err != nil {
			return nil, err
		}
	}
	var h [leastEntry]byte
	if err := load(f.r, h[:], f.at); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	header, stored := int64(le.Uint32(h[4:])), le.Uint64(h[8:])
	if header < leastEntry || header > mostEntry || stored > uint64(f.end-f.at-header) {
		return nil, fmt.Errorf("damaged fat binary at byte %d", f.at)
	}
	e := &entry{kind: le.Uint16(h[:]), flags: le.Uint64(h[40:]), at: f.at + header, stored: int64(stored)}
	if e.flags&(flagZstd|flagLZ4|flagCompressed) != 0 {
		e.size = le.Uint64(h[56:])
	}
	f.at = e.at + e.stored
	if e.kind == kindELF && max(stored, e.size) > maxImage {
		return nil, fmt.Errorf("%w: an image of %d bytes is above the bound of %d", errLarge,
			max(stored, e.size), maxImage)
	}
	if n := int64(le.Uint32(h[16:])); n > 0 {
		e.stored = min(n, e.stored)
	}
	return e, nil
}

// header finds the next fat binary behind the current one, on a boundary of 8 bytes.
func (f *fatReader) header() error {
	var h [fatHeader]byte
	const least, most = 512, 64 << 10 // bytes that are searched at once: fat binaries mostly follow one another
	block := int64(least)
	for f.at = (f.at + 7) &^ 7; f.at+fatHeader <= f.r.Size(); {
		if err := load(f.r, h[:], f.at); err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(h[:]) != fatMagic {
			skip, err := f.skip(block)
			if err != nil {
				return err
			}
			f.at, block = f.at+skip, min(2*block, most)
			continue
		}
		size, header := binary.LittleEndian.Uint64(h[8:]), int64(binary.LittleEndian.Uint16(h[6:]))
		if header < fatHeader || size > uint64(f.r.Size()-f.at-min(header, f.r.Size()-f.at)) {
			return fmt.Errorf("damaged fat binary at byte %d", f.at)
		}
		f.at, f.end = f.at+header, f.at+header+int64(size)
		return nil
	}
	return io.EOF
}

// skip is the distance to the next magic within a block, or the block's length.
func (f *fatReader) skip(block int64) (int64, error) {
	b := make([]byte, min(block, f.r.Size()-f.at))
	if err := load(f.r, b, f.at); err != nil {
		return 0, err
	}
	for i := 8; i+4 <= len(b); i += 8 {
		if binary.LittleEndian.Uint32(b[i:]) == fatMagic {
			return int64(i), nil
		}
	}
	return max(8, int64(len(b))&^7), nil
}

func load(r io.ReaderAt, b []byte, at int64) error {
	if _, err := r.ReadAt(b, at); err != nil {
		return fmt.Errorf("cut short at byte %d: %w", at, io.ErrUnexpectedEOF)
	}
	return nil
}

// decompressor loads and decompresses entries into buffers that the next entry reuses. It is not safe for concurrent
// use.
type decompressor struct {
	zstd          *zstd.Decoder
	stored, plain []byte
}

func newDecompressor() *decompressor {
	// An error says that an option is out of its range.
	z, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxImage),
		zstd.WithDecodeAllCapLimit(true))
	return &decompressor{zstd: z}
}

// room is n bytes of a buffer, which grows.
func room(buffer *[]byte, n uint64) []byte {
	if uint64(cap(*buffer)) < n {
		*buffer = make([]byte, n)
	}
	return (*buffer)[:n]
}

// image is the device ELF of an entry, until the next call.
func (d *decompressor) image(r io.ReaderAt, e *entry) ([]byte, error) {
	stored := room(&d.stored, uint64(e.stored))
	if err := load(r, stored, e.at); err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(stored, []byte("\x7fELF")):
		return stored, nil
	case e.flags&flagZstd != 0:
		// A block of zstd, 128 KiB, takes 4 bytes at least.
		out, err := d.zstd.DecodeAll(stored, room(&d.plain, min(e.size, 64<<10*uint64(len(stored))))[:0])
		if err != nil || uint64(len(out)) != e.size {
			return nil, fmt.Errorf("damaged zstd data: %d of %d bytes (%v)", len(out), e.size, err)
		}
		return out, nil
	case e.flags&(flagLZ4|flagCompressed) != 0:
		// LZ4 expands at most 255 times. Its decoder writes to an empty buffer.
		if e.size == 0 || e.size > 255*uint64(len(stored)) {
			return nil, fmt.Errorf("damaged LZ4 data: %d bytes cannot hold %d", len(stored), e.size)
		}
		out := room(&d.plain, e.size)
		n, err := lz4.UncompressBlock(stored, out)
		if err != nil || n != len(out) {
			return nil, fmt.Errorf("damaged LZ4 data: %d of %d bytes (%v)", n, e.size, err)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w (flags %#x)", errCompressed, e.flags)
}
