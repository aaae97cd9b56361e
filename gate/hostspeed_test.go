package gate_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/trace"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// eager is a program like eager PyTorch: one thread calls forward and the optimizer, another backward, 150 calls in
// all.
type eager struct {
	host    uint64     // by which segments differ a little from host to host
	speed   [2]float64 // ln of the time that its threads take
	kernel  float64    // ns on the GPU, few where it is 0
	inserts float64    // ns of code before call 20
	all     float64    // part by which all code of the program takes longer
}

// runs are the traces of some runs, each of 30 steps. In one step of ten a thread runs on a busy core.
func (e eager) runs(n int, seed uint64) (out []model.Trace) {
	program, host := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(e.host, 2))
	var typical [150][2]float64 // code before the call, and the call
	for i := range typical {
		for k, ns := range []float64{12e3, 6e3} {
			typical[i][k] = ns * math.Exp(0.7*program.NormFloat64()+0.04*host.NormFloat64())
		}
	}
	for run := range n {
		r := rand.New(rand.NewPCG(seed, uint64(run)))
		t := model.Trace{Source: fmt.Sprint(e.host, "-", run), RangeNames: []string{"step"}, CallNames: []string{"cudaLaunchKernel", "cudaStreamSynchronize"},
			Environment: model.Environment{GPU: "NVIDIA H200", GPUs: 1, GPUHash: fmt.Sprintf("%08x", e.host), Tick: 32, Tool: "nsys 2025.3.2",
				Start: time.Date(2026, 11, 20, 10, run, 0, 0, time.UTC)}}
		for k := range 5 {
			t.Kernels = append(t.Kernels, model.KernelInfo{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: fmt.Sprint("kernel", k)}})
		}
		now, gpu := 1e6, 0.0
		for range 30 {
			begin := now
			slow := [2]float64{e.speed[0], e.speed[1]}
			if r.Float64() < 0.1 {
				slow[r.IntN(2)] += 0.5
			}
			for i, ns := range typical {
				thread := 0
				if i >= 60 && i < 120 {
					thread = 1
				}
				took := func(ns float64) float64 { return ns * math.Exp(slow[thread]+0.05*r.NormFloat64()) }
				code := took(ns[0]) * (1 + e.all)
				if i == 20 {
					code += e.inserts * math.Exp(slow[thread])
				}
				now += code
				call := model.Call{Start: int64(now), Thread: int32(thread)}
				now += took(ns[1])
				call.End = int64(now)
				t.Calls.Add(call)
				start := math.Max(float64(call.Start)+9000, gpu+1300)
				gpu = start + cmp.Or(e.kernel, 4000)*math.Exp(0.002*r.NormFloat64())
				t.Launches = append(t.Launches, model.Launch{Kernel: int32(i % 5), API: call.Start, Start: int64(start), End: int64(gpu), Thread: int32(thread), Range: int32(len(t.Ranges))})
			}
			t.Calls.Add(model.Call{Start: int64(now) + 2000, End: int64(math.Max(now+3000, gpu+5000)), Name: 1})
			now = math.Max(now+3000, gpu+5000) + 5000
			t.Ranges = append(t.Ranges, model.Range{Start: int64(begin), End: int64(now) - 1000, Parent: -1})
		}
		t.Calls.Settle(nil)
		out = append(out, t)
	}
	return out
}

func (e eager) session(tb testing.TB, runs int, seed uint64) []model.Session {
	tb.Helper()
	sides, err := trace.Reduce(trace.Options{}, e.runs(runs, seed))
	if err != nil {
		tb.Fatal(err)
	}
	return sides[0]
}

// stepOutcome is the outcome of a step, or what is left open about it.
func stepOutcome(f *result.Finding) string {
	switch {
	case f.Doubted:
		return "doubted"
	case f.Undecided:
		return "undecided"
	}
	return string(f.Outcome)
}

