// Package input opens what is read, and no other package does: regular files only, up to a bound, so that no pipe is
// waited for and no device fills the memory.
package input

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// ErrNoFile is the error of a pipe, a socket, a device or a directory where a file is wanted.
var ErrNoFile = errors.New("is not a regular file; put the file itself there")

// ErrLarge is the error of a file above the bound of its reader.
var ErrLarge = errors.New("is larger than")

// Open opens a regular file, else the error is [ErrNoFile]; it waits for no pipe or file of the system (/proc/kmsg).
func Open(name string) (*os.File, error) {
	return regular(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

// checked closes what was opened where a check of it fails.
func checked(f *os.File, err error, check func(os.FileInfo) error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = check(info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(f *os.File, err error) (*os.File, error) {
	return checked(f, err, func(info os.FileInfo) error {
		if !info.Mode().IsRegular() || made(f) {
			return fmt.Errorf("%s %w", f.Name(), ErrNoFile)
		}
		return nil
	})
}

// OpenOwn is [Open] for directories that others may write: a link is an error. Ask the open file for its owner.
func OpenOwn(name string) (*os.File, error) {
	f, err := Open(name)
	return checked(f, err, func(opened os.FileInfo) error {
		named, err := os.Lstat(name)
		if err == nil && !os.SameFile(opened, named) {
			err = fmt.Errorf("%s is a link; put the file itself there", name)
		}
		return err
	})
}

// Hash is the SHA-256 of a file, which it closes; err is that of opening it.
func Hash(f *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), err
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

// ReadWithin is [Read] of a directory's file into the memory of a buffer; a link out of the directory is an error.
func ReadWithin(buffer *bytes.Buffer, dir, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := regular(root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return all(buffer, f, limit)
}

// System is the content of a file that the system makes, such as /proc/cpuinfo; "" where it cannot be read.
func System(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := All(f, 16<<20)
	return string(text)
}

// Directory opens a directory to lock it or to list its entries.
func Directory(name string) (*os.File, error) {
	d, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return checked(d, err, func(info os.FileInfo) error {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", name)
		}
		return nil
	})
}

// Tree is a directory with all below it, whose files are opened as [Open] does.
func Tree(dir string) fs.FS { return tree{os.DirFS(dir).(fs.ReadLinkFS), dir} }

type tree struct {
	fs.ReadLinkFS
	dir string
}

func (t tree) Open(name string) (fs.File, error) {
	info, err := fs.Stat(t.ReadLinkFS, name)
	if err != nil || info.IsDir() {
		return t.ReadLinkFS.Open(name)
	}
	f, err := Open(filepath.Join(t.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// All reads at most limit bytes; more are an error.
func All(r io.Reader, limit int64) ([]byte, error) { return all(new(bytes.Buffer), r, limit) }

func all(text *bytes.Buffer, r io.Reader, limit int64) ([]byte, error) {
	text.Reset()
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			text.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
		}
	}
	_, err := text.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && int64(text.Len()) > limit {
		err = fmt.Errorf("it %w %d MB, the most that is read", ErrLarge, limit>>20)
	}
	if err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// Pattern is a regular expression compiled at its first use: a command reads one format, and most start no reader.
//
//go:noinline
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// BoundMemory makes the garbage collector keep this process below three quarters of the memory of the machine or the
// container, unless GOMEMLIMIT says otherwise. It is the last line behind the bounds of each reader.
func BoundMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if n := Memory(); n > 0 {
		debug.SetMemoryLimit(n)
	}
}

// Memory is three quarters of the memory of the machine or the container in bytes, 0 where it is not known.
func Memory() int64 {
	if n := memory(System); n < math.MaxInt64 {
		return n / 4 * 3
	}
	return 0
}

var total = Pattern(`(?m)^MemTotal: +(\d+) kB$`)

// memory is the least of the machine's memory and the limits of the control group, in bytes.
func memory(read func(file string) string) int64 {
	least := int64(math.MaxInt64)
	if m := total().FindStringSubmatch(read("/proc/meminfo")); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		least = n << 10
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(read(file)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	return least
}
