//go:build !linux

package collect

import (
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"time"
)

// Profiles can be judged everywhere, workloads be measured on Linux only.
const supported = false

type process struct{ pid int }
type processes map[process]bool

func isolate(*exec.Cmd)        {}
func terminateGroup(*exec.Cmd) {}
func killGroup(*exec.Cmd)      {}

func status(s *os.ProcessState) (int, string) { return s.ExitCode(), "" }

func adopt() (processes, func())           { return nil, func() {} }
func descendants(processes) processes      { return nil }
func endSession(string, time.Duration)     {}
func end(processes)                        {}
func hold(string) (io.Closer, error)       { return io.NopCloser(nil), nil }
func watchLifeline(string) <-chan struct{} { return nil }
func commandName(int) string               { return "" }

const endGrace = 0

func mark(env []string, _ string) []string    { return env }
func detach(*exec.Cmd)                        {}
func ignoreSignals()                          {}
func lockDir(string, bool) (io.Closer, error) { return nil, errUnsupported }
func bootID() string                          { return "" }
func ours(fs.FileInfo) bool                   { return false }
func monotonic() time.Duration                { return 0 }
func room(string) int64                       { return math.MaxInt64 }
