package exporttest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// Section is a section of an ELF file for [ELF].
type Section struct {
	elf.Section64        // Name, Off and Size are filled in
	Title         string // its name
	Data          []byte
}

// ELF is a file of 64 bits with sections: an empty one first, the one with their names last.
func ELF(machine elf.Machine, sections ...Section) []byte {
	names := []byte{0}
	sections = append(append([]Section{{}}, sections...), Section{Title: ".shstrtab",
		Section64: elf.Section64{Type: uint32(elf.SHT_STRTAB)}})
	for i := range sections {
		if s := &sections[i]; s.Title != "" {
			s.Name = uint32(len(names))
			names = append(append(names, s.Title...), 0)
		}
	}
	last := len(sections) - 1
	if sections[last].Data == nil {
		sections[last].Data = names
	}
	var head, body bytes.Buffer
	const header = 64
	for i := range sections {
		s := &sections[i]
		s.Off, s.Size = uint64(header+body.Len()), uint64(len(s.Data))
		body.Write(s.Data)
	}
	binary.Write(&head, binary.LittleEndian,
		elf.Header64{Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
			Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Ehsize: header,
			Shoff: uint64(header + body.Len()), Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: uint16(last)})
	for i := range sections {
		binary.Write(&body, binary.LittleEndian, sections[i].Section64)
	}
	return append(head.Bytes(), body.Bytes()...)
}

// Cubin is device code of so many bytes with a number of symbols, all of one kernel.
func Cubin(symbols, code int) []byte {
	names := []byte("\x00kernel\x00")
	table := make([]byte, 24, 24*(symbols+1))
	for range symbols {
		entry := make([]byte, 24)
		entry[0], entry[4], entry[5] = 1, byte(elf.STT_FUNC), 0x10 // STO_CUDA_ENTRY
		table = append(table, entry...)
	}
	const machineCUDA, registers = 190, 32 << 24
	return ELF(machineCUDA, Section{Title: ".text.kernel", Data: make([]byte, code),
		Section64: elf.Section64{Type: uint32(elf.SHT_PROGBITS), Info: registers}},
		Section{Title: ".strtab", Data: names, Section64: elf.Section64{Type: uint32(elf.SHT_STRTAB)}},
		Section{Title: ".symtab", Data: table,
			Section64: elf.Section64{Type: uint32(elf.SHT_SYMTAB), Link: 2, Entsize: 24}})
}
