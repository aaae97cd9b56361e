package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/ncu"
	"github.com/nsgate/nsgate/gate/nsys"
	"github.com/nsgate/nsgate/gate/nsysjax"
	"github.com/nsgate/nsgate/gate/nsysstats"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/gate/torch"
)

// format is one kind of file that a measurement can come from.
type format struct {
	// is says from the file's name and its first bytes whether it is of this kind.
	is   func(name string, head []byte) bool
	read func(s *sampleFlags, ctx context.Context, in *input, file string) error
	// saved says that it is a report of nsgate and no profile.
	saved bool
}

// formats are looked through in this order. Content counts before names; the last ones say what is wrong with a file that
// has the name and not the content.
var formats = []format{
	{is: func(_ string, head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) }, read: (*sampleFlags).readExport},
	{is: func(_ string, head []byte) bool { return ncu.SniffReport(head) }, read: (*sampleFlags).readNcuReport},
	{is: func(name string, _ []byte) bool { return ends(name, ".nsys-rep", ".qdrep") }, read: (*sampleFlags).readReport},
	{is: nsysjax.Sniff, read: (*sampleFlags).readArchive},
	{is: func(_ string, head []byte) bool {
		return bytes.Contains(head[:min(len(head), 4096)], []byte(`"nsgate.report/`))
	}, read: (*sampleFlags).readSaved, saved: true},
	{is: func(_ string, head []byte) bool { return torch.Sniff(head) }, read: (*sampleFlags).readTorch},
	{is: func(_ string, head []byte) bool { return ncu.Sniff(head) }, read: (*sampleFlags).readCounters},
	{is: func(_ string, head []byte) bool { return nsysstats.Sniff(head) }, read: (*sampleFlags).readStats},
	{is: func(name string, _ []byte) bool { return ends(name, ".sqlite", ".sqlite3", ".db") }, read: (*sampleFlags).readExport},
	{is: func(name string, _ []byte) bool { return ends(name, ".ncu-rep", ".ncu-repz", ".nsight-cuprof-report") },
		read: (*sampleFlags).readNcuReport},
	{is: func(name string, _ []byte) bool { return ends(name, ".pt.trace.json", ".pt.trace.json.gz") }, read: (*sampleFlags).readTorch},
	{is: compressed, read: func(_ *sampleFlags, _ context.Context, _ *input, file string) error {
		return measure.Refuse(file+" is compressed", "unpack it first; only traces of torch.profiler are read as they are")
	}},
	{is: func(name string, _ []byte) bool { return ends(name, ".qdstrm") },
		read: func(_ *sampleFlags, _ context.Context, _ *input, file string) error {
			return measure.Refuse(file+": a raw capture, which nsys did not finish", "open it with the nsys of the same version, or record again")
		}},
	{is: func(name string, _ []byte) bool {
		return ends(name, ".parquet", ".arrow", ".arrows", ".h5", ".hdf", ".jsonl")
	},
		read: func(_ *sampleFlags, _ context.Context, _ *input, file string) error {
			return measure.Refuse(file+": of the exports of nsys only SQLite is read", "write it with `nsys export --type sqlite`")
		}},
}

// compressed says whether a file has the name of a compressed profile.
func compressed(name string, _ []byte) bool {
	inner, ok := cutSuffixes(strings.ToLower(name), ".gz", ".xz", ".zst", ".bz2")
	return ok && ends(inner, ".sqlite", ".nsys-rep", ".qdrep", ".ncu-rep", ".csv")
}

// known are the kinds of files that are read, for messages.
const known = "nsgate reads SQLite exports (.sqlite) and reports (.nsys-rep) of nsys, CSV of nsys stats or ncu, .ncu-rep, " +
	"traces and key_averages tables of torch.profiler, and its own JSON reports"

// formatNamed says whether a file of this name would be taken for a profile whatever it holds.
func formatNamed(name string) bool {
	return slices.ContainsFunc(formats, func(x format) bool { return x.is(name, nil) })
}

func unknown(file string) error {
	return measure.Refuse(file+" is no profile that nsgate knows", known)
}

func ends(name string, suffixes ...string) bool {
	_, ok := cutSuffixes(strings.ToLower(name), suffixes...)
	return ok
}

// doubtful are the names of files that are profiles or something else: in a directory they are left out, with a word,
// where their content is that of no profile.
var doubtful = []string{".json", ".json.gz", ".txt", ".log", ".out", ".gz", ".zip", ".tar", ".tgz"}

// sniff is how much of a file says what it is.
const sniff = 64 << 10

