package profile_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
)

// A recording of five runs, cut into samples per step.
func Example() {
	r, err := profile.Tools{}.Open(context.Background(), "../../../../testdata/h200/kernels/base")
	if err != nil {
		log.Fatal(err)
	}
	sides, err := profile.Cut(profile.Rule{Warmup: "auto"}, r)
	if err != nil {
		log.Fatal(err)
	}
	s := sides[0][0]
	fmt.Printf("%d runs on %s, counted by %q\n", len(s.Runs), s.GPU, s.Step)
	x, _ := s.Find(measure.Workload, measure.GPUTime.Name)
	fmt.Println("GPU time of the first run:", measure.Quantity(x.Values[0], x.Metric.Unit))
	// Output:
	// 5 runs on NVIDIA H200, counted by "step"
	// GPU time of the first run: 398.1 µs
}

// A refused file has a stable key.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const pointer = "version https://git-lfs.github.com/spec/v1\noid " +
		"sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	for path, key := range map[string]model.Kind{
		write("notes.csv", "a,b\n1,2\n"):         "other-format",
		write("x.sqlite", pointer):               "git-lfs",
		write("x.sqlite.gz", "x"):                "compressed",
		write("x.qdstrm", "x"):                   "other-format",
		write("x.parquet", "x"):                  "other-format",
		filepath.Dir(write("empty/README", "x")): "no-profile",
		os.DevNull:                               "no-file",
	} {
		_, err := profile.Tools{}.Open(context.Background(), path)
		if got := model.KindOf(err); got != key {
			t.Errorf("%s: refused for %q (%v), want %q", path, got, err, key)
		}
	}
	for _, name := range []string{"x.nsys-rep", "x.qdrep", "x.ncu-rep", "x.csv", "x.zip", "x.pt.trace.json",
		"x.pt.trace.json.gz", "x.sqlite.gz", "dir/x.nsys-rep"} {
		path := write("lfs/"+name, pointer)
		if strings.Contains(name, "/") {
			write("lfs/dir/out.txt", "hello")
			path = filepath.Dir(path)
		}
		_, err := profile.Tools{}.Open(context.Background(), path)
		if model.KindOf(err) != "git-lfs" || !strings.Contains(err.Error(),
			"is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (profile.Tools{}).Open(context.Background(), filepath.Join(dir, "nowhere")); err == nil ||
		model.KindOf(err) != "" {
		t.Errorf("a path that does not exist: %v", err)
	}
}

// Where nsys is not installed, the export of a report that lies beside it is read in its place, unless it is older.
func TestExportBeside(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	text, err := os.ReadFile("../../../../testdata/h200/kernels/base/base.000.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	report, export := filepath.Join(dir, "x.nsys-rep"), filepath.Join(dir, "x.sqlite")
	now := time.Now()
	for file, content := range map[string]string{report: "NVIDIA Tegra Profiler Report 1.0\x00", export: string(text)} {
		if err := errors.Join(os.WriteFile(file, []byte(content), 0o644), os.Chtimes(file, now, now)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := profile.Tools{}.Open(t.Context(), report)
	if err != nil || len(r.Traces) != 1 || len(r.Warnings) == 0 ||
		!strings.Contains(r.Warnings[0], "nsys was not found: x.sqlite was read in place of x.nsys-rep") {
		t.Fatalf("%v: %+v", err, r)
	}
	if err := os.Chtimes(export, now, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := (profile.Tools{}).Open(t.Context(), report); model.KindOf(err) != model.NoProfiler {
		t.Errorf("%v", err)
	}
}

// A table is found behind whatever the program printed before it.
func TestBehindOutput(t *testing.T) {
	wide := func(s string) string { // as PowerShell writes it
		out := []byte{0xff, 0xfe}
		for _, x := range utf16.Encode([]rune(s)) {
			out = binary.LittleEndian.AppendUint16(out, x)
		}
		return string(out)
	}
	output := strings.Repeat("epoch 1 (3.2 it/s): loss 0.5, accuracy 91 (%), Total 7\n", 2_000)
	for _, table := range []string{
		"../../../../testdata/ncu/base.raw.csv", "../nsysstats/testdata/kernels/k_cuda_gpu_kern_sum.csv",
		"../torch/testdata/h100-steps.table.txt",
	} {
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := profile.Tools{}.Open(context.Background(), table)
		if err != nil {
			t.Fatal(err)
		}
		for what, content := range map[string]string{
			"100 kB":           output + string(text),
			"the edge":         output[:64<<10-9] + "\n" + string(text),
			"one endless line": strings.Repeat("progress 5 % ", 10_000) + "\n" + string(text),
			"UTF-16":           wide(output + strings.ToValidUTF8(string(text), "?")),
			"carriage returns": strings.ReplaceAll(output+string(text), "\n", "\r\n"),
		} {
			file := filepath.Join(t.TempDir(), "out.log")
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := profile.Tools{}.Open(context.Background(), file)
			if err != nil || len(got.Counters) != len(alone.Counters) || len(got.Summaries) != len(alone.Summaries) {
				t.Errorf("%s behind %s: %v", table, what, err)
			}
		}
		// A binary file holds no table.
		file := filepath.Join(t.TempDir(), "out.bin")
		if err := os.WriteFile(file, []byte(output+"\x00\n"+string(text)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (profile.Tools{}).Open(context.Background(), file); model.KindOf(err) != "other-format" {
			t.Errorf("a binary file with %s in it: %v", table, err)
		}
	}
}

// Results of a harness are results whatever their texts say. A table behind them is a table.
func TestResultsAndTable(t *testing.T) {
	results := `{"context": {"num_cpus": 8, "caches": [
  "==PROF== Connected to process 1"
]}, "benchmarks": [{"name": "a", "run_type": "iteration", "real_time": 1.5, "time_unit": "ns"}]}` + "\n"
	table, err := os.ReadFile("../../../../testdata/ncu/base.raw.csv")
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{results: "google-benchmark", results + string(table): "ncu"} {
		file := filepath.Join(t.TempDir(), "out.json")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := profile.Tools{}.Open(t.Context(), file)
		if err != nil || len(got.Counters) == 0 && (len(got.Summaries) == 0 || got.Summaries[0].Tool != want) ||
			(want == "ncu") != (len(got.Counters) > 0) {
			t.Errorf("%.80s: %v, not of %s", content, err, want)
		}
	}
}

// Every format is named for people and by its suffixes.
func TestFormats(t *testing.T) {
	formats := profile.Formats()
	if len(formats) < 8 {
		t.Fatalf("%d formats", len(formats))
	}
	for _, f := range formats {
		if f.Name == "" || len(f.Suffixes) == 0 || !strings.HasPrefix(f.Suffixes[0], ".") {
			t.Errorf("%+v", f)
		}
	}
}

// Files of a directory are read at once. Of several that cannot be read the first one is named, whichever fails first.
func TestFirstOfDirectory(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		size := 1
		if i == 0 { // which fails last
			size = 1 << 14
		}
		text := `{"traceEvents": [` + strings.Repeat("\n{\"ph\": \"i\"},", size) // and no end
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.pt.trace.json", i)),
			[]byte(text+strings.Repeat(" ", i)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		_, err := profile.Tools{}.Open(t.Context(), dir)
		if err == nil || !strings.Contains(err.Error(), "00.pt.trace.json") {
			t.Fatalf("%v", err)
		}
	}
}

// TestRendered reads the JSON of a harness, beside the CSV, Markdown or printed text of the same runs.
func TestRendered(t *testing.T) {
	for _, below := range []string{"", "run"} {
		dir := t.TempDir()
		write := func(name, text string) {
			file := filepath.Join(dir, name)
			err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 {
			stem := filepath.Join(fmt.Sprint(below, i), "a")
			if below == "" {
				stem = fmt.Sprint("a", i)
			}
			write(stem+".json", fmt.Sprintf(`{"results":[{"command":"c","median":1.0%d,"times":[1]}]}`, i))
			write(stem+".csv", "command,mean\nc,5\n")
			write(stem+".md", "| Command | Mean [s] |\n")
		}
		r, err := profile.Tools{}.Open(t.Context(), dir)
		if err != nil || len(r.Summaries) != 3 {
			t.Errorf("%q: %v, %+v", below, err, r)
		}
	}
}
