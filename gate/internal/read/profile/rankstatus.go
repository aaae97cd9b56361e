package profile

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
)

// rankStatuses are the status files that nsgate rank writes next to the recordings of ranks.
type rankStatuses []rankStatus

type rankStatus struct {
	file string
	rank.Status
}

// take adds a file that a rank left; false for any other file.
func (x *rankStatuses) take(name string) bool {
	const most = 64 << 10
	if !ends(name, ".json") {
		return false
	}
	text, err := input.Read(name, most)
	l, ok := rank.ParseStatus(text)
	if ok = ok && err == nil; ok {
		*x = append(*x, rankStatus{name, l})
	}
	return ok
}

// job is the name of the files of its job.
func (l *rankStatus) job() string {
	return strings.TrimSuffix(filepath.Base(l.file), fmt.Sprintf(".rank%d.json", l.Rank))
}

// check refuses jobs with a failed or missing rank.
func (x rankStatuses) check() error {
	type member struct {
		job  string
		rank int
	}
	left := map[member]bool{}
	for i := range x {
		left[member{x[i].job(), x[i].Rank}] = true
	}
	complete := map[string]int{} // size of each job whose ranks all left a file
	for i := range x {
		l, job := &x[i], x[i].job()
		if err := l.TooMany("(" + l.file + ")"); err != nil {
			return err
		}
		of, what := l.Rank, ""
		switch {
		case !l.Done:
			what = "did not come to an end"
		case l.Failure != "":
			what = "was not recorded (" + l.Failure + ")"
		case l.Told: // to end: a server knows no other end
		case l.Signal != "":
			what = "was ended by a signal (" + l.Signal + ")"
		case l.ExitCode != 0:
			what = fmt.Sprintf("exited with %d", l.ExitCode)
		}
		for n := complete[job]; n < l.Size && what == ""; n++ {
			if !left[member{job, n}] {
				of, what = n, fmt.Sprintf("of %d left nothing", l.Size)
			}
		}
		complete[job] = max(complete[job], l.Size)
		if what != "" {
			return model.Refuse(model.RankMissing, "measure the job again, and remove what this one left",
				"%s says that rank %d %s, so the job is no measurement", l.file, of, what)
		}
	}
	return nil
}
