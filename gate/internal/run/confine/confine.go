// Package confine reads files of others in a child of this binary, which has a bound of memory and of processor time.
// It opens files for reading, answers on its standard output, and can do nothing else: no writes, no network, no
// processes.
package confine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Limits bound a child. A zero is no bound.
type Limits struct {
	Memory int64         // bytes of address space
	CPU    time.Duration // of all its threads, in whole seconds
}

// unconfined is why a child could do more than read, nil where none could.
var unconfined atomic.Pointer[string]

// Doubt is the warning that files were read in a process that could do more than read, "" where none was.
func Doubt() string {
	why := unconfined.Load()
	if why == nil {
		return ""
	}
	return "files were read without confinement (" + *why + "): read files of others on a system that has it, or in " +
		"a job without a token"
}

func doubt(why string) { unconfined.CompareAndSwap(nil, &why) }

// The processor time for reading files, whatever their size, and for each of their megabytes.
const (
	leastCPU = 10 * time.Minute
	cpuOfMB  = time.Second
)

// For is the limits of a child that reads paths.
func For(paths ...string) Limits {
	l := Limits{CPU: leastCPU}
	for _, path := range paths {
		l.CPU += cpuOfMB * time.Duration(sizeOf(path)>>20)
	}
	if most := input.Memory(); most > 0 {
		l.Memory = most + 1<<30 // Go keeps addresses that it does not use
	}
	return l
}

// Report is [For] of saved reports, whose memory is bounded by their size as well: a list of empty sessions packs to a
// thousandth.
func Report(paths ...string) Limits {
	l := For(paths...)
	l.Memory = min(cmp.Or(l.Memory, math.MaxInt64), 2<<30+128<<20*int64((l.CPU-leastCPU)/cpuOfMB))
	return l
}

// sizeOf is the size of a file, or of the files of a directory, in bytes.
func sizeOf(path string) (size int64) {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if !info.IsDir() {
		return info.Size()
	}
	entries, _ := os.ReadDir(path)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
	}
	return size
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

// Refusal is the refusal of the files that the child read.
func (e *Ended) Refusal(files string) *model.Refusal {
	kind, next := model.Kind(""), "report this to the developers of nsgate, with the file if it may be shown"
	if e.Memory {
		kind, next = model.TooLarge, "read it on a machine with more memory, or record fewer steps"
	} else if e.CPU {
		kind, next = model.TooLarge, "record fewer steps, or see what the file holds"
	}
	return model.Refuse(kind, next, "%s: %v", files, e)
}

// Refused is an error of [Ask], of a child that did not come to its end the refusal of the files that it read.
func Refused(err error, files string) error {
	if ended := (*Ended)(nil); errors.As(err, &ended) {
		return ended.Refusal(files)
	}
	return err
}

// cpuSpent is the last word of a child that has taken its processor time.
const cpuSpent = "SIGXCPU"

// diagnose says of a child that did not come to its end what its last words and its state mean.
func diagnose(said string, state *os.ProcessState) *Ended {
	holds := func(sign string) bool { return strings.Contains(said, sign) }
	e := &Ended{Said: said, CPU: holds(cpuSpent), Memory: slices.ContainsFunc([]string{"out of memory",
		"cannot allocate memory", "pthread_create failed", "failed to create new OS thread", "stack exceeds"}, holds)}
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		e.Said = line
	} else {
		e.Said = fmt.Sprint(state)
	}
	return e
}
