package rank

import "time"

// Options say where a rank leaves its recording. An [Order] that lies there takes the place of theirs.
type Options struct {
	Gather string // the directory that all hosts of the job see
	Job    string // a name that its ranks share, and no other job in the directory
	Keep   bool   // the export, in place of a fragment
	Order
	Self   string // the executable that the profiler starts, "" for this one
	Getenv func(string) string
}

// NotRecorded is the exit code of a rank whose program was not started, or ended well and was not recorded.
const NotRecorded = 3

// Notice is how long ranks may take to end once their [Order] is gone.
const Notice = lookEvery + endGrace + 2*time.Second

// How often a rank looks whether its job is still wanted, and how long the program may then take to end.
const (
	lookEvery = 2 * time.Second
	endGrace  = 5 * time.Second
)

// NotHere is the error of a rank whose host lacks the gather directory.
const NotHere = "does not exist on this host"

// ProgramArg is the argument after [proc.HiddenArg] that makes this binary call [Program] with the one that follows.
const ProgramArg = "--rank"
