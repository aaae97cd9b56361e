package baseline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// temporary is the name of a file that is about to replace the one in the parentheses.
var temporary = regexp.MustCompile(`^\.(\w+\.csv)\.\d+\.tmp$`)

// unfinished lists the temporary files in dir.
func unfinished(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if temporary.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// finish brings to an end what a writer has begun that was killed. All its files were on disk under temporary names before
// it renamed the first: where some are renamed the rest is renamed too, otherwise what is left of it is removed. The
// caller has the lock for writing.
func finish(dir string) {
	left := unfinished(dir)
	if len(left) == 0 {
		return
	}
	_, err := read(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		for _, name := range left {
			os.Remove(filepath.Join(dir, name))
		}
		return
	}
	data, from := make(files), make(map[string]string)
	var newest time.Time // of the files in place
	for _, name := range fileNames {
		if data[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	for _, name := range left {
		to := temporary.FindStringSubmatch(name)[1]
		text, err := os.ReadFile(filepath.Join(dir, name))
		info, err2 := os.Lstat(filepath.Join(dir, name))
		if err != nil || err2 != nil || from[to] != "" || info.ModTime().Before(newest) {
			return // not of one writer, or somebody has edited the baseline since
		}
		data[to], from[to] = text, name
	}
	if _, err := decode(dir, data); err != nil {
		return
	}
	for _, name := range fileNames {
		if from[name] != "" {
			os.Rename(filepath.Join(dir, from[name]), filepath.Join(dir, name))
		}
	}
}
