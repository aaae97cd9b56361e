package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// line is one line of the journal: a run that began, opened the GPU, or ended, or what it printed.
type line struct {
	Index  int  `json:"index"` // counted from 1
	Done   bool `json:"done"`
	Opened bool `json:"opened,omitempty"`
	Run    Run  `json:"run"`
	// Said is the last line of the run that is under way; the others are then empty.
	Said string `json:"said,omitempty"`
}

// journal follows the file with the runner's events, which stays open: the workload may remove its name.
type journal struct {
	file    *os.File
	offset  int64
	rest    []byte // of a line that is not complete yet
	running bool   // a run has begun and not ended
	begun   Run    // the last one that has begun
	runs    []Run  // the ended ones, in their order
	first   Run    // when it opened the GPU, with its start alone
	turn    int    // the index of begun, counted from 1
}

// await waits until the run of this index has ended, and reports whether it succeeded.
func (j *journal) await(ctx context.Context, index int) bool {
	return j.until(ctx, func() bool { return len(j.runs) >= index }) && !j.runs[index-1].failed()
}

// until reads the journal until it says something, and reports whether it did before ctx ended.
func (j *journal) until(ctx context.Context, said func() bool) bool {
	j.next()
	for start := time.Now(); !said(); j.next() {
		select {
		case <-ctx.Done():
			return false
		// Looking is work beside the run that is measured.
		case <-time.After(min(max(5*time.Millisecond, time.Since(start)/20), 100*time.Millisecond)):
		}
	}
	return true
}

// next returns the lines that were added since the last call.
func (j *journal) next() []line {
	added, _ := io.ReadAll(io.NewSectionReader(j.file, j.offset, 1<<40))
	j.offset += int64(len(added))
	j.rest = append(j.rest, added...)
	var lines []line
	for {
		text, rest, complete := bytes.Cut(j.rest, []byte("\n"))
		if !complete {
			return lines
		}
		j.rest = rest
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		switch {
		case l.Said != "":
		case l.Opened:
			j.first = l.Run
		case l.Done:
			j.running, j.runs = false, append(j.runs, l.Run)
		default:
			j.running, j.begun, j.turn = true, l.Run, l.Index
		}
		lines = append(lines, l)
	}
}

// awaitOpen waits until the runners may begin, and reports whether they may: where nsgate died, its gate is still
// there.
func awaitOpen(ctx context.Context, dir string) bool {
	select {
	case <-ctx.Done():
		return false
	case <-proc.Released(gateIn(dir)):
		_, err := os.Lstat(gateIn(dir))
		return errors.Is(err, fs.ErrNotExist)
	}
}
