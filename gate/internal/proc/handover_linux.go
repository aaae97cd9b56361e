package proc

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// socketIn names the socket of a directory by a short path: the name of a socket has at most 107 bytes.
func socketIn(dir *os.File) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), "door")}
}

// OpenDoor makes a socket in a private directory. A process that a profiler starts finds the process that expects it
// there.
func OpenDoor(dir string) (*net.UnixListener, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	l, err := net.ListenUnix("unix", socketIn(d))
	if err == nil {
		l.SetUnlinkOnClose(false) // its path ends with d, and it goes with the directory
	}
	return l, err
}

// Knock connects to the door of a private directory.
func Knock(dir string) (*net.UnixConn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return net.DialUnix("unix", nil, socketIn(d))
}

// HandOver gives the process at the other end open files.
func HandOver(to *net.UnixConn, files ...*os.File) error {
	fds := measure.Map(files, func(f *os.File) int { return int(f.Fd()) })
	_, _, err := to.WriteMsgUnix([]byte{0}, syscall.UnixRights(fds...), nil)
	return err
}

// TakeOver takes so many open files from the process at the other end.
func TakeOver(from *net.UnixConn, count int) ([]*os.File, error) {
	text, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4*count))
	from.SetReadDeadline(time.Now().Add(time.Minute))
	defer from.SetReadDeadline(time.Time{})
	_, n, _, _, err := from.ReadMsgUnix(text, rights)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return nil, err
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), ""))
		}
	}
	if len(files) != count {
		return nil, errors.New("other files were handed over than were promised")
	}
	return files, nil
}

// maxSecret is the length of a secret in bytes, which fits into a pipe without a reader.
const maxSecret = 4096

// Secret reads a secret of one line from the descriptor whose number a variable holds, closes it and unsets the
// variable. No other process of this user can then read the memory or the descriptors of this one.
func Secret(variable string) string {
	fd, err := strconv.Atoi(os.Getenv(variable))
	os.Unsetenv(variable)
	if err != nil || fd <= unix.Stderr {
		return ""
	}
	f := os.NewFile(uintptr(fd), variable)
	defer f.Close()
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	text, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// Again replaces this process by a fresh one with the same arguments, which gets a secret by [Secret]: the kernel shows
// the environment that a process began with. It returns only with an error.
func Again(variable, secret string) error {
	if len(secret) > maxSecret {
		return errors.New("it is too long")
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil { // the reading end passes exec
		return err
	}
	defer unix.Close(pipe[0])
	_, err = unix.Write(pipe[1], []byte(secret))
	unix.Close(pipe[1])
	if err != nil {
		return err
	}
	return unix.Exec(program, os.Args, append(os.Environ(), variable+"="+strconv.Itoa(pipe[0])))
}
