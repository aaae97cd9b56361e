package devicecode

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// Line is a line of a source file that a kernel was compiled from, by the line table (-lineinfo) of its code.
type Line struct {
	File   string // as the compiler was given it, with its directory where that is known
	Size   int    // of the file when it was compiled, 0 if unknown
	Number int
}

// lineTables collects the lines of some kernels, by mangled name, from images that are read in parallel.
type lineTables struct {
	wanted []string
	mu     sync.Mutex
	lines  map[string][]Line
}

// sorted are the lines, each once.
func (t *lineTables) sorted() map[string][]Line {
	for kernel, lines := range t.lines {
		slices.SortFunc(lines, func(a, b Line) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Number, b.Number))
		})
		t.lines[kernel] = slices.Compact(lines)
	}
	return t.lines
}

// read adds the lines of an image. Each sequence of .debug_line begins at the address of a function, which a relocation
// fills in: it is set to the function's symbol in the upper half. A damaged table has no lines.
func (t *lineTables) read(c *image64, f *sections, symbols []elf.Sym64) {
	const maxLineTable = 64 << 20 // bounds the bytes of a line table
	stored := c.bytes(c.sections[".debug_line"])
	if len(t.wanted) == 0 || len(stored) > maxLineTable {
		return
	}
	table := slices.Clone(stored)
	for b := c.bytes(c.sections[".rela.debug_line"]); len(b) >= 24; b = b[24:] {
		if at := binary.LittleEndian.Uint64(b); at < uint64(len(table)) && uint64(len(table))-at >= 8 {
			binary.LittleEndian.PutUint64(table[at:], uint64(binary.LittleEndian.Uint32(b[12:]))<<32)
		}
	}
	for len(table) >= 4 {
		length := uint64(binary.LittleEndian.Uint32(table)) + 4
		if length > uint64(len(table)) {
			return
		}
		t.unit(table[:length], func(address uint64) string {
			if i := address >> 32; i < uint64(len(symbols)) && int(symbols[i].Shndx) < len(f.list) {
				name, _ := f.names.at(f.list[symbols[i].Shndx].Name)
				return strings.TrimPrefix(name, ".text.")
			}
			return ""
		})
		table = table[length:]
	}
}

// unit adds the lines of one line program. debug/dwarf reads it by a compilation unit that names it, which code built
// with -lineinfo lacks.
func (t *lineTables) unit(program []byte, function func(address uint64) string) {
	abbreviations := []byte{1, byte(dwarf.TagCompileUnit), 0, byte(dwarf.AttrStmtList), 6 /* DW_FORM_data4 */, 0, 0, 0}
	// length, version 2, abbreviations, 8 bytes, entry 1
	unit := []byte{12, 0, 0, 0, 2, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0}
	data, err := dwarf.New(abbreviations, nil, nil, unit, program, nil, nil, nil)
	if err != nil {
		return
	}
	entry, err := data.Reader().Next()
	if err != nil {
		return
	}
	rows, err := data.LineReader(entry)
	if err != nil || rows == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for row := (dwarf.LineEntry{}); rows.Next(&row) == nil; {
		name := function(row.Address)
		if !row.EndSequence && row.Line > 0 && row.File != nil && slices.Contains(t.wanted, name) {
			t.lines[name] = append(t.lines[name], Line{row.File.Name, row.File.Length, row.Line})
		}
	}
}