// Between hosts of different speed a local change of host code fails the gate, an unchanged program does not, and a
// change that slows all code evenly passes no gate where the hosts differ.
func TestHostSpeed(t *testing.T) {
	t.Parallel()
	policy := thresholds.Default()
	slow, alike := [2]float64{0.45, 0.8}, [2]float64{0.03, -0.04}
	const says = "at the baseline's host speed: step +"
	made := make(map[eager][]model.Session) // several cases share a program
	session := func(e eager, seed uint64) []model.Session {
		if made[e] == nil {
			made[e] = e.session(t, 5, seed)
		}
		return made[e]
	}
	for _, c := range []struct {
		name       string
		base, head eager
		want       string
		says       string
	}{
		{"unchanged, a slower host", eager{}, eager{speed: slow}, "doubted", "(the head's host is 1.8× slower; a change that slows all host code evenly would look the same)"},
		{"unchanged, a faster host", eager{speed: slow}, eager{}, "undecided", "(the head's host is 1.8× faster; a change"},
		{"unchanged, hosts alike", eager{}, eager{speed: alike}, "unchanged", "within the limit"},
		{"300 µs in one place, a slower host", eager{}, eager{speed: slow, inserts: 300e3}, "regressed", says},
		{"300 µs in one place, a faster host", eager{speed: slow}, eager{inserts: 300e3}, "regressed", "beyond the limit of 5 % " + says},
		{"300 µs in one place, hosts alike", eager{}, eager{speed: alike, inserts: 300e3}, "regressed", "beyond the limit of 5 % " + says},
		{"all code 20 % slower, hosts alike", eager{}, eager{all: 0.2}, "doubted", "would look the same"},
		{"all code 5 % slower, a slower host", eager{}, eager{speed: slow, all: 0.05}, "doubted", says},
		{"all code 5 % slower, a faster host", eager{speed: slow}, eager{all: 0.05}, "undecided", says},
		{"the GPU is behind, a slower host", eager{kernel: 80e3}, eager{kernel: 80e3, speed: slow}, "unchanged", "within the limit"},
	} {
		c.base.host, c.head.host = 1, 2
		r := gate.Compare(session(c.base, 3), session(c.head, 4), policy)
		f := find(r, "workload", "step_time")
		if said := f.Reason + "; " + strings.Join(f.Evidence, "; "); stepOutcome(f) != c.want || !strings.Contains(said, c.says) {
			t.Errorf("%s: the step (%s) is %s, want %s: %s", c.name, f.Change.Change(), stepOutcome(f), c.want, said)
		}
	}
}

// Unchanged programs do not fail between hosts of any speed, and are never called unchanged where the hosts differ.
func TestHostSpeedsUnchanged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	policy := thresholds.Default()
	policy.StepThreshold = 0.03
	var hosts [][]model.Session
	var speeds []float64
	n := 12
	if !full() {
		n = 6
	}
	for i := range uint64(n) {
		of := eager{host: i + 1, speed: [2]float64{0.3 * r.NormFloat64(), 0.3 * r.NormFloat64()}}
		hosts, speeds = append(hosts, of.session(t, 3, i)), append(speeds, (of.speed[0]+of.speed[1])/2)
	}
	failed, passed := 0, 0
	for i := range hosts {
		for j := range hosts {
			if i == j {
				continue
			}
			f := find(gate.Compare(hosts[i], hosts[j], policy), "workload", "step_time")
			if f.Outcome == result.Regressed {
				failed++
			}
			if f.Outcome == result.Unchanged && math.Abs(speeds[i]-speeds[j]) > 0.2 {
				passed++
			}
		}
	}
	if failed > 0 || passed > 0 {
		t.Errorf("of %d pairs %d fail, and %d are unchanged", n*(n-1), failed, passed)
	}
}

// leftOut is a recorded program as if it launched nothing that takes long: its step is its host code.
func leftOut(s model.Session, insert, all float64) model.Session {
	h := *s.HostCode
	h.Calls, h.Periods = slices.Clone(h.Calls), nil
	largest := slices.MaxFunc(h.Calls[:len(h.Calls)/4], func(a, b model.HostCall) int { return cmp.Compare(a.Code, b.Code) })
	h.Calls[slices.Index(h.Calls, largest)].Code += insert
	for i := range h.Calls {
		h.Calls[i].Code *= 1 + all
	}
	ns := 0.0
	for _, x := range h.Segments() {
		ns += x.Time
	}
	for _, x := range model.HostScales() {
		h.Periods = append(h.Periods, ns*math.Exp(x))
	}
	s.HostCode, s.Series = &h, slices.DeleteFunc(slices.Clone(s.Series), func(x model.Series) bool { return x.Metric == model.Owned })
	for i, x := range s.Series {
		if x.Subject == measure.Workload && (x.Metric == measure.StepTime || x.Metric == measure.MeanStep) {
			s.Series[i].Values = slices.Clone(x.Values)
			for run := range x.Values {
				s.Series[i].Values[run] = ns * (1 + 0.002*float64(run%3))
			}
		}
		if x.Subject == measure.Workload && x.Metric == measure.Sensitivity {
			s.Series[i].Values = slices.Repeat(model.Values{1}, len(x.Values))
		}
	}
	return s
}

