package nsysjax

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/nsys"
)

// recording is a small export of nsys; archives hold it as what nsys would read.
const recording = "../../../../testdata/h200/cupy/cupy.000.sqlite"

func recorded(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// file is a file of a test's archive.
type file struct {
	name, content string
	change        func(*zip.FileHeader)
}

func pack(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		h.SetMode(0o644)
		if f.change != nil {
			f.change(h)
		}
		to, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write([]byte(f.content)); err != nil && f.content != "" {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// raw packs one file as a header says, whatever the header says.
func raw(t testing.TB, name, content string, change func(*zip.FileHeader)) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	h := &zip.FileHeader{Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(content)),
		CompressedSize64: uint64(len(content)), UncompressedSize64: uint64(len(content))}
	change(h)
	to, err := w.CreateRaw(h)
	if err != nil {
		t.Fatal(err)
	}
	to.Write([]byte(content))
	w.Close()
	return out.Bytes()
}

func save(t testing.TB, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// jax adds nsys-jax's other files to a report.
func jax(report ...file) []file {
	return append(report,
		file{name: "install.sh", content: "#!/bin/bash\n"},
		file{name: "nvtx_gpu_proj_trace/trace.parquet", content: "PAR1"},
		file{name: "nvtx_gpu_proj_trace/nvtx_gpu_proj_trace.nsys-analysis", content: "{}"},
		file{name: "report_nvtx_pushpop_trace.parquet", content: "PAR1"},
		file{name: "thread-metadata.parquet", content: "PAR1"},
		file{name: "dump/module_0001.jit_f.sm_9.0_gpu_after_optimizations.hlo.pb.xz", content: "xz"},
		file{name: "protos/xla/service/hlo.proto", content: "syntax"},
		file{name: "sources/app/train.py", content: "import jax"},
	)
}

// combined adds nsys-jax-combine's files of the ranks 0 to n-1 to the reports that it keeps.
func combined(n int, reports ...file) []file {
	files := append(reports, file{name: "install.sh", content: "#!/bin/bash\n"},
		file{name: "system-metadata.parquet", content: "PAR1"})
	for _, table := range []string{"thread-metadata.parquet", "nvtx_gpu_proj_trace/trace.parquet"} {
		for rank := range n {
			files = append(files, file{name: fmt.Sprintf("%s/rank%d", table, rank), content: fmt.Sprint("PAR1", rank)})
		}
	}
	return files
}

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       bool
	}{
		{"rank0.zip", "PK\x03\x04\x14", true}, {"rank0", "PK\x03\x04\x14", true}, {"none.zip", "PK\x05\x06", true},
		{"split.zip", "PK\x07\x08", true},
		{"failed.ZIP", "", true}, {"failed.csv", "", false}, {"x.zip", "SQLite format 3\x00", false},
		{"x.zip", "P", false}, {"x.csv", "PK,1", false},
		{"x.nsys-rep", "NVIDIA Tegra Profiler Report ", false},
	} {
		if got := Sniff(c.name, []byte(c.head)); got != c.want {
			t.Errorf("Sniff(%q, %q) = %v", c.name, c.head, got)
		}
	}
}

