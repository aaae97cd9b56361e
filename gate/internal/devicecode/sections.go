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

// section is an entry of the section table. Nothing is decompressed: no compiler compresses device code by section.
type section struct {
	name, link, info uint32
	kind             elf.SectionType
	flags            uint64
	offset, size     uint64 // in the file, of NOBITS the size alone
}

// sections are the section table of an ELF file, and the names in it.
type sections struct {
	machine elf.Machine
	class   elf.Class
	order   binary.ByteOrder
	list    []section
	names   table
}

// readSections reads the section table of an ELF file of so many bytes. debug/elf would decompress the names, without
// a bound.
func readSections(r io.ReaderAt, size int64) (*sections, error) {
	var ident [elf.EI_NIDENT]byte
	if err := load(r, ident[:], 0); err != nil {
		return nil, err
	}
	f := &sections{class: elf.Class(ident[elf.EI_CLASS]), order: binary.LittleEndian}
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		f.order = binary.BigEndian
	default:
		return nil, errors.New("unknown byte order")
	}
	h, err := f.header(r)
	if err != nil {
		return nil, err
	}
	f.machine = elf.Machine(h.Machine)
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
			count = first[0].size
		}
		if h.Shstrndx == uint16(elf.SHN_XINDEX) {
			names = uint64(first[0].link)
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

// header reads the file header in the form of 64 bits.
func (f *sections) header(r io.ReaderAt) (h elf.Header64, err error) {
	in := io.NewSectionReader(r, 0, int64(binary.Size(h)))
	switch f.class {
	case elf.ELFCLASS64:
		err = binary.Read(in, f.order, &h)
	case elf.ELFCLASS32:
		var x elf.Header32
		err = binary.Read(in, f.order, &x)
		h = elf.Header64{Machine: x.Machine, Shoff: uint64(x.Shoff), Shentsize: x.Shentsize, Shnum: x.Shnum,
			Shstrndx: x.Shstrndx}
	default:
		err = fmt.Errorf("unknown class %d", f.class)
	}
	return h, err
}

// entries reads the first entries of the section table.
func (f *sections) entries(r io.ReaderAt, h elf.Header64, count uint64, size int64) ([]section, error) {
	entry := uint64(binary.Size(elf.Section64{}))
	if f.class == elf.ELFCLASS32 {
		entry = uint64(binary.Size(elf.Section32{}))
	}
	if uint64(h.Shentsize) != entry || count > maxSections || h.Shoff > uint64(size) ||
		count*entry > uint64(size)-h.Shoff {
		return nil, fmt.Errorf("%d sections of %d bytes from byte %d on, in %d bytes", count, h.Shentsize, h.Shoff, size)
	}
	text := make([]byte, count*entry)
	if err := load(r, text, int64(h.Shoff)); err != nil {
		return nil, err
	}
	out := make([]section, count)
	for i := range out {
		if one := text[uint64(i)*entry:][:entry]; f.class == elf.ELFCLASS64 {
			out[i] = section{name: f.order.Uint32(one), kind: elf.SectionType(f.order.Uint32(one[4:])),
				flags:  f.order.Uint64(one[8:]),
				offset: f.order.Uint64(one[24:]), size: f.order.Uint64(one[32:]), link: f.order.Uint32(one[40:]), info: f.order.Uint32(one[44:])}
		} else {
			out[i] = section{name: f.order.Uint32(one), kind: elf.SectionType(f.order.Uint32(one[4:])),
				flags:  uint64(f.order.Uint32(one[8:])),
				offset: uint64(f.order.Uint32(one[16:])), size: uint64(f.order.Uint32(one[20:])), link: f.order.Uint32(one[24:]), info: f.order.Uint32(one[28:])}
		}
	}
	return out, nil
}

// bytes reads a section of at most so many bytes.
func (f *sections) bytes(r io.ReaderAt, s *section, size int64, most uint64) ([]byte, error) {
	switch {
	case s.kind == elf.SHT_NOBITS || elf.SectionFlag(s.flags)&elf.SHF_COMPRESSED != 0:
		return nil, errors.New("its names are compressed or missing")
	case s.offset > uint64(size) || s.size > uint64(size)-s.offset:
		return nil, fmt.Errorf("a section of %d bytes at byte %d lies outside of the file", s.size, s.offset)
	case s.size > most:
		return nil, fmt.Errorf("names of %d bytes are above the bound of %d", s.size, most)
	}
	out := make([]byte, s.size)
	return out, load(r, out, int64(s.offset))
}

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

// holds reports whether a section has one of some names.
func (f *sections) holds(names []string) bool {
	for i := range f.list {
		for _, name := range names {
			if f.names.is(f.list[i].name, name) {
				return true
			}
		}
	}
	return false
}

// symbol is an entry of a symbol table of 64 bits.
type symbol struct {
	name        uint32
	info, other byte
}

const symbolSize = 24

// symbols are those of a symbol table from the first one on, which is none, by their place.
func symbols(b []byte) []symbol {
	out := make([]symbol, 0, len(b)/symbolSize)
	for ; len(b) >= symbolSize; b = b[symbolSize:] {
		out = append(out, symbol{binary.LittleEndian.Uint32(b), b[4], b[5]})
	}
	return out
}

// isELF reports whether a file begins as an ELF file does.
func isELF(head []byte) bool { return bytes.HasPrefix(head, []byte(elf.ELFMAG)) }
