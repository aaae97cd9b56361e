package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Build is one build of the workload.
type Build struct {
	Command []string // the workload and its arguments
	Dir     string   // its working directory, "" for the current one
	// Server is the command of the server that Command loads, nil for none; see [Options.Server].
	Server []string
	// Launcher starts the ranks of a job that is gathered ([Plan.Gather]), each with nsgate rank in front of the
	// command: "srun -N2". nil where the command does that itself.
	Launcher []string
	Root     string // of the checkout of a base build, "" where its files are not followed, see [Build.Keep]
	state    *string
}

// Served reports whether its command loads a server, false of no build.
func (b *Build) Served() bool { return b != nil && b.Server != nil }

// Hash is the first 8 hexadecimal digits of SHA-256 of all its commands.
func (b *Build) Hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", [][]string{b.Command, b.Server, b.Launcher}))
	return hex.EncodeToString(sum[:4])
}

// shellLine matches the words in front of a line that a shell runs.
var shellLine = input.Pattern(`(^|[ /])(sh|bash|dash|ksh|zsh)( -\w*o \w+| -\S+)*? -\w*c\w*$`)

// With is the build with further arguments, nil for none. The line of a shell gets them as "$@" at its end, so that the
// shell does not read them.
func (b *Build) With(arguments []string) *Build {
	if b == nil || len(arguments) == 0 {
		return b
	}
	out, words, last := *b, slices.Clone(b.Command), len(b.Command)-1
	if shellLine().MatchString(strings.Join(words[:last], " ")) {
		words[last] += ` "$@"`
		words = append(words, "sh") // $0
	}
	out.Command = append(words, arguments...)
	return &out
}

// Options are the choices of a user about a measurement, from flags and the policy file.
type Options struct {
	Timeout time.Duration // of one run, 0 for none
	Usual   time.Duration // of one run, for the estimate before the first has ended; 0 where it is not known
	// Live tells each second the last line that the workload printed.
	Live bool
	// Profiler records the runs, and Exe is its executable, "" for that on the PATH.
	Profiler profiler.Profiler
	Exe      string
	// Options are the recorded tables, without those of Python.
	profiler.Options
	// Starts is the most runs that have started beside the one whose turn it is, each held when it opens the GPU until
	// its own turn: 0 or 1 for one start after the other. What memory there is may make them fewer.
	Starts int
	// AllowBusy measures although another process uses the GPU, with a warning.
	AllowBusy bool
	Outputs   []measure.Output // numbers to read in the output of unprofiled runs
	// Results are patterns of a harness's result files of an unprofiled run, relative to the directory of the build.
	Results []string
	Rows    string // filter of jq that gives their rows, "" for the format of a harness
	// Server says when the server of a build is ready, and how it ends.
	Server Server
	// KeepProfiles is a directory, created with mode 0700, that keeps the raw report; "" deletes it. A raw report
	// holds the environment variables of the workload.
	KeepProfiles string
	// Gather is a directory that all hosts of a job see. Where it is not "", the profiler is not started around the
	// workload but by nsgate rank around each of its ranks, which leave their exports there; the workload is a launcher
	// with that in it.
	Gather string
	Ranks  []int  // those to profile where a job is gathered, none for all
	Step   string // range of the fragments of ranks, "" for any
	Warmup string // that the fragments have besides those that may be found
}

// Plan says what to run and how.
type Plan struct {
	Options
	Device     device.Tool
	Head       Build
	Base       *Build // measured interleaved with the head, in the same session; nil for the head alone
	Runs       int    // fresh processes of each build under the profiler; without any none is needed
	Unprofiled int    // further ones of each build without a profiler, interleaved with the others
	Self       string // the executable that the profiler starts as the runner, "" for this one
	// Dump has compilers write down in the first run of each build where its kernels come from, for
	// [Result.Operations].
	Dump Dump
	// Partial keeps the runs that have ended where ctx ends during a later one: at least two of each kind.
	Partial bool
	// StartLimit is how long the profiler may take to start the first run, FinishLimit how long it may take to end
	// after the last run, and to export its report. 0 means 30 seconds and one Timeout, or two for every run; at most
	// two and ten minutes.
	StartLimit, FinishLimit time.Duration

	clock clock // of the session
}