// Reports from an archive are the recordings, byte for byte, in files that no other user can read.
func TestReports(t *testing.T) {
	one, two := recorded(t), recorded(t)+" "
	link := func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }
	for _, c := range []struct {
		what  string
		files []file
		want  []string
		data  []string
	}{
		{"nsys-jax", jax(file{name: "rank0.nsys-rep", content: one}), []string{"000-rank0.nsys-rep"}, []string{one}},
		{"nsys-jax of 2024", jax(file{name: "report.nsys-rep", content: one}), []string{"000-report.nsys-rep"},
			[]string{one}},
		{"combined, all kept", combined(2, file{name: "rank1.nsys-rep", content: two},
			file{name: "rank0.nsys-rep", content: one}),
			[]string{"000-rank0.nsys-rep", "001-rank1.nsys-rep"}, []string{one, two}},
		{"combined, a table in parts", append(combined(1, file{name: "rank0.nsys-rep", content: one}),
			file{name: "t.parquet/_metadata", content: "x"}, file{name: "t.parquet/part.0.parquet", content: "x"}),
			[]string{"000-rank0.nsys-rep"}, []string{one}},
		{"artifact", []file{{name: "out/", change: func(h *zip.FileHeader) { h.Method = zip.Store }},
			{name: "out/a.nsys-rep", content: one},
			{name: "out/b.sqlite", content: two}, {name: "out/log.txt", content: "x"}},
			[]string{"000-a.nsys-rep", "001-b.sqlite"}, []string{one, two}},
		{"report and its export", []file{{name: "a.nsys-rep", content: two}, {name: "a.sqlite", content: one},
			{name: "b/a.qdrep", content: two}},
			[]string{"000-a.sqlite", "001-a.qdrep"}, []string{one, two}},
		{"paths that lead out", []file{{name: "../../../evil.nsys-rep", content: one},
			{name: `C:\x\..\evil.NSYS-REP`, content: two}},
			[]string{"000-evil.nsys-rep", "001-evil.nsys-rep"}, []string{two, one}},
		{"names for no file system", []file{{name: "/a\x00b\n" + strings.Repeat("ü", 200) + ".nsys-rep", content: one}},
			[]string{"000-a_b_" + strings.Repeat("_", 28) + ".nsys-rep"}, []string{one}},
		{"links and what macOS adds", []file{{name: "a.nsys-rep", content: "/etc/passwd", change: link},
			{name: "__MACOSX/._b.nsys-rep", content: "x"}, {name: "b.nsys-rep", content: one}},
			[]string{"000-b.nsys-rep"}, []string{one}},
		{"stored", []file{{name: "a.nsys-rep", content: one, change: func(h *zip.FileHeader) { h.Method = zip.Store }}},
			[]string{"000-a.nsys-rep"}, []string{one}},
		{"an archive beside it", jax(file{name: "rank0.nsys-rep", content: one},
			file{name: "wheel.zip", content: "PK"}), []string{"000-rank0.nsys-rep"}, []string{one}},
	} {
		t.Run(c.what, func(t *testing.T) {
			outer := t.TempDir()
			dir := filepath.Join(outer, "a", "b", "c")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			files, err := Reports(t.Context(), save(t, "x.zip", pack(t, c.files...)), dir)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for i, file := range files {
				names = append(names, filepath.Base(file))
				data, err := os.ReadFile(file)
				if err != nil || i < len(c.data) && string(data) != c.data[i] {
					t.Errorf("%s: %d bytes, %v", file, len(data), err)
				}
				if info, err := os.Lstat(file); err != nil || info.Mode() != 0o600 || filepath.Dir(file) != dir {
					t.Errorf("%s: %v, %v", file, info.Mode(), err)
				}
			}
			if !slices.Equal(names, c.want) {
				t.Errorf("files %q, want %q", names, c.want)
			}
			left := 0
			filepath.WalkDir(outer, func(_ string, e fs.DirEntry, err error) error {
				if err != nil || !e.IsDir() {
					left++
				}
				return err
			})
			if left != len(files) {
				t.Errorf("%d files in all, %d reports", left, len(files))
			}
		})
	}
}

// An export that comes out of an archive can be read as any other.
func TestReadUnpacked(t *testing.T) {
	files, err := Reports(t.Context(), save(t, "x.zip",
		pack(t, jax(file{name: "rank0.sqlite", content: recorded(t)})...)), t.TempDir())
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	traces, err := nsys.Read(t.Context(), files[0])
	if err != nil || len(traces) != 1 || len(traces[0].Launches) == 0 {
		t.Fatalf("%d traces, %v", len(traces), err)
	}
}

