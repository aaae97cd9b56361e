// Package cli is the nsgate command: subcommands, flags over environment over file over default, verdict to exit code.
package cli

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// loader is the variable with those in loaded that the programs which nsgate runs have. The step of the action with the
// token starts without them: libraries that they name enter every program but a static one.
const loader = "NSGATE_LOADER"

var loaded = strings.Fields("LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH GCONV_PATH LOCPATH SSL_CERT_FILE SSL_CERT_DIR")

// Main runs nsgate with the arguments after the program's name and returns its exit code.
func Main(parent context.Context, args []string, s Streams) int {
	if len(args) > 0 && args[0] == run.RunnerArg { // a child of this program: the runner below the profiler, the guard
		return run.RunnerMain(args[1:])
	}
	for line := range strings.Lines(os.Getenv(loader)) {
		x509.SystemCertPool() // the first call loads it: before SSL_CERT_FILE comes back
		if name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "="); slices.Contains(loaded, name) {
			os.Setenv(name, value)
		}
	}
	os.Unsetenv(loader)
	input.BoundMemory()
	form := terminal.Form{ASCII: ascii(os.Getenv)}
	e := &env{Out: terminal.New(s.Out, form), Err: terminal.New(s.Err, form), std: s,
		getenv: os.Getenv, environ: os.Environ, line: args}
	defer e.listen(parent)()
	e.reviewed = sync.OnceValue(func() *app.Review { return app.Reviewed(e.ctx, e.getenv) })
	root := root(e)
	root.SetArgs(args)
	root.SetContext(e.ctx)
	_, err := root.ExecuteC()
	if doubt := confine.Doubt(); doubt != "" {
		fmt.Fprintln(e.Err, "nsgate:", doubt)
	}
	return e.code(cmp.Or(err, e.failed))
}

// listen ends the context of the command at the first signal, until stop is called.
func (e *env) listen(parent context.Context) (stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	e.ctx = ctx
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		first := interrupted{(<-signals).(syscall.Signal)}
		if end := e.explaining.Swap(nil); end != nil { // it leaves the verdict; the next signal ends the command
			(*end)(first)
			first = interrupted{(<-signals).(syscall.Signal)}
		}
		cancel(first)
		// The second signal ends this process at once; the guard of a private directory then clears up.
		signal.Stop(signals)
		select {
		case s := <-signals: // it came before that
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				self.Signal(s)
			}
		default:
		}
		time.Sleep(endGrace)
		e.abandon(first, os.Exit)
	}()
	return func() { signal.Stop(signals) }
}

// endGrace is how long a command may take to end after the first signal.
const endGrace = 5 * time.Second

// abandon ends this process after a signal, as a second one would, unless a program that it follows got the signal too.
func (e *env) abandon(by interrupted, end func(code int)) {
	if e.follows.Load() {
		return
	}
	fmt.Fprintf(e.std.Err, "nsgate: %v; it had not ended %v later\n", by, endGrace)
	end(128 + int(by.signal))
}

// code tells the error of a command and gives the exit code for it.
func (e *env) code(err error) int {
	if x := (*exit)(nil); errors.As(err, &x) && x.passed {
		return x.code
	}
	if stop := (interrupted{}); errors.As(context.Cause(e.ctx), &stop) {
		fmt.Fprintln(e.Err, "nsgate:", stop)
		return e.signalled()
	}
	x := &exit{code: ExitUsage, err: err}
	if err == nil {
		return ExitPass
	} else if !errors.As(err, &x) || x.err != nil {
		e.complain(err, x.code)
	}
	return x.code
}

// The exit codes. They never depend on the output format. A signal n ends nsgate with 128+n.
const (
	ExitPass      = 0 // pass
	ExitFail      = 1 // a regression
	ExitUsage     = 2 // wrong usage, policy or baseline file
	ExitNoVerdict = 3 // the data cannot carry a verdict
	ExitProgram   = 4 // the measured program failed
)

// Streams are the output streams of a command. Reports go to Out, everything else to Err.
type Streams struct {
	Out, Err io.Writer
}

type env struct {
	ctx      context.Context // ends at the first signal; tests of parts have none
	Out, Err *terminal.Writer
	getenv   func(string) string
	environ  func() []string    // all variables, as NAME=VALUE
	line     []string           // the command line, without the name of the program
	command  *cobra.Command     // that runs
	args     arguments          // of the command
	reviewed func() *app.Review // the change under review, as it was when it was first asked for; nil for none
	host     *codehost.Host     // that reports are posted to, nil for none
	event    codehost.Review    // pull request of the job, where a flag asks for it
	failed   error              // of a help page, whose printer returns none
	std      Streams            // where these two end
	// explaining ends the explanation of a verdict, nil where none is under way.
	explaining atomic.Pointer[context.CancelCauseFunc]
	follows    atomic.Bool // the command ends with a program, however long that takes after a signal
}

// exit is an error that carries an exit code; without err its message has been shown already.
type exit struct {
	code   int
	err    error
	passed bool // the code is that of another process, which got the signals as well
}

func (e *exit) Error() string { return fmt.Sprint(e.err) }
func (e *exit) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exit{code: ExitUsage, err: fmt.Errorf(format, args...)}
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

// signalled is the exit code after the signal that ended the context of the command.
func (e *env) signalled() int {
	stop := interrupted{syscall.SIGINT}
	errors.As(context.Cause(e.ctx), &stop)
	return 128 + int(stop.signal)
}

func (i interrupted) Error() string { return "interrupted (" + i.signal.String() + ")" }

// arguments are the words of a command line that are no flags.
type arguments struct {
	own      []string
	workload []string // command behind "--", nil without it
}
