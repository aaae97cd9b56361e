package check

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/measure"
)

// Accept takes what a report measured as the new baseline: the sessions so far are dropped.
type Accept struct {
	// Report is of a [Check] that measured something: it has HeadSessions.
	Report *gate.Report
	// Reason says why the change is wanted, for those who review the baseline. It must be given.
	Reason string
	// Root is the directory of the baselines, "" for where the report's baseline is.
	Root string
	// Home is the directory that the report's paths are relative to: that of the policy file, "" for the working directory.
	Home string
}

// Dir is the directory of the baseline that takes the report's measurement.
func (a Accept) Dir() string {
	// A report is a file from elsewhere: it does not choose a place outside this directory.
	if a.Root == "" && a.Report.Baseline != "" && filepath.IsLocal(a.Report.Baseline) {
		return filepath.Join(a.Home, a.Report.Baseline)
	}
	head := a.Report.HeadSessions
	return baseline.Dir(cmp.Or(a.Root, filepath.Join(a.Home, DefaultRoot)), cmp.Or(a.Report.Workload, "default"), head[len(head)-1].GPU)
}

// Run writes the baseline, all of it or nothing. A report that cannot be a baseline is a *measure.Refusal.
func (a Accept) Run() error { return a.update(a.Dir()) }

func (a Accept) update(dir string) error {
	return baseline.Update(dir, func(old []measure.Session) ([]measure.Session, error) {
		return baseline.Accept(old, a.Report.HeadSessions, a.Reason)
	})
}

// Patch is what [Accept.Run] would change, as a patch for git apply at the root of the repository; nothing is changed. It
// is an error where the baseline lies outside of the repository, or the report has none.
func (a Accept) Patch(repository string) (patch string, err error) {
	if a.Report.Baseline == "" && a.Report.Measured == nil || len(a.Report.HeadSessions) == 0 {
		return "", errors.New("this report has no committed baseline that could be updated")
	}
	dir := a.Dir()
	name := Within(repository, dir)
	if repository == "" || name == "" {
		return "", fmt.Errorf("the baseline %s lies outside the repository; keep it inside", dir)
	}
	err = proc.InPrivate(func(private string) error {
		before, after := filepath.Join(private, "a", name), filepath.Join(private, "b", name)
		for _, side := range []string{before, after} {
			if err := os.MkdirAll(side, 0o700); err != nil {
				return err
			}
			if err := os.CopyFS(side, os.DirFS(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := a.update(after); err != nil {
			return err
		}
		patch, err = diff(private)
		return err
	})
	return patch, err
}

// diff is how the directory b below dir differs from a, as git apply takes it.
func diff(dir string) (string, error) {
	cmd := exec.Command("git", "diff", "--no-index", "--no-prefix", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "a", "b")
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == 1 {
		err = nil // they differ
	}
	return string(out), err
}
