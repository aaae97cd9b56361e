package devicecode

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// mostFiles bounds the files of one directory that are looked at.
const mostFiles = 100_000

// Find lists the files with device code that a pattern names, sorted: the pattern is a file, a directory (Triton's cache, a build
// folder) that is searched with all below it, or a glob of [filepath.Match]. Links are not followed into directories.
func Find(pattern string) ([]string, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q is no pattern: %w", pattern, err)
	}
	var out []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, path)
			continue
		}
		seen := 0
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if seen++; seen > mostFiles {
				return fmt.Errorf("%s holds more than %d files: name those with device code", path, mostFiles)
			}
			if HasCode(name) {
				out = append(out, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// HasCode reports whether a regular file is a cubin, a fat binary, or an ELF file with a section of device code.
func HasCode(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	var head [20]byte
	if n, _ := f.ReadAt(head[:], 0); n < len(head) {
		return false
	}
	isCubin := string(head[:4]) == elf.ELFMAG && elf.Machine(binary.LittleEndian.Uint16(head[18:])) == machineCUDA
	if isCubin || binary.LittleEndian.Uint32(head[:]) == fatMagic {
		return true
	}
	file, err := elf.NewFile(f)
	return err == nil && slices.ContainsFunc(file.Sections, func(s *elf.Section) bool { return slices.Contains(fatSections, s.Name) })
}
