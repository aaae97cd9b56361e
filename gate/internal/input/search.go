package input

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mostEntries bounds the directory entries that one search looks at.
const mostEntries = 100_000

// Search finds files by patterns below directories and counts the entries that it looks at. The zero value is ready.
type Search struct{ seen int }

// Count adds directory entries to those that were looked at.
func (s *Search) Count(n int) error {
	s.seen += n
	if s.seen > mostEntries {
		return fmt.Errorf("it covers more than %d files and directories; name fewer of them", mostEntries)
	}
	return nil
}

// Paths lists the paths that a pattern of [filepath.Match] names below a directory, sorted; an absolute pattern does
// not depend on the directory. The directory is taken literally, and so is a part of the pattern, such as a[1], that is
// the name of a file and does not match itself. A directory behind several links is listed once for each part.
func (s *Search) Paths(dir, pattern string) ([]string, error) {
	pattern = filepath.Clean(pattern)
	root := filepath.VolumeName(pattern) + string(filepath.Separator)
	if filepath.IsAbs(pattern) {
		dir, pattern = root, strings.TrimPrefix(pattern, root)
	}
	found := []string{cmp.Or(dir, ".")}
	for part := range strings.SplitSeq(filepath.ToSlash(pattern), "/") {
		itself, err := filepath.Match(part, part)
		if err != nil {
			return nil, fmt.Errorf("%q is no pattern: %w; put \\ before [, * and ? of a name", pattern, err)
		}
		if found, err = s.step(found, part, itself); err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
	}
	return found, nil
}

// Quote is the pattern that names a path and nothing else.
func Quote(path string) string {
	if filepath.Separator != '/' { // a pattern has no escapes there, and a name no * and ?
		return path
	}
	return quoted.Replace(path)
}

var quoted = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// step lists what one part of a pattern names in some directories; itself says that the part matches its own text.
func (s *Search) step(dirs []string, part string, itself bool) (out []string, err error) {
	known := map[string]bool{}
	for _, dir := range dirs {
		if plain := !strings.ContainsAny(part, `*?[\`); plain || !itself {
			path := filepath.Join(dir, part)
			if _, err := os.Lstat(path); err == nil {
				out = append(out, path)
				continue
			} else if plain {
				continue
			}
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || known[real] {
			continue
		}
		known[real] = true
		names, err := s.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if ok, _ := filepath.Match(part, name); ok {
				out = append(out, filepath.Join(dir, name))
			}
		}
	}
	return out, nil
}

// names are the sorted names in a directory, none where it is a file or gone.
func (s *Search) names(dir string) (names []string, err error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, cmp.Or(err, s.Count(len(names)))
}
