package proc

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

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
