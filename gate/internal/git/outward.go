package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Outward is the error of a file or directory to be written that lies behind a symbolic link which the repository
// around it has committed and which leads out of it: whoever made that commit would choose what is overwritten.
func Outward(ctx context.Context, name string) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		top := Top(filepath.Dir(at))
		real, err := filepath.EvalSymlinks(at)
		if top == "" || err != nil || Within(top, real) != "" {
			continue
		}
		file, err := filepath.Rel(top, at)
		if err != nil {
			return err
		}
		listed, err := Output(ctx, top, "ls-files", "--stage", "--", filepath.ToSlash(file))
		if err == nil && strings.HasPrefix(listed, "120000 ") {
			return fmt.Errorf("%s is a committed link that leads out of the repository, to %s: replace it, or name "+
				"a place behind it yourself", at, real)
		}
	}
	return nil
}
