package devicecode

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The lines of a real cubin built with -lineinfo, an inlined function of a header of CUDA included; of Triton's; and
// none without a table.
func TestLines(t *testing.T) {
	for _, x := range []struct {
		file, kernel, want string
	}{
		{"kernels_lines.cubin", "_Z5saxpymfPKfPf", "kernels.cu:30 kernels.cu:31 kernels.cu:32 kernels.cu:33"},
		{"kernels_lines.cubin", "_Z6reducemPKfPf",
			"kernels.cu:62 kernels.cu:65 kernels.cu:66 kernels.cu:67 kernels.cu:68 " +
				"kernels.cu:70 kernels.cu:71 kernels.cu:73 kernels.cu:74 sm_20_atomic_functions.hpp:84"},
		{"triton_add.cubin", "add", "tr.py:3 tr.py:4"},
		{"kernels.cubin", "_Z5saxpymfPKfPf", ""},
	} {
		_, lines, err := ReadLines(filepath.Join("testdata", x.file), x.file, []string{x.kernel})
		got := ""
		for _, l := range lines[x.kernel] {
			got += fmt.Sprintf(" %s:%d", filepath.Base(l.File), l.Number)
			if l.Size < 600 || !filepath.IsAbs(l.File) {
				t.Errorf("%+v", l)
			}
		}
		if err != nil || got != " "+x.want && got != x.want {
			t.Errorf("%s of %s:%s, %v; want %s", x.kernel, x.file, got, err, x.want)
		}
	}
}

// Damaged line tables have fewer lines, and never end the reading of the kernels.
func TestDamagedLines(t *testing.T) {
	image, err := os.ReadFile("testdata/kernels_lines.cubin")
	if err != nil {
		t.Fatal(err)
	}
	const at, size = 5456, 1110 // of .debug_line
	for i := 0; i < size; i += 3 {
		for _, b := range []byte{0, 0x7f, 0xff} {
			damaged := bytes.NewReader(slices.Concat(image[:at+i], []byte{b}, image[at+i+1:]))
			tables := &lineTables{wanted: []string{"_Z5saxpymfPKfPf"}, lines: map[string][]Line{}}
			if k, err := read(damaged, int64(len(image)), tables); err != nil || len(k) != 8 {
				t.Fatalf("byte %d as %d: %d kernels, %v", i, b, len(k), err)
			}
		}
	}
}
