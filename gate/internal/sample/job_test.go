package sample

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/measure"
)

// jobOf is a job of ranks that run 40 steps of a matrix product of so many µs each and then a collective, which ends in all ranks
// at once and moves data for 20 µs from when the last rank has come. Its ranks start at a time in ms.
func jobOf(file string, start int64, compute ...int64) []measure.Trace {
	slowest := int64(0)
	for _, us := range compute {
		slowest = max(slowest, us)
	}
	var out []measure.Trace
	for rank, us := range compute {
		t := measure.Trace{Source: strings.ReplaceAll(file, "%d", fmt.Sprint(rank)), Process: 100 + rank, MemoryPeak: -1, RangeNames: []string{"step"}}
		if name, _, each := strings.Cut(file, ".rank%d"); each {
			t.Job, t.Rank = name, rank
		}
		t.Environment = measure.Environment{GPU: "NVIDIA H200", GPUs: 1, GPUHash: fmt.Sprintf("hash%d", rank), Tick: 32}
		for _, name := range []string{"gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"} {
			t.Kernels = append(t.Kernels, measure.KernelInfo{Subject: measure.KernelSubject(name, measure.Dim3{X: 1, Y: 1, Z: 1}, measure.Dim3{X: 32, Y: 1, Z: 1})})
		}
		for step := range int64(40) {
			at := start*1_000_000 + step*(slowest+30)*1000
			t.Ranges = append(t.Ranges, measure.Range{Start: at - 9000, End: at - 1000, Parent: -1})
			t.Launches = append(t.Launches,
				measure.Launch{API: at - 8000, Start: at, End: at + us*1000, Range: int32(step), Device: int32(rank)},
				measure.Launch{API: at - 7000, Start: at + us*1000, End: at + (slowest+20)*1000, Kernel: 1, Range: int32(step), Device: int32(rank)})
		}
		out = append(out, t)
	}
	return out
}

// A job is one run: its kernels are the mean over its ranks, its collectives what they take without waiting, and who is slow has a
// name.
func TestJob(t *testing.T) {
	for name, file := range map[string]string{"one file": "job.sqlite", "a file a rank": "run.000.rank%d.sqlite"} {
		s, err := Sessions(jobOf(file, 1, 200, 220), Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		if len(s) != 1 || len(s[0].Runs) != 1 || s[0].Processes != 2 || s[0].GPUs != 2 || s[0].Runs[0].Launches != 2*2*36 {
			t.Errorf("%s: %d sessions, %+v", name, len(s), s[0])
		}
		gemm, nccl := jobOf(file, 1, 1)[0].Kernels[0].Subject, jobOf(file, 1, 1)[0].Kernels[1].Subject
		value(t, s[0], gemm, measure.Time, 210_000)
		value(t, s[0], gemm, measure.Launches, 1)
		value(t, s[0], nccl, measure.Time, 20_000)
		value(t, s[0], measure.Workload, measure.GPUTime, 230_000)
		value(t, s[0], measure.Workload, measure.StepTime, 250_000)
		value(t, s[0], measure.Workload, measure.CollectiveWait, 10_000)
		value(t, s[0], measure.Workload, measure.Imbalance, 220.0/210)
		value(t, s[0], measure.Subject{Scope: measure.ScopeDevice, Name: "rank 1"}, measure.GPUTime, 220_000)
		value(t, s[0], measure.Subject{Scope: measure.ScopeDevice, Name: "rank 0"}, measure.GPUTime, 200_000)
		sum := 0.0
		for _, x := range s[0].Series {
			if x.Metric == measure.Owned {
				sum += x.Values[0]
			}
		}
		if math.Abs(sum-250_000) > 1 {
			t.Errorf("%s: the owners of a step of 250 µs have %v ns", name, sum)
		}
	}
}

func TestJobs(t *testing.T) {
	// Jobs of one file, one after the other.
	three := append(append(jobOf("all.sqlite", 0, 200, 200), jobOf("all.sqlite", 100, 200, 200)...), jobOf("all.sqlite", 200, 200, 200)...)
	if s, err := Sessions(three, Options{}); err != nil || len(s) != 1 || len(s[0].Runs) != 3 {
		t.Errorf("three jobs: %v, %d sessions", err, len(s))
	}
	// Ranks that do not make the same collectives keep their waiting.
	uneven := jobOf("all.sqlite", 0, 200, 220)
	uneven[1].Launches = uneven[1].Launches[:len(uneven[1].Launches)-1]
	s, err := Sessions(uneven, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s[0].Find(measure.Workload, measure.CollectiveWait.Name); ok {
		t.Error("collectives of different numbers are matched")
	}
	for _, tt := range []struct {
		name   string
		traces []measure.Trace
		want   string
	}{
		{"a rank is missing", append(jobOf("run.000.rank%d.sqlite", 0, 200, 200), jobOf("run.001.rank%d.sqlite", 50, 200, 200)[1]),
			"rank 0 of run.001 is missing"},
		{"a rank is there twice", append(jobOf("run.rank%d.sqlite", 0, 200, 200), jobOf("run.rank%d.sqlite.copy", 50, 200, 200)...), "rank 0 is recorded twice in one job"},
		{"more ranks in one job", append(jobOf("all.sqlite", 0, 200, 200), jobOf("all.sqlite", 100, 200, 200, 200)...), "ranks"},
	} {
		if _, err := Sessions(tt.traces, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	// One rank of each job alone is a run as ever.
	one := append(jobOf("run.000.rank%d.sqlite", 0, 200)[:1], jobOf("run.001.rank%d.sqlite", 50, 201)[:1]...)
	if s, err := Sessions(one, Options{}); err != nil || len(s) != 1 || len(s[0].Runs) != 2 || s[0].Processes != 1 {
		t.Errorf("one rank: %v, %+v", err, s)
	}
}
