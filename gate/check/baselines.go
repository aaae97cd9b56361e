package check

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/measure"
)

// DefaultRoot is where baselines are kept unless somebody says otherwise, below the working directory.
const DefaultRoot = ".nsgate"

// Baseline is the committed sessions of a workload on one model of GPU.
type Baseline struct {
	Dir      string            // where they are committed
	Sessions []measure.Session // oldest first, at least one
}

// Baselines are those of one workload, by directory.
type Baselines []Baseline

// ReadBaselines reads the baselines of a workload below root, one for each GPU model; none is no error, one that is damaged
// is.
func ReadBaselines(root, workload string) (Baselines, error) {
	root = filepath.Dir(baseline.Dir(root, workload, "x"))
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	var out Baselines
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(root, entry.Name())
		sessions, err := baseline.Read(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			out = append(out, Baseline{dir, sessions})
		}
	}
	return out, nil
}

// WorkloadsIn are the names of the workloads that have a baseline below root, in order.
func WorkloadsIn(root string) []string {
	found, _ := filepath.Glob(filepath.Join(root, "*", "*", "sessions.csv"))
	var out []string
	for _, f := range found {
		out = append(out, filepath.Base(filepath.Dir(filepath.Dir(f))))
	}
	return slices.Compact(out)
}

// ForGPU is the baseline of the first of these models ("NVIDIA H200") that has one.
func (b Baselines) ForGPU(models ...string) (Baseline, bool) {
	for _, model := range models {
		if i := slices.IndexFunc(b, func(x Baseline) bool { return x.Sessions[0].GPU == model }); i >= 0 {
			return b[i], true
		}
	}
	return Baseline{}, false
}

// Timeout is how long a run may take by what the runs of the baselines took: ten times the longest, and at least five minutes; 0
// where that is not known.
func (b Baselines) Timeout() time.Duration {
	const times, least = 10, 5 * time.Minute
	var longest time.Duration
	for _, x := range b {
		for i := range x.Sessions {
			longest = max(longest, x.Sessions[i].Longest)
		}
	}
	if longest == 0 {
		return 0
	}
	return max(times*longest, least)
}

// models are the GPU models that have a baseline.
func (b Baselines) models() []string {
	var out []string
	for _, x := range b {
		out = append(out, x.Sessions[0].GPU)
	}
	return out
}
