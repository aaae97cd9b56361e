//go:build darwin || linux

package baseline

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// lock waits until no other process writes the baseline in dir, and keeps it so until unlock. The lock is on the
// directory itself, so nothing is left behind. A file system without locks gives none: files are still written whole.
// Where dir was removed meanwhile the error is [fs.ErrNotExist].
func lock(dir string) (unlock func(), err error) {
	d, err := input.Directory(dir)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
	}
	here, err := os.Stat(dir)
	if mine, err2 := d.Stat(); err != nil || err2 == nil && !os.SameFile(here, mine) {
		d.Close()
		return nil, &fs.PathError{Op: "lock", Path: dir, Err: fs.ErrNotExist}
	}
	return func() { d.Close() }, nil
}
