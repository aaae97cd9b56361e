package devicecode

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Find lists the files with device code that a pattern names below a directory, see [input.Search.Paths], sorted: the
// pattern is of files or of directories (Triton's cache, a build folder), which are searched with all below them. That
// search follows no links.
func Find(dir, pattern string) ([]string, error) {
	return find(dir, pattern, func(name string, d fs.DirEntry) (bool, error) {
		return d.Type().IsRegular() && HasCode(name), nil
	})
}

// Files lists all files that a pattern names, as [Find] does. A link, a pipe or a device below a directory is an error.
func Files(dir, pattern string) ([]string, error) {
	return find(dir, pattern, func(name string, d fs.DirEntry) (bool, error) {
		if d.IsDir() || d.Type().IsRegular() {
			return !d.IsDir(), nil
		}
		return false, fmt.Errorf("%s is neither a file nor a directory; name it by itself, or what it links to", name)
	})
}

func find(dir, pattern string, wanted func(name string, d fs.DirEntry) (bool, error)) ([]string, error) {
	var all input.Search
	paths, err := all.Paths(dir, pattern)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		if !info.IsDir() {
			out = append(out, path)
			continue
		}
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return unreadable(name, err)
			}
			if err := all.Count(1); err != nil {
				return fmt.Errorf("%q: %w", pattern, err)
			}
			want, err := wanted(name, d)
			if want {
				out = append(out, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
