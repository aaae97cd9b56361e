//go:build unix

package nsys

import (
	"io"
	"os"
	"syscall"
)

// lockedForWriting reports whether another process holds one of the locks that SQLite takes to write. Where the file
// system has no locks, the answer is no.
func lockedForWriting(f *os.File) bool {
	const first, length = 0x40000000, 512 // the bytes that SQLite locks: pending, reserved and shared
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart, Start: first, Len: length}
	return syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock) == nil && lock.Type != syscall.F_UNLCK
}
