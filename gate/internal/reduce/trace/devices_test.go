package trace

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// onDevices is a run of one process with a thread for each device. A thread issues the kernels of its device after a
// start-up of its own, n times over; their calls interleave by chance, and the collective ends in all devices at once.
func onDevices(source string, random *rand.Rand, devices int, turns []string, n int) model.Trace {
	const us = 1000
	t := model.Trace{Source: source, MemoryPeak: -1, CallNames: []string{"cudaLaunchKernel"}}
	t.Environment = model.Environment{GPUs: devices, Tick: 32}
	known := map[string]int32{}
	add := func(name string, device int, api, start, end int64) {
		if _, ok := known[name]; !ok {
			known[name] = int32(len(t.Kernels))
			t.Kernels = append(t.Kernels, model.KernelInfo{Subject: measure.Subject{Scope: measure.ScopeKernel,
				Name: name}})
		}
		t.Launches = append(t.Launches, model.Launch{Kernel: known[name], Device: int32(device),
			Stream: int32(10 + device), Thread: int32(device), API: api, Start: start, End: end, Range: -1})
	}
	for d := range devices {
		for range 3 + d {
			at := random.Int64N(900) * us
			add("init", d, at, at+us, at+3*us)
		}
	}
	now := int64(1_000 * us)
	for range n {
		last := int64(0)
		ready := make([]int64, devices)
		for d := range devices {
			at := now + random.Int64N(60)*us
			for i, name := range turns[d%len(turns)] {
				add(string(name), d, at+int64(i)*9*us, at+int64(i)*11*us+20*us, at+int64(i)*11*us+30*us)
				ready[d] = at + int64(i)*11*us + 31*us
			}
			last = max(last, ready[d])
		}
		for d := range devices {
			add("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", d, ready[d]-5*us, ready[d], last+40*us)
		}
		now = last + 50*us
	}
	return t
}

// Every device of a process has a cycle of its own, however the threads that launch on them interleave, and the waiting
// of its collectives for the other devices is none of the GPU's time.
func TestCyclesOfDevices(t *testing.T) {
	for _, tt := range []struct {
		name    string
		devices int
		turns   []string
	}{
		{"two devices", 2, []string{"aabcb"}},
		{"four devices", 4, []string{"abc"}},
		{"stages of a pipeline", 2, []string{"abbc", "dedf"}},
		{"a device of another loop", 3, []string{"abc", "abc", "abb"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var traces []model.Trace
			for _, source := range []string{"a", "b", "c"} {
				traces = append(traces, onDevices(source, random, tt.devices, tt.turns, 60))
			}
			sessions, err := Sessions(traces, Options{Warmup: Auto})
			if err != nil {
				t.Fatal(err)
			}
			s := &sessions[0]
			values := func(of measure.Subject, m measure.Metric) model.Values {
				x, ok := s.Find(of, m.Name)
				if !ok {
					t.Fatalf("no %s of %s", m.Name, of.Short())
				}
				return x.Values
			}
			for run := range s.Runs {
				step, mean := values(measure.Workload, measure.StepTime)[run],
					values(measure.Workload, measure.MeanStep)[run]
				if n := values(measure.Workload, measure.Repeats)[run]; n != 59 || math.Abs(step/mean-1) > 0.05 {
					t.Errorf("run %d repeats %v times with a period of %v ns, a mean of %v ns", run, n, step, mean)
				}
				nccl := measure.Subject{Scope: measure.ScopeKernel, Name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"}
				if total := values(nccl, measure.Total)[run]; total != float64(60*tt.devices)*40_000 {
					t.Errorf("run %d: the collectives take %v ns without waiting", run, total)
				}
				if wait := values(measure.Workload, measure.CollectiveWait)[run]; !(wait > 0) {
					t.Errorf("run %d: the collectives wait for %v ns", run, wait)
				}
				for d := range tt.devices {
					turn := float64(len(tt.turns[d%len(tt.turns)]))
					if gpu := values(measure.Device(int32(d)), measure.GPUTime)[run]; gpu != 60*(10_000*turn+40_000) {
						t.Errorf("run %d: GPU %d takes %v ns", run, d, gpu)
					}
				}
			}
		})
	}
}
