package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/thresholds"
)

// Rename gives the baselines of a workload another name, and returns their directory before and after. The name must be
// free.
func (s Store) Rename(ctx context.Context, from, to string) (before, after string, err error) {
	if err := new(thresholds.Workload).Set("name", to, ""); err != nil {
		return "", "", err
	}
	dir := func(workload string) string { return filepath.Dir(baseline.Dir(s.Root, workload, "any")) }
	before, after = dir(from), dir(to)
	info, err := os.Lstat(before)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("no baseline of workload %q in %s; nsgate baseline lists them", from, s.Root)
	case err != nil:
		return "", "", err
	case !info.IsDir():
		return "", "", fmt.Errorf("%s is no directory; rename it by hand", before)
	}
	if _, err := os.Lstat(after); !errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("%s is there already: choose another name, or remove it", after)
	}
	for _, path := range []string{before, after} {
		if err := git.Outward(ctx, path); err != nil {
			return "", "", err
		}
	}
	return before, after, os.Rename(before, after)
}
