// Package cli is the nsgate command: subcommands, flags over environment over file over default, verdict to exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/input"
)

// Main runs nsgate with the arguments after the program's name and returns its exit code.
func Main(parent context.Context, args []string, s Streams) int {
	if code, ok := app.Runner(args); ok {
		return code
	}
	input.BoundMemory()
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		cancel(interrupted{(<-signals).(syscall.Signal)})
		// The second signal ends this process at once, whatever it does; the guard of a private directory then clears up.
		signal.Stop(signals)
		select {
		case s := <-signals: // it came before that
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				self.Signal(s)
			}
		default:
		}
	}()
	e := &env{ctx: ctx, Streams: s, getenv: os.Getenv, environ: os.Environ, line: args, raw: s.Err}
	if ascii(e.getenv) {
		e.Err = asciiWriter{e.Err}
	}
	e.Err = plainWriter{e.Err}
	return e.run(ctx)
}

// run runs the command line and returns its exit code.
func (e *env) run(ctx context.Context) int {
	root := root(e)
	root.SetArgs(e.line)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = e.failed
	}
	if x := (*exit)(nil); errors.As(err, &x) && x.passed {
		return x.code
	}
	if stop := (interrupted{}); errors.As(context.Cause(ctx), &stop) {
		fmt.Fprintln(e.Err, "nsgate:", stop)
		return 128 + int(stop.signal)
	}
	x := &exit{code: ExitUsage, err: err}
	if err == nil {
		return ExitPass
	} else if !errors.As(err, &x) || x.err != nil {
		e.complain(err, x.code)
	}
	return x.code
}
