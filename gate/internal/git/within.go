package git

import (
	"cmp"
	"path/filepath"
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
