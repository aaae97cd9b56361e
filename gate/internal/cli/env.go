package cli

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes. They never depend on the output format. A signal n ends nsgate with 128+n.
const (
	ExitPass      = 0 // pass
	ExitFail      = 1 // a regression
	ExitUsage     = 2 // wrong usage, policy or baseline file
	ExitNoVerdict = 3 // the data cannot carry a verdict
)

// Streams are what a command reads and writes. Reports go to Out, everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// env is the world of one command.
type env struct {
	ctx context.Context // ends at the first signal; tests of parts have none
	Streams
	getenv  func(string) string
	environ func() []string // all variables, as NAME=VALUE
	line    []string        // the command line, without the name of the program
	command *cobra.Command  // that runs
	args    arguments       // of the command
	failed  error           // of a help page, whose printer returns none
	raw     io.Writer       // standard error without cleaning, for terminals and CI hosts
}

// exit is an error that carries an exit code; without err its message has been shown already.
type exit struct {
	code   int
	err    error
	passed bool // the code is that of a program, which got the signals as well
}

func (e *exit) Error() string { return fmt.Sprint(e.err) }
func (e *exit) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exit{code: ExitUsage, err: fmt.Errorf(format, args...)}
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted (" + i.signal.String() + ")" }

// arguments are the words of a command line that are no flags.
type arguments struct {
	own      []string
	workload []string // command behind "--", nil without it
}
