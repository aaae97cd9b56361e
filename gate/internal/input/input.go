// Package input reads files from elsewhere: regular files only, up to a bound, so that no pipe is waited for and no
// device fills the memory.
package input

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"sync"
	"syscall"
)

// Open opens a regular file. A pipe, a socket, a device or a directory is an error; a pipe is not waited for.
func Open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file; put the file itself there", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenOwn is [Open] for a file in a directory that other users may write: a link is an error. Its owner is to be
// asked of the open file.
func OpenOwn(name string) (*os.File, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Lstat(name); err == nil && !os.SameFile(opened, named) {
			err = fmt.Errorf("%s is a link; put the file itself there", name)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a regular file of at most limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := All(f, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// All reads at most limit bytes; more are an error.
func All(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it is larger than %d MB, the most that is read", limit>>20)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// Pattern is a regular expression that is compiled at its first use: a command reads one format, and most start no reader.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
