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
	"github.com/nsgate/nsgate/gate/ncu"
	"github.com/nsgate/nsgate/gate/nsysstats"
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

// input is what a path on the command line holds: traces still to be cut, what Nsight Compute counted, runs that were
// summed up, or finished sessions.
type input struct {
	path     string
	traces   []measure.Trace
	profiles []*ncu.Profile
	runs     []measure.Session
	sessions []measure.Session
	warnings []string
}

// load reads a profile of any kind, a directory of them, a baseline directory or a saved report.
func (s *sampleFlags) load(ctx context.Context, path string) (*input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &exit{code: ExitUsage, err: err}
	}
	in := &input{path: path}
	if !info.IsDir() {
		if err := s.read(ctx, in, path); err != nil {
			return nil, err
		}
		return in, in.pure()
	}
	if in.sessions, err = baseline.Read(path); !missing(err) {
		return in, err
	}
	if err := s.readAll(ctx, in, path); err != nil {
		return nil, err
	}
	return in, in.pure()
}

// readAll adds the profiles of a directory. What an export or a page lies beside is read from that; files that are no
// profiles are left out, and those that might have been are named.
func (s *sampleFlags) readAll(ctx context.Context, in *input, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	read, others := 0, 0
	var left []string
	for _, group := range nsysstats.Group(names) {
		name := group[0]
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			others++
			continue
		}
		if base, ok := cutSuffixes(name, ".nsys-rep", ".qdrep"); ok && slices.Contains(names, base+".sqlite") {
			continue
		}
		if base, ok := cutSuffixes(name, ".ncu-rep"); ok && slices.Contains(names, base+".csv") {
			continue
		}
		if len(group) > 1 {
			var files []string
			for _, n := range group {
				files = append(files, filepath.Join(dir, n))
			}
			if err := s.readTables(ctx, in, files); err != nil {
				return err
			}
			read++
			continue
		}
		kind, err := formatOf(file)
		switch {
		case err != nil:
			return err
		case kind == nil && ends(name, ".csv"):
			return s.read(ctx, in, file)
		case kind == nil:
			others++
			if ends(name, doubtful...) {
				left = append(left, name)
			}
			continue
		}
		if err := kind.read(s, ctx, in, file); err != nil {
			return err
		}
		read++
	}
	if read == 0 {
		return measure.Refuse(fmt.Sprintf("%s holds no profile (%d other files)", dir, others),
			"name a directory with .sqlite or .nsys-rep files, a single one, or a baseline directory")
	}
	if len(left) > 0 {
		in.warnings = append(in.warnings, fmt.Sprintf("%s: left out what is no profile: %s", dir, strings.Join(left, ", ")))
	}
	return nil
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
		if cut := without("ncu", in.sessions); len(cut) > 0 && o.Step == "" {
			o = like(o, s, cut[len(cut)-1])
		}
	}
	if o.Step == "" && len(traces) > 0 {
		if o.Step, err = sample.Step(traces, o); err != nil {
			return err
		}
	}
	for _, in := range inputs {
		if len(in.traces) > 0 {
			cut, err := sample.Sessions(in.traces, o)
			if err != nil {
				return err
			}
			in.sessions = append(in.sessions, cut...)
		}
		if len(in.profiles) > 0 {
			counted, err := ncu.Session(in.profiles...)
			if err != nil {
				return err
			}
			in.sessions = append(in.sessions, counted)
		}
		if len(in.runs) > 0 {
			joined, err := sample.Join(in.runs)
			if err != nil {
				return err
			}
			in.sessions = append(in.sessions, joined...)
		}
	}
	return nil
}

// without leaves out the sessions that a profiler measured.
func without(profiler string, sessions []measure.Session) []measure.Session {
	return slices.DeleteFunc(slices.Clone(sessions), func(s measure.Session) bool { return s.Profiler() == profiler })
}

// by keeps the sessions that a profiler measured; those of an unknown one count as nsys's.
func by(profiler string, sessions []measure.Session) []measure.Session {
	return slices.DeleteFunc(slices.Clone(sessions), func(s measure.Session) bool {
		p := s.Profiler()
		return p != profiler && !(p == "" && profiler == "nsys")
	})
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
