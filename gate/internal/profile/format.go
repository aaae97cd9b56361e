package profile

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/bench"
	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/ncu"
	"github.com/nsgate/nsgate/gate/internal/nsys"
	"github.com/nsgate/nsgate/gate/internal/nsysjax"
	"github.com/nsgate/nsgate/gate/internal/nsysstats"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/torch"
)

// Format is one kind of file that a recording comes in.
type Format struct {
	// Name is the format's name: "SQLite export of nsys".
	Name string
	// Suffixes end the names of such files. Where they are certain, a file of that name is of this format unless its
	// content is that of another.
	Suffixes []string
	// Needs is the program that reading takes, "" for none.
	Needs string
	// Gives names the measurements that it holds.
	Gives string

	certain bool
	// sniff reports from the first bytes of a file whether it is of this format; nil if only the name tells.
	sniff func(name string, head []byte) bool
	// begins are texts of a line that begins a table of this format, or replaces it in the program's output. Such a
	// line is looked for behind the output of the workload; none where the file begins as the format does.
	begins []string
	// read adds the content of the files of one recording, most often one file.
	read func(ctx context.Context, t Tools, files []string, to *Recording) error
	// refuse is the refusal of a file of this format, nil where it is read.
	refuse func(file string) *model.Refusal
	// own is true for files that nsgate itself wrote.
	own bool
	// benchmarks is true for results of a benchmark harness; a run may have several.
	benchmarks bool
}

// readable lists the formats that are read, for messages.
const readable = "nsgate reads SQLite exports (.sqlite) and reports (.nsys-rep) of nsys, CSV of nsys stats or ncu, .ncu-rep, " +
	"traces and key_averages tables of torch.profiler, its own JSON reports, and results of the harnesses in " +
	"`nsgate help benchmarks`"

// formats is every format, one row each. A file is of the first whose content it has; where it has that of none, of the
// first whose name it certainly has, which then says what is wrong with it.
var formats = []Format{
	{Name: "Git LFS pointer", refuse: refusal(model.GitLFS, "fetch it with `git lfs pull`", "%s is a Git LFS pointer, not the file itself"), Suffixes: pointers,
		sniff: func(name string, head []byte) bool {
			return bytes.HasPrefix(head, []byte("version https://git-lfs.github.com/spec/")) && ends(name, pointers...)
		}},
	{Name: "SQLite export of nsys", Gives: "launches, copies, NVTX ranges; nsys 2020 to 2026", Suffixes: []string{".sqlite", ".sqlite3", ".db"}, certain: true, read: readExport,
		sniff: func(_ string, head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) }},
	{Name: "report of ncu", Gives: "counters of single launches", Suffixes: []string{".ncu-rep", ".nsight-cuprof-report"}, certain: true, read: readNcuReport,
		sniff: func(_ string, head []byte) bool { return ncu.SniffReport(head) }},
	{Name: "compressed report of ncu", Gives: "counters of single launches", Suffixes: []string{".ncu-repz"}, certain: true, Needs: "ncu", read: readNcuReport},
	{Name: "report of nsys", Gives: "launches, copies, NVTX ranges", Suffixes: []string{".nsys-rep", ".qdrep"}, Needs: "nsys", read: readReport,
		sniff: func(name string, _ []byte) bool { return ends(name, ".nsys-rep", ".qdrep") }},
	{Name: "archive of nsys-jax", Gives: "the reports in it, with `nsys` on the PATH; without them the thunks of XLA in its tables", Suffixes: []string{".zip"}, read: readArchive, sniff: nsysjax.Sniff},
	{Name: "JSON report of nsgate", Gives: "the sessions of its head", Suffixes: []string{".json"}, own: true, read: readSaved,
		sniff: func(_ string, head []byte) bool {
			return bytes.Contains(head[:min(len(head), 4096)], []byte(`"nsgate.report/`))
		}},
	{Name: "trace or key_averages table of torch.profiler", Gives: "launches, copies, record_function, ProfilerStep# as the step; of a table one mean a run", Suffixes: []string{".pt.trace.json", ".pt.trace.json.gz"}, certain: true,
		read: readTorch, sniff: func(_ string, head []byte) bool { return torch.Sniff(head) },
		begins: []string{"# of Calls", "Number of Calls"}},
	{Name: "page of ncu, CSV or printed", Gives: "counters of single launches, of the raw or details page", Suffixes: []string{".csv", ".txt"}, read: readCounters,
		sniff:  func(_ string, head []byte) bool { return ncu.Sniff(head) },
		begins: []string{`"ID"`, "Kernel Name", "Metric Name", "==PROF==", "==WARNING==", "==ERROR=="}},
	{Name: "table of nsys stats, CSV or printed", Gives: "launches and copies of cuda_gpu_trace; of cuda_gpu_kern_sum one mean a run, first launches included", Suffixes: []string{".csv", ".txt"}, read: readStats,
		sniff:  func(_ string, head []byte) bool { return nsysstats.Sniff(head) },
		begins: []string{"Time (%)", "Time(%)", "Start (", "Start(", "Total (", "Total(", ",Operation", "Processing [", "SKIPPED: "}},
	{Name: "results of a benchmark harness", Suffixes: benchmarkSuffixes, benchmarks: true, read: readBenchmarks,
		Gives: "one value a process for each benchmark: nvbench, google-benchmark, pytest-benchmark, asv, Criterion, " +
			"hyperfine, llama-bench, tritonbench, vLLM, SGLang, genai-perf, k6, " +
			"serving metrics, Bencher, github-action-benchmark, JUnit",
		sniff: func(_ string, head []byte) bool { return bench.Sniff(head) }},
	{Name: "compressed profile", certain: true,
		refuse: refusal(model.Compressed, "unpack it first; only traces of torch.profiler are read as they are", "%s is compressed"), Suffixes: []string{
			".sqlite.gz", ".nsys-rep.gz", ".qdrep.gz", ".ncu-rep.gz", ".csv.gz", ".sqlite.xz", ".nsys-rep.xz", ".qdrep.xz", ".ncu-rep.xz", ".csv.xz",
			".sqlite.zst", ".nsys-rep.zst", ".qdrep.zst", ".ncu-rep.zst", ".csv.zst", ".sqlite.bz2", ".nsys-rep.bz2", ".qdrep.bz2", ".ncu-rep.bz2", ".csv.bz2"}},
	{Name: "raw capture of nsys", Suffixes: []string{".qdstrm"}, certain: true,
		refuse: refusal(model.OtherFormat, "open it with the nsys of the same version, or record again", "%s: a raw capture, which nsys did not finish")},
	{Name: "other export of nsys", Suffixes: []string{".parquet", ".arrow", ".arrows", ".h5", ".hdf", ".jsonl"}, certain: true,
		refuse: refusal(model.OtherFormat, "write it with `nsys export --type sqlite`", "%s: of the exports of nsys only SQLite is read")},
}

