package gate

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
)

// Recording is the recorded runs of one workload, in one or more sessions. A comparison does not change it.
type Recording struct{ recorded profile.Recording }

// Add adds the runs of another recording of the same workload.
func (r *Recording) Add(o *Recording) { r.recorded.Add(&o.recorded) }

// ReadBaseline reads the sessions of a baseline that are in effect; dir holds its files, such as
// ".nsgate/WORKLOAD/GPU". Where there are none the error is [io/fs.ErrNotExist]; every other error names the
// line of a file.
func ReadBaseline(dir string) (*Recording, error) {
	sessions, err := baseline.Read(dir)
	if err != nil {
		return nil, refused(err)
	}
	return &Recording{profile.Recording{Source: dir, Finished: sessions}}, nil
}

// ReadProfile reads a recording: a profiler's file, a directory with a file a run, a baseline, or a JSON report of
// nsgate. Reports that only their profiler reads take it on the PATH. metrics are further counters of single launches
// to read, see [thresholds.Policy.RawMetrics]. A recording that must not be judged is a [*Refusal].
func ReadProfile(ctx context.Context, path string, metrics ...string) (*Recording, error) {
	r, err := profile.Tools{Metrics: metrics}.Open(ctx, path)
	if err != nil {
		return nil, refused(err)
	}
	return &Recording{*r}, nil
}
