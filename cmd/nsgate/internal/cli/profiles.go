package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
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
	switch {
	case !info.IsDir():
		err = s.read(ctx, in, path)
	default:
		if in.sessions, err = baseline.Read(path); missing(err) {
			err = s.readAll(ctx, in, path)
		}
	}
	if err != nil {
		return nil, err
	}
	return in, in.pure()
}

// readAll adds the profiles of a directory. What an export or a page lies beside is read from that,
// and tables of nsys stats beside the export are left; files that are no
// profiles are left out, and those that might have been are named. Reports of nsgate are read where there is nothing else:
// a gate may write its own beside the profiles that it judges.
func (s *sampleFlags) readAll(ctx context.Context, in *input, dir string) error {
	runs, left, err := s.list(dir)
	if err != nil {
		return err
	}
	if err := distinct(runs); err != nil {
		return err
	}
	profiles := slices.ContainsFunc(runs, func(r recording) bool { return !r.saved })
	for _, r := range runs {
		if profiles && r.saved {
			left = append(left, filepath.Base(r.files[0]))
			continue
		}
		if err := r.read(ctx, in); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		in.warnings = append(in.warnings, fmt.Sprintf("%s: left out what is no profile: %s", dir, strings.Join(left, ", ")))
	}
	return nil
}

// recording is a file of a directory, or the tables that nsys stats wrote of one run.
type recording struct {
	files []string
	saved bool // a report of nsgate
	read  func(context.Context, *input) error
}

// list finds the profiles of a directory, and the names of what may have been meant as one.
func (s *sampleFlags) list(dir string) (runs []recording, left []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") { // what macOS and half-written downloads leave
			names = append(names, e.Name())
		}
	}
	others, below := 0, 0
	for _, group := range nsysstats.Group(names) {
		name := group[0]
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			switch {
			case err == nil && info.IsDir():
				below++
			case formatNamed(name):
				return nil, nil, measure.Refuse(file+" is not a file", "remove it, or put the profile there")
			default:
				others++
			}
			continue
		}
		if base, ok := cutSuffixes(name, ".nsys-rep", ".qdrep"); ok && slices.Contains(names, base+".sqlite") {
			continue
		}
		if base, ok := cutSuffixes(name, ".ncu-rep"); ok && slices.Contains(names, base+".csv") {
			continue
		}
		if derived(name, names) {
			continue
		}
		if len(group) > 1 {
			var files []string
			for _, n := range group {
				files = append(files, filepath.Join(dir, n))
			}
			runs = append(runs, recording{files: files, read: func(ctx context.Context, in *input) error { return s.readTables(ctx, in, files) }})
			continue
		}
		kind, err := formatOf(file)
		switch {
		case err != nil:
			return nil, nil, err
		case kind == nil && ends(name, ".csv"):
			return nil, nil, unknown(file)
		case kind == nil:
			others++
			if ends(name, doubtful...) {
				left = append(left, name)
			}
			continue
		}
		runs = append(runs, recording{files: []string{file}, saved: kind.saved, read: func(ctx context.Context, in *input) error {
			return kind.read(s, ctx, in, file)
		}})
	}
	if len(runs) == 0 {
		return nil, nil, holdsNothing(dir, others, below)
	}
	return runs, left, nil
}

// derived reports whether a file holds tables that nsys stats made of an export or report which lies beside it.
func derived(name string, names []string) bool {
	return slices.ContainsFunc(names, func(other string) bool {
		base, ok := cutSuffixes(other, ".sqlite", ".nsys-rep", ".qdrep")
		return ok && len(nsysstats.Group([]string{base + "_cuda_gpu_kern_sum.csv", name})) == 1
	})
}

// holdsNothing refuses a directory without a profile. One of directories is most often one too high.
func holdsNothing(dir string, others, below int) error {
	what := plural(others, "other file")
	if below > 0 {
		what += ", and its directories are not looked into"
	}
	if found := baselineBelow(dir, 2); found != "" {
		return measure.Refuse(fmt.Sprintf("%s holds no profile (%s)", dir, what),
			"name the baseline itself, the directory of one workload and GPU: "+found)
	}
	return measure.Refuse(fmt.Sprintf("%s holds no profile (%s)", dir, what),
		"name a directory with profiles in it, a single one, or a baseline directory; "+known)
}

// baselineBelow finds a baseline at most so many levels below a directory, "" if there is none.
func baselineBelow(dir string, levels int) string {
	entries, err := os.ReadDir(dir)
	if err != nil || levels == 0 {
		return ""
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		inner := filepath.Join(dir, e.Name())
		if _, err := baseline.Read(inner); !missing(err) {
			return inner
		}
		if found := baselineBelow(inner, levels-1); found != "" {
			return found
		}
	}
	return ""
}

// distinct refuses a directory in which two files hold the same bytes: as two runs they would agree to the last digit.
// Recordings that are the same in other bytes are found later.
func distinct(runs []recording) error {
	type key struct {
		size int64
		sum  [sha256.Size]byte
	}
	sizes := make(map[int64]int)
	for _, r := range runs {
		sizes[r.size()]++
	}
	first := make(map[key]string)
	for _, r := range runs {
		k := key{size: r.size()}
		if sizes[k.size] == 1 {
			continue
		}
		h := sha256.New()
		for _, name := range r.files {
			if err := opened(name, func(f *os.File) error { _, err := io.Copy(h, f); return err }); err != nil {
				return err
			}
		}
		h.Sum(k.sum[:0])
		if other, ok := first[k]; ok {
			return measure.Refuse(fmt.Sprintf("%s and %s are the same recording, which is one run and not two", other, r.files[0]),
				"remove the copy")
		}
		first[k] = r.files[0]
	}
	return nil
}

// size is how many bytes its files have.
func (r recording) size() (n int64) {
	for _, name := range r.files {
		if info, err := os.Stat(name); err == nil {
			n += info.Size()
		}
	}
	return n
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
	}
	for _, in := range inputs {
		if len(traces) == 0 || o.Step != "" {
			break
		}
		// What another profiler measured has other ranges, and is not compared.
		if cut := by(traces[0].Environment.Profiler(), in.sessions); len(cut) > 0 {
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
