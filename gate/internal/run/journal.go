package run

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// line is one line of the journal: a run that began or ended.
type line struct {
	Index int  `json:"index"` // counted from 1
	Done  bool `json:"done"`
	Run   Run  `json:"run"`
}

// journal follows the file in which the runner writes down what it does.
type journal struct {
	path    string
	offset  int64
	rest    []byte // of a line that is not complete yet
	running bool   // a run has begun and not ended
	runs    []Run  // those that ended
}

// await waits until the run of this index has ended, and reports whether it succeeded.
func (j *journal) await(ctx context.Context, index int) bool {
	for len(j.runs) < index {
		j.next()
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return !j.runs[index-1].failed()
}

// next returns the lines that were added since the last call.
func (j *journal) next() []line {
	f, err := os.Open(j.path)
	if err != nil {
		return nil // not begun yet
	}
	defer f.Close()
	added, _ := io.ReadAll(io.NewSectionReader(f, j.offset, 1<<40))
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
		if j.running = !l.Done; l.Done {
			j.runs = append(j.runs, l.Run)
		}
		lines = append(lines, l)
	}
}

// open lets the runners begin that wait in dir.
func open(dir string) error {
	if err := os.WriteFile(openIn(dir), nil, 0o600); err != nil {
		return proc.PrivateError(err)
	}
	return nil
}

// awaitOpen waits until the runners may begin, and reports whether they may.
func awaitOpen(ctx context.Context, dir string) bool {
	for {
		if _, err := os.Stat(openIn(dir)); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}