// The host code of a PyTorch program on four hosts tells 300 µs in one place from what the hosts differ by.
func TestRecordedHostSpeed(t *testing.T) {
	policy := thresholds.Default()
	policy.StepThreshold = 0.03
	hosts := loadHosts(t, "transformer", "b", "e", "f", "g")
	for _, b := range hosts {
		for _, h := range hosts {
			if b.name == h.name {
				continue
			}
			for _, insert := range []float64{0, 300e3} {
				r := gate.Compare([]model.Session{leftOut(b.session, 0, 0)}, []model.Session{leftOut(h.session, insert, 0)}, policy)
				if f := find(r, "workload", "step_time"); (f.Outcome == result.Regressed) != (insert > 0) {
					t.Errorf("%s against %s, %g µs more: %s, %s", h.name, b.name, insert/1000, f.Outcome, f.Reason)
				}
			}
		}
	}
}

// BenchmarkHostSpeed prints what becomes of steps that wait for the host, between hosts.
//
//	go test -run=NONE -bench=HostSpeed -benchtime=1x ./gate
func BenchmarkHostSpeed(b *testing.B) {
	policy := thresholds.Default()
	policy.StepThreshold = 0.03
	hosts := loadHosts(b, "transformer", "b", "e", "f", "g")
	r := rand.New(rand.NewPCG(7, 8))
	var simulated []eager
	for i := range uint64(12) {
		simulated = append(simulated, eager{host: i + 1, speed: [2]float64{0.3 * r.NormFloat64(), 0.3 * r.NormFloat64()}})
	}
	for b.Loop() {
		fmt.Printf("\n| program | head | pairs of hosts | step slower | undecided | no verdict |\n| --- | --- | --- | --- | --- | --- |\n")
		for _, x := range []struct {
			name        string
			insert, all float64
		}{{"unchanged", 0, 0}, {"300 µs in one place", 300e3, 0}, {"all code +5 %", 0, 0.05}} {
			for _, program := range []string{"PyTorch, kernels left out", "simulated"} {
				var base, head []model.Session
				if program == "simulated" {
					for i, e := range simulated {
						base = append(base, e.session(b, 3, uint64(i))...)
						e.inserts, e.all = x.insert, x.all
						head = append(head, e.session(b, 3, uint64(i))...)
					}
				} else {
					for _, h := range hosts {
						base, head = append(base, leftOut(h.session, 0, 0)), append(head, leftOut(h.session, x.insert, x.all))
					}
				}
				count, pairs := map[string]int{}, 0
				for i := range base {
					for j := range head {
						if i != j {
							count[stepOutcome(find(gate.Compare(base[i:i+1], head[j:j+1], policy), "workload", "step_time"))]++
							pairs++
						}
					}
				}
				part := func(outcome string) float64 { return 100 * float64(count[outcome]) / float64(pairs) }
				fmt.Printf("| %s | %s | %d | %.0f %% | %.0f %% | %.0f %% |\n", program, x.name, pairs, part("regressed"), part("undecided"), part("doubted"))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// Programs whose host code says little of the host's speed have none in their sessions.
func TestNoHostCode(t *testing.T) {
	for _, name := range []string{"kernels-a", "ddp"} {
		if s := loadSession(t, name); s.HostCode != nil {
			t.Errorf("%s has host code of %d calls", name, len(s.HostCode.Calls))
		}
	}
	traces := eager{}.runs(3, 1)
	for i := range traces {
		last := traces[i].Launches[len(traces[i].Launches)-1].API
		for at := traces[i].Launches[0].API; at < last; at += 700e3 { // calls at other places in every step
			traces[i].Calls.Add(model.Call{Start: at, End: at + 1, Thread: 2})
		}
		traces[i].Calls.Settle(nil)
	}
	sides, err := trace.Reduce(trace.Options{}, traces)
	if err != nil || sides[0][0].HostCode != nil {
		t.Errorf("steps that differ have host code (%v)", err)
	}
}
