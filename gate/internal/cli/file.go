package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/output"
)

// writeFile writes a file whole or not at all. A pipe or device, such as /dev/stdout, is written to directly.
func writeFile(name string, write func(io.Writer) error) error {
	if !special(name) {
		return unwritten(name, output.Whole(name, 0o644, write))
	}
	f, err := output.Special(name)
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	return unwritten(name, err)
}

// writeText writes a text like [writeFile].
func writeText(name, text string) error {
	return writeFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// special reports whether a file is there and is a pipe, a device or the like.
func special(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// writable is the error that [writeFile] would have, as far as it can be foreseen.
func writable(name string) error {
	if special(name) {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory; name a file", name)
	}
	return unwritten(name, output.Possible(filepath.Dir(name)))
}

// unwritten names the file and the next step, where the system's error would name a temporary file; nil stays nil.
func unwritten(name string, err error) error {
	if err == nil {
		return nil
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		err = errno
	}
	next := "name a file in a directory that can be written"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		next = fmt.Sprintf("make room in %s, or name a file elsewhere", filepath.Dir(name))
	case errors.Is(err, fs.ErrNotExist):
		next = fmt.Sprintf("make the directory %s first", filepath.Dir(name))
	}
	return fmt.Errorf("%s cannot be written: %w; %s", name, err, next)
}