// refusal makes the refusal of a format; format is its sentence, with a verb in place of the file's name.
func refusal(kind model.Kind, next, format string) func(string) *model.Refusal {
	return func(file string) *model.Refusal { return model.Refuse(kind, next, format, file) }
}

var benchmarkSuffixes = []string{".json", ".jsonl", ".csv", ".xml"}

// pointers are the suffixes of files that Git LFS may have left a pointer of: another file is none of a profile.
var pointers = []string{
	".sqlite", ".sqlite3", ".db", ".nsys-rep", ".qdrep", ".ncu-rep", ".ncu-repz", ".csv", ".json", ".zip", ".gz", ".xz", ".zst", ".bz2",
}

// Formats lists the formats that can be read.
func Formats() []Format {
	return slices.DeleteFunc(slices.Clone(formats), func(f Format) bool { return f.refuse != nil })
}

const (
	// sniffed is the number of leading bytes that decide the format of a file.
	sniffed = 64 << 10
	// furthest is how much output of the workload may stand before a table.
	furthest = 256 << 20
	// mostSeeming is the largest number of lines that seem to begin a table and do not: reading them takes time.
	mostSeeming = 10_000
)

// formatOf finds the format of a file, nil if unknown.
func formatOf(file string) (*Format, error) {
	f, err := input.Open(file)
	if errors.Is(err, input.ErrNoFile) {
		return nil, model.Refuse(model.NoFile, "name a profile or a directory of profiles", "%s is not a file", file)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, sniffed))
	if err != nil {
		return nil, err
	}
	name := filepath.Base(file)
	for i := range formats {
		if f := &formats[i]; f.sniff != nil && f.sniff(name, head) {
			return f, nil
		}
	}
	if f := formatNamed(name); f != nil || len(head) < sniffed {
		return f, nil
	}
	return formatBehind(name, io.LimitReader(io.MultiReader(bytes.NewReader(head), f), furthest))
}

// formatBehind is the format of the first table behind text, as in `ncu --csv ./train > out.csv`; nil for none, and for
// a binary file.
func formatBehind(name string, r io.Reader) (*Format, error) {
	in := bufio.NewReaderSize(cells.UTF8(r), sniffed)
	for seeming := 0; seeming < mostSeeming; {
		line, err := cells.Line(in)
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case strings.ContainsRune(line, 0):
			return nil, nil
		}
		for i := range formats {
			f := &formats[i]
			if !slices.ContainsFunc(f.begins, func(s string) bool { return strings.Contains(line, s) }) {
				continue
			}
			if f.sniff(name, []byte(line)) {
				return f, nil
			}
			seeming++
		}
		if err == io.EOF {
			break
		}
	}
	return nil, nil
}

// formatNamed is the format that the name of a file decides, nil for none.
func formatNamed(name string) *Format {
	for i := range formats {
		if f := &formats[i]; f.certain && ends(name, f.Suffixes...) {
			return f
		}
	}
	return nil
}

// reading bounds the number of files that are read at the same time, and with it the memory of readers.
var reading = make(chan struct{}, runtime.GOMAXPROCS(0))

func (f *Format) open(ctx context.Context, t Tools, files []string, to *Recording) error {
	if f.refuse != nil {
		return f.refuse(files[0])
	}
	return f.read(ctx, t, files, to)
}

