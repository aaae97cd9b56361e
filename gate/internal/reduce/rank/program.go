//go:build linux

package rank

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// leftGrace is how long processes that the program has left behind may take to end by themselves: the profiler waits
// for them.
const leftGrace = 500 * time.Millisecond

// Program is the hidden mode of this binary that a profiler starts in front of a rank's program. It takes the program,
// and the rank's own standard streams, from the rank that waits in the private directory, and passes that rank's
// signals on.
func Program(private string) int {
	runtime.LockOSThread() // the program dies with the thread that started it
	conn, err := proc.Knock(private)
	if err != nil {
		fmt.Fprintln(terminal.New(os.Stderr, terminal.Form{}), "nsgate rank:", err)
		return NotRecorded
	}
	defer conn.Close()
	files, err := proc.TakeOver(conn, 3)
	var t task
	in := json.NewDecoder(conn)
	if err == nil {
		err = in.Decode(&t)
	}
	if err != nil || len(t.Command) == 0 {
		fmt.Fprintln(terminal.New(os.Stderr, terminal.Form{}), "nsgate rank: no program was handed over:", err)
		return NotRecorded
	}
	// A signal to the whole process group is for the program, which gets it from the rank.
	signal.Notify(make(chan os.Signal, 1), passedOn...)
	children := proc.Adopt()
	cmd := exec.Command(t.Path, t.Command[1:]...)
	cmd.Args[0] = t.Command[0]
	cmd.Env = proc.Environ(t.Env) // with the profiler's variables
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out := json.NewEncoder(conn)
	if err := cmd.Start(); err != nil {
		out.Encode(ending{Error: proc.Cause(err).Error()})
		return NotRecorded
	}
	for _, f := range files {
		f.Close()
	}
	go func() {
		for {
			var s int
			if in.Decode(&s) != nil { // the rank is gone
				cmd.Process.Kill()
				return
			}
			cmd.Process.Signal(syscall.Signal(s))
		}
	}()
	cmd.Wait()
	x := outcome(cmd.ProcessState)
	children.EndLeft(leftGrace)
	out.Encode(x)
	if x.Code < 0 {
		return 128 + x.Number
	}
	return x.Code
}
