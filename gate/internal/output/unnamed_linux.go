package output

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unnamed makes a file of mode 0600 in a directory that has no name, and is gone with this process.
func unnamed(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// link gives an unnamed file a name that is not taken.
func link(f *os.File, name string) error {
	open := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	return unix.Linkat(unix.AT_FDCWD, open, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// Exchange puts a directory in the place of another one, which takes its place: neither is ever missing.
func Exchange(from, to string) error {
	if unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE) == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(to), os.Rename(from, to)) // there is none, or the file system cannot
}
