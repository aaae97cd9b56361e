package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/baseline"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/nsys"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/gate/sample"
)

// sampleFlags say how traces are cut.
type sampleFlags struct {
	warmup, step, nsys string
}

func (s *sampleFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&s.warmup, "warmup", "", "what to skip: auto, a number of steps, or capture (only what lies between cudaProfilerStart and cudaProfilerStop) (default auto)")
	fs.StringVar(&s.step, "step", "", `NVTX range that the workload repeats; "none" counts by run (default: found by itself)`)
	fs.StringVar(&s.nsys, "nsys", "nsys", "the nsys executable")
}

func (s *sampleFlags) options() (sample.Options, error) {
	w, err := sample.ParseWarmup(s.warmup)
	if err != nil {
		return sample.Options{}, usageError("--warmup: %v", err)
	}
	return sample.Options{Warmup: w, Step: s.step}, nil
}

// input is what a path on the command line holds: traces still to be cut, or finished sessions.
type input struct {
	path     string
	traces   []measure.Trace
	sessions []measure.Session
}

// load reads a SQLite export, an nsys report, a directory of them, a baseline directory or a saved report.
func (s *sampleFlags) load(ctx context.Context, path string) (*input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &exit{code: ExitUsage, err: err}
	}
	in := &input{path: path}
	if !info.IsDir() {
		return in, s.read(ctx, in, path)
	}
	if in.sessions, err = baseline.Read(path); !missing(err) {
		return in, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	var skipped int
	for _, name := range names {
		base, isReport := cutSuffixes(name, ".nsys-rep", ".qdrep")
		_, isExport := cutSuffixes(name, ".sqlite", ".sqlite3", ".db")
		switch {
		case isReport && slices.Contains(names, base+".sqlite"):
			// Its export lies beside it.
		case isReport || isExport:
			if err := s.read(ctx, in, filepath.Join(path, name)); err != nil {
				return nil, err
			}
		default:
			skipped++
		}
	}
	if len(in.traces) == 0 {
		return nil, measure.Refuse(fmt.Sprintf("%s holds no profile (%d other files)", path, skipped),
			"name a directory with .sqlite or .nsys-rep files, a single one, or a baseline directory")
	}
	return in, nil
}

// read adds one file to the input.
func (s *sampleFlags) read(ctx context.Context, in *input, file string) error {
	if strings.HasSuffix(file, ".json") {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		r, err := report.ReadJSON(f, file)
		if err != nil {
			return err
		}
		if len(r.HeadSessions) == 0 {
			return measure.Refuse(file+": the report holds no measurement", "save one of a check or compare that measured something")
		}
		in.sessions = append(in.sessions, r.HeadSessions...)
		return nil
	}
	if _, isReport := cutSuffixes(file, ".nsys-rep", ".qdrep"); isReport {
		dir, err := os.MkdirTemp("", "nsgate-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if file, err = nsys.Export(ctx, s.nsys, file, dir); err != nil {
			return err
		}
	}
	traces, err := nsys.Read(ctx, file)
	in.traces = append(in.traces, traces...)
	return err
}

func cutSuffixes(s string, suffixes ...string) (string, bool) {
	for _, x := range suffixes {
		if base, ok := strings.CutSuffix(s, x); ok {
			return base, true
		}
	}
	return s, false
}

// sessions cuts the inputs alike, so that all of them count by the same step: the one given, that of finished
// sessions, or the one that all traces share.
func (s *sampleFlags) sessions(inputs ...*input) error {
	o, err := s.options()
	if err != nil {
		return err
	}
	var traces []measure.Trace
	for _, in := range inputs {
		traces = append(traces, in.traces...)
		if len(in.sessions) > 0 && o.Step == "" {
			o = like(o, s, in.sessions[len(in.sessions)-1])
		}
	}
	if o.Step == "" && len(traces) > 0 {
		if o.Step, err = sample.Step(traces, o); err != nil {
			return err
		}
	}
	for _, in := range inputs {
		if len(in.traces) == 0 {
			continue
		}
		cut, err := sample.Sessions(in.traces, o)
		if err != nil {
			return err
		}
		in.sessions = append(in.sessions, cut...)
	}
	return nil
}

// like takes over how a finished session was cut, where the flags do not say.
func like(o sample.Options, s *sampleFlags, finished measure.Session) sample.Options {
	o.Step = finished.Step
	if o.Step == "" {
		o.Step = sample.NoStep
	}
	if s.warmup == "" {
		if w, err := sample.ParseWarmup(finished.Warmup); err == nil {
			o.Warmup = w
		}
	}
	return o
}

// missing reports whether an error says that a file is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
