// Package rank runs one process of a job under a profiler and leaves its export in a directory that the ranks share.
// check writes an [Order] there and launches "nsgate rank" in front of the program ([Options.Run]); each rank writes
// its [Status] and its export beside it. The raw report, which holds environment variables, never leaves the private
// directory of its host.
package rank

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Identity is which process of a job this one is.
type Identity struct {
	Rank int `json:"rank"`
	Size int `json:"size"` // processes of the job, 0 where the launcher does not say
}

// launchers are the variables of launchers with the rank of a process, the innermost launcher first: torchrun may run
// below mpirun, and mpirun below srun.
var launchers = []launcher{
	{"RANK", "WORLD_SIZE"}, // torchrun
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
	{"PMI_RANK", "PMI_SIZE"}, // MPICH, Intel MPI
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
}

type launcher struct{ rank, size string }

// Identify finds the rank of this process from the variables of its launcher.
func Identify(getenv func(string) string) (Identity, error) {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(getenv(name)); err == nil && n >= 0 {
			return n
		}
		return otherwise
	}
	for _, l := range launchers {
		rank := number(l.rank, -1)
		if rank < 0 || l.rank == "RANK" && getenv(l.size) == "" { // a name that others use too
			continue
		}
		return Identity{rank, number(l.size, 0)}, nil
	}
	if getenv("RANK") != "" {
		return Identity{}, errors.New("RANK is set, and WORLD_SIZE, by which it is a launcher's, is not: set both, " +
			"or start nsgate rank with srun, mpirun or torchrun")
	}
	names := measure.Map(launchers, func(l launcher) string { return l.rank })
	return Identity{}, fmt.Errorf("no launcher says which rank this is: none of %s is set; start nsgate rank with "+
		"srun, mpirun or torchrun, or set RANK and WORLD_SIZE", strings.Join(names, ", "))
}

// Order holds the instructions for the ranks of a job.
type Order struct {
	Profiler   string           `json:"profiler"`           // its name
	Exe        string           `json:"exe"`                // its executable, looked up on each host
	Options    profiler.Options `json:"options"`            // what it records
	Unprofiled bool             `json:"untraced,omitempty"` // without a profiler
	Ranks      []int            `json:"ranks,omitempty"`    // those to profile, none for all
	Step       string           `json:"step,omitempty"`     // range of the fragments, "" for any
	Warmup     string           `json:"warmup,omitempty"`   // that fragments have besides those that may be found
}

// Profiles reports whether a rank is to be profiled.
func (o Order) Profiles(rank int) bool {
	return !o.Unprofiled && (len(o.Ranks) == 0 || slices.Contains(o.Ranks, rank))
}

// Status is the state of a rank. A rank that is not Done runs, or was killed.
type Status struct {
	Format string `json:"format"`
	Identity
	End      time.Time `json:"end"`
	Profiled bool      `json:"profiled"`
	Done     bool      `json:"done"`
	ExitCode int       `json:"exit_code"`        // of the program, -1 where a signal ended it
	Signal   string    `json:"signal,omitempty"` // that ended it
	Told     bool      `json:"told,omitempty"`   // to end, by a signal that this process was sent
	// Failure says why there is no recording of it, without a final full stop, and Next what to do about that. "" for
	// none.
	Failure string `json:"failure,omitempty"`
	Next    string `json:"next,omitempty"`
}

const statusFormat = "nsgate.rank/1"

// MostRanks is the largest number of processes of a job: no machine has as many GPUs.
const MostRanks = 1 << 20

// TooMany is the refusal of a job of more than [MostRanks] processes, nil for any other; where follows the number.
func (l *Status) TooMany(where string) error {
	if n := max(l.Size, l.Rank); n > MostRanks {
		return model.Refuse(model.TooLarge, "see what WORLD_SIZE and the launcher say, and measure the job again",
			"rank %d says that its job has %d processes %s, more than %d", l.Rank, n, where, MostRanks)
	}
	return nil
}

// Failed reports whether the program of a rank that is done did not succeed, or was not recorded.
func (l *Status) Failed() bool { return l.ExitCode != 0 || l.Signal != "" || l.Failure != "" }

// reserved is the size of a rank's status file. The final status has room even where the directory has none any more.
const reserved = 4096

var jobName = input.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// OrderFile is the file with the order of a job in its directory.
func OrderFile(dir, job string) string { return filepath.Join(dir, job+".job.json") }

// The suffixes of what a rank leaves: its status, the export of its recording, and the fragment in place of that.
const StatusFile, ExportFile, FragmentFile = ".json", ".sqlite", ".trace"

