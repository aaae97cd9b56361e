package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
)

// begin makes the directory of a baseline and locks it for writing.
func begin(dir string) (unlock func(), err error) {
	for range 100 { // another writer may have made the directory, written nothing, and removed it
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, unwritten(dir, err)
		}
		unlock, locked, err := lock(dir, true)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && locked {
			finish(dir)
		}
		return unlock, err
	}
	return nil, fmt.Errorf("%s comes and goes; let nothing else write there", dir)
}

// Update reads the baseline in dir, lets change make the sessions of the new one of it, and writes these, with no other
// writer in between. Where there is none, change gets no sessions, and dir is created. An error from change leaves
// everything as it is, and so do sessions that could not be read back: without an ID from [Extend] or [Accept], unfit for
// judgement by their Check, of several GPU models. Each file is replaced whole or not at all, and one that would not
// change is left alone. A writer that was killed between two files has not done its work in vain: the next Read or
// Update does the rest.
func Update(dir string, change func([]measure.Session) ([]measure.Session, error)) error {
	unlock, err := begin(dir)
	if err != nil {
		return err
	}
	defer unlock()
	defer os.Remove(dir) // succeeds only where it is still empty
	sessions, err := read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if sessions, err = change(sessions); err != nil {
		return err
	}
	data, err := encode(sessions)
	if err != nil {
		return err
	}
	return replace(dir, data)
}

// replace puts the files in place. All of them are on disk under temporary names before the first is renamed.
func replace(dir string, data files) (err error) {
	type renaming struct{ from, to string }
	var renames []renaming
	defer func() {
		if err != nil {
			for _, r := range renames {
				os.Remove(r.from)
			}
			err = unwritten(dir, err)
		}
	}()
	for _, name := range fileNames {
		to := filepath.Join(dir, name)
		old, err := os.ReadFile(to)
		if err == nil && bytes.Equal(old, data[name]) {
			continue
		}
		f, err := os.CreateTemp(dir, "."+name+".*.tmp")
		if err != nil {
			return err
		}
		renames = append(renames, renaming{f.Name(), to})
		_, err = f.Write(data[name])
		err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
		if err != nil {
			return err
		}
	}
	for _, r := range renames {
		if err := os.Rename(r.from, r.to); err != nil {
			return err
		}
	}
	if len(renames) == 0 {
		return nil
	}
	// The renames are durable once the directory is. Not every file system can do that, and none needs it for the
	// files to be whole.
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

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

// Writable says why no baseline could be written below root, nil where one could. It leaves nothing behind. To ask before
// a measurement saves one whose result could not be stored.
func Writable(root string) error {
	at := filepath.Clean(root)
	for {
		f, err := os.CreateTemp(at, ".nsgate.*.tmp")
		if err == nil {
			f.Close()
			return os.Remove(f.Name())
		}
		parent := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || parent == at {
			return unwritten(root, err)
		}
		at = parent
	}
}

// unwritten says what became of a baseline that could not be written. The error of the system names a temporary file that
// nobody knows.
func unwritten(dir string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("no baseline can be written to %s: %w; what was there is unchanged: make room or let it be written, "+
		"and try again", dir, err)
}
