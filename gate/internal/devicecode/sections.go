package devicecode

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The bounds on the section table of an ELF file. Names may lie on one another in a string table, so that a small
// file can hold many long ones.
const (
	maxSections = 1 << 20
	maxStrings  = 64 << 20  // bytes of a string table
	maxName     = 64 << 10  // bytes of a name
	maxNames    = 256 << 20 // bytes of all names of a file
)

// sections are the section table of an ELF file, and the names in it. Nothing is decompressed: no compiler compresses
// device code by section.
type sections struct {
	machine elf.Machine
	list    []elf.Section64
	names   table
}

// readSections reads the section table of an ELF file of so many bytes, see [isELF]. debug/elf would decompress the
// names, without a bound.
func readSections(r io.ReaderAt, size int64) (*sections, error) {
	var h elf.Header64
	head := make([]byte, binary.Size(h))
	err := load(r, head, 0)
	if err == nil {
		_, err = binary.Decode(head, binary.LittleEndian, &h)
	}
	if err != nil {
		return nil, err
	}
	f := &sections{machine: elf.Machine(h.Machine)}
	if h.Shoff == 0 {
		return f, nil
	}
	count, names := uint64(h.Shnum), uint64(h.Shstrndx)
	if h.Shnum == 0 || h.Shstrndx == uint16(elf.SHN_XINDEX) { // too large for the header: in the first section
		first, err := f.entries(r, h, 1, size)
		if err != nil {
			return nil, err
		}
		if h.Shnum == 0 {
			count = first[0].Size
		}
		if h.Shstrndx == uint16(elf.SHN_XINDEX) {
			names = uint64(first[0].Link)
		}
	}
	if count == 0 {
		return f, nil
	}
	if f.list, err = f.entries(r, h, count, size); err != nil {
		return nil, err
	}
	if names >= count {
		return nil, fmt.Errorf("its names are in section %d of %d", names, count)
	}
	text, err := f.bytes(r, &f.list[names], size, maxStrings)
	f.names = table(text)
	return f, err
}

// entries reads the first entries of the section table.
func (f *sections) entries(r io.ReaderAt, h elf.Header64, count uint64, size int64) ([]elf.Section64, error) {
	entry := uint64(binary.Size(elf.Section64{}))
	if uint64(h.Shentsize) != entry || count > maxSections || h.Shoff > uint64(size) ||
		count*entry > uint64(size)-h.Shoff {
		return nil, fmt.Errorf("%d sections of %d bytes from byte %d on, in %d bytes", count, h.Shentsize, h.Shoff,
			size)
	}
	text := make([]byte, count*entry)
	if err := load(r, text, int64(h.Shoff)); err != nil {
		return nil, err
	}
	out := make([]elf.Section64, count)
	_, err := binary.Decode(text, binary.LittleEndian, out)
	return out, err
}

// bytes reads a section of at most so many bytes.
func (f *sections) bytes(r io.ReaderAt, s *elf.Section64, size int64, most uint64) ([]byte, error) {
	switch {
	case noBits(s) || elf.SectionFlag(s.Flags)&elf.SHF_COMPRESSED != 0:
		return nil, errors.New("its names are compressed or missing")
	case s.Off > uint64(size) || s.Size > uint64(size)-s.Off:
		return nil, fmt.Errorf("a section of %d bytes at byte %d lies outside of the file", s.Size, s.Off)
	case s.Size > most:
		return nil, fmt.Errorf("names of %d bytes are above the bound of %d", s.Size, most)
	}
	out := make([]byte, s.Size)
	return out, load(r, out, int64(s.Off))
}

// noBits reports whether a section has a size and no bytes in the file.
func noBits(s *elf.Section64) bool { return elf.SectionType(s.Type) == elf.SHT_NOBITS }

// table is a string table.
type table string

// at is the string at an offset; ok is false where there is none, or one of more than maxName bytes.
func (t table) at(offset uint32) (s string, ok bool) {
	if uint64(offset) >= uint64(len(t)) {
		return "", false
	}
	rest := string(t[offset:min(uint64(len(t)), uint64(offset)+maxName)])
	end := strings.IndexByte(rest, 0)
	if end < 0 {
		return "", false
	}
	return rest[:end], true
}

// is reports whether the string at an offset is s.
func (t table) is(offset uint32, s string) bool {
	return uint64(offset) < uint64(len(t)) && strings.HasPrefix(string(t[offset:]), s+"\x00")
}

// isELF reports whether a file begins as an ELF file of 64 bits with the low byte first does. Others hold no device
// code since CUDA 7.
func isELF(head []byte) bool { return bytes.HasPrefix(head, []byte(elf.ELFMAG+"\x02\x01")) }
