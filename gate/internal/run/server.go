package run

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Server says when a server is ready for its client, the command of the workload, and how it ends.
type Server struct {
	Ready   string         `json:"ready"`   // address on this host that answers with status 200, or "log:" and a text
	Timeout time.Duration  `json:"timeout"` // until it is ready, 0 for none
	Stop    syscall.Signal `json:"stop"`
}

// Served is the server of a run, from its start to its end.
type Served struct {
	Pid    int       `json:"pid"`
	Ready  time.Time `json:"ready"` // when its client started, zero where it was not ready
	Fault  fault     `json:"fault"` // "" for none
	Detail string    `json:"detail"`
	Output string    `json:"output"` // as [Run.Output]
}

// failed reports whether there is a server and it failed.
func (s *Served) failed() bool { return s != nil && s.Fault != "" }

// fault is a failure of a server.
type fault string

const (
	portTaken  fault = "port-taken" // before it started
	notStarted fault = "not-started"
	notReady   fault = "not-ready"
	died       fault = "died"      // before its client had ended
	portKept   fault = "port-kept" // after its end
)

// Times around a server: between two looks whether it is ready, for one answer, from the end of its client until a
// server that crashed has ended too, and until its port is free.
const (
	endNotice   = 50 * time.Millisecond
	readyEvery  = 20 * time.Millisecond
	answerLimit = 2 * time.Second
	portGrace   = 2 * time.Second
)

// serverGrace is the time from the signal that ends a server to SIGKILL.
const serverGrace = 30 * time.Second

// server is the server of a run.
type server struct {
	Server
	served Served
	cmd    *exec.Cmd
	done   <-chan struct{} // nil where it was not started
	log    *serverLog
}

// serverLog keeps the output of a server, and closes ready once it holds the text.
type serverLog struct {
	proc.Output
	text  []byte // nil for none
	tail  []byte // may begin the text
	ready chan struct{}
}

// Write never fails.
func (x *serverLog) Write(p []byte) (int, error) {
	if len(x.text) > 0 {
		x.tail = append(x.tail, p...)
		if bytes.Contains(x.tail, x.text) {
			close(x.ready)
			x.text, x.tail = nil, nil
		} else if over := len(x.tail) - len(x.text) + 1; over > 0 {
			x.tail = slices.Delete(x.tail, 0, over)
		}
	}
	return x.Output.Write(p)
}

func newServer(s Server) *server {
	x := &server{Server: s, log: &serverLog{ready: make(chan struct{})}}
	if text, log := strings.CutPrefix(s.Ready, "log:"); log {
		x.log.text = []byte(text)
	}
	return x
}

// address is the port that is asked whether the server is ready, "" where its output says it.
func (x *server) address() string {
	u, err := url.Parse(x.Ready)
	if err != nil || u.Scheme != "http" {
		return ""
	}
	return u.Host
}

