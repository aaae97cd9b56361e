// Package output writes files: whole or not at all, and through no link that somebody else has put there.
package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Partial ends the names of files that are not whole yet; their names begin with a dot.
const Partial = ".tmp"

// Whole writes a file that is there whole, or not at all, whatever stood there before: it is written beside its place,
// flushed, and renamed. Where name is a link, the link is replaced.
func Whole(name string, mode fs.FileMode, write func(io.Writer) error) error {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*"+Partial)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	// The rename is durable once the directory is. Not every file system can do that, and none needs it for the file to
	// be whole.
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
	return nil
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

// Log opens a file of a private directory for lines that several processes append, and makes it with mode 0600 where it
// is not there.
func Log(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Special opens a pipe or device, such as /dev/stdout, that the user named. It is an error where a file or nothing is
// there.
func Special(name string) (*os.File, error) { return os.OpenFile(name, os.O_WRONLY, 0) }

// Possible is the error that a new file in a directory would have. It leaves nothing behind.
func Possible(dir string) error {
	f, err := os.CreateTemp(dir, ".nsgate.*"+Partial)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Tree copies the files of a tree into a directory, which holds none of them.
func Tree(dir string, files fs.FS) error { return os.CopyFS(dir, files) }
