package bisect

import (
	"fmt"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// gemm is a change of the kernel with so many blocks.
func gemm(blocks int, change float64) result.Finding {
	x := result.Finding{Scope: measure.ScopeKernel, Name: "gemm", Grid: fmt.Sprintf("%dx1x1", blocks), Block: "256x1x1",
		Metric: "time"}
	x.Change, x.Low, x.High = result.Number(change), result.Number(change-.01), result.Number(change+.01)
	return x
}

// A subject is followed with its geometry, which a commit before the change may lack; what the ends hold beside it is
// another subject, and of several that may be meant none is followed.
func TestFollow(t *testing.T) {
	axpy := gemm(32, .2)
	axpy.Name = "axpy"
	type some = []result.Finding
	for name, c := range map[string]struct {
		ends, commit []result.Finding // the first of the ends is followed
		want         float64
	}{
		"same":     {some{gemm(64, .05)}, some{gemm(8, .2), gemm(64, .05)}, .05},
		"geometry": {some{gemm(32, .05), gemm(8, 0)}, some{gemm(8, 0), gemm(64, .01)}, .01},
		"another":  {some{gemm(64, .05), gemm(8, 0)}, some{gemm(8, .2)}, 0},
		"several":  {some{gemm(32, .05)}, some{gemm(8, .2), gemm(16, .3)}, 0},
		"no name":  {some{gemm(32, .05)}, some{axpy}, 0},
	} {
		out := &history.Bisection{Followed: &c.ends[0], Ends: &result.Report{Findings: c.ends}}
		b := &bisection{Bisect: &Bisect{}, out: out, names: names(&c.ends[0])}
		got := 0.0
		if f := b.follow(c.commit); f != nil {
			got = float64(f.Change)
		}
		if got != c.want {
			t.Errorf("%s: followed %v, want %v", name, got, c.want)
		}
	}
}

// Whatever a measurement or its judgement depends on is a search of its own; how long it may take is not.
func TestKey(t *testing.T) {
	make := func(change func(*Bisect)) string {
		c := &Bisect{Job: app.Job{Live: &app.Live{}, Policy: thresholds.Default().For("")}, Looks: []int{3, 5}}
		change(c)
		key, err := (&bisection{Bisect: c, out: &history.Bisection{}}).key()
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	known := map[string]bool{make(func(*Bisect) {}): true}
	for name, change := range map[string]func(*Bisect){
		"version":    func(c *Bisect) { c.Version = "2" },
		"looks":      func(c *Bisect) { c.Looks = []int{9} },
		"script":     func(c *Bisect) { c.Script = "make" },
		"threshold":  func(c *Bisect) { c.Policy.Threshold = 0.2 },
		"rule":       func(c *Bisect) { c.Policy.Rules = []thresholds.Rule{{Kernel: "a", Severity: "warn"}} },
		"step":       func(c *Bisect) { c.Rule.Step = "s" },
		"command":    func(c *Bisect) { c.Build.Command = []string{"a"} },
		"kernel":     func(c *Bisect) { c.Kernel = "k" },
		"server":     func(c *Bisect) { c.Build.Server = []string{"s"} },
		"unprofiled": func(c *Bisect) { c.Live.Unprofiled = 1 },
		"memory":     func(c *Bisect) { c.Live.MemoryUsage = true },
		"timeout":    func(c *Bisect) { c.Live.Timeout = 1 },
	} {
		if key := make(change); known[key] {
			t.Errorf("%s: the same search", name)
		} else {
			known[key] = true
		}
	}
	if !known[make(func(c *Bisect) { c.MaxTime = 1; c.Live.Live = true })] {
		t.Error("the longest time makes another search")
	}
}
