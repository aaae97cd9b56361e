//go:build linux

package run

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// A text in the log is found whatever parts it is written in, and the rest of the log is kept.
func TestServerLog(t *testing.T) {
	for size := range 8 {
		x := newServer(Server{Ready: "log:ready now"})
		for part := range slices.Chunk([]byte("not ready\nread\nready now, ready now\n"), size+1) {
			x.log.Write(bytes.Clone(part))
		}
		select {
		case <-x.log.ready:
		default:
			t.Errorf("parts of %d bytes: not found", size+1)
		}
		if got := x.log.String(); got != "not ready\nread\nready now, ready now\n" {
			t.Errorf("kept %q", got)
		}
	}
	x := newServer(Server{Ready: "log:ready now"})
	x.log.Write([]byte("ready  now"))
	select {
	case <-x.log.ready:
		t.Error("found in another text")
	default:
	}
}

// A server that ignores the signal that ends it is killed.
func TestDeafServer(t *testing.T) {
	children := proc.Adopt()
	defer children.Release()
	x := newServer(Server{Ready: "log:up", Stop: syscall.SIGTERM})
	x.cmd = exec.Command("sh", "-c", "trap '' TERM INT; echo up; while :; do sleep 0.05; done")
	x.cmd.Stdout, x.cmd.WaitDelay = x.log, leftGrace
	proc.Isolate(x.cmd)
	if x.start(context.Background()); x.served.Fault != "" {
		t.Fatal(x.served)
	}
	if !x.end(false, 100*time.Millisecond) {
		t.Error("ended by the signal")
	}
	if s := x.close(); s.Fault != "" || s.Output != "up\n" {
		t.Errorf("%+v", s)
	}
	children.EndLeft(0)
	if left := children.Living(); len(left) > 0 {
		t.Error("left:", left)
	}
}

// Of the processes of a server those that launched kernels while its client ran are kept, cut to that time.
func TestLoaded(t *testing.T) {
	zero := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	trace := func(api ...int64) model.Trace {
		t := model.Trace{Zero: zero}
		for _, at := range api {
			t.Launches = append(t.Launches, model.Launch{API: at})
		}
		return t
	}
	runs := []Run{{Server: &Served{Ready: zero.Add(time.Second)}, Duration: time.Second}}
	traces := [][]model.Trace{{trace(1e8), trace(1e8, 15e8), trace(25e8)}}
	if err := loaded(traces, runs); err != nil {
		t.Fatal(err)
	}
	want := []model.Interval{{Start: 1e9, End: 2e9}}
	if len(traces[0]) != 1 || !slices.Equal(traces[0][0].Captures, want) {
		t.Errorf("%+v", traces[0])
	}
	own := trace(15e8)
	own.Captures = []model.Interval{{Start: 14e8, End: 16e8}}
	if traces = [][]model.Trace{{own}}; loaded(traces, runs) != nil ||
		!slices.Equal(traces[0][0].Captures, own.Captures) {
		t.Errorf("the server's own capture is lost: %+v", traces[0])
	}
	if err := loaded([][]model.Trace{{trace(1e8), trace(25e8)}}, runs); err == nil {
		t.Error("kernels of another time are judged")
	}
}
