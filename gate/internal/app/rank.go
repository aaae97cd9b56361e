package app

import (
	"os"

	"github.com/nsgate/nsgate/gate/internal/nsys"
	"github.com/nsgate/nsgate/gate/internal/rank"
)

// Rank runs one process of a job under Nsight Systems and leaves the export of its recording in the directory of the job. What a [Live]
// that gathers sets for its ranks wins over these fields.
type Rank struct {
	Gather string // the directory, which all hosts of the job see
	Job    string // a name that its ranks share, and no other job in the directory
	Ranks  []int  // those to profile, none for all
	Nsys   string // the nsys executable
	Args   []string
}

// NotRecorded is the exit code of a rank whose program was not started, or ended well and was not recorded.
const NotRecorded = rank.NotRecorded

// Run runs the program, whose exit code it returns: 128+n where signal n ended it. Signals that this process is sent go to the
// program alone.
func (r Rank) Run(program []string) (code int, err error) {
	return rank.Options{
		Gather: r.Gather, Job: r.Job, Ranks: r.Ranks, Nsys: r.Nsys, Profile: nsys.ProfileArgs("none", r.Args...), Getenv: os.Getenv,
	}.Run(program)
}
