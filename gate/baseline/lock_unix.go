//go:build darwin || linux

package baseline

import (
	"os"
	"syscall"
)

// lock waits until no one else writes (or, for an exclusive lock, reads) the baseline in dir, and keeps it so until
// unlock. The lock is on the directory itself, so nothing is left behind. A file system without locks gives none:
// files are still replaced whole.
func lock(dir string, exclusive bool) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for syscall.Flock(int(d.Fd()), how) == syscall.EINTR {
	}
	return func() { d.Close() }, nil
}
