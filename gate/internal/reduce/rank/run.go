//go:build linux

package rank

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// passedOn are the signals that a launcher sends, which are for the program.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2}

// Run runs the program as a rank of a job and returns its exit code, 128+n where a signal ended it. Signals that this
// process is sent go to the program, and to it alone. Where the program ended well and was not recorded, the code is
// [NotRecorded], and err says why; the same where it was not started.
func (o Options) Run(command []string) (code int, err error) {
	runtime.LockOSThread() // a process dies with the thread that started it
	defer runtime.UnlockOSThread()
	me, err := Identify(o.Getenv)
	if err != nil {
		return NotRecorded, err
	}
	r := &rank{Options: o, command: command, status: Status{Format: statusFormat, Identity: me}}
	if err := r.arrive(); err != nil {
		return NotRecorded, err
	}
	defer r.file.Close()
	r.signals = make(chan os.Signal, 16)
	signal.Notify(r.signals, passedOn...)
	defer signal.Stop(r.signals)

	if r.status.Profiled {
		err = r.profile()
	} else {
		err = r.plain()
	}
	if err != nil {
		r.status.Failure = measure.NormalizeLine(err.Error())
		if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
			r.status.Failure, r.status.Next = refusal.Reason, refusal.Next
		}
	}
	r.status.End = time.Now().UTC()
	r.overtaken()
	r.status.Done = true
	if why := r.status.write(r.file); why != nil && err == nil && r.wanted() {
		err = fmt.Errorf("what became of this rank cannot be said in %s: %w", o.Gather, why)
	}
	code = r.status.ExitCode
	if code < 0 {
		code = 128 + r.number
	}
	if code == 0 && err != nil {
		code = NotRecorded
	}
	return code, err
}
