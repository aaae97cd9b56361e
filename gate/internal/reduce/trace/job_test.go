package trace

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// jobOf is a job of ranks that run 40 steps of a matrix product of so many µs each and then a collective, which ends in
// all ranks at once and moves data for 20 µs from when the last rank has come. Its ranks start at a time in ms.
func jobOf(file string, start int64, compute ...int64) []model.Trace {
	slowest := int64(0)
	for _, us := range compute {
		slowest = max(slowest, us)
	}
	var out []model.Trace
	for rank, us := range compute {
		t := model.Trace{Source: strings.ReplaceAll(file, "%d", fmt.Sprint(rank)), Process: 100 + rank, MemoryPeak: -1,
			RangeNames: []string{"step"}}
		if name, _, each := strings.Cut(file, ".rank%d"); each {
			t.Job, t.Rank = name, rank
		}
		t.Environment = model.Environment{GPU: "NVIDIA H200", GPUs: 1, GPUHash: fmt.Sprintf("hash%d", rank), Tick: 32}
		for _, name := range []string{"gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"} {
			t.Kernels = append(t.Kernels, model.KernelInfo{Subject: measure.Subject{Scope: measure.ScopeKernel,
				Name: measure.NormalizeName(name), Grid: measure.Dim3{X: 1, Y: 1, Z: 1},
				Block: measure.Dim3{X: 32, Y: 1, Z: 1}}})
		}
		for step := range int64(40) {
			at := start*1_000_000 + step*(slowest+30)*1000
			t.Ranges = append(t.Ranges, model.Range{Start: at - 9000, End: at - 1000, Parent: -1})
			t.Launches = append(t.Launches,
				model.Launch{API: at - 8000, Start: at, End: at + us*1000, Range: int32(step), Device: int32(rank)},
				model.Launch{API: at - 7000, Start: at + us*1000, End: at + (slowest+20)*1000, Kernel: 1,
					Range: int32(step), Device: int32(rank)})
		}
		out = append(out, t)
	}
	return out
}