// way is how the runs of a session are started and recorded, as facts.
type way struct {
	local    bool // the workload runs on this host, and not as ranks, whose profilers run around each of them
	profiled bool // the profiler runs around the workload
	alone    bool // the program itself starts here and ends: it loads no server and launches no ranks
	record   func(context.Context, *proc.Private, spec, proc.Children, *look, func(Event)) ([]Run, error)
	read     func(context.Context, *proc.Private, []Run, func(Event)) ([][]model.Trace, error)
}

func (p Plan) way() way {
	if p.Gather != "" {
		return way{record: p.gather, read: p.readJobs}
	}
	return way{local: true, profiled: p.Runs > 0, alone: !p.Head.Served(), record: p.record, read: p.read}
}

func (p Plan) withDefaults() Plan {
	const profilerAlone = 30 * time.Second // how long a profiler may take to start, or to end, whatever it profiles
	if p.Exe == "" {
		p.Exe = p.Profiler.Tool().Name
	}
	if p.Self == "" {
		p.Self, _ = os.Executable()
	}
	start, finish := 2*time.Minute, 10*time.Minute
	if p.Timeout > 0 {
		start = min(start, profilerAlone+p.Timeout)
		finish = min(finish, profilerAlone+2*p.Timeout*time.Duration(len(p.schedule())))
	}
	p.StartLimit, p.FinishLimit = cmp.Or(p.StartLimit, start), cmp.Or(p.FinishLimit, finish)
	return p
}

// commands are the command lines of the profiler for a session in the private directory: see [profiler.Profiler].
func (p Plan) commands(dir string) [][]string {
	return p.Profiler.Commands(profiler.Task{Options: p.options(), Exe: p.Exe, Stem: stemIn(dir),
		Program: []string{p.Self, RunnerArg, specIn(dir)}})
}

// options say what the profiler records.
func (p Plan) options() profiler.Options {
	o := p.Options.Options
	o.Python = o.Stacks && p.Head.python()
	return o
}

var pythonProgram = input.Pattern(`^(i?python|pypy)[0-9.]*$|^(torchrun|accelerate|deepspeed|pytest)$|\.py$`)

// python reports whether the workload is a program of Python.
func (b Build) python() bool {
	if slices.ContainsFunc(measure.Map(b.Command, filepath.Base), pythonProgram().MatchString) {
		return true
	}
	x, err := b.program("", buildFirst)
	if err != nil {
		return false
	}
	f, err := input.Open(x.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, 128)
	n, _ := io.ReadFull(f, first)
	line, _, _ := strings.Cut(string(first[:n]), "\n")
	return strings.HasPrefix(line, "#!") && strings.Contains(line, "python")
}

// slot is the place of one run in the schedule.
type slot struct {
	Base       bool `json:"base"`
	Unprofiled bool `json:"unprofiled"`
	Dump       Dump `json:"dump,omitzero"` // see [Plan.Dump]
}

// schedule is the runs of a session in order. Two builds are run as A B B A, over and over (A is the base), so that a
// drift of the machine adds as much to the one as to the other. Unprofiled runs are spread evenly between the profiled
// ones, and keep the same order among themselves: A B a b B A b a.
func (p Plan) schedule() []slot {
	var out []slot
	add := func(unprofiled bool, done int) {
		if first := done%2 == 0; p.Base != nil {
			out = append(out, slot{Base: first, Unprofiled: unprofiled}, slot{Base: !first, Unprofiled: unprofiled})
		} else {
			out = append(out, slot{Unprofiled: unprofiled})
		}
	}
	rounds := max(p.Runs, p.Unprofiled)
	for i := range rounds {
		for _, kind := range []struct {
			unprofiled bool
			of         int
		}{{false, p.Runs}, {true, p.Unprofiled}} {
			if done := i * kind.of / rounds; (i+1)*kind.of/rounds > done {
				add(kind.unprofiled, done)
			}
		}
	}
	for _, base := range []bool{true, false} {
		if i := slices.IndexFunc(out, func(t slot) bool { return t.Base == base }); i >= 0 {
			out[i].Dump = p.Dump
		}
	}
	return out
}

