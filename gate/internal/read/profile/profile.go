// Package profile is the one door for recordings: [Tools.Open] reads whatever a profiler wrote of a workload, a file or
// a directory of them, and [Cut] makes of it the sessions that package gate judges. What must not be judged, because it
// is empty, lossy, cut or something else, is a *model.Refusal that says what to do.
package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
	"github.com/nsgate/nsgate/thresholds"
)

// open reads what [Tools.Open] names, in this process.
func (t Tools) open(ctx context.Context, path string, r *Recording) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if err := rank.OfOthers(filepath.Dir(path), path); err != nil {
			return err
		}
		return t.openFile(ctx, []string{path}, r)
	}
	if r.Finished, err = baseline.Read(path); errors.Is(err, fs.ErrNotExist) {
		return t.openDirectory(ctx, path, r)
	}
	return err
}

// Rule says how traces are divided into samples.
type Rule struct {
	// Warmup is the rule for the part of each run that is left out: "" or "auto" looks for the steady state, a number
	// counts steps, "capture" keeps the part between cudaProfilerStart and cudaProfilerStop.
	Warmup string
	// Step is the NVTX range that the workload repeats: "" looks for it, "none" counts by run.
	Step string
}

// Cut makes sessions of recordings, of all of them alike, so that they count by the same step: the one of the rule,
// that of finished sessions of the same profiler, or the one that all traces repeat. The answer has one list a
// recording, the oldest session first.
func Cut(rule Rule, recordings ...*Recording) ([][]model.Session, error) {
	o, err := rule.options()
	if err != nil {
		return nil, err
	}
	traces := measure.Map(recordings, func(r *Recording) []model.Trace { return r.Traces })
	traces = slices.DeleteFunc(traces, func(of []model.Trace) bool { return len(of) == 0 })
	for _, r := range recordings {
		if len(traces) == 0 || o.Like != nil {
			break
		}
		// Another profiler records other ranges, and is not compared.
		if cut := traces[0][0].Profiler().Pick(r.Finished); len(cut) > 0 {
			o = rule.like(o, &cut[len(cut)-1])
		}
	}
	reduced, err := trace.Reduce(o, traces...)
	if err != nil {
		return nil, err
	}
	out := make([][]model.Session, len(recordings))
	for i, r := range recordings {
		var own []model.Session
		if len(r.Traces) > 0 {
			own, reduced = reduced[0], reduced[1:]
		}
		if out[i], err = r.sessions(own); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Sides cuts a baseline and a head alike, and keeps the sessions of one profiler, see [CommonProfiler].
func Sides(rule Rule, baseline, head *Recording) (b, h []model.Session, err error) {
	cut, err := Cut(rule, baseline, head)
	if err != nil {
		return nil, nil, err
	}
	b, h = CommonProfiler(cut[0], cut[1])
	return b, h, nil
}

// CommonProfiler picks the sessions of one profiler where a side holds several, as baselines do: [model.Tracing] if
// both sides have it.
func CommonProfiler(base, head []model.Session) (b, h []model.Session) {
	for _, p := range append([]model.Profiler{model.Tracing, model.Counting}, model.Profilers(head)...) {
		b, h := p.Pick(base), p.Pick(head)
		if len(b) > 0 && len(h) > 0 && (len(h) < len(head) || len(b) < len(base)) {
			return b, h
		}
	}
	return base, head
}

// sessions are those of a recording, the oldest first, with those of its traces.
func (r *Recording) sessions(reduced []model.Session) ([]model.Session, error) {
	out := slices.Clone(r.Finished)
	if len(reduced) == 0 && len(r.Unprofiled) > 0 {
		reduced = []model.Session{{Environment: r.Place}}
	}
	if len(reduced) > 0 {
		if err := trace.AddUnprofiled(reduced, r.Unprofiled, r.Outputs); err != nil {
			return nil, err
		}
		out = append(out, reduced...)
	}
	if len(r.Counters) > 0 {
		counted, err := ncu.Session(r.Counters...)
		if err != nil {
			return nil, err
		}
		if len(reduced) > 0 {
			beside(&out[len(out)-1], counted, r.Beside)
			return out, nil
		}
		out = append(out, counted)
	}
	if len(r.Summaries) > 0 {
		joined, err := trace.Join(r.Summaries)
		if err != nil {
			return nil, err
		}
		out = append(out, joined...)
	}
	return out, nil
}

// beside gives the kernels of a timed session metrics of runs that were counted with it, in its first runs.
func beside(timed *model.Session, counted model.Session, metrics []measure.Metric) {
	for _, x := range counted.Series {
		if _, known := timed.Find(x.Subject, measure.Total.Name); !known || !slices.Contains(metrics, x.Metric) {
			continue
		}
		values := slices.Repeat(model.Values{math.NaN()}, len(timed.Runs))
		copy(values[:timed.Profiled()], x.Values)
		timed.Series = append(timed.Series, model.Series{Subject: x.Subject, Metric: x.Metric, Values: values})
	}
	timed.SortSeries()
}

// Draw gives the content of pictures of a recording, which became the side of a report: a step, and the distribution of
// the launches of these kernels; of a job the step of the given rank. It is nil for a recording without traces.
func Draw(side result.Side, r *Recording, kernels []measure.Subject, rank string) *model.Drawing {
	if len(r.Traces) == 0 || len(r.Finished) > 0 {
		return nil
	}
	o, err := Rule{Warmup: side.Warmup}.options()
	if err != nil {
		return nil
	}
	o.Step = cmp.Or(side.Step, trace.NoStep)
	d, err := trace.Draw(r.Traces, o, kernels, rank)
	return measure.Either(err != nil, nil, d) // it may have been cut before
}

func (r Rule) options() (trace.Options, error) {
	w, err := warmup(r.Warmup)
	return trace.Options{Warmup: w, Step: r.Step}, err
}

// warmup is the rule of a warm-up as [trace.Options] has it, [trace.Auto] for "".
func warmup(rule string) (string, error) {
	var w thresholds.Workload
	if err := w.Set("warmup", cmp.Or(rule, trace.Auto), ""); err != nil {
		return "", errors.Unwrap(err)
	}
	return w.Warmup, nil
}

// Alike is the step and the warm-up of a head that is judged against a finished session, as [trace.Fragment] needs
// them: of a warm-up that was found its number of steps.
func (r Rule) Alike(finished *model.Session) (step, warmup string) {
	o := r.like(trace.Options{Step: r.Step, Warmup: r.Warmup}, finished)
	if n := o.Skipped(); n >= 0 && cmp.Or(o.Warmup, trace.Auto) == trace.Auto {
		o.Warmup = strconv.Itoa(n)
	}
	return o.Step, o.Warmup
}

// like uses step and warm-up of a finished session if the rule does not give them.
func (r Rule) like(o trace.Options, finished *model.Session) trace.Options {
	step := cmp.Or(finished.Step, trace.NoStep)
	o.Step = cmp.Or(o.Step, step)
	if o.Step == step {
		o.Like = finished
	}
	if r.Warmup == "" && r.Step == "" {
		if w, err := warmup(finished.Warmup); err == nil {
			o.Warmup = w
		}
	}
	return o
}

const mode = "--profile"

func init() { confine.Register(mode, question.read) }

// question is what the child reads: a path as [Tools.Open] takes it, the files of one recording, or the tables in an
// archive.
type question struct {
	Tools  Tools
	Path   string
	Files  []string
	Tables bool
}

// answer is the recording, or with Tool that another program has to be run.
type answer struct {
	Recording Recording
	Tool      bool
}

// errTool is the error of a reader in the child that has to run another program.
var errTool = errors.New("reading it takes another program")

// Open reads a profile of any format, a directory of them, a baseline or a saved report, in a confined child. Reports
// and archives that another program or this one has to unpack are exported here, and the export is read in the child.
// An error that is no *model.Refusal says that there is nothing to read: no such file, a baseline or report that is
// damaged.
func (t Tools) Open(ctx context.Context, path string) (*Recording, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w; name a recording, or a directory that holds some", err)
	}
	r := &Recording{}
	err := t.ask(ctx, question{Path: path}, r)
	if err == errTool {
		t.exports = true
		*r = Recording{}
		err = t.open(ctx, path, r)
	}
	if err != nil {
		return nil, err
	}
	r.Source = path
	r.Warnings = append(r.Warnings, model.Doubts(r.Traces)...)
	return r, r.pure()
}

// ask adds what a confined child reads. Where the child has to run another program the error is errTool.
func (t Tools) ask(ctx context.Context, q question, to *Recording) error {
	q.Tools, q.Tools.exports = t, false
	paths := append([]string{q.Path}, q.Files...)
	tool := false
	err := confine.Ask(ctx, mode, confine.For(paths...), q, func(a answer) error {
		to.Add(&a.Recording)
		tool = a.Tool
		return nil
	})
	if err == nil && tool {
		return errTool
	}
	return confine.Refused(err, paths[len(paths)-1])
}

func (q question) read(ctx context.Context, send func(answer) error) error {
	var a answer
	var err error
	switch {
	case q.Path != "":
		err = q.Tools.open(ctx, q.Path, &a.Recording)
	case q.Tables:
		err = readTables(ctx, q.Tools, q.Files, &a.Recording)
	default:
		err = q.Tools.openFile(ctx, q.Files, &a.Recording)
	}
	if errors.Is(err, errTool) {
		a, err = answer{Tool: true}, nil
	}
	if err != nil {
		return err
	}
	return send(a)
}

// openFile adds the files of one recording.
func (t Tools) openFile(ctx context.Context, files []string, to *Recording) error {
	f, err := t.formatOf(files[0])
	if err == nil && f == nil {
		err = cmp.Or(unknownResults(files[0]), damaged(files[0]))
		switch {
		case err == nil && ends(files[0], ".gz", ".xz", ".zst", ".bz2"):
			err = refuse(model.Compressed, unpack, "%s is compressed")(ctx, t, files, to)
		case err == nil:
			err = model.Refuse(model.OtherFormat, readable, "%s is no profile that nsgate knows", files[0])
		}
	}
	if err != nil {
		return err
	}
	reading <- struct{}{}
	defer func() { <-reading }()
	return f.readFiles(ctx, t, files, to)
}

// readFiles adds the files of one recording. Beside a report that takes another program the others are read in a child
// each.
func (f *Format) readFiles(ctx context.Context, t Tools, files []string, to *Recording) error {
	if t.exports && !f.exports {
		return t.ask(ctx, question{Files: files}, to)
	}
	return f.read(ctx, t, files, to)
}
