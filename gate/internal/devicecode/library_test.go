package devicecode

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// library writes a shared library whose section .nv_fatbin holds a fat binary for each of n cubins: not compressed, LZ4
// and zstd in turn.
func library(t testing.TB, path string, n int, cubin func(i int) []byte) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	const header = 64
	size := uint64(header)
	if _, err := f.Seek(header, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var packed []byte
	for i := range n {
		image := cubin(i)
		var one []byte
		switch i % 3 {
		case 0:
			one = fat(kindELF, 0x11, 0, image)
		case 1:
			packed = slices.Grow(packed[:0], lz4.CompressBlockBound(len(image)))[:lz4.CompressBlockBound(len(image))]
			used, err := lz4.CompressBlock(image, packed, nil)
			if err != nil {
				t.Fatal(err)
			}
			one = fat(kindELF, flagLZ4, uint64(len(image)), packed[:used])
		case 2:
			packed = z.EncodeAll(image, packed[:0])
			one = fat(kindELF, flagZstd, uint64(len(image)), packed)
		}
		if _, err := f.Write(one); err != nil {
			t.Fatal(err)
		}
		size += uint64(len(one))
	}
	names := "\x00.nv_fatbin\x00.shstrtab\x00"
	names += strings.Repeat("\x00", -len(names)&7)
	tail := bytes.NewBufferString(names)
	binary.Write(tail, binary.LittleEndian, []elf.Section64{{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: header, Size: size - header, Addralign: 8},
		{Name: 12, Type: uint32(elf.SHT_STRTAB), Off: size, Size: uint64(len(names)), Addralign: 1}})
	if _, err := f.Write(tail.Bytes()); err != nil {
		t.Fatal(err)
	}
	head := new(bytes.Buffer)
	binary.Write(head, binary.LittleEndian, elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64),
		byte(elf.ELFDATA2LSB), 1},
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: header,
		Shoff: size + uint64(len(names)), Shentsize: 64, Shnum: 3, Shstrndx: 2})
	if _, err := f.WriteAt(head.Bytes(), 0); err != nil {
		t.Fatal(err)
	}
}

// renamed is a cubin whose kernels have other names: its string tables are written anew behind the image.
func renamed(image []byte, name func(string) string) []byte {
	le := binary.LittleEndian
	out := bytes.Clone(image)
	at := func(section uint16) int { return int(le.Uint64(out[40:])) + 64*int(section) }
	text := func(section, offset int) string {
		b := image[int(le.Uint64(image[section+24:]))+offset:]
		return string(b[:bytes.IndexByte(b, 0)])
	}
	strings, symbols := at(le.Uint16(out[62:])), 0
	for i := range le.Uint16(out[60:]) {
		if elf.SectionType(le.Uint32(out[at(i)+4:])) == elf.SHT_SYMTAB {
			symbols = at(i)
		}
	}
	// move puts the strings that fields of a table name behind the image.
	move := func(table, first, size, count int) {
		start := len(out)
		out = append(out, 0)
		for i := range count {
			field := first + i*size
			new := name(text(table, int(le.Uint32(out[field:]))))
			le.PutUint32(out[field:], uint32(len(out)-start))
			out = append(append(out, new...), 0)
		}
		le.PutUint64(out[table+24:], uint64(start))
		le.PutUint64(out[table+32:], uint64(len(out)-start))
	}
	move(strings, at(0), 64, int(le.Uint16(out[60:])))
	move(at(uint16(le.Uint32(out[symbols+40:]))), int(le.Uint64(out[symbols+24:])), 24,
		int(le.Uint64(out[symbols+32:]))/24)
	return out
}

// numbered puts the name of a kernel of PyTorch in the place of each kernel, with the number i.
func numbered(i int) func(string) string {
	return func(s string) string {
		section, kernel, mangled := strings.Cut(s, "_Z")
		if !mangled {
			return s
		}
		return fmt.Sprintf("%s_ZN2at6native29vectorized_elementwise_kernelILi%dELj%dENS0_13AUnaryFunctorIN3c104HalfES4_S4_ZZZNS0_15binary_internal"+
			"21div_trunc_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE1_clEvEUlS4_S4_E_EESt5arrayIPcLm2EEEEviT0_T1_",
			section, i, crc32.ChecksumIEEE([]byte(kernel)))
	}
}

// Buffers are reused: reading a library allocates far less than its images hold, and no more for longer code.
func TestAllocation(t *testing.T) {
	image := kernelsCubin(t)
	const n, padding = 120, 1 << 20
	padded := slices.Concat(image, make([]byte, padding))
	path := filepath.Join(t.TempDir(), "lib.so")
	library(t, path, n, func(i int) []byte { return renamed(padded, numbered(i)) })
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	kernels, _, err := ReadLines(path, "lib.so", nil)
	runtime.ReadMemStats(&after)
	if err != nil || len(kernels) != 8*n {
		t.Fatalf("%d kernels, %v", len(kernels), err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > n*padding/4 {
		t.Errorf("allocated %d MiB for images of %d MiB", got>>20, n*padding>>20)
	}
}

// However many cores there are, images of 64 MiB at most are held at once.
func TestHeld(t *testing.T) {
	image := kernelsCubin(t)
	const n, padding = 12, 40 << 20
	z, _ := zstd.NewWriter(nil)
	one := fat(kindELF, flagZstd, uint64(len(image)+padding),
		z.EncodeAll(slices.Concat(image, make([]byte, padding)), nil))
	path := filepath.Join(t.TempDir(), "x.fatbin")
	if err := os.WriteFile(path, bytes.Repeat(one, n), 0o600); err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, m.HeapAlloc
	done := make(chan error)
	go func() {
		kernels, _, err := ReadLines(path, "x.fatbin", nil)
		if err == nil && len(kernels) != 8 {
			err = fmt.Errorf("%d kernels", len(kernels))
		}
		done <- err
	}()
	for reading := true; reading; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			reading = false
		case <-time.After(time.Millisecond):
		}
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	if got := most - before; got > n*padding/2 {
		t.Errorf("the heap grew by %d MiB for images of %d MiB", got>>20, n*padding>>20)
	}
}

func kernelsCubin(t testing.TB) []byte {
	t.Helper()
	image, err := os.ReadFile("testdata/kernels.cubin")
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// BenchmarkLibrary reads a library of 432 MB with 128,000 kernels for 6 architectures, as many as libtorch_cuda.so has.
func BenchmarkLibrary(b *testing.B) {
	image := kernelsCubin(b)
	path := filepath.Join(b.TempDir(), "lib.so")
	const n, archs = 16000, 6
	library(b, path, n, func(i int) []byte {
		out := renamed(image, numbered(i/archs))
		out[49] = byte(80 + i%archs) // the architecture
		return out
	})
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	debug.FreeOSMemory()
	for b.Loop() {
		if kernels, _, err := ReadLines(path, "lib.so", nil); err != nil || len(kernels) != 8*n {
			b.Fatalf("%d kernels, %v", len(kernels), err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MiB")
}
