package run

import (
	"context"
	"fmt"
	"os"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
)

const gatheredMode = "--gathered"

func init() { confine.Register(gatheredMode, exports.read) }

// gatheredExport is the export of a session, or the export or fragment of a rank, which its host has written to the
// gather directory.
type gatheredExport struct {
	File, Name string // Name is "" of a session
	Fragment   bool
	Run, Rank  int
}

func (x gatheredExport) what() string {
	if x.Name == "" {
		return "the profile"
	}
	return "the profile of " + x.Name
}

// exports are the gathered exports that a profiler wrote.
type exports struct {
	Profiler string
	Files    []gatheredExport
}

// readJobs reads the exports of the ranks of all jobs in a confined child, because any process that writes to the
// gather directory can have made them, and removes them.
func (p Plan) readJobs(ctx context.Context, private *proc.Private, runs []Run, note func(Event)) ([][]model.Trace,
	error) {
	note(Event{Stage: Reading})
	asked := exports{Profiler: p.Profiler.Tool().Name}
	for i := range runs {
		if runs[i].Unprofiled {
			continue
		}
		statuses, err := rank.Gathered(private.Joined, jobOf(i))
		if err != nil {
			return nil, fmt.Errorf("the gather directory: %w", err)
		}
		for _, l := range statuses {
			if l.Profiled {
				x := gatheredExport{File: rank.ExportFile(private.Joined, jobOf(i), l.Rank), Run: i, Rank: l.Rank,
					Name: fmt.Sprintf("rank %d of run %d of %d", l.Rank, i+1, len(runs))}
				fragment := rank.FragmentFile(private.Joined, jobOf(i), l.Rank)
				if _, err := os.Lstat(fragment); err == nil {
					x.File, x.Fragment = fragment, true
				}
				asked.Files = append(asked.Files, x)
			}
		}
	}
	traces := make([][]model.Trace, len(runs))
	err := asked.ask(ctx, func(x gatheredExport, of []model.Trace) {
		for _, t := range of {
			t.Job, t.Rank, t.Source = fmt.Sprintf("run %d of %d", x.Run+1, len(runs)), x.Rank, x.Name
			traces[x.Run] = append(traces[x.Run], t)
		}
		os.Remove(x.File)
	})
	if err != nil {
		return nil, causeOr(ctx, err)
	}
	return traces, nil
}

// ask reads exports in a confined child, and hands on the traces of one after the other.
func (x exports) ask(ctx context.Context, each func(gatheredExport, []model.Trace)) error {
	files := measure.Map(x.Files, func(f gatheredExport) string { return f.File })
	next := 0
	err := confine.Ask(ctx, gatheredMode, confine.For(files...), x, func(of []model.Trace) error {
		each(x.Files[next], of)
		next++
		return nil
	})
	if err == nil {
		return nil
	}
	return confine.Refused(err, x.Files[min(next, len(x.Files)-1)].what())
}

// read sends the traces of one export after the other.
func (x exports) read(ctx context.Context, send func([]model.Trace) error) error {
	by := tools.Profiler(x.Profiler)
	if by == nil {
		return fmt.Errorf("this nsgate knows no profiler %q", x.Profiler)
	}
	for _, f := range x.Files {
		read := func() ([]model.Trace, error) { return by.Read(ctx, f.File, f.what()) }
		if f.Fragment {
			read = func() ([]model.Trace, error) { return rank.ReadFragment(f.File, f.what()) }
		}
		traces, err := read()
		if err == nil {
			err = send(traces)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
