//go:build !linux

package proc

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"time"
)

// Supported tells whether this system can keep processes together. Profiles can be judged everywhere, workloads be
// measured only where it can.
const Supported = false

// Children is empty: it needs what Linux has.
type Children struct{}

func Adopt() Children                      { return Children{} }
func (Children) Release()                  {}
func (Children) Living() []int             { return nil }
func (Children) End()                      {}
func Isolate(*exec.Cmd)                    {}
func SignalGroup(c *exec.Cmd, _ os.Signal) { c.Process.Kill() }

func Status(s *os.ProcessState) (int, string) { return s.ExitCode(), "" }
func Hold(string) (io.Closer, error)          { return io.NopCloser(nil), nil }
func Released(string) <-chan struct{}         { return nil }
func CommandName(int) string                  { return "" }
func Monotonic() time.Duration                { return 0 }
func CPUTime() time.Duration                  { return 0 }
func Room(string) int64                       { return math.MaxInt64 }

func Secret(string) string       { return "" }
func Again(string, string) error { return errors.ErrUnsupported }

func endSession(string)                       {}
func awaitSession(string, time.Duration)      {}
func Detach(*exec.Cmd)                        {}
func ignoreSignals()                          {}
func lockDir(string, bool) (io.Closer, error) { return nil, errors.ErrUnsupported }
func bootID() string                          { return "" }
func Changed(fs.FileInfo) string              { return "" }
func Owner(fs.FileInfo) (int, bool)           { return 0, false }
func Inherited() (map[string]string, error)   { return nil, errors.ErrUnsupported }

// Tree is empty: it needs what Linux has.
type Tree struct{}

func Look(...*Tree)                          {}
func NewTree(int) *Tree                      { return &Tree{} }
func (*Tree) Opened(string) bool             { return false }
func (*Tree) Stop()                          {}
func (*Tree) Continue()                      {}
func (*Tree) Pids() []int                    { return nil }
func (*Tree) Memory() int64                  { return 0 }
func (c Children) Without(...*Tree) Children { return c }
