package gate

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/profile"
)

// Recording is the recorded runs of one workload, in one or more sessions. A comparison does not change it.
type Recording struct{ recorded profile.Recording }

// Add adds the runs of another recording of the same workload.
func (r *Recording) Add(o *Recording) { r.recorded.Add(&o.recorded) }

// ReadBaseline reads the sessions of a baseline that are in effect; dir holds its files, such as
// ".nsgate/training/nvidia-h200". Where there are none the error is [io/fs.ErrNotExist]; every other error names the
// line of a file.
func ReadBaseline(dir string) (*Recording, error) {
	sessions, err := baseline.Read(dir)
	if err != nil {
		return nil, refused(err)
	}
	return &Recording{profile.Recording{Source: dir, Finished: sessions}}, nil
}

// ReadProfile reads what a profiler wrote: a file, a directory in which each file is a run, a baseline, or a report
// that nsgate wrote as JSON. Reports of nsys and ncu take these programs on the PATH. The metrics are those of Nsight
// Compute to read beside those that nsgate knows, see [thresholds.Policy.NcuMetrics]. A recording that must not be
// judged is a [*Refusal].
func ReadProfile(ctx context.Context, path string, metrics ...string) (*Recording, error) {
	r, err := profile.Tools{Metrics: metrics}.Open(ctx, path)
	if err != nil {
		return nil, refused(err)
	}
	return &Recording{*r}, nil
}