// traces makes the reader of a format of one that reads the processes in a file.
func traces(read func(context.Context, string) ([]model.Trace, error)) func(context.Context, Tools, []string, *Recording) error {
	return func(ctx context.Context, _ Tools, files []string, to *Recording) error {
		found, err := read(ctx, files[0])
		to.Traces = append(to.Traces, found...)
		return err
	}
}

var readExport, readTables = traces(nsys.Read), traces(nsysjax.Tables)

// readReport reads a report through nsys, or where no nsys is named and none is installed the export of the same name
// beside it.
func readReport(ctx context.Context, t Tools, files []string, to *Recording) error {
	if _, err := exec.LookPath(cmp.Or(t.Nsys, "nsys")); err != nil && t.Nsys == "" {
		if export := exportBeside(files[0]); export != "" {
			to.Warnings = append(to.Warnings, fmt.Sprintf("nsys was not found: %s was read in place of %s", filepath.Base(export), filepath.Base(files[0])))
			return readExport(ctx, t, []string{export}, to)
		}
	}
	return proc.InPrivate(func(dir string) error {
		export, err := nsys.Export(ctx, cmp.Or(t.Nsys, "nsys"), files[0], dir)
		if err != nil {
			return err
		}
		return readExport(ctx, t, []string{export}, to)
	})
}

// exportBeside is the SQLite export of the same stem that is not older than the report, "" for none.
func exportBeside(report string) string {
	export := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
	from, err := os.Stat(report)
	to, missing := os.Stat(export)
	if err != nil || missing != nil || !to.Mode().IsRegular() || to.ModTime().Before(from.ModTime()) {
		return ""
	}
	return export
}

// readNcuReport reads a report itself, or with ncu where the layout is one that only ncu knows.
func readNcuReport(ctx context.Context, t Tools, files []string, to *Recording) error {
	p, err := ncu.ReadReport(files[0], t.Metrics...)
	if !errors.Is(err, ncu.ErrLayout) {
		return to.addCounters(p, err)
	}
	return proc.InPrivate(func(dir string) error {
		page, err := ncu.Export(ctx, cmp.Or(t.Ncu, "ncu"), files[0], dir)
		if err != nil {
			return err
		}
		return readPage(page, filepath.Base(files[0]), to, t.Metrics)
	})
}

func readCounters(_ context.Context, t Tools, files []string, to *Recording) error {
	return readPage(files[0], filepath.Base(files[0]), to, t.Metrics)
}

// readPage reads a page of ncu; name stands for it in messages.
func readPage(file, name string, to *Recording, raw []string) error {
	return opened(file, func(f *os.File) error {
		return to.addCounters(ncu.Read(f, name, raw...))
	})
}

func readArchive(ctx context.Context, t Tools, files []string, to *Recording) error {
	return proc.InPrivate(func(dir string) error {
		reports, err := nsysjax.Reports(ctx, files[0], dir)
		if err != nil {
			return err
		}
		for _, r := range reports {
			read := readReport
			if ends(r, ".sqlite") {
				read = readExport
			}
			if err := read(ctx, t, []string{r}, to); err != nil {
				return err
			}
		}
		if len(reports) > 0 {
			return nil
		}
		return readTables(ctx, t, files, to)
	})
}

func readTorch(ctx context.Context, _ Tools, files []string, to *Recording) error {
	return opened(files[0], func(f *os.File) error {
		run, err := torch.Read(ctx, f, filepath.Base(files[0]))
		to.add(run.Trace, run.Summary)
		return err
	})
}

// readStats reads the tables of one run, which nsys stats writes into one file or into one each.
func readStats(ctx context.Context, _ Tools, names []string, to *Recording) error {
	var files []nsysstats.File
	for _, name := range names {
		f, err := input.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		files = append(files, nsysstats.File{Name: filepath.Base(name), Reader: f})
	}
	run, err := nsysstats.Read(ctx, files...)
	to.add(run.Trace, run.Summary)
	return err
}

func readBenchmarks(_ context.Context, _ Tools, files []string, to *Recording) error {
	s, err := bench.Open(files...)
	to.add(nil, s)
	return err
}

func readSaved(_ context.Context, _ Tools, files []string, to *Recording) error {
	return opened(files[0], func(f *os.File) error {
		r, err := saved.Read(f, files[0])
		if err != nil {
			return err
		}
		if len(r.HeadSessions) == 0 {
			return model.Refuse(model.NoMeasurement, "save one of a check or compare that measured something",
				"%s: the report holds no measurement", files[0])
		}
		for i := range r.HeadSessions {
			s := &r.HeadSessions[i]
			err := s.Check()
			if err == nil {
				err = s.CheckSums()
			}
			if err != nil {
				return model.Refuse(model.BadSession, "measure again, or save the report again where it was made",
					"%s: session %d of the head: %v", files[0], i+1, err)
			}
		}
		to.Finished = append(to.Finished, r.HeadSessions...)
		return nil
	})
}

func opened(file string, use func(*os.File) error) error {
	f, err := input.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return use(f)
}

func ends(name string, suffixes ...string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
