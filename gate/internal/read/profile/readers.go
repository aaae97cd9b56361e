package profile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
	"github.com/nsgate/nsgate/gate/internal/read/nsys"
	"github.com/nsgate/nsgate/gate/internal/read/nsysjax"
	"github.com/nsgate/nsgate/gate/internal/read/nsysstats"
	"github.com/nsgate/nsgate/gate/internal/read/torch"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// readable lists the formats that are read, for messages.
const readable = "nsgate reads SQLite exports (.sqlite) and reports (.nsys-rep) of nsys, CSV of nsys stats or ncu, " +
	".ncu-rep, traces and key_averages tables of torch.profiler, its own JSON reports, results of the harnesses " +
	"in `nsgate help benchmarks`, and with a filter those of others"

const unpack = "unpack it first; only traces of torch.profiler are read as they are"

// formats is every format, one row each. A file is of the first whose content it has; where it has that of none, of the
// first whose name it certainly has, which then says what is wrong with it.
var formats = []Format{
	{Name: "Git LFS pointer", read: refuse(model.GitLFS, "fetch it with `git lfs pull`",
		"%s is a Git LFS pointer, not the file itself"), Suffixes: pointers,
		sniff: func(name string, head []byte) bool {
			return bytes.HasPrefix(head, []byte(model.LFSPointer)) && ends(name, pointers...)
		}},
	{Name: "SQLite export of nsys", Gives: "launches, copies, NVTX ranges; nsys 2020 to 2026",
		Suffixes: []string{".sqlite", ".sqlite3", ".db"}, certain: true, read: readExport,
		sniff: func(_ string, head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) }},
	{Name: "fragment of nsgate rank", Gives: "as of nsys", Suffixes: []string{".trace"},
		certain: true, read: readFragment, sniff: func(_ string, head []byte) bool { return rank.IsFragment(head) }},
	{Name: "report of ncu", Gives: "counters of single launches",
		Suffixes: []string{".ncu-rep", ".nsight-cuprof-report"},
		certain:  true, exports: true, read: readNcuReport,
		sniff: func(_ string, head []byte) bool { return ncu.SniffReport(head) }},
	{Name: "compressed report of ncu", Gives: "counters of single launches", Suffixes: []string{".ncu-repz"},
		certain: true, exports: true, Needs: "ncu", read: readNcuReport},
	{Name: "report of nsys", Gives: "launches, copies, NVTX ranges", Suffixes: reports, Needs: "nsys", exports: true,
		read:  readReport,
		sniff: func(name string, _ []byte) bool { return ends(name, reports...) }},
	{Name: "archive of nsys-jax", Gives: "the reports in it, with `nsys` on the PATH; without them the thunks of XLA " +
		"in its tables", Suffixes: []string{".zip"}, exports: true, read: readArchive, sniff: nsysjax.Sniff},
	{Name: "JSON report of nsgate", Gives: "the sessions of its head", Suffixes: []string{".json"}, own: true,
		read: readSaved,
		sniff: func(_ string, head []byte) bool {
			return bytes.Contains(head[:min(len(head), 4096)], []byte(`"nsgate.report/`))
		}},
	{Name: "JSON of a benchmark harness", benchmarks: true, read: readBenchmarks, Suffixes: benchmarkSuffixes,
		sniff: func(_ string, head []byte) bool { return bench.Sniff(head, true) }}, // no line of it is of a table
	{Name: "trace or key_averages table of torch.profiler",
		Gives:    "launches, copies, record_function, ProfilerStep# as the step; of a table one mean a run",
		Suffixes: []string{".pt.trace.json", ".pt.trace.json.gz"}, certain: true,
		read: readTorch, sniff: func(_ string, head []byte) bool { return torch.Sniff(head) },
		begins: []string{"# of Calls", "Number of Calls"}},
	{Name: "page of ncu, CSV or printed", Gives: "counters of single launches, of the raw or details page",
		Suffixes: []string{".csv", ".txt"}, read: readCounters,
		sniff:  func(_ string, head []byte) bool { return ncu.Sniff(head) },
		begins: []string{`"ID"`, "Kernel Name", "Metric Name", "==PROF==", "==WARNING==", "==ERROR=="}},
	{Name: "table of nsys stats, CSV or printed",
		Gives:    "launches and copies of cuda_gpu_trace; of cuda_gpu_kern_sum one mean a run, first launches included",
		Suffixes: []string{".csv", ".txt"}, read: readStats,
		sniff: func(_ string, head []byte) bool { return nsysstats.Sniff(head) },
		begins: []string{"Time (%)", "Time(%)", "Start (", "Start(", "Total (", "Total(", ",Operation", "Processing [",
			"SKIPPED: "}},
	{Name: "results of a benchmark harness", Suffixes: benchmarkSuffixes, benchmarks: true, read: readBenchmarks,
		Gives: "one value a process for each benchmark of [a harness](benchmarks.md#what-is-read)",
		sniff: func(_ string, head []byte) bool { return bench.Sniff(head, false) }},
	{Name: "compressed profile", certain: true,
		read: refuse(model.Compressed, unpack, "%s is compressed"), Suffixes: []string{
			".sqlite.gz", ".nsys-rep.gz", ".qdrep.gz", ".ncu-rep.gz", ".csv.gz",
			".sqlite.xz", ".nsys-rep.xz", ".qdrep.xz", ".ncu-rep.xz", ".csv.xz",
			".sqlite.zst", ".nsys-rep.zst", ".qdrep.zst", ".ncu-rep.zst", ".csv.zst",
			".sqlite.bz2", ".nsys-rep.bz2", ".qdrep.bz2", ".ncu-rep.bz2", ".csv.bz2"}},
	{Name: "raw capture of nsys", Suffixes: []string{".qdstrm"}, certain: true,
		read: refuse(model.OtherFormat, "open it with the nsys of the same version, or record again",
			"%s: a raw capture, which nsys did not finish")},
	{Name: "other export of nsys", Suffixes: []string{".parquet", ".arrow", ".arrows", ".h5", ".hdf"}, certain: true,
		sniff: func(_ string, head []byte) bool { return nsysLines().Match(head) },
		read: refuse(model.OtherFormat, "write it with `nsys export --type sqlite`",
			"%s is no format that nsgate reads; of the exports of nsys only SQLite is read")},
}

