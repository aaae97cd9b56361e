package baseline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

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
