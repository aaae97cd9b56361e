package devicecode

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// machineCUDA is the ELF machine of device code (EM_CUDA of the ELF registry).
const machineCUDA elf.Machine = 190

// The bits of e_flags that name the architecture, by ABI version (LLVM, llvm/BinaryFormat/ELF.h).
const (
	abiV2          = 8 // from CUDA 13 on
	acceleratorsV1 = 0x800
	acceleratorsV2 = 0x8
)

// volta is the first compute capability with instructions of 16 bytes.
const volta = 70

const headerSize = 64

// entryPoint is the bit of a symbol's st_other that marks a kernel (STO_CUDA_ENTRY).
const entryPoint = 0x10

// The attributes of .nv.info sections that are read, and their formats (names by cuobjdump -elf).
const (
	attrStack     = 0x12 // symbol, bytes of the frame and the frames of its callees
	attrRegisters = 0x2f // symbol, count
	attrBarriers  = 0x4c // count
	formatSized   = 4    // the value follows; else it is the two bytes
)

// cubin reads the kernels of a device ELF image, whose relocated instructions it clears, and the lines of wanted ones.
func cubin(image []byte, lines *lineTables) ([]Kernel, error) {
	if len(image) < headerSize || !isELF(image) {
		return nil, errors.New("damaged device code: no ELF header")
	}
	f, err := readSections(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return nil, fmt.Errorf("damaged device code: %w", err)
	}
	if f.machine != machineCUDA {
		return nil, fmt.Errorf("ELF of machine %d is no device code", f.machine)
	}
	c, err := newImage(image, f)
	if err != nil {
		return nil, fmt.Errorf("damaged device code: %w", err)
	}
	at := slices.IndexFunc(f.list, func(s elf.Section64) bool { return elf.SectionType(s.Type) == elf.SHT_SYMTAB })
	if at < 0 || f.list[at].Size == 0 {
		return nil, nil
	}
	entries, names, err := c.symbols(f, &f.list[at])
	if err != nil {
		return nil, fmt.Errorf("damaged symbol table: %w", err)
	}
	c.info(c.sections[".nv.info"], func(attr byte, value []byte) {
		if len(value) < 8 {
			return
		}
		symbol, number := binary.LittleEndian.Uint32(value), int(binary.LittleEndian.Uint32(value[4:]))
		switch attr {
		case attrStack:
			c.stacks[symbol] = int(int32(number))
		case attrRegisters:
			c.registers[symbol] = number
		}
	})
	lines.read(c, f, entries)
	sm, suffix := architecture(image)
	c.wide = sm >= volta
	var out []Kernel
	sum := 0
	for i, s := range entries {
		if i == 0 || elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Other&entryPoint == 0 {
			continue
		}
		name, ok := names.at(s.Name)
		sum += len(name)
		if !ok || sum > maxNames {
			return nil, fmt.Errorf("damaged symbol table: the name of symbol %d is cut or too long", i)
		}
		k, err := c.kernel(name, uint32(i))
		if err != nil {
			return nil, err
		}
		k.Arch = "sm_" + strconv.Itoa(sm) + suffix
		out = append(out, k)
	}
	return out, nil
}

// architecture is the compute capability of a device ELF image (90) and the suffix of code for it alone ("a"), by
// e_flags.
func architecture(image []byte) (sm int, suffix string) {
	flags, abi := binary.LittleEndian.Uint32(image[48:]), image[8]
	number, accelerated := flags&0xff, flags&acceleratorsV1 != 0
	if abi >= abiV2 {
		number, accelerated = flags>>8&0xff, flags&acceleratorsV2 != 0
	}
	if accelerated {
		suffix = "a"
	}
	return int(number), suffix
}

type image64 struct {
	data              []byte
	sections          map[string]*elf.Section64
	stacks, registers map[uint32]int // by symbol
	wide              bool           // instructions of 16 bytes: Volta and later
	known             map[string]Kernel
}

// newImage finds the sections of an image by their names.
func newImage(image []byte, f *sections) (*image64, error) {
	// mostOverlap bounds the sizes of all sections of an image relative to its own: they do not lie on one another.
	const mostOverlap = 4
	c := &image64{data: image, sections: make(map[string]*elf.Section64, len(f.list)), stacks: map[uint32]int{},
		registers: map[uint32]int{}, known: map[string]Kernel{}}
	names, sizes := 0, uint64(0)
	for i := range f.list {
		s := &f.list[i]
		name, ok := f.names.at(s.Name)
		names += len(name)
		if !ok || names > maxNames {
			return nil, fmt.Errorf("the name of section %d is cut or too long", i)
		}
		sizes += uint64(len(c.bytes(s)))
		if sizes > mostOverlap*uint64(len(image)) {
			return nil, errors.New("its sections lie on one another")
		}
		c.sections[name] = s
	}
	return c, nil
}