// Order names the build of each run, in order: "base" or "head", and "unprofiled" behind it.
func (p Plan) Order() []string {
	return measure.Map(p.schedule(), func(t slot) string {
		name := measure.Either(t.Base, "base", "head")
		if t.Unprofiled {
			name += " unprofiled"
		}
		return name
	})
}

// stemIn is the report of a session without its suffix.
func stemIn(dir string) string { return filepath.Join(dir, "session") }

func (p Plan) report(dir string) string { return stemIn(dir) + p.Profiler.Tool().Suffix }

func specIn(dir string) string { return filepath.Join(dir, "spec.json") }

func journalIn(dir string) string { return filepath.Join(dir, "journal") }

// gateIn is held until the runners may begin, and then removed.
func gateIn(dir string) string { return filepath.Join(dir, "gate") }

// lifelineIn is held as long as the session lives, and removed before its release: a runner that finds it released
// knows that nsgate is dead, and clears up.
func lifelineIn(dir string) string { return filepath.Join(dir, "lifeline") }

// clock tells the time as Start and what has passed since, so that a system whose time is set meanwhile moves nothing.
// All processes of a session share one.
type clock struct {
	Start time.Time     `json:"start"`
	Since time.Duration `json:"since"` // what proc.Monotonic said at Start
}

func newClock() clock { return clock{time.Now().Round(0), proc.Monotonic()} }

func (c clock) now() time.Time { return c.Start.Add(proc.Monotonic() - c.Since) }

// RunnerArg is the first argument that makes the nsgate binary call [RunnerMain].
const RunnerArg = proc.HiddenArg

// program is a build that can be started.
type program struct {
	Path    string   `json:"path"` // the resolved executable
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
	Server  *program `json:"server,omitempty"` // that it loads, nil for none
	Root    string   `json:"root,omitempty"`   // that of [Build]
}

// program resolves the executable of a build as the shell would in the build's directory. Errors name the build by what
// and give next as the next step.
func (b Build) program(what, next string) (program, error) {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return program{}, fmt.Errorf("the directory of %s: %w", what, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return program{}, fmt.Errorf("the directory of %s, %q, does not exist", what, b.Dir)
	}
	words := slices.Concat(b.Launcher, b.Command)
	path := words[0]
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if path, err = exec.LookPath(path); err != nil {
		why, first := proc.Cause(err), words[0]
		_, here := os.Stat(filepath.Join(dir, first))
		switch {
		case first == "cd" || len(words) == 1 && strings.ContainsAny(first, " \t"):
			next = "put each word by itself, as in -- ./app --steps 60; for && and | write -- sh -c 'COMMANDS'"
		case errors.Is(err, fs.ErrPermission):
			next = "make it executable (chmod +x), or name the program that runs it"
		case strings.Contains(first, "="):
			next = "let env set the variable, as in -- env " + first + " ./app --steps 60"
		case strings.IndexAny(first, "~$") == 0:
			next = "write the path out: no shell replaces ~ or $NAME here"
		case here == nil && first != "":
			next = "write ./" + first + " for the file in this directory"
		}
		return program{}, model.Refuse(model.NoWorkload, next, "%s %q cannot be run: %s", what, first, why)
	}
	out := program{Path: path, Command: b.Command, Dir: dir, Root: b.Root}
	if b.Served() {
		server, err := Build{Command: b.Server, Dir: b.Dir}.program("the server", next)
		if err != nil {
			return program{}, err
		}
		out.Server = &server
	}
	return out, nil
}

// baseProgram is the program of a base build. Its refusal has a kind of its own: a change is not to blame for its base.
func (b Build) baseProgram() (program, error) {
	x, err := b.program("the base build's workload", "check the command of the base, or build the base")
	if r := (*model.Refusal)(nil); errors.As(err, &r) {
		r.Kind = model.BaseFailed
	}
	return x, err
}