func TestRefusals(t *testing.T) {
	one, two := recorded(t), recorded(t)+" "
	whole := pack(t, jax(file{name: "rank0.nsys-rep", content: one})...)
	start := bytes.Index(whole, []byte("rank0.nsys-rep")) + len("rank0.nsys-rep") + 100
	flipped := slices.Clone(whole)
	flipped[start] ^= 0xff
	stored := pack(t, file{name: "a.nsys-rep", content: one, change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	otherData := slices.Clone(stored)
	otherData[bytes.Index(otherData, []byte("SQLite format"))] = 's'
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"nothing", nil,
			"x.zip is an empty file, as nsys-jax leaves it where the program failed or its condition did not hold; " +
				"see what nsys-jax said, and record the workload again"},
		{"cut off", whole[:len(whole)/2],
			"x.zip is no whole archive: the list of files at its end is missing or damaged; let nsys-jax finish, " +
				"copy the archive again, or record the workload again"},
		{"end cut off", whole[:len(whole)-1], "x.zip is no whole archive"},
		{"start cut off", whole[len(whole)/2:],
			"rank0.nsys-rep in x.zip is damaged: it is not where the list of files says"},
		{"text", []byte("PK\x03\x04 and so on"), "x.zip is no whole archive"},
		{"no file", pack(t),
			"x.zip holds no report of nsys (0 files); give an archive that nsys-jax wrote, or a report (.nsys-rep)"},
		{"other files", pack(t, file{name: "a.py"}, file{name: "kernel.cu"}),
			"x.zip holds no report of nsys (2 files)"},
		{"a link", pack(t, file{name: "a.nsys-rep", content: "/etc/passwd",
			change: func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink) }}), "x.zip holds no report of nsys (0 files)"},
		{"no table of ranges", pack(t, jax()[2:]...),
			"x.zip holds 2 tables (report_nvtx_pushpop_trace.parquet, thread-metadata.parquet), but neither a report " +
				"of nsys nor nvtx_gpu_proj_trace/trace.parquet; give the archives that nsys-jax wrote, or combine " +
				"them with `nsys-jax-combine --keep-nsys-rep=all`"},
		{"damaged tables", pack(t, jax()...),
			"thread-metadata.parquet in x.zip: it is no parquet file, or ends early; copy the archive again"},
		{"combined, damaged tables", pack(t, combined(3)...),
			"system-metadata.parquet in x.zip: it is no parquet file"},
		{"combined, first report kept", pack(t, combined(4, file{name: "rank0.nsys-rep", content: one})...),
			"system-metadata.parquet in x.zip: it is no parquet file"},
		{"combined, no table of ranges", pack(t, combined(2, file{name: "rank1.nsys-rep", content: one})[:4]...),
			"x.zip combines more recordings than it holds reports of: none of rank0; give the archives that " +
				"nsys-jax wrote"},
		{"a table twice", pack(t, append(jax(), jax()...)...), "x.zip lists trace.parquet twice"},
		{"not imported", pack(t, file{name: "a.qdstrm", content: "x"}),
			"a.qdstrm in x.zip was never made a report: nsys could not import it; import it with the nsys that " +
				"wrote it, or record the workload again"},
		{"one not imported", pack(t, file{name: "rank0.nsys-rep", content: one},
			file{name: "rank1.qdstrm", content: "x"}), "rank1.qdstrm in x.zip was never made a report"},
		{"archives", pack(t, file{name: "rank0.zip", content: string(whole)}, file{name: "rank1.zip", content: "x"},
			file{name: "log.txt"}),
			"x.zip holds rank0.zip and 1 more and no report of nsys; archives within it are not opened; unpack it " +
				"and give those"},
		{"empty report", pack(t, file{name: "a.nsys-rep"}), "a.nsys-rep in x.zip is empty; record the workload again"},
		{"one name twice", pack(t, file{name: "a.nsys-rep", content: one}, file{name: "a.nsys-rep", content: two}),
			"x.zip lists a.nsys-rep twice; give the reports (.nsys-rep) themselves"},
		{"one recording twice", pack(t, file{name: "a.nsys-rep", content: one}, file{name: "b.nsys-rep", content: one}),
			"a.nsys-rep and b.nsys-rep in x.zip are the same recording; give each recording once: two runs are two " +
				"recordings"},
		{"encrypted", raw(t, "a.nsys-rep", one, func(h *zip.FileHeader) { h.Flags |= 1 }),
			"a.nsys-rep in x.zip is encrypted; unpack it and give the reports (.nsys-rep)"},
		{"unknown method", raw(t, "a.nsys-rep", one, func(h *zip.FileHeader) { h.Method = 93 }),
			"a.nsys-rep in x.zip is compressed by method 93, which is not known; unpack it and give the reports " +
				"(.nsys-rep)"},
		{"damaged", flipped, "rank0.nsys-rep in x.zip is damaged: "},
		{"other checksum", otherData,
			"a.nsys-rep in x.zip is damaged: its checksum is another; copy the archive again, or record the " +
				"workload again"},
		{"shorter than it says", raw(t, "a.nsys-rep", one, func(h *zip.FileHeader) { h.UncompressedSize64 += 7 }),
			"a.nsys-rep in x.zip is damaged: it ends early or does not unpack"},
		{"longer than it says", raw(t, "a.nsys-rep", one, func(h *zip.FileHeader) { h.UncompressedSize64 -= 7 }),
			"a.nsys-rep in x.zip is damaged: "},
		{"a bomb", raw(t, "a.nsys-rep", one, func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 40 }),
			"the recordings in x.zip are larger than 16384 MB; unpack it and give the reports (.nsys-rep)"},
		{"sizes that overflow", raw(t, "a.nsys-rep", one, func(h *zip.FileHeader) { h.UncompressedSize64 = 1<<64 - 2 }),
			"the recordings in x.zip are larger than 16384 MB"},
		{"a hostile name", pack(t, file{name: "\x1b[31m\u202e" + strings.Repeat("x", 300) + ".nsys-rep"}),
			"\uFFFD[31m\uFFFD" + strings.Repeat("x", 74) + "… in x.zip is empty"},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			archive := save(t, "x.zip", c.data)
			files, err := Reports(t.Context(), archive, dir)
			if err == nil && files == nil {
				_, err = Tables(t.Context(), archive)
			}
			var refusal *model.Refusal
			if !errors.As(err, &refusal) || refusal.Next == "" || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("files %q, error %v,\nwant %s", files, err, c.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 || files != nil {
				t.Errorf("left %v, files %q", left, files)
			}
		})
	}
}

