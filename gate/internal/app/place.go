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
	absolute, err := filepath.Abs(dir)
	if err != nil {
		absolute = dir
	}
	return cmp.Or(git.Within(cmp.Or(Repository(), "."), dir), filepath.ToSlash(absolute))
}

// At is where the directory of a report lies, from the working directory.
func At(placed string) string {
	dir := filepath.FromSlash(placed)
	if filepath.IsAbs(dir) {
		return dir
	}
	here, err1 := filepath.Abs(".")
	relative, err2 := filepath.Rel(here, filepath.Join(cmp.Or(Repository(), here), dir))
	if err1 != nil || err2 != nil {
		return dir
	}
	return relative
}
