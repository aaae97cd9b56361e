package nsys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// recorded is a real export of a few kilobytes.
const recorded = "../../../../testdata/h200/cupy/cupy.000.sqlite"

func put(t testing.TB, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.sqlite")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFiles(t *testing.T) {
	whole, err := os.ReadFile(build(t, base...))
	if err != nil {
		t.Fatal(err)
	}
	torn := bytes.Clone(whole)
	for i := 200; i < len(torn); i++ {
		torn[i] ^= 0x5a
	}
	for _, c := range []struct {
		name    string
		content []byte
		key     model.Kind
		want    string
	}{
		{"empty", nil, "empty", ""},
		{"only the magic", whole[:16], "truncated", "ends inside the header"},
		{"part of the magic", whole[:9], "truncated", "ends inside the header"},
		{"half", whole[:len(whole)/2], "truncated", fmt.Sprintf("%d bytes of %d", len(whole)/2, len(whole))},
		{"torn", torn, "damaged", ""},
		{"report", []byte("NVIDIA Tegra Profiler Report 1.0\x00\x01"), "other-format", ".nsys-rep"},
		{"csv", []byte("\"Time (%)\",\"Total Time (ns)\"\n1,2\n"), "other-format", "no SQLite export"},
		{"text export", []byte("Event {\n  Type: 79\n"), "other-format", "--type sqlite"},
		{"json", []byte("\n {\"traceEvents\": []}"), "other-format", "no SQLite export"},
		{"json lines", []byte("\xef\xbb\xbf{\"data\":[]}\n{\"Type\":80}\n"), "other-format", "no SQLite export"},
		{"hdf", []byte("\x89HDF\r\n\x1a\n"), "other-format", "an HDF5 file"},
		{"parquet", []byte("PAR1\x15\x04"), "other-format", "a Parquet file"},
		{"arrow", []byte("ARROW1\x00\x00"), "other-format", "an Arrow file"},
		{"arrow stream", []byte("\xff\xff\xff\xff\x10\x00\x00\x00"), "other-format", "an Arrow file"},
		{"gzip", []byte("\x1f\x8b\x08\x00"), "compressed", "is compressed"},
		{"xz", []byte("\xfd7zXZ\x00"), "compressed", ""},
		{"zstd", []byte("\x28\xb5\x2f\xfd\x04"), "compressed", ""},
		{"bzip2", []byte("BZh91AY"), "compressed", ""},
		{"zip", []byte("PK\x03\x04\x14"), "compressed", ""},
		{"7z", []byte("7z\xbc\xaf\x27\x1c\x00"), "compressed", ""},
		{"zeros", make([]byte, 4096), "empty", ""},
		{"page", []byte("\n<!DOCTYPE html>\n<html lang=\"en\">"), "other-format", "raw"},
		{"old page", []byte("<HTML><HEAD><TITLE>404</TITLE>"), "other-format", ""},
		{"bytes", []byte{1, 2, 3, 4}, "other-format", "no SQLite export"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, put(t, c.content), c.key, c.want) })
	}
	if _, err := Read(t.Context(), filepath.Join(t.TempDir(), "absent.sqlite")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	unread(t, t.TempDir())
	file := put(t, whole)
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(file); err == nil { // as root may
		f.Close()
	} else if _, err := Read(t.Context(), file); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file that may not be read: %v", err)
	}
}

// unread checks that a path that is no file is not read.
func unread(t *testing.T, path string) {
	t.Helper()
	var refusal *model.Refusal
	_, err := Read(t.Context(), path)
	if err == nil || errors.As(err, &refusal) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%s: %v, want an ordinary error", path, err)
	}
}

// launches counts what was read.
func launches(traces []model.Trace) (n int, time int64) {
	for _, x := range traces {
		n += len(x.Launches)
		for _, l := range x.Launches {
			time += l.End - l.Start
		}
	}
	return n, time
}

// However much of a file is there, a part of it is not taken for the whole.
func TestTruncated(t *testing.T) {
	const step = 4 << 10
	whole, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	uncounted := bytes.Clone(whole) // written by a program that does not keep the number of pages
	uncounted[24]++
	for _, content := range [][]byte{whole, uncounted} {
		want, err := Read(t.Context(), put(t, content))
		if err != nil {
			t.Fatal(err)
		}
		all, time := launches(want)
		if all == 0 {
			t.Fatal("no launches")
		}
		file := put(t, content)
		for size := (len(content) - 1) / step * step; size >= 0; size -= step {
			if err := os.Truncate(file, int64(size)); err != nil {
				t.Fatal(err)
			}
			traces, err := Read(t.Context(), file)
			var refusal *model.Refusal
			n, ns := launches(traces)
			switch {
			case err == nil && n == all && ns == time:
			case !errors.As(err, &refusal) || model.KindOf(err) == "":
				t.Errorf("%d of %d bytes: %d of %d launches, error %v", size, len(content), n, all, err)
			}
		}
	}
}

