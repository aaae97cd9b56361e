package collect

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
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
