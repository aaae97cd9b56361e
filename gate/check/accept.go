package check

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/measure"
)

// Accept takes what a report measured as the new baseline.
type Accept struct {
	Report *gate.Report
	// Reason says why the change is wanted, for those who review the baseline. It must be given.
	Reason string
	// Root is the directory of the baselines, "" for where the report's baseline is.
	Root string
}

// Dir is the baseline that takes the report's measurement.
func (a Accept) Dir() string {
	// A report is a file from elsewhere: it does not choose a place outside this directory.
	if a.Root == "" && a.Report.Baseline != "" && filepath.IsLocal(a.Report.Baseline) {
		return a.Report.Baseline
	}
	head := a.Report.HeadSessions
	return baseline.Dir(cmp.Or(a.Root, DefaultRoot), cmp.Or(a.Report.Workload, "default"), head[len(head)-1].GPU)
}

// Run writes the baseline.
func (a Accept) Run() error {
	return baseline.Update(a.Dir(), func(old []measure.Session) ([]measure.Session, error) {
		return baseline.Accept(old, a.Report.HeadSessions, a.Reason)
	})
}

// Patch is what Run would change, as a patch for git apply relative to the root of the repository.
func (a Accept) Patch(repository string) (string, error) {
	if a.Report.Baseline == "" || len(a.Report.HeadSessions) == 0 {
		return "", errors.New("this report has no committed baseline that could be updated; leave --patch out")
	}
	dir := a.Dir()
	name := Within(repository, dir)
	if repository == "" || name == "" {
		return "", fmt.Errorf("the baseline %s lies outside the repository; leave --patch out, or keep it inside", dir)
	}
	old, err := tables(dir)
	if err != nil {
		return "", err
	}
	var updated map[string]string
	err = proc.InPrivate(func(private string) (err error) {
		updated, err = accepted(filepath.Join(private, "baseline"), old, a.Report.HeadSessions, a.Reason)
		return err
	})
	if err != nil {
		return "", err
	}
	return patch(name, old, updated)
}

// accepted are the tables of a baseline after accept, which is done to a copy in the new directory tmp.
func accepted(tmp string, old map[string]string, head []measure.Session, reason string) (map[string]string, error) {
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, err
	}
	for name, text := range old {
		if err := os.WriteFile(filepath.Join(tmp, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	err := baseline.Update(tmp, func(sessions []measure.Session) ([]measure.Session, error) {
		return baseline.Accept(sessions, head, reason)
	})
	if err != nil {
		return nil, err
	}
	return tables(tmp)
}

// tables reads the files of a baseline by name; none where there is no baseline.
func tables(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.csv"))
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		out[filepath.Base(f)] = string(text)
	}
	return out, nil
}

// patch is the change of a directory's files as git writes it, for git apply where name is the directory.
func patch(name string, old, updated map[string]string) (text string, err error) {
	err = proc.InPrivate(func(dir string) error {
		for side, files := range map[string]map[string]string{"a": old, "b": updated} {
			place := filepath.Join(dir, side, filepath.FromSlash(name))
			if err := os.MkdirAll(place, 0o700); err != nil {
				return err
			}
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(place, file), []byte(text), 0o644); err != nil {
					return err
				}
			}
		}
		cmd := exec.Command("git", "diff", "--no-index", "--no-prefix", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "a", "b")
		cmd.Dir = dir
		out, err := cmd.Output()
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == 1 {
			err = nil // they differ
		}
		text = string(out)
		return err
	})
	return text, err
}
