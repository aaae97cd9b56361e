package trace

import (
	"math"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// looping is a run that launches these kernels n times over, each letter one of 10 µs, after a prologue; the host
// sleeps before every turn.
func looping(prologue, turn string, n int, sleep int64) model.Trace {
	t := model.Trace{Source: "a", Environment: model.Environment{GPUs: 1, Tick: 32},
		CallNames: []string{"cudaLaunchKernel"}}
	known := map[rune]int32{}
	now := int64(1000)
	add := func(kernels string) {
		for _, name := range kernels {
			if _, ok := known[name]; !ok {
				known[name] = int32(len(t.Kernels))
				t.Kernels = append(t.Kernels, model.KernelInfo{Subject: measure.Subject{Scope: measure.ScopeKernel,
					Name: string(name)}})
			}
			t.Launches = append(t.Launches, model.Launch{Kernel: known[name], API: now, Start: now + 2000,
				End: now + 12000, Range: -1})
			t.Calls.Add(model.Call{Start: now, End: now + 1000})
			now += 12000
		}
	}
	add(prologue)
	for range n {
		now += sleep
		add(turn)
	}
	t.Calls.Settle(nil)
	return t
}

// mixed are launches without a cycle.
const mixed = "xyzxxyzzyxyzzyxyzyzyzxyzyzyzyzyzyxxxyzyxyzyzyzyxyzyzzyyxyzyzyxzyxzyzxyyyzxxxxyyyz"

// The cycle of a program without ranges has a period that includes a pause of the host.
func TestCycle(t *testing.T) {
	for _, tt := range []struct {
		name           string
		prologue, turn string
		n              int
		sleep          int64
		repeats        float64
		period         float64 // µs
	}{
		{"one kernel once a turn", "xyxy", "aabb" + "c", 20, 0, 19, 60},
		{"a pause in every turn", "xyxy", "aabbc", 20, 30_000, 19, 90},
		{"layers, and what comes once", "", "abababc", 10, 5_000, 9, 89},
		{"one kernel over and over", "", "a", 50, 0, 49, 12},
		{"too few turns", "xy", "abc", 4, 0, math.NaN(), math.NaN()},
		{"a long start-up", strings.Repeat(mixed, 2), "abc", 20, 0, 19, 36},
		{"a tail of a long run", strings.Repeat(mixed, 12), "abc", 12, 0, math.NaN(), math.NaN()},
		{"kernels of the cycle were tried before", "abbcaxcbyabzxxbaac", "abc", 20, 0, 19, 36},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one, other := looping(tt.prologue, tt.turn, tt.n, tt.sleep),
				looping(tt.prologue, tt.turn, tt.n, tt.sleep+1000)
			other.Source = "b"
			sessions, err := Sessions([]model.Trace{one, other}, Options{Warmup: Auto})
			if err != nil {
				t.Fatal(err)
			}
			of := func(m measure.Metric) float64 {
				if x, ok := sessions[0].Find(measure.Workload, m.Name); ok {
					return x.Values[0]
				}
				return math.NaN()
			}
			repeats, period := of(measure.Repeats), of(measure.StepTime)/1000
			if !same(repeats, tt.repeats) || !same(period, tt.period) {
				t.Errorf("repeats %v times with a period of %v µs, want %v and %v", repeats, period, tt.repeats,
					tt.period)
			}
		})
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// TestLateRank holds that a job's loop is found also where a rank waits for another in its start-up for longer than the
// loop takes, in a kernel of the loop or in one of its own.
func TestLateRank(t *testing.T) {
	for _, prologue := range []string{"r", "s"} {
		m := looping("xy"+prologue+"xy", "aabrbcaabrbcaabrbcbaarbc", 5, 5_000)
		late := int64(10_000_000)
		for i := range m.Launches {
			if l := &m.Launches[i]; i >= 2 {
				l.Start, l.End = l.Start+late, l.End+late
				if i == 2 {
					l.Start -= late
				} else {
					l.API += late
				}
			}
		}
		for i := range m.Kernels {
			if name := &m.Kernels[i].Subject.Name; *name == "r" || *name == "s" {
				*name = "ncclDevKernel_AllReduce_" + *name
			}
		}
		value(t, one(t, Options{}, m), measure.Workload, measure.Repeats, 19)
	}
}
