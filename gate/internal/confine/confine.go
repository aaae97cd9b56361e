// Package confine runs a command of nsgate that reads files of others in a child, which has a bound of memory and of
// processor time, no network, and writes only what it names.
package confine

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Arg is the argument after proc.HiddenArg that makes this binary such a child; the arguments of the command follow.
const Arg = "--confined"

// Limits bound a child. A zero is no bound.
type Limits struct {
	Memory int64         // bytes of address space
	CPU    time.Duration // of all its threads, in whole seconds
	// Files are what it may write, each with the directory that it lies in, and Dirs directories with all below them.
	Files, Dirs []string
}

// Ended is the error of a child that did not come to its end.
type Ended struct {
	Memory bool   // it wanted more memory than it may have
	CPU    bool   // it took more processor time than it may take
	Said   string // first line of the crash message of Go, or the exit state
}

func (e *Ended) Error() string {
	switch {
	case e.Memory:
		return "reading it takes more memory than nsgate may have here"
	case e.CPU:
		return "reading it takes more processor time than nsgate may take"
	}
	return "the process that reads it ended: " + e.Said
}

// cpuSpent is the last word of a child that has taken its processor time.
const cpuSpent = "SIGXCPU"

// diagnose says of a child that did not come to its end what its last words and its state mean.
func diagnose(said string, state *os.ProcessState) *Ended {
	e := &Ended{Said: said}
	for _, sign := range []string{"out of memory", "cannot allocate memory", "pthread_create failed",
		"failed to create new OS thread"} {
		e.Memory = e.Memory || strings.Contains(said, sign)
	}
	e.CPU = strings.Contains(said, cpuSpent)
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		e.Said = line
	} else {
		e.Said = fmt.Sprint(state)
	}
	return e
}