// A report that fails takes those before it along.
func TestNothingIsLeft(t *testing.T) {
	one := recorded(t)
	data := pack(t, file{name: "a.nsys-rep", content: one},
		file{name: "b.nsys-rep", content: one + " ", change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	data[bytes.LastIndex(data, []byte("SQLite format"))] = 's'
	dir := t.TempDir()
	if _, err := Reports(t.Context(), save(t, "x.zip", data), dir); err == nil ||
		!strings.HasPrefix(err.Error(), "b.nsys-rep in x.zip is damaged") {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestLimits(t *testing.T) {
	one := recorded(t)
	var files []file
	for i := range 2000 {
		files = append(files, file{name: fmt.Sprintf("sources/%05d.py", i)})
	}
	files = append(files, file{name: "a.nsys-rep", content: one}, file{name: "b.nsys-rep", content: one + " "})
	archive := save(t, "x.zip", pack(t, files...))
	defer func(most limits) { usual = most }(usual)
	for _, c := range []struct {
		most limits
		want string
	}{
		{limits{reports: 1, size: 1 << 30}, "x.zip holds 2 recordings, more than 1"},
		{limits{reports: 10, size: uint64(len(one)) + 10}, "the recordings in x.zip are larger than 0 MB"},
		{limits{reports: 2, size: 1 << 30}, ""},
	} {
		dir := t.TempDir()
		usual = c.most
		files, err := Reports(t.Context(), archive, dir)
		if c.want == "" && (err != nil || len(files) != 2) || c.want != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %q, %v", c.most, files, err)
		}
	}
}

func TestOrdinaryErrors(t *testing.T) {
	archive := save(t, "x.zip", pack(t, file{name: "a.nsys-rep", content: recorded(t)}))
	var refusal *model.Refusal
	if _, err := Reports(t.Context(), archive+"x", t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no archive: %v", err)
	}
	if _, err := Reports(t.Context(), archive, filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) ||
		errors.As(err, &refusal) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := Reports(t.Context(), t.TempDir(), t.TempDir()); !errors.As(err, &refusal) {
		t.Errorf("a directory: %v", err)
	}
	dir := t.TempDir()
	taken := filepath.Join(dir, "000-a.nsys-rep")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Reports(t.Context(), archive, dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file is there: %v", err)
	}
	if data, err := os.ReadFile(taken); string(data) != "mine" {
		t.Errorf("the file that was there is %q, %v", data, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir = t.TempDir()
	if _, err := Reports(ctx, archive, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func FuzzReports(f *testing.F) {
	small := "NVIDIA Tegra Profiler Report " + strings.Repeat("x", 100)
	f.Add([]byte(nil))
	f.Add(pack(f, jax(file{name: "rank0.nsys-rep", content: small})...))
	f.Add(pack(f, combined(2, file{name: "rank0.nsys-rep", content: small})...))
	f.Add(pack(f, file{name: "../a.nsys-rep", content: small}, file{name: "b.sqlite", content: small + "y"}))
	f.Add(raw(f, "a.nsys-rep", small, func(h *zip.FileHeader) { h.Flags |= 1 }))
	f.Add(raw(f, "a.nsys-rep", small, func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 33 }))
	end := pack(f, file{name: "a.nsys-rep", content: small})
	binary.LittleEndian.PutUint32(end[len(end)-6:], 0xffffffff) // where the list of files begins
	f.Add(end)
	f.Fuzz(func(t *testing.T, data []byte) {
		archive, dir := save(t, "x.zip", data), t.TempDir()
		files, err := Reports(context.Background(), archive, dir)
		left, _ := os.ReadDir(dir)
		if err == nil && len(files) == 0 {
			_, err = Tables(context.Background(), archive)
		}
		if len(left) != len(files) || err != nil && len(files) > 0 {
			t.Fatalf("%d files, %q, %v", len(left), files, err)
		}
		for _, file := range files {
			info, err := os.Lstat(file)
			if err != nil || info.Mode() != 0o600 || info.Size() == 0 || filepath.Dir(file) != dir {
				t.Fatalf("%s: %v, %v", file, info, err)
			}
		}
		if err != nil && !errors.As(err, new(*model.Refusal)) {
			t.Fatalf("no refusal: %v", err)
		}
	})
}
