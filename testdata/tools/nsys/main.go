//go:build unix

// Command nsys is a fake that replays recordings, for tests, which build it and put it on the PATH.
//
// It really runs the command that it is given. Its export stands the recordings of $NSGATE_FAKE_PROFILES,
// a list of single-run SQLite exports and directories of them, in for the runs: the first for the first run and so on,
// starting over where there are more runs. It moves them to the runs' pids and times, as one session would hold them.
// $NSGATE_FAKE_BASE_PROFILES, where it is set, stands in for the runs of a base build in the same way.
//
// $NSGATE_FAKE_NEXT is a directory in which the fakes of several processes count, so that each stands in the next
// recording.
//
// Where $NSGATE_FAKE_CHOSEN names a file, each run of the command adds a line with its recording to it. FILE*1.3 is
// that recording with all its times multiplied by 1.3.
//
// $NSGATE_FAKE_STACKS, where set, does for the runs in which stacks are asked for; what was not asked for is not in an
// export. $NSGATE_FAKE_SOURCES is the directory that stands for /repo in them, and $NSGATE_FAKE_SLOW names a kernel
// that takes a fifth longer, $NSGATE_FAKE_MEMORY is the bytes that the last request for memory has more.
// $NSGATE_FAKE_RENAMED lists names that strings get, as OLD=NEW with blanks between. $NSGATE_FAKE_WAITS names the CUDA
// call that is cudaDeviceSynchronize in the runs in which stacks are asked for.
//
// $NSGATE_FAKE_NSYS_FAULT makes it fail: "hang" (does not end, whatever signal comes), "stuck" (never starts the
// command), "crash" (dies by SIGKILL 100 ms after the command's start), "no-report" (ends without writing one),
// "no-kernels" (an export without kernel table), "importer" (loses every kernel and says so in the diagnostics),
// "lost-run" (nothing of the last run is there), "truncated" (the report cannot be exported), "slow-export" (the export
// does not end), "jax" (the export is the recording $NSGATE_FAKE_LOSSY unless the NVTX domain TSL is excluded),
// "metrics-denied" and "metrics-taken" (it may not sample the GPU's metrics, or something else does), "jax-old" (the
// same, and it does not know how to exclude a domain), "jax-always" (the same, whatever is excluded), "forks" (nothing
// of CUDA is there unless forked processes are asked for).
//
// Like a real one it starts a daemon, unless $NSGATE_FAKE_AGENT is "none".
//
// Like a real one, the report holds the environment and the command line, and an export that is not told which tables
// to write has them too.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(nsys()) }

// report is the content of the fake .nsys-rep. As in a real one the command line and the environment are there.
type report struct {
	Start       time.Time
	Fault       string
	Runs        []run
	Command     []string
	Environment []string
	Metrics     bool   // of the GPU were asked for
	Stacks      bool   // were asked for
	Lossy       string // the recording that is exported as it is, "" for those of the runs
}

type run struct {
	Base       bool
	Unprofiled bool // taken by nsgate beside the session
	Pid        int
	Start      time.Time
	File       string
	Stretch    float64 // factor of all times of the recording, 0 for 1
	// Server is the process that is recorded where the run loaded one, from when it was ready.
	Server *struct {
		Pid   int
		Ready time.Time
	}
}

// nsys returns the exit code.
func nsys() int {
	args := os.Args[1:]
	switch {
	case len(args) > 0 && args[0] == "profile":
		return profile(args[1:])
	case len(args) > 0 && args[0] == "export":
		return export(args[1:])
	case len(args) == 1 && args[0] == "--version":
		fmt.Println("NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0")
		return 0
	case len(args) == 1 && args[0] == "--start-agent":
		time.Sleep(time.Hour)
		return 0
	}
	fmt.Fprintln(os.Stderr, "usage: nsys profile|export|--version")
	return 2
}