// File is a file of a rank of a job, by its suffix.
func File(dir, job string, rank int, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%s.rank%d%s", job, rank, suffix))
}

// Write lays an order where the ranks of a job look for it.
func (o Order) Write(dir, job string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return output.Text(OrderFile(dir, job), 0o600, text)
}

// readOrder reads the order of a job, nil if there is none. It names commands that run as this user. It must be no
// link, and a file of the owner of the rank's files that no other user can write.
func readOrder(dir, job string, owner int) (*Order, error) {
	name := OrderFile(dir, job)
	f, err := input.OpenOwn(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if uid, known := proc.Owner(info); known && uid != owner {
		return nil, fmt.Errorf("%s belongs to another user (uid %d), and its commands would run as you: "+
			"choose a directory that only you can write", name, uid)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return nil, fmt.Errorf("%s can be written by other users (mode %04o), and its commands would run as you: "+
			"remove their permission", name, mode)
	}
	text, err := input.All(f, 1<<20)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	o := new(Order)
	if err := json.Unmarshal(text, o); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

// ofRank matches the names of files that ranks leave in a gather directory.
var ofRank = input.Pattern(`\.rank[0-9]+\.(?:json|sqlite|trace)$`)

// OfOthers is the error for files of ranks in a gather directory that another user put there, see [foreign].
func OfOthers(dir string, names ...string) error {
	trusted, asked := []int{os.Geteuid(), 0}, false
	for _, name := range names {
		err := foreign(name, trusted)
		if err != nil && !asked {
			trusted, asked = ownersIn(dir), true
			err = foreign(name, trusted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foreign is the error for a file of a rank that none of the trusted users put into its directory: whoever may rename
// the directory could put one in the place of another.
func foreign(name string, trusted []int) error {
	info, err := os.Lstat(name)
	if err != nil || !ofRank().MatchString(name) {
		return nil // not written yet
	}
	if uid, known := proc.Owner(info); known && !slices.Contains(trusted, uid) {
		return fmt.Errorf("%s was put there by another user (uid %d): choose a gather directory that only you can "+
			"write", name, uid)
	}
	return nil
}

// ownersIn are the users whose files in a gather directory are trusted: the one that this process is there, by the
// number that a network file system may have for it, root, and the owner of a directory that is not for everybody.
func ownersIn(dir string) (owners []int) {
	uid := os.Geteuid()
	// A file of our own makes a client of a network file system ask what else is there.
	if f, err := output.Temporary(dir, ".look-*"); err == nil {
		if info, err := f.Stat(); err == nil {
			uid, _ = proc.Owner(info)
		}
		f.Close()
		os.Remove(f.Name())
	}
	owners = []int{uid, 0}
	if info, err := os.Stat(dir); err == nil && info.Mode()&0o002 == 0 {
		if uid, known := proc.Owner(info); known {
			owners = append(owners, uid)
		}
	}
	return owners
}

// Gathered is the status of each rank of a job, in their order. A link, and a file that is [foreign], is an error.
func Gathered(dir, job string) ([]Status, error) {
	trusted := ownersIn(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []Status
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), job+".rank") || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		text, err := input.Read(filepath.Join(dir, e.Name()), 64<<10)
		if err != nil {
			return nil, err
		}
		l, ok := ParseStatus(text)
		if !ok {
			continue
		}
		for _, name := range []string{filepath.Join(dir, e.Name()), File(dir, job, l.Rank, ExportFile),
			File(dir, job, l.Rank, FragmentFile)} {
			if err := foreign(name, trusted); err != nil {
				return nil, err
			}
			if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				return nil, fmt.Errorf("%s was put there by another user: choose a gather directory that only you "+
					"can write", name)
			}
		}
		out = append(out, l)
	}
	measure.Sort(out, func(a, b Status) int { return a.Rank - b.Rank })
	return out, nil
}

// ParseStatus reads the status file of a rank; ok is false for anything else.
func ParseStatus(text []byte) (l Status, ok bool) {
	err := json.Unmarshal(bytes.TrimSpace(text), &l)
	return l, err == nil && l.Format == statusFormat && l.Rank >= 0
}

// write puts what there is to say into the rank's file, in the room that it has.
func (l *Status) write(f *os.File) error {
	text, err := json.Marshal(l)
	if err == nil {
		for n := len(l.Failure); len(text) > reserved && n > 0; n = len(l.Failure) {
			l.Failure = strings.ToValidUTF8(l.Failure[:n/2], "")
			text, _ = json.Marshal(l)
		}
		_, err = f.WriteAt(append(text, bytes.Repeat([]byte(" "), max(0, reserved-len(text)))...), 0)
	}
	return err
}

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