// symbols are the entries of a symbol table, and the names in the string table that belongs to it.
func (c *image64) symbols(f *sections, s *elf.Section64) (entries []elf.Sym64, names table, err error) {
	b := c.bytes(s)
	switch {
	case len(b) == 0 || len(b)%elf.Sym64Size != 0:
		return nil, "", fmt.Errorf("%d bytes at byte %d are no symbols", s.Size, s.Off)
	case s.Link == 0 || uint64(s.Link) >= uint64(len(f.list)):
		return nil, "", fmt.Errorf("its names are in section %d of %d", s.Link, len(f.list))
	}
	entries = make([]elf.Sym64, len(b)/elf.Sym64Size)
	_, err = binary.Decode(b, binary.LittleEndian, entries)
	return entries, table(c.bytes(&f.list[s.Link])), err
}

// bytes are the contents of a section in the image. NOBITS sections, and sections beyond the image, have none.
func (c *image64) bytes(s *elf.Section64) []byte {
	if s == nil || noBits(s) || s.Off > uint64(len(c.data)) || s.Size > uint64(len(c.data))-s.Off {
		return nil
	}
	return c.data[s.Off : s.Off+s.Size]
}

// size is the size of a section, 0 if the image has none of that name.
func (c *image64) size(name string) int {
	if s := c.sections[name]; s != nil && s.Size < maxImage {
		return int(s.Size)
	}
	return 0
}

// info reads a section of attributes: a format byte, an attribute byte, and two bytes of value or of the value's size.
func (c *image64) info(s *elf.Section64, take func(attr byte, value []byte)) {
	for b := c.bytes(s); len(b) >= 4; {
		value := b[2:4]
		next := 4
		if b[0] == formatSized {
			next += int(binary.LittleEndian.Uint16(value))
			if next > len(b) {
				return
			}
			value = b[4:next]
		}
		take(b[1], value)
		b = b[next:]
	}
}

// kernel is the kernel of a symbol. Symbols of one name share its sections, which are read once.
func (c *image64) kernel(name string, symbol uint32) (Kernel, error) {
	k, known := c.known[name]
	if !known {
		var err error
		if k, err = c.sized(name); err != nil {
			return k, err
		}
		c.known[name] = k
	}
	k.Stack = c.stacks[symbol]
	if n := c.registers[symbol]; n != 0 {
		k.Registers = n
	}
	return k, nil
}

// sized is a kernel with the sizes in its sections.
func (c *image64) sized(name string) (Kernel, error) {
	text := c.sections[".text."+name]
	code := c.bytes(text)
	if len(code) == 0 {
		return Kernel{}, fmt.Errorf("kernel %.80q has no code section", name)
	}
	k := Kernel{Name: name, Code: len(code), Shared: c.size(".nv.shared." + name),
		Constant: c.size(".nv.constant0." + name), Barriers: int(text.Flags >> 20 & 0x7f),
		Registers: int(text.Info >> 24)} // before the attribute existed
	c.info(c.sections[".nv.info."+name], func(attr byte, value []byte) {
		if attr == attrBarriers && len(value) > 0 {
			k.Barriers = int(value[0])
		}
	})
	if c.wide {
		k.SpillStores = localStores(code)
	}
	k.Hash = c.hash(name, code)
	return k, nil
}

// hash is the hash of the instructions. It clears in them what relocations fill in, which depends on other code.
func (c *image64) hash(name string, code []byte) string {
	width := 8
	if c.wide {
		width = 16
	}
	for _, table := range []struct {
		name string
		size int
	}{{".rela.text." + name, 24}, {".rel.text." + name, 16}} {
		for b := c.bytes(c.sections[table.name]); len(b) >= table.size; b = b[table.size:] {
			at := binary.LittleEndian.Uint64(b)
			if at >= uint64(len(code)) {
				continue
			}
			at -= at % uint64(width)
			// the first two bytes hold the opcode
			clear(code[min(at+2, uint64(len(code))):min(at+uint64(width), uint64(len(code)))])
		}
	}
	sum := sha256.Sum256(code)
	return hex.EncodeToString(sum[:8])
}

// localStores is the size of all store instructions to local memory (STL) in 128-bit code: opcode 0x387 in bits 0 to
// 11, the width in bits 73 to 75 (8, 8, 16, 16, 32, 64 and 128 bits).
func localStores(code []byte) int {
	widths := [8]int{1, 1, 2, 2, 4, 8, 16, 0}
	total := 0
	for ; len(code) >= 16; code = code[16:] {
		if binary.LittleEndian.Uint16(code)&0xfff == 0x387 {
			total += widths[code[9]>>1&7]
		}
	}
	return total
}
