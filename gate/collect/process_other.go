//go:build !linux

package collect

import (
	"io"
	"os"
	"os/exec"
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
func endSession(string)                    {}
func end(processes)                        {}
func hold(string) (io.Closer, error)       { return io.NopCloser(nil), nil }
func watchLifeline(string) <-chan struct{} { return nil }
func commandName(int) string               { return "" }
