package devicecode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// resources are the lines of `cuobjdump -res-usage`, one a kernel: architecture, name, registers, stack, shared and
// constant bytes.
func resources(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	arch := regexp.MustCompile(`^arch = (\S+)`)
	function := regexp.MustCompile(`^ Function (\S+):`)
	usage := regexp.MustCompile(`REG:(\d+) STACK:(\d+) SHARED:(\d+) .*CONSTANT\[0\]:(\d+)`)
	var out []string
	var at, name string
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if m := arch.FindStringSubmatch(s.Text()); m != nil {
			at = m[1]
		} else if m := function.FindStringSubmatch(s.Text()); m != nil {
			name = m[1]
		} else if m := usage.FindStringSubmatch(s.Text()); m != nil {
			out = append(out, strings.Join(append([]string{at, name}, m[1:]...), " "))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lines put kernels into the form of resources, without the architecture where that leaves it out.
func lines(kernels []Kernel, arch bool) []string {
	var out []string
	for _, k := range kernels {
		if !arch {
			k.Arch = ""
		}
		out = append(out, fmt.Sprintf("%s %s %d %d %d %d", k.Arch, k.Name, k.Registers, k.Stack, k.Shared, k.Constant))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestCubin(t *testing.T) {
	for name, arch := range map[string]string{"kernels.cubin": "sm_90", "triton_add.cubin": "sm_90a"} {
		kernels, _, err := ReadLines(filepath.Join("testdata", name), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := lines(kernels, false), resources(t, filepath.Join("testdata", name+".res")); !slices.Equal(got,
			want) || len(want) == 0 {
			t.Errorf("%s: got %q, cuobjdump says %q", name, got, want)
		}
		for _, k := range kernels {
			if k.Arch != arch || k.File != name || len(k.Hash) != 16 || k.Code == 0 || k.Code%128 != 0 {
				t.Errorf("%+v", k)
			}
			if spills := k.SpillStores > 0; spills != strings.Contains(k.Name, "spill") {
				t.Errorf("%s stores %d bytes to local memory", k.Name, k.SpillStores)
			}
		}
	}
}

// fat wraps an image into a fat binary with one entry.
func fat(kind uint16, flags, size uint64, payload []byte) []byte {
	le := binary.LittleEndian
	padded := slices.Concat(payload, make([]byte, -len(payload)&7))
	entry := make([]byte, leastEntry)
	le.PutUint16(entry, kind)
	le.PutUint32(entry[4:], leastEntry)
	le.PutUint64(entry[8:], uint64(len(padded)))
	le.PutUint32(entry[16:], uint32(len(payload)))
	le.PutUint64(entry[40:], flags)
	le.PutUint64(entry[56:], size)
	header := make([]byte, fatHeader)
	le.PutUint32(header, fatMagic)
	le.PutUint16(header[4:], 1)
	le.PutUint16(header[6:], fatHeader)
	le.PutUint64(header[8:], uint64(len(entry)+len(padded)))
	return slices.Concat(header, entry, padded)
}

func TestCompression(t *testing.T) {
	image, err := os.ReadFile("testdata/kernels.cubin")
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := ReadLines("testdata/kernels.cubin", "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	z, _ := zstd.NewWriter(nil)
	small := make([]byte, lz4.CompressBlockBound(len(image)))
	n, err := lz4.CompressBlock(image, small, nil)
	if err != nil {
		t.Fatal(err)
	}
	size := uint64(len(image))
	for _, tt := range []struct {
		name, want, next string
		file             []byte
	}{
		{"none", "", "", fat(kindELF, 0x11, 0, image)},
		{"zstd", "", "", fat(kindELF, flagZstd, size, z.EncodeAll(image, nil))},
		{"lz4", "", "", fat(kindELF, flagLZ4, size, small[:n])},
		{"two, and padding between", "", "", slices.Concat(fat(kindPTX, 0, 0, []byte(".version 9.0")), make([]byte, 24),
			fat(kindELF, 0x11, 0, image))},
		{"unknown", "unknown compression", "--compress-mode=none",
			fat(kindELF, 0x4000, size, []byte("something else"))},
		{"ptx", "it holds PTX only", "-arch=sm_", fat(kindPTX, 0, 0, []byte(".version 9.0"))},
		{"another size", "damaged zstd data", "build it again",
			fat(kindELF, flagZstd, size-1, z.EncodeAll(image, nil))},
		{"bomb", "above the bound", "name the libraries", fat(kindELF, flagZstd, maxImage+1, z.EncodeAll(image, nil))},
		{"lz4 bomb", "damaged LZ4 data", "build it again", fat(kindELF, flagLZ4, maxImage, small[:n])},
		{"lz4 of nothing", "damaged LZ4 data", "build it again", fat(kindELF, flagLZ4, 0, small[:n])},
		{"cut short", "damaged fat binary", "build it again", fat(kindELF, 0x11, 0, image)[:20000]},
	} {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := ReadLines(file, "x", nil)
		var unreadable *Unreadable
		switch {
		case tt.want == "" && (err != nil || !slices.Equal(got, want)):
			t.Errorf("%s: %d kernels, %v", tt.name, len(got), err)
		case tt.want != "" && (!errors.As(err, &unreadable) || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(unreadable.Next, tt.next)):
			t.Errorf("%s: %v, want %q; … %q", tt.name, err, tt.want, tt.next)
		}
	}
}

// Relocated instructions do not change the hash, other instructions do.
func TestHash(t *testing.T) {
	c := image64{wide: true}
	code := bytes.Repeat([]byte{0x24, 0x76, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 8)
	other := bytes.Clone(code)
	other[20]++
	if c.hash("k", code) == c.hash("k", other) {
		t.Error("another instruction has the same hash")
	}
}

// Objects of one program in every compression mode, linked, and compiled from another directory; the truth is
// cuobjdump's.
func TestPublishedObjects(t *testing.T) {
	archive, _ := filepath.Abs("../../../../shared/h200/code/kernels.tar.xz")
	if _, err := os.Stat(archive); err != nil {
		t.Skip("../shared is absent")
	}
	dir := t.TempDir()
	if out, err := exec.Command("tar", "xJf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Skipf("tar: %v\n%s", err, out)
	}
	read := func(name string) []Kernel {
		found, _ := filepath.Glob(filepath.Join(dir, name))
		nested, _ := filepath.Glob(filepath.Join(dir, "*", name))
		files := append(found, nested...)
		if len(files) == 0 {
			t.Fatalf("no %s in the archive", name)
		}
		kernels, _, err := ReadLines(files[0], "x", nil)
		if err != nil {
			t.Fatal(err)
		}
		return kernels
	}
	path := func(name string) string {
		found, _ := filepath.Glob(filepath.Join(dir, name))
		nested, _ := filepath.Glob(filepath.Join(dir, "*", name))
		return append(found, nested...)[0]
	}
	for object, res := range map[string]string{"kernels.o": "kernels.res", "kernels_app": "kernels_app.res"} {
		if got, want := lines(read(object), true), resources(t, path(res)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, cuobjdump says %q", object, got, want)
		}
	}
	if !slices.Equal(read("kernels.o"), read("kernels.comment.o")) {
		t.Error("comments or the directory change the kernels")
	}
	want := read("kernels.cubin")
	for _, mode := range []string{"none", "speed", "size", "balance"} {
		if got := read("kernels_" + mode + ".o"); !slices.Equal(got, want) {
			t.Errorf("--compress-mode=%s differs from the cubin", mode)
		}
	}
	if got := read("kernels_all"); !slices.Equal(got, want) {
		t.Error("the linked program differs from the cubin")
	}
}

func TestCompare(t *testing.T) {
	k := func(file, name, hash string) Kernel { return Kernel{File: file, Arch: "sm_90", Name: name, Hash: hash} }
	got := Compare([]Kernel{k("a", "f", "1"), k("a", "g", "1"), k("a", "h", "1"), k("a", "h", "2")},
		[]Kernel{k("b", "f", "1"), k("b", "g", "2"), k("b", "h", "2"), k("b", "i", "1")})
	if got.Same != 2 || len(got.Changed) != 1 || got.Changed[0].Head.Name != "g" || len(got.Removed) != 1 ||
		got.Removed[0].Name != "h" || len(got.Added) != 1 || got.Added[0].Name != "i" || got.Equal() {
		t.Errorf("%+v", got)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"kernels.cubin", "triton_add.cubin"} {
		image, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(image)
		f.Add(fat(kindELF, 0x11, 0, image))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		kernels, err := read(bytes.NewReader(file), int64(len(file)), &lineTables{})
		if err == nil && len(kernels) > len(file) {
			t.Errorf("%d kernels from %d bytes", len(kernels), len(file))
		}
	})
}