// options splits arguments into those of nsys, by long name, and the rest.
func options(args []string) (opts map[string]string, rest []string) {
	long := map[string]string{"-o": "output", "-t": "type", "-f": "force-overwrite", "-q": "quiet"}
	opts = make(map[string]string)
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--":
			return opts, args[i+1:]
		case !strings.HasPrefix(name, "-"):
			return opts, args[i:]
		case joined:
		case i+1 < len(args):
			i++
			value = args[i]
		}
		if l, ok := long[name]; ok {
			name = l
		}
		opts[strings.TrimPrefix(name, "--")] = value
	}
	return opts, nil
}

// refuse ends nsys where its options do not allow a profile.
func refuse(fault string, opts map[string]string, command []string) (code int, ended bool) {
	if devices, some := opts["gpu-metrics-devices"]; some {
		why := map[string]string{"metrics-denied": "Insufficient privilege, see " +
			"https://developer.nvidia.com/ERR_NVGPUCTRPERM",
			"metrics-taken": "Already under profiling"}[fault]
		switch {
		case why != "":
			fmt.Fprintf(os.Stderr, "Illegal --gpu-metrics-devices argument: %s.\n%s.\n", devices, why)
			return 1, true
		case devices == "help":
			fmt.Println("Possible --gpu-metrics-devices values are:\n\t0: NVIDIA H200 PCI[0000:04:00.0]\n\tall: " +
				"Select all supported GPUs")
			return 0, true
		}
	}
	if opts["output"] == "" || len(command) == 0 {
		fmt.Fprintln(os.Stderr, "the fake nsys profile needs --output and a command")
		return 2, true
	}
	exclude, filtered := opts["nvtx-domain-exclude"]
	if strings.HasSuffix(fault, "old") && filtered {
		fmt.Fprintf(os.Stderr, "unrecognised option '--nvtx-domain-exclude=%s'\n\nusage: nsys profile [<args>] "+
			"[application] [<application args>]\n", exclude)
		return 1, true
	}
	return 0, false
}

