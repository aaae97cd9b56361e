package devicecode

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
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
	attrStack     = 0x12 // symbol, bytes of the frame and of those of the functions that it calls
	attrRegisters = 0x2f // symbol, count
	attrBarriers  = 0x4c // count
	formatSized   = 4    // the value follows; else it is the two bytes
)

// cubin reads the kernels of a device ELF image, whose version it sets and whose relocated instructions it clears.
func cubin(image []byte) ([]Kernel, error) {
	if len(image) < headerSize || string(image[:4]) != elf.ELFMAG {
		return nil, errors.New("damaged device code: no ELF header")
	}
	// CUDA 12 writes its own number where ELF has the version 1.
	binary.LittleEndian.PutUint32(image[20:], uint32(elf.EV_CURRENT))
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("damaged device code: %w", err)
	}
	if f.Machine != machineCUDA || f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian {
		return nil, fmt.Errorf("ELF of machine %d is no device code", f.Machine)
	}
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("damaged symbol table: %w", err)
	}
	c := image64{data: image, sections: map[string]*elf.Section{}, stacks: map[uint32]int{}, registers: map[uint32]int{}}
	for _, s := range f.Sections {
		c.sections[s.Name] = s
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
	sm, suffix := architecture(image)
	c.wide = sm >= volta
	var out []Kernel
	for i, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Other&entryPoint == 0 {
			continue
		}
		k, err := c.kernel(s.Name, uint32(i+1)) // debug/elf leaves out symbol 0
		if err != nil {
			return nil, err
		}
		k.Arch = "sm_" + strconv.Itoa(sm) + suffix
		out = append(out, k)
	}
	return out, nil
}

// architecture is the compute capability of a device ELF image (90) and the suffix of code for it alone ("a"), by e_flags.
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
	sections          map[string]*elf.Section
	stacks, registers map[uint32]int // by symbol
	wide              bool           // instructions of 16 bytes: Volta and later
}

// bytes are the contents of a section in the image. NOBITS sections, and sections beyond the image, have none.
func (c *image64) bytes(s *elf.Section) []byte {
	if s == nil || s.Type == elf.SHT_NOBITS || s.Offset > uint64(len(c.data)) || s.FileSize > uint64(len(c.data))-s.Offset {
		return nil
	}
	return c.data[s.Offset : s.Offset+s.FileSize]
}

// size is the size of a section, 0 if the image has none of that name.
func (c *image64) size(name string) int {
	if s := c.sections[name]; s != nil && s.Size < maxImage {
		return int(s.Size)
	}
	return 0
}

// info reads a section of attributes: a format byte, an attribute byte, and two bytes of value or of the value's size.
func (c *image64) info(s *elf.Section, take func(attr byte, value []byte)) {
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

func (c *image64) kernel(name string, symbol uint32) (Kernel, error) {
	text := c.sections[".text."+name]
	code := c.bytes(text)
	if len(code) == 0 {
		return Kernel{}, fmt.Errorf("kernel %.80q has no code section", name)
	}
	k := Kernel{Name: name, Registers: c.registers[symbol], Stack: c.stacks[symbol], Code: len(code),
		Shared: c.size(".nv.shared." + name), Constant: c.size(".nv.constant0." + name), Barriers: int(text.Flags >> 20 & 0x7f)}
	if k.Registers == 0 {
		k.Registers = int(text.Info >> 24) // before the attribute existed
	}
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
			clear(code[min(at+2, uint64(len(code))):min(at+uint64(width), uint64(len(code)))]) // the first two bytes hold the opcode
		}
	}
	sum := sha256.Sum256(code)
	return hex.EncodeToString(sum[:8])
}

// localStores is the size of all store instructions to local memory (STL) in 128-bit code: opcode 0x387 in bits 0 to 11,
// the width in bits 73 to 75 (8, 8, 16, 16, 32, 64 and 128 bits).
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
