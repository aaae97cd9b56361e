package devicecode

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// mostFiles bounds the directory entries that one pattern looks at.
const mostFiles = 100_000

// finder lists files with device code, and counts the directory entries that it looks at.
type finder struct {
	pattern string
	seen    int
}

// Find lists the files with device code that a pattern names, sorted: the pattern is a file, a directory (Triton's
// cache, a build folder) that is searched with all below it, or a glob of [filepath.Match]. A glob follows links to
// directories, each directory once for each part of the pattern; a search of all below a directory follows none.
func Find(pattern string) ([]string, error) {
	return find(pattern, func(name string, d fs.DirEntry) (bool, error) {
		return d.Type().IsRegular() && HasCode(name), nil
	})
}

// Files lists all files that a pattern names, as [Find] does. A link, a pipe or a device below a directory is an error.
func Files(pattern string) ([]string, error) {
	return find(pattern, func(name string, d fs.DirEntry) (bool, error) {
		if d.IsDir() || d.Type().IsRegular() {
			return !d.IsDir(), nil
		}
		return false, fmt.Errorf("%s is neither a file nor a directory; name it by itself, or what it links to", name)
	})
}

func find(pattern string, wanted func(name string, d fs.DirEntry) (bool, error)) ([]string, error) {
	f := finder{pattern: pattern}
	paths, err := f.glob(pattern)
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
			if err := f.count(1); err != nil {
				return err
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

// count adds directory entries to those that were looked at.
func (f *finder) count(n int) error {
	if f.seen += n; f.seen > mostFiles {
		return fmt.Errorf("the pattern %q covers more than %d files and directories; name those with device code", f.pattern, mostFiles)
	}
	return nil
}

// glob lists the paths that a pattern names, as [filepath.Glob] does, part by part.
func (f *finder) glob(pattern string) ([]string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%q is no pattern: %w; name a file or a directory, or put \\ before [, * and ?", pattern, err)
	}
	if !isGlob(pattern) {
		if _, err := os.Lstat(pattern); err != nil {
			return nil, nil
		}
		return []string{pattern}, nil
	}
	dir, last := filepath.Split(pattern)
	volume := filepath.VolumeName(dir)
	if dir != volume+string(filepath.Separator) {
		dir = strings.TrimSuffix(dir, string(filepath.Separator))
	}
	dirs, err := f.glob(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	var out []string
	known := map[string]bool{}
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || known[real] {
			continue
		}
		known[real] = true
		names, err := f.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if ok, _ := filepath.Match(last, name); ok {
				out = append(out, filepath.Join(dir, name))
			}
		}
	}
	return out, nil
}

// names are the sorted names in a directory, none where it cannot be read.
func (f *finder) names(dir string) ([]string, error) {
	d, err := input.Directory(dir)
	if err != nil {
		return nil, nil
	}
	defer d.Close()
	var names []string
	for {
		some, err := d.Readdirnames(1000)
		names = append(names, some...)
		if err := f.count(len(some)); err != nil {
			return nil, err
		}
		if err == io.EOF || err != nil {
			slices.Sort(names)
			return names, nil
		}
	}
}

// isGlob reports whether a pattern has characters of a glob.
func isGlob(pattern string) bool {
	special := "*?["
	if filepath.Separator == '/' {
		special += "\\"
	}
	return strings.ContainsAny(pattern, special)
}
