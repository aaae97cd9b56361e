package app

import (
	"cmp"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/git"
)

// Placed is a directory as reports have it: relative to the repository, outside of one to the working directory, and
// absolute where it lies in neither.
func Placed(dir string) string {
	if dir == "" {
		return ""
	}
	absolute, _ := filepath.Abs(dir) // there is a working directory
	return cmp.Or(git.Within(cmp.Or(Repository(), "."), dir), filepath.ToSlash(absolute))
}

// At is where the directory of a report lies, from the working directory.
func At(placed string) string {
	dir, here := filepath.FromSlash(placed), cmp.Or(Repository(), ".")
	if filepath.IsAbs(dir) {
		return dir
	}
	below, _ := filepath.Abs(".")
	if relative, err := filepath.Rel(below, filepath.Join(here, dir)); err == nil {
		return relative
	}
	return filepath.Join(here, dir)
}