// listens reports whether a process accepts connections on the server's port.
func (x *server) listens() bool {
	if x.address() == "" {
		return false
	}
	c, err := net.DialTimeout("tcp", x.address(), answerLimit)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// loopback asks a server on this host: not through a proxy, and what answers sends nobody elsewhere.
var loopback = http.Client{
	Timeout:       answerLimit,
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// answers reports whether the server says that it is ready.
func (x *server) answers(ctx context.Context) bool {
	if x.address() == "" {
		return false
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, x.Ready, nil)
	if err != nil {
		return false
	}
	a, err := loopback.Do(q)
	if err != nil {
		return false
	}
	a.Body.Close()
	return a.StatusCode == http.StatusOK
}

// start starts the server and waits until it is ready; a failure is its fault.
func (x *server) start(ctx context.Context) {
	if x.listens() {
		x.fail(portTaken, x.address())
		return
	}
	done, err := proc.Start(x.cmd)
	if err != nil {
		x.fail(notStarted, proc.Cause(err).Error())
		return
	}
	x.done, x.served.Pid = done, x.cmd.Process.Pid
	var limit <-chan time.Time
	if x.Timeout > 0 {
		limit = time.After(x.Timeout)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.done:
			x.fail(died, x.status())
			return
		case <-limit:
			x.fail(notReady, x.Timeout.String())
			return
		case <-x.log.ready:
			return
		case <-time.After(readyEvery):
			if x.answers(ctx) {
				return
			}
		}
	}
}

func (x *server) fail(f fault, detail string) {
	if x.served.Fault == "" {
		x.served.Fault, x.served.Detail = f, detail
	}
}

// status says how the server ended.
func (x *server) status() string {
	if code, signal := proc.Status(x.cmd.ProcessState); signal != "" {
		return "ended by a signal (" + signal + ")"
	} else {
		return fmt.Sprintf("exited with %d", code)
	}
}

// end ends the server of a run whose client has ended, successfully or not, and reports whether it had to be killed.
func (x *server) end(clientFailed bool, grace time.Duration) (killed bool) {
	if x.done == nil {
		return false
	}
	settle := measure.Either(clientFailed, leftGrace, endNotice)
	if proc.Ended(x.done, settle) {
		if clientFailed || !x.cmd.ProcessState.Success() {
			x.fail(died, x.status())
		}
		return false
	}
	proc.SignalGroup(x.cmd, x.Stop)
	killed = !proc.Ended(x.done, grace)
	if killed {
		proc.SignalGroup(x.cmd, syscall.SIGKILL)
		<-x.done
	}
	return killed
}

// close notes the output of the server, and whether its port is still taken although its processes have ended.
func (x *server) close() *Served {
	for until := time.Now().Add(portGrace); x.done != nil && x.listens(); time.Sleep(readyEvery) {
		if time.Now().After(until) {
			x.fail(portKept, x.address())
			break
		}
	}
	x.served.Output = x.log.String()
	return &x.served
}

// serve starts the server of a run, if it has one, and then its client. It reports whether the client runs.
func (s spec) serve(ctx context.Context, x *started) bool {
	if x.server == nil {
		return true
	}
	if x.server.start(ctx); x.server.served.Fault == "" && ctx.Err() == nil {
		x.server.served.Ready = s.Clock.now()
		x.launch()
	}
	x.r.Server = &x.server.served
	return x.tree != nil
}

// unserve ends the server of a run, if it has one.
func (x *started) unserve(failed bool, grace time.Duration, children proc.Children) {
	if x.server == nil {
		return
	}
	if x.server.end(failed, grace) {
		x.r.Left++
	}
	x.r.Left += children.EndLeft(leftGrace)
	x.r.Server = x.server.close()
}

// serverError is the refusal of a run whose server failed.
func (p Plan) serverError(s *Served, where string) error {
	switch s.Fault {
	case portTaken:
		return model.Refuse(model.PortTaken, "end the process that listens there, or give the server another port",
			"%s is in use before the server is started %s", s.Detail, where)
	case portKept:
		return model.Refuse(model.PortTaken, "let the command of the server start no service outside its own processes",
			"%s is still in use after the server has ended %s", s.Detail, where)
	case notStarted:
		return model.Refuse(model.NoWorkload, "check its command", "the server could not be started %s: %s", where,
			s.Detail)
	case notReady:
		return model.Refuse(model.WorkloadTimeout,
			"see what it prints, correct ready, or allow more time in [workload.server]",
			"the server was not ready within %s %s: %s", s.Detail, where, measure.Quote(p.Server.Ready))
	}
	before := measure.Either(s.Ready.IsZero(), "before it was ready", "while its client ran")
	return model.Refuse(model.WorkloadFailed, "start the server by itself and see what it prints",
		"the server %s %s %s", s.Detail, before, where)
}

// loaded keeps the traces of each server that launched kernels while its client ran, and marks that time as captured
// where the server captured nothing itself.
func loaded(traces [][]model.Trace, runs []Run) error {
	for i, r := range runs {
		if !r.served() || len(traces[i]) == 0 {
			continue
		}
		end := r.Server.Ready.Add(r.Duration)
		traces[i] = slices.DeleteFunc(traces[i], func(t model.Trace) bool {
			return !slices.ContainsFunc(t.Launches, func(l model.Launch) bool {
				at := t.Zero.Add(time.Duration(l.API))
				return t.Zero.IsZero() || !at.Before(r.Server.Ready) && !at.After(end)
			})
		})
		if len(traces[i]) == 0 {
			return model.Refuse(model.RunWithoutKernels, "see that its requests reach the model",
				"the server launched no kernel while its client ran, in run %d of %d", i+1, len(runs))
		}
		for j := range traces[i] {
			if t := &traces[i][j]; len(t.Captures) == 0 && !t.Zero.IsZero() {
				from := r.Server.Ready.Sub(t.Zero)
				t.Captures = []model.Interval{{Start: from.Nanoseconds(), End: (from + r.Duration).Nanoseconds()}}
			}
		}
	}
	return nil
}