// nsysLines matches the strings or an event at the beginning of JSON lines of nsys.
var nsysLines = input.Pattern(`^\s*\{\s*(?:"data"\s*:\s*\["|"Type"\s*:\s*[0-9])`)

var benchmarkSuffixes = []string{".json", ".jsonl", ".csv", ".xml"}

// pointers are the suffixes of files that Git LFS may have left a pointer of: another file is none of a profile.
var pointers = []string{
	".sqlite", ".sqlite3", ".db", ".nsys-rep", ".qdrep", ".ncu-rep", ".ncu-repz", ".csv", ".json", ".zip", ".gz", ".xz",
	".zst", ".bz2",
}

// reports are the suffixes of reports of nsys, which only nsys reads.
var reports = []string{".nsys-rep", ".qdrep"}

// traces makes the reader of a format of one that reads the processes in a file.
func traces(read func(context.Context, string) ([]model.Trace, error)) reader {
	return func(ctx context.Context, _ Tools, files []string, to *Recording) error {
		found, err := read(ctx, files[0])
		to.Traces = append(to.Traces, found...)
		return err
	}
}

var readExport, readTables = traces(nsys.Read), traces(nsysjax.Tables)

var readFragment = traces(func(_ context.Context, file string) ([]model.Trace, error) {
	return rank.ReadFragment(file, filepath.Base(file))
})

// readReport reads a report through nsys, or where no nsys is named and none is installed the export of the same name
// beside it.
func readReport(ctx context.Context, t Tools, files []string, to *Recording) error {
	if !t.exports {
		return errTool
	}
	if _, err := exec.LookPath(cmp.Or(t.Exe, "nsys")); err != nil && t.Exe == "" {
		if file := exportBeside(files[0]); file != "" {
			to.Warnings = append(to.Warnings, fmt.Sprintf("nsys was not found: %s was read in place of %s",
				filepath.Base(file), filepath.Base(files[0])))
			return t.ask(ctx, question{Files: []string{file}}, to)
		}
	}
	return proc.InPrivate(func(dir string) error {
		file, err := nsys.Export(ctx, cmp.Or(t.Exe, "nsys"), files[0], dir)
		if err != nil {
			return err
		}
		return t.ask(ctx, question{Files: []string{file}}, to)
	})
}

// exportBeside is the SQLite export of the same stem that is not older than the report, "" for none.
func exportBeside(report string) string {
	export := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
	from, err := os.Stat(report)
	to, missing := os.Stat(export)
	older := err != nil || missing != nil || !to.Mode().IsRegular() || to.ModTime().Before(from.ModTime())
	return measure.Either(older, "", export)
}