// formatOf finds out what a file is; nil for no profile.
func formatOf(file string) (*format, error) {
	// Opened only where it is a file: a pipe would wait.
	if info, err := os.Stat(file); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, measure.Refuse(file+" is not a file", "name a profile or a directory of profiles")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, sniff))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(formats, func(x format) bool { return x.is(filepath.Base(file), head) })
	if i < 0 {
		return nil, nil
	}
	return &formats[i], nil
}

// read adds one file to the input.
func (s *sampleFlags) read(ctx context.Context, in *input, file string) error {
	kind, err := formatOf(file)
	if err != nil {
		return err
	}
	if kind == nil {
		return unknown(file)
	}
	return kind.read(s, ctx, in, file)
}

func (s *sampleFlags) readExport(ctx context.Context, in *input, file string) error {
	traces, err := nsys.Read(ctx, file)
	in.traces = append(in.traces, traces...)
	return err
}

func (s *sampleFlags) readReport(ctx context.Context, in *input, file string) error {
	return collect.Private(func(dir string) error {
		export, err := nsys.Export(ctx, s.nsys, file, dir)
		if err != nil {
			return err
		}
		return s.readExport(ctx, in, export)
	})
}

func (s *sampleFlags) readNcuReport(ctx context.Context, in *input, file string) error {
	return collect.Private(func(dir string) error {
		page, err := ncu.Export(ctx, "ncu", file, dir)
		if err != nil {
			return err
		}
		return s.readCountersAs(in, page, filepath.Base(file))
	})
}

func (s *sampleFlags) readCounters(_ context.Context, in *input, file string) error {
	return s.readCountersAs(in, file, filepath.Base(file))
}

func (s *sampleFlags) readCountersAs(in *input, file, name string) error {
	return opened(file, func(f *os.File) error {
		p, err := ncu.Read(f, name)
		if err == nil {
			in.profiles = append(in.profiles, p)
		}
		return err
	})
}

func (s *sampleFlags) readArchive(ctx context.Context, in *input, file string) error {
	return collect.Private(func(dir string) error {
		reports, err := nsysjax.Reports(ctx, file, dir)
		if err != nil {
			return err
		}
		for _, r := range reports {
			read := s.readReport
			if ends(r, ".sqlite") {
				read = s.readExport
			}
			if err := read(ctx, in, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *sampleFlags) readTorch(ctx context.Context, in *input, file string) error {
	return opened(file, func(f *os.File) error {
		run, err := torch.Read(ctx, f, filepath.Base(file))
		if err != nil {
			return err
		}
		in.add(run.Trace, run.Summary)
		return nil
	})
}

func (s *sampleFlags) readStats(ctx context.Context, in *input, file string) error {
	return s.readTables(ctx, in, []string{file})
}

// readTables reads the tables of one run, which nsys stats writes into one file or into one each.
func (s *sampleFlags) readTables(ctx context.Context, in *input, names []string) error {
	var files []nsysstats.File
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		files = append(files, nsysstats.File{Name: filepath.Base(name), Reader: f})
	}
	run, err := nsysstats.Read(ctx, files...)
	if err != nil {
		return err
	}
	in.add(run.Trace, run.Summary)
	return nil
}

func (s *sampleFlags) readSaved(_ context.Context, in *input, file string) error {
	return opened(file, func(f *os.File) error {
		r, err := report.ReadJSON(f, file)
		if err != nil {
			return err
		}
		if len(r.HeadSessions) == 0 {
			return measure.Refuse(file+": the report holds no measurement", "save one of a check or compare that measured something")
		}
		in.sessions = append(in.sessions, r.HeadSessions...)
		return nil
	})
}

// add takes in what a reader gave: a run launch by launch, or summed up.
func (in *input) add(trace *measure.Trace, summary *measure.Session) {
	if trace != nil {
		in.traces = append(in.traces, *trace)
	}
	if summary != nil {
		in.runs = append(in.runs, *summary)
	}
}

// pure refuses an input in which several profilers had a part: they time the same kernel differently.
func (in *input) pure() error {
	var names []string
	add := func(e *measure.Environment) {
		if name := e.Profiler(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range in.traces {
		add(&in.traces[i].Environment)
	}
	for i := range in.runs {
		add(&in.runs[i].Environment)
	}
	if len(in.profiles) > 0 {
		add(&measure.Environment{Tool: "ncu"})
	}
	if len(names) > 1 {
		return measure.Refuse(fmt.Sprintf("%s mixes what %s measured", in.path, strings.Join(names, " and ")),
			"judge the profiles of one profiler at a time")
	}
	return nil
}

// opened hands an open file to a function.
func opened(file string, use func(*os.File) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return use(f)
}