// A job is one run: its kernels are the mean over its ranks, its collectives what they take without waiting, and who is
// slow has a name.
func TestJob(t *testing.T) {
	for name, file := range map[string]string{"one file": "job.sqlite", "a file a rank": "run.000.rank%d.sqlite"} {
		s, err := Sessions(jobOf(file, 1, 200, 220), Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		if len(s) != 1 || len(s[0].Runs) != 1 || s[0].Processes != 2 || s[0].GPUs != 2 ||
			s[0].Runs[0].Launches != 2*2*36 {
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
	three := append(append(jobOf("all.sqlite", 0, 200, 200), jobOf("all.sqlite", 100, 200, 200)...),
		jobOf("all.sqlite", 200, 200, 200)...)
	if s, err := Sessions(three, Options{}); err != nil || len(s) != 1 || len(s[0].Runs) != 3 {
		t.Errorf("three jobs: %v, %d sessions", err, len(s))
	}
	// Where ranks do not make the same collectives in a step, those of that step keep their waiting, and are counted.
	uneven := jobOf("all.sqlite", 0, 200, 220)
	uneven[1].Launches = uneven[1].Launches[:len(uneven[1].Launches)-1]
	s, err := Sessions(uneven, Options{})
	if err != nil {
		t.Fatal(err)
	}
	value(t, s[0], measure.Workload, measure.UnmatchedCollectives, 0.5/36) // one of a rank, none of the other
	value(t, s[0], measure.Workload, measure.CollectiveWait, 10_000*35./36)
	for _, tt := range []struct {
		name   string
		traces []model.Trace
		want   string
	}{
		{"a rank is missing", append(jobOf("run.000.rank%d.sqlite", 0, 200, 200),
			jobOf("run.001.rank%d.sqlite", 50, 200, 200)[1]),
			"rank 0 of run.001 is missing"},
		{"a rank is there twice", append(jobOf("run.rank%d.sqlite", 0, 200, 200),
			jobOf("run.rank%d.sqlite.copy", 50, 200, 200)...), "rank 0 is recorded twice in one job"},
		{"more ranks in one job", append(jobOf("all.sqlite", 0, 200, 200), jobOf("all.sqlite", 100, 200, 200, 200)...),
			"ranks"},
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

// The result of a job is independent of the order of its ranks. No collective takes longer without its
// waiting, every wait has its cause, and the means are those of the ranks.
func TestJobProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		compute := rapid.SliceOfN(rapid.Int64Range(50, 400), 2, 5).Draw(t, "compute")
		traces := jobOf("run.000.rank%d.sqlite", 1, compute...)
		for i := range traces { // a rank may wait on its own account, and lack the last collective
			for l := range traces[i].Launches {
				if traces[i].Launches[l].Kernel == 1 {
					traces[i].Launches[l].End += 32 * rapid.Int64Range(0, 300).Draw(t, "longer")
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "lacks") == 0 {
				traces[i].Launches = traces[i].Launches[:len(traces[i].Launches)-1]
			}
		}
		want, err := Sessions(traces, Options{})
		if err != nil {
			t.Fatal(err)
		}
		order := rapid.Permutation(traces).Draw(t, "order")
		got, err := Sessions(order, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[0].Series, got[0].Series, cmpopts.EquateNaNs(),
			cmpopts.EquateApprox(1e-9, 1e-3)); diff != "" {
			t.Fatalf("another order of ranks gives\n%s", diff)
		}
		of := func(s measure.Subject, m measure.Metric) float64 {
			x, ok := want[0].Find(s, m.Name)
			if !ok {
				return 0
			}
			return x.Values[0]
		}
		var waited, caused, computed float64
		for i := range traces {
			rank := measure.Subject{Scope: measure.ScopeDevice, Name: fmt.Sprintf("rank %d", i)}
			wait := of(rank, measure.CollectiveWait)
			waited += wait
			caused += of(rank, measure.CausedWait)
			computed += of(rank, measure.GPUTime)
			raw := 0.0
			for _, l := range traces[i].Launches {
				raw += float64(l.End - l.Start)
			}
			if own := raw / 36; wait < 0 || wait > own {
				t.Fatalf("rank %d waits %v ns a step of %v ns of kernels", i, wait, own)
			}
		}
		n := float64(len(traces))
		if mean := of(measure.Workload, measure.CollectiveWait); math.Abs(mean-waited/n) > 1 {
			t.Fatalf("the mean wait is %v, and that of the ranks %v", mean, waited/n)
		}
		if math.Abs(caused*(n-1)-waited) > n*n { // each is rounded down to a ns a collective
			t.Fatalf("ranks wait %v ns, and cause %v ns of waiting for each other one", waited, caused)
		}
		nccl := traces[0].Kernels[1].Subject
		if sum := computed/n + of(nccl, measure.Total); math.Abs(sum-of(measure.Workload, measure.GPUTime)) > 1 {
			t.Fatalf("the ranks' compute and the transfers come to %v, the workload to %v", sum,
				of(measure.Workload, measure.GPUTime))
		}
	})
}

// Communicators keep apart what happens in one step, and what has no counterpart is said.
func TestCommunicators(t *testing.T) {
	traces := jobOf("run.000.rank%d.sqlite", 1, 200, 220, 200, 260)
	for i := range traces { // ranks 0 and 1, 2 and 3
		tr := &traces[i]
		tr.Messages = map[int32]model.Message{}
		for l := range tr.Launches {
			if tr.Launches[l].Kernel == 1 {
				tr.Messages[tr.Launches[l].Range] = model.Message{Communicator: uint64(1 + i/2), Bytes: 1 << 20}
			}
		}
	}
	s, err := Sessions(traces, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(i int) measure.Subject {
		return measure.Subject{Scope: measure.ScopeDevice, Name: fmt.Sprintf("rank %d", i)}
	}
	// Each collective ends 20 µs after rank 3 came: 80, 60, 80 and 20 µs of its own.
	for i, ns := range []float64{20_000, 0, 60_000, 0} {
		value(t, s[0], wait(i), measure.CollectiveWait, ns)
	}
	value(t, s[0], wait(1), measure.CausedWait, 20_000)
	value(t, s[0], wait(3), measure.CausedWait, 60_000)
	value(t, s[0], traces[0].Kernels[1].Subject, measure.Time, 40_000) // 60 and 20
	value(t, s[0], traces[0].Kernels[1].Subject, measure.MessageBytes, 1<<20)
	value(t, s[0], measure.Workload, measure.UnmatchedCollectives, 0) // for a rule that wants none
	// Alone in its communicator, a rank has no counterpart.
	for r := range traces[3].Messages {
		traces[3].Messages[r] = model.Message{Communicator: 9}
	}
	if s, err = Sessions(traces, Options{}); err != nil {
		t.Fatal(err)
	}
	value(t, s[0], measure.Workload, measure.UnmatchedCollectives, 0.5)
}

// TestMemoryOfRanks wants the parts of the memory peak to add up to it where a range requests memory in one rank only.
func TestMemoryOfRanks(t *testing.T) {
	traces := jobOf("run.000.rank%d.sqlite", 1, 200, 220)
	for rank := range traces {
		traces[rank].MemoryPeak = 1000
	}
	x := &traces[0]
	x.Requests = append(x.Requests, model.Request{Time: x.Ranges[0].Start + 1, Bytes: 1000})
	s, err := Sessions(traces, Options{Step: NoStep})
	if err != nil {
		t.Fatal(err)
	}
	value(t, s[0], measure.Workload, measure.MemoryPeak, 1000)
	value(t, s[0], measure.Subject{Scope: measure.ScopeRange, Name: "step"}, measure.MemoryHeld, 500)
}