// readNcuReport reads a report itself, or with ncu where the layout is one that only ncu knows.
func readNcuReport(ctx context.Context, t Tools, files []string, to *Recording) error {
	if !t.exports {
		p, err := ncu.ReadReport(files[0], t.Metrics...)
		if errors.Is(err, ncu.ErrLayout) {
			return errTool
		}
		return to.addCounters(p, err)
	}
	if err := t.ask(ctx, question{Files: files}, to); err != errTool {
		return err
	}
	return proc.InPrivate(func(dir string) error {
		page, err := ncu.Export(ctx, "ncu", files[0], dir)
		if err != nil {
			return err
		}
		named := filepath.Join(dir, filepath.Base(files[0])) // for messages
		if err := os.Rename(page, named); err != nil {
			return err
		}
		return t.ask(ctx, question{Files: []string{named}}, to)
	})
}

func readCounters(_ context.Context, t Tools, files []string, to *Recording) error {
	return opened(files[0], func(f *os.File) error {
		return to.addCounters(ncu.Read(f, filepath.Base(files[0]), t.Metrics...))
	})
}

func readArchive(ctx context.Context, t Tools, files []string, to *Recording) error {
	if !t.exports {
		return errTool
	}
	return proc.InPrivate(func(dir string) error {
		reports, err := nsysjax.Reports(ctx, files[0], dir)
		if err != nil {
			return err
		}
		for _, r := range reports {
			if !ends(r, ".sqlite") {
				err = readReport(ctx, t, []string{r}, to)
			} else {
				err = t.ask(ctx, question{Files: []string{r}}, to)
			}
			if err != nil {
				return err
			}
		}
		if len(reports) > 0 {
			return nil
		}
		return t.ask(ctx, question{Files: files, Tables: true}, to)
	})
}

func readTorch(ctx context.Context, _ Tools, files []string, to *Recording) error {
	return opened(files[0], func(f *os.File) error {
		return to.add(torch.Read(ctx, f, filepath.Base(files[0])))
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
	return to.add(nsysstats.Read(ctx, files...))
}

func readBenchmarks(_ context.Context, t Tools, files []string, to *Recording) error {
	s, err := bench.Open(t.Rows, files...)
	return to.add(nil, s, err)
}

func readSaved(_ context.Context, _ Tools, files []string, to *Recording) error {
	return opened(files[0], func(f *os.File) error {
		r, err := saved.Read(f, files[0])
		if err != nil {
			return err
		}
		names := measure.Map(r.Workloads, func(w *result.Report) string { return w.Workload })
		if len(names) > 0 {
			return model.Refuse(model.OtherFormat, "let nsgate report write one of them into a file, and name that",
				"%s is about several workloads: %s", files[0], strings.Join(names, ", "))
		}
		if len(r.HeadSessions) == 0 {
			return model.Refuse(model.NoMeasurement, "save one of a check or compare that measured something",
				"%s: the report holds no measurement", files[0])
		}
		err = r.HeadSessions.Check()
		for i := range r.HeadSessions {
			if err == nil {
				err = r.HeadSessions[i].CheckSums()
			}
		}
		if err != nil {
			return model.Refuse(model.BadSession, "measure again, or save the report again where it was made",
				"%s: %v", files[0], err)
		}
		to.Finished = append(to.Finished, r.HeadSessions...)
		return nil
	})
}

// derived reports whether a file was made from another one beside it, or is the source of one: the report beside its
// export or page, or tables of nsys stats beside their export or report.
func derived(name string, names []string) bool {
	for _, from := range []struct{ report, export string }{{".nsys-rep", ".sqlite"}, {".qdrep", ".sqlite"},
		{".ncu-rep", ".csv"}} {
		if base, ok := strings.CutSuffix(name, from.report); ok && slices.Contains(names, base+from.export) {
			return true
		}
	}
	if !ends(name, ".csv") { // only tables are: a comparison of every file with all others would take long
		return false
	}
	return slices.ContainsFunc(names, func(other string) bool {
		for _, suffix := range append([]string{".sqlite"}, reports...) {
			if base, ok := strings.CutSuffix(other, suffix); ok &&
				len(nsysstats.Group([]string{base + "_cuda_gpu_kern_sum.csv", name})) == 1 {
				return true
			}
		}
		return false
	})
}

// grouped are the names of files by recording: the tables of one report are one.
func grouped(names []string) [][]string { return nsysstats.Group(names) }
