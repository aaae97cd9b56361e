package git

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Within names a file relative to root, with slashes; as it is where root is "", "" where it lies elsewhere.
func Within(root, file string) string {
	if root == "" {
		return filepath.ToSlash(file)
	}
	path, err1 := filepath.Abs(file)
	root, err2 := filepath.Abs(root)
	if err1 != nil || err2 != nil {
		return ""
	}
	inside := func(root, path string) string {
		relative, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(relative) {
			return ""
		}
		return filepath.ToSlash(relative)
	}
	// Either may have been reached through a symbolic link.
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return inside(root, path)
	}
	realPath, _ := filepath.EvalSymlinks(path) // "" where it is not there, which lies in no root
	return cmp.Or(inside(root, path), inside(realRoot, path), inside(realRoot, realPath))
}

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