// Whatever byte of a real export is changed, no launch is lost without a word.
func TestFlipped(t *testing.T) {
	whole, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	traces, err := Read(t.Context(), recorded)
	if err != nil {
		t.Fatal(err)
	}
	all, _ := launches(traces)
	file, err := os.OpenFile(put(t, whole), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tries := 200
	if os.Getenv("NSGATE_TEST_FULL") != "" {
		tries = 3000
	}
	r := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range tries {
		at, to := len(magic)+r.IntN(len(whole)-len(magic)), byte(r.IntN(256))
		if _, err := file.WriteAt([]byte{to}, int64(at)); err != nil {
			t.Fatal(err)
		}
		traces, err := Read(t.Context(), file.Name())
		var refusal *model.Refusal
		n, _ := launches(traces)
		switch {
		case errors.As(err, &refusal):
		case err != nil || n != all:
			t.Errorf("byte %d set to %#x: %d of %d launches, error %v", at, to, n, all, err)
		default:
			read++
		}
		if _, err := file.WriteAt(whole[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	if read == 0 || read == tries {
		t.Errorf("%d of %d damaged files were read: none shows nothing", read, tries)
	}
}

// A file that a program is writing is not read.
func TestBeingWritten(t *testing.T) {
	file := build(t, base...)
	side := func(suffix, content string) string {
		if err := os.WriteFile(file+suffix, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file + suffix
	}
	journal := side("-journal", journalMagic+"\x00\x00\x00\x01")
	refused(t, file, "being-written", "unfinished changes lie in built.sqlite-journal")
	for _, finished := range []string{"", strings.Repeat("\x00", 512)} {
		side("-journal", finished)
		if _, err := Read(t.Context(), file); err != nil {
			t.Errorf("a journal of %d bytes that is done: %v", len(finished), err)
		}
	}
	os.Remove(journal)
	side("-wal", "\x37\x7f\x06\x82")
	refused(t, file, "being-written",
		"unfinished changes lie in built.sqlite-wal; close the program that has the file open, merge them with "+
			"`sqlite3 FILE 'PRAGMA wal")
	side("-wal", "")
	if _, err := Read(t.Context(), file); err != nil {
		t.Errorf("an empty log: %v", err)
	}

	// One that changes while it is read, now and then.
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		for err == nil {
			select {
			case <-stop:
				f.Close()
				return
			default:
				_, err = f.Write([]byte("more"))
			}
		}
	}()
	key := model.Kind("")
	for range 1000 {
		_, err := Read(t.Context(), file)
		key = model.KindOf(err)
		if key != "" {
			break
		}
	}
	close(stop)
	<-stopped
	if key != "being-written" {
		t.Errorf("key %q of a file that grows, want being-written", key)
	}
}

// changed sees each kind of change.
func TestChanged(t *testing.T) {
	file := build(t, base...)
	before, err := inspect(file, "x")
	if err != nil {
		t.Fatal(err)
	}
	if changed(file, before) {
		t.Error("changed before it did")
	}
	for name, s := range map[string]state{
		"size":    {before.size + 1, before.modified, before.counter},
		"time":    {before.size, before.modified + 1, before.counter},
		"counter": {before.size, before.modified, [4]byte{0xff}},
	} {
		if !changed(file, s) {
			t.Errorf("another %s is no change", name)
		}
	}
	os.Remove(file)
	if !changed(file, before) {
		t.Error("the file is gone, but has not changed")
	}
}

// A file may claim any size: what is read and what room is made for depends on what is in it.
func TestHuge(t *testing.T) {
	const size = 100 << 30
	whole, err := os.ReadFile(build(t, base...))
	if err != nil {
		t.Fatal(err)
	}
	counted := bytes.Clone(whole) // announces all the pages
	page := int64(binary.BigEndian.Uint16(whole[16:]))
	binary.BigEndian.PutUint32(counted[28:], uint32(size/page))
	far, err := os.ReadFile(build(t,
		with("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET rowid = 4611686018427387904 WHERE rowid = 2")...))
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(far[28:], uint32(size/page))
	for _, c := range []struct {
		name    string
		content []byte
		key     model.Kind // "" where it is read
	}{
		{"nothing", nil, "empty"},
		{"the magic", []byte(magic), "damaged"},
		{"an export and nothing", whole, ""},
		{"an export that announces more", counted, ""},
		{"a row with a number out of reach", far, "rows-missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := put(t, c.content)
			if err := os.Truncate(file, size); err != nil {
				t.Skipf("no room for a file of 100 GB, even an empty one: %v", err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			traces, err := Read(t.Context(), file)
			runtime.ReadMemStats(&after)
			if c.key != "" {
				checkRefusal(t, err, c.key, "")
			} else if n, _ := launches(traces); err != nil || n != 2 {
				t.Errorf("%d launches, error %v", n, err)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 1<<30 {
				t.Errorf("%d MB were allocated", made>>20)
			}
		})
	}
}

// A schema whose pages lead to one page many times is refused, also where the header tells of a write-ahead log.
func TestSchemaLoop(t *testing.T) {
	statements := []string{"PRAGMA page_size = 512"}
	for i := range 300 {
		statements = append(statements, fmt.Sprintf("CREATE TABLE t%d (a, b, c, d)", i))
	}
	content, err := os.ReadFile(build(t, statements...))
	if err != nil {
		t.Fatal(err)
	}
	if content[100] != 5 {
		t.Fatal("the schema has no inner page")
	}
	for i := range int(binary.BigEndian.Uint16(content[103:])) {
		cell := int(binary.BigEndian.Uint16(content[112+2*i:]))
		copy(content[cell:], []byte{0, 0, 0, 1})
	}
	refused(t, put(t, content), model.Damaged, "page 1")
	content[18], content[19] = 2, 2
	refused(t, put(t, content), model.Damaged, "page 1")
}

// Mangled names are read within a budget for all of them.
func TestNameBudget(t *testing.T) {
	var statements []string
	for i := range 100 {
		name := fmt.Sprintf("_Z%d", 6000) + strings.Repeat("P", 5990) + fmt.Sprint(i)
		statements = append(statements, stringRow(1000+i, name),
			fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT %d, %d,
			0, 1, 0, 7, %d, %d, %d, %d, NULL, 1, 1, 32, 4, 1, 1, 256, 1, 1, 16, 1024, 0, 0, 1, 32768, NULL, 0`, 10_000+100*i, 10_050+100*i, i+1, pidA, 1000+i, 1000+i))
	}
	refused(t, build(t, with(statements...)...), model.TooLarge,
		"the squares of their lengths add up to more than 250000000")
}

// A table whose pages lead back to themselves ends.
func TestLoop(t *testing.T) {
	const page = 512
	file := build(t, append([]string{fmt.Sprintf("PRAGMA page_size = %d", page)}, with(kernelRows(5000, ""))...)...)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Every inner page of a table, but not of the schema on page 1: each of its cells leads to the page of the first
	// one.
	changed := 0
	for at := page; at < len(content); at += page {
		if content[at] != 5 { // an inner page of a table
			continue
		}
		cells := int(binary.BigEndian.Uint16(content[at+3:]))
		var first []byte
		for i := range cells {
			cell := at + int(binary.BigEndian.Uint16(content[at+12+2*i:]))
			if i == 0 {
				first = slices.Clone(content[cell : cell+4])
			} else {
				copy(content[cell:], first)
				changed++
			}
		}
	}
	if changed == 0 {
		t.Fatal("no inner pages")
	}
	file = put(t, content)
	refused(t, file, "damaged", "out of order")
}

// manyKernels writes an export with one launch of each of so many kernels.
func manyKernels(t testing.TB, n int) string {
	return build(t, with("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", kernelRows(n, ""), callRows(n, 3, 0, ""),
		"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 1000 + rowid",
		rows(n, "INSERT INTO StringIds SELECT 1001 + i, 'void ns::kernel<(int)' || i || '>(float *, const float *)'",
			""))...)
}

func TestManyKernels(t *testing.T) {
	const n = 10_000
	traces, err := Read(t.Context(), manyKernels(t, n))
	if err != nil {
		t.Fatal(err)
	}
	if len(traces) != 1 || len(traces[0].Kernels) != n || len(traces[0].Launches) != n {
		t.Fatalf("%d traces, %d kernels, %d launches", len(traces), len(traces[0].Kernels), len(traces[0].Launches))
	}
	for i, l := range traces[0].Launches {
		if want := fmt.Sprintf("void ns::kernel<(int)%d>(float *, const float *)",
			i); traces[0].Kernels[l.Kernel].Raw != want {
			t.Fatalf("launch %d is of %q", i, traces[0].Kernels[l.Kernel].Raw)
		}
	}
}

func BenchmarkManyKernels(b *testing.B) {
	file := manyKernels(b, 10_000)
	for b.Loop() {
		if _, err := Read(b.Context(), file); err != nil {
			b.Fatal(err)
		}
	}
}
