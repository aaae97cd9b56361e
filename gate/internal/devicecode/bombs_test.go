package devicecode_test

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// TestBombs wants small files that stand for much work to be read, or refused, with little memory.
func TestBombs(t *testing.T) {
	const machine, machineCUDA = elf.EM_X86_64, elf.Machine(190)
	progbits := elf.Section64{Type: uint32(elf.SHT_PROGBITS)}
	strtab := elf.Section64{Type: uint32(elf.SHT_STRTAB)}
	compressed := func(s elf.Section64) elf.Section64 {
		s.Flags |= uint64(elf.SHF_COMPRESSED)
		return s
	}
	zeros := deflated(128 << 20)
	long := "." + strings.Repeat("x", 60<<10)
	for name, x := range map[string]struct {
		file []byte
		want string // of the error, "" for kernels
		code bool   // HasCode
	}{
		"many symbols of one kernel": {exporttest.Cubin(40_000, 1<<20), "", true},
		"compressed names": {named(exporttest.ELF(machine), compressed(strtab), zeros),
			"damaged ELF file: its names are compressed", false},
		"compressed section": {exporttest.ELF(machine,
			exporttest.Section{Title: ".debug", Data: zeros,
				Section64: compressed(progbits)}), "it has no section .nv_fatbin", false},
		"sections on one another": {repeated(exporttest.Cubin(1, 1<<20), 2000), "its sections lie on one another",
			true},
		"long names": {repeated(exporttest.ELF(machineCUDA, exporttest.Section{Title: long}), 60_000),
			"the name of section", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bomb")
			if err := os.WriteFile(path, x.file, 0o600); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			code := devicecode.HasCode(path)
			kernels, _, err := devicecode.ReadLines(path, "bomb", nil)
			runtime.ReadMemStats(&after)
			if code != x.code || x.want == "" && (err != nil || len(kernels) != 1) || x.want != "" &&
				(err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("%d kernels, code %v, %v, want %q", len(kernels), code, err, x.want)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
				t.Errorf("allocated %d MiB for a file of %d", got>>20, len(x.file)>>20)
			}
		})
	}
}

// deflated are so many zeros in a section that is compressed.
func deflated(size int) []byte {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: uint64(size)})
	z := zlib.NewWriter(&b)
	z.Write(make([]byte, size))
	z.Close()
	return b.Bytes()
}

// sectionTable gives the place of the section table of a file, and the number of its entries.
func sectionTable(file []byte) (at, count int) {
	return int(binary.LittleEndian.Uint64(file[40:])), int(binary.LittleEndian.Uint16(file[60:]))
}

// named puts another section of names behind a file.
func named(file []byte, s elf.Section64, data []byte) []byte {
	at, count := sectionTable(file)
	s.Off, s.Size = uint64(len(file)), uint64(len(data))
	var entry bytes.Buffer
	binary.Write(&entry, binary.LittleEndian, s)
	copy(file[at+64*(count-1):], entry.Bytes())
	return append(file, data...)
}

// repeated puts a section table behind a file that has the entry of its first section n times more.
func repeated(file []byte, n int) []byte {
	at, count := sectionTable(file)
	entries := bytes.Clone(file[at:][:64*count])
	binary.LittleEndian.PutUint64(file[40:], uint64(len(file)))
	binary.LittleEndian.PutUint16(file[60:], uint16(n+count))
	return append(append(file, entries...), bytes.Repeat(entries[64:128], n)...)
}

// A pattern over links to directories looks at each directory once for each of its parts.
func TestFindLinks(t *testing.T) {
	dir := t.TempDir()
	for _, link := range []string{"a1", "a2", "a3"} {
		if err := os.Symlink(".", filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links")
		}
	}
	file := filepath.Join(dir, "x.cubin")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(strings.Repeat("a*/", 24), "x*")
	if found, err := devicecode.Find(dir, deep); err != nil || len(found) != 1 || filepath.Base(found[0]) != "x.cubin" {
		t.Errorf("found %d files, %v", len(found), err)
	}
}
