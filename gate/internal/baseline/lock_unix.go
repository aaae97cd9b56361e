//go:build darwin || linux

package baseline

import (
	"io/fs"
	"os"
	"syscall"
)

// lock waits until no one else writes (or, for an exclusive lock, reads) the baseline in dir, and keeps it so until
// unlock. The lock is on the directory itself, so nothing is left behind. A file system without locks gives none, and
// locked is false: files are still replaced whole. Where dir was removed meanwhile the error is [fs.ErrNotExist].
func lock(dir string, exclusive bool) (unlock func(), locked bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(d.Fd()), how)
	}
	locked = err == nil
	here, err := os.Stat(dir)
	if mine, err2 := d.Stat(); err != nil || err2 == nil && !os.SameFile(here, mine) {
		d.Close()
		return nil, false, &fs.PathError{Op: "lock", Path: dir, Err: fs.ErrNotExist}
	}
	return func() { d.Close() }, locked, nil
}