func profile(args []string) int {
	fault := os.Getenv("NSGATE_FAKE_NSYS_FAULT")
	opts, command := options(args)
	if code, ended := refuse(fault, opts, command); ended {
		return code
	}
	if fault == "hang" || fault == "stuck" {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	}
	if fault == "stuck" {
		time.Sleep(time.Hour)
	}
	exclude := opts["nvtx-domain-exclude"]
	// nsys starts a daemon that nothing but nsys itself ends.
	agent := exec.Command(os.Args[0], "--start-agent")
	agent.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getenv("NSGATE_FAKE_AGENT") != "none" {
		if err := agent.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer agent.Process.Kill()
	}
	rep := report{Start: time.Now(), Fault: fault, Command: os.Args, Environment: os.Environ(),
		Metrics: opts["gpu-metrics-devices"] != "", Stacks: opts["cudabacktrace"] != ""}
	lossy := strings.HasPrefix(fault, "jax") && exclude != "TSL" || fault == "jax-other"
	if lossy && opts["trace"] != "cuda" || fault == "jax-always" {
		rep.Lossy = os.Getenv("NSGATE_FAKE_LOSSY")
	}
	if fault == "forks" && opts["trace-fork-before-exec"] == "true" {
		rep.Fault = ""
	}
	// The recording goes to a file of its own until the command has ended.
	events := filepath.Join(os.TempDir(), fmt.Sprintf("nsys-report-%d.qdstrm", os.Getpid()))
	if err := rep.write(events); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.Remove(events)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "NSYS_PROFILING_SESSION_ID=1") // marks profiled runs for scripts, as under nsys
	// nsys gives its target a process group of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "Executable '%s' not found\n", command[0])
		return 2
	}
	if fault == "crash" {
		time.Sleep(100 * time.Millisecond)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	interrupt := make(chan os.Signal, 1)
	if fault != "hang" {
		signal.Notify(interrupt, syscall.SIGINT, syscall.SIGTERM)
	}
	go func() {
		for range interrupt {
			cmd.Process.Signal(syscall.SIGTERM)
		}
	}()
	cmd.Wait()
	if fault == "hang" {
		time.Sleep(time.Hour)
	}
	code := status(cmd.ProcessState)
	if fault == "no-report" {
		fmt.Println("No reports were generated")
		return code
	}
	if fault == "importer" {
		fmt.Fprintln(os.Stderr, "**** Errors occurred while processing the raw events. ****")
	}
	rep.Runs = []run{{Pid: cmd.Process.Pid, Start: rep.Start}}
	// The journal of nsgate's runner lies beside its specification, the last argument.
	if runs := journal(filepath.Join(filepath.Dir(command[len(command)-1]), "journal")); runs != nil {
		rep.Runs = runs
	}
	if err := rep.assign(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := rep.write(strings.TrimSuffix(opts["output"], ".nsys-rep") + ".nsys-rep"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("Generated:\n\t" + opts["output"] + ".nsys-rep")
	return code
}

// status is the exit code that a shell gives.
func status(s *os.ProcessState) int {
	if w := s.Sys().(syscall.WaitStatus); w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

func (rep *report) write(file string) error {
	text, err := json.Marshal(rep)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// journal returns the finished runs that a runner wrote down, nil where there is no journal.
func journal(file string) []run {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	runs := []run{}
	for line := range bytes.Lines(text) {
		var l struct {
			Done bool
			Run  run
		}
		if json.Unmarshal(line, &l) == nil && l.Done && !l.Run.Unprofiled {
			if s := l.Run.Server; s != nil {
				l.Run.Pid, l.Run.Start = s.Pid, s.Ready
			}
			runs = append(runs, l.Run)
		}
	}
	return runs
}

// assign gives every run its recording.
func (rep *report) assign() error {
	variable := "NSGATE_FAKE_PROFILES"
	if rep.Stacks && os.Getenv("NSGATE_FAKE_STACKS") != "" {
		variable = "NSGATE_FAKE_STACKS"
	}
	files, err := recordings(variable)
	if file := os.Getenv("NSGATE_FAKE_CHOSEN"); file != "" {
		files, err = chosen(file)
	}
	if err != nil {
		return err
	}
	var ofBase []string
	if os.Getenv("NSGATE_FAKE_BASE_PROFILES") != "" {
		if ofBase, err = recordings("NSGATE_FAKE_BASE_PROFILES"); err != nil {
			return err
		}
	}
	base, other := 0, 0
	if dir := os.Getenv("NSGATE_FAKE_NEXT"); dir != "" {
		// The next one that no nsys beside or before this one has taken.
		for os.Mkdir(filepath.Join(dir, strconv.Itoa(other)), 0o700) != nil {
			if other++; other > 1000 {
				return fmt.Errorf("the fake nsys cannot count in %s", dir)
			}
		}
	}
	for i := range rep.Runs {
		r := &rep.Runs[i]
		if r.Base && ofBase != nil {
			r.File = ofBase[base%len(ofBase)]
			base++
		} else {
			r.File = files[other%len(files)]
			other++
		}
		if file, factor, ok := strings.Cut(r.File, "*"); ok {
			r.File = file
			if r.Stretch, err = strconv.ParseFloat(factor, 64); err != nil {
				return err
			}
		}
	}
	return nil
}

// chosen lists the recordings that the runs of the session named, one a line, and forgets them.
func chosen(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(text)), os.Remove(file)
}

// recordings lists the recordings that a variable names.
func recordings(variable string) ([]string, error) {
	var files []string
	for _, name := range filepath.SplitList(os.Getenv(variable)) {
		found := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			entries, _ := os.ReadDir(name)
			found = nil
			for _, e := range entries {
				if strings.HasSuffix(e.Name(), ".sqlite") {
					found = append(found, filepath.Join(name, e.Name()))
				}
			}
		}
		for _, f := range found {
			abs, err := filepath.Abs(f)
			if err != nil {
				return nil, err
			}
			files = append(files, abs)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the fake nsys has nothing to replay: %s names no recording", variable)
	}
	return files, nil
}
