// Package output writes files: whole or not at all, and through no link that somebody else has put there.
package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Partial ends the names of files that are not whole yet; their names begin with a dot.
const Partial = ".tmp"

// Whole writes a file that is there whole, or not at all: it is written without a name, flushed, and linked to its
// place, so that nothing is left where this process is killed. What stood there, a link too, is replaced by a rename.
// Where the file system has no files without names, it is written beside its place.
func Whole(name string, mode fs.FileMode, write func(io.Writer) error) error {
	dir := filepath.Dir(name)
	f, err := unnamed(dir)
	if err != nil {
		f, err = os.CreateTemp(dir, partialOf(name))
	}
	if err != nil {
		return err
	}
	named := f.Name()
	if named != dir {
		defer os.Remove(named)
	}
	if err := errors.Join(write(f), f.Chmod(mode), f.Sync()); err != nil {
		f.Close()
		return err
	}
	if named != dir {
		err = errors.Join(f.Close(), os.Rename(named, name))
	} else {
		err = errors.Join(place(f, name), f.Close())
	}
	if err != nil {
		return err
	}
	// The name is durable once the directory is. Not every file system can do that, and a whole file does not need it.
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

func partialOf(name string) string {
	base := filepath.Base(name)
	return "." + strings.ToValidUTF8(base[:min(len(base), 200)], "") + ".*" + Partial // names have at most 255 bytes
}

// place links a file without a name to its place, or renames it there where that is taken.
func place(f *os.File, name string) error {
	if err := link(f, name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	// os.CreateTemp finds a free name.
	free, err := os.CreateTemp(filepath.Dir(name), partialOf(name))
	if err != nil {
		return err
	}
	defer os.Remove(free.Name())
	err = errors.Join(free.Close(), os.Remove(free.Name()), link(f, free.Name()))
	if err != nil {
		return err
	}
	sweep(name)
	return os.Rename(free.Name(), name)
}

// sweep removes what a process that was killed between link and rename left beside a file, a minute ago or earlier.
func sweep(name string) {
	dir, begin := filepath.Dir(name), strings.TrimSuffix(partialOf(name), "*"+Partial)
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), begin) && filepath.Ext(e.Name()) == Partial &&
			time.Since(info.ModTime()) > time.Minute {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Text writes a text like [Whole].
func Text(name string, mode fs.FileMode, text []byte) error {
	return Whole(name, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Temporary is [os.CreateTemp]: a new file of mode 0600, for this process to write and to remove.
func Temporary(dir, pattern string) (*os.File, error) { return os.CreateTemp(dir, pattern) }

// New makes a file of mode 0600, which is an error where one of that name is there: [fs.ErrExist].
func New(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// Log opens a file of a private directory for lines that several processes append and read.
func Log(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0) }

// Special opens a pipe or device that a user named (/dev/stdout). A file, nothing and a pipe without reader are errors.
func Special(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
}

// Possible is the error that a new file in a directory would have. It leaves nothing behind.
func Possible(dir string) error {
	f, err := unnamed(dir)
	if err == nil {
		return f.Close()
	}
	if f, err = os.CreateTemp(dir, ".nsgate.*"+Partial); err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Tree copies the files of a tree into a directory, which holds none of them.
func Tree(dir string, files fs.FS) error { return os.CopyFS(dir, files) }
