package collect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/nsgate/nsgate/gate/measure"
)

// noRoom are the words by which a program says that a file could not be written for want of room.
var noRoom = []string{"no space left", "disk is full", "disk full", "quota exceeded", "file too large", "file size limit exceeded"}

// leastRoom is so little that nsys cannot write any report, in bytes.
const leastRoom = 256 << 10

// crashRoom is so little that the library of nsys crashes the workload: seen with 16 MB, not with 64 MB.
const crashRoom = 64 << 20

// blameRoom says of a refusal, where it is for want of room in the private directory, which directory is full: nsys itself
// says it in its way or not at all, and its library in the workload crashes. low is the least room that there was, in
// bytes, said all that is known of the failure.
func blameRoom(err error, low int64, said string) error {
	var r *measure.Refusal
	if !errors.As(err, &r) {
		return err
	}
	failed := (*WorkloadError)(nil)
	full := low < leastRoom
	if !errors.As(err, &failed) { // what the workload itself says of files is about its own
		said = strings.ToLower(said + " " + r.Reason)
		full = full || slices.ContainsFunc(noRoom, func(words string) bool { return strings.Contains(said, words) })
	}
	refusal := measure.Refuse(r.Reason+"; no room is left in the directory for temporary files",
		"make room there, or set TMPDIR to a directory that has some")
	crashed := failed != nil && (failed.Run.Signal == syscall.SIGSEGV.String() || failed.Run.Signal == syscall.SIGBUS.String())
	switch {
	case !full && crashed && low < crashRoom:
		refusal = measure.Refuse(r.Reason, fmt.Sprintf("make room in the directory for temporary files, or set TMPDIR to another: "+
			"%.1f MB were left, and nsys crashes a workload where that is too little; then %s", float64(low)/1e6, r.Next))
	case !full:
		return err
	}
	if failed != nil {
		blamed := *failed
		blamed.refusal = refusal
		return &blamed
	}
	return refusal
}

// privateError says of an error with the private directory what to do about it.
func privateError(err error) error {
	return fmt.Errorf("the private directory: %w; set TMPDIR to a directory that can be written and has room", err)
}
