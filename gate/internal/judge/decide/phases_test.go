package decide_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// This file gives recorded runs without ranges the start-ups and loops of other programs.

// launched is a kernel that is added to a run.
type launched struct {
	name string
	grid int64
	ns   int64
}

// launchAt adds launches one after the other, and moves what comes later.
func launchAt(t model.Trace, at int64, all []launched) model.Trace {
	const gap = 1000
	whole := int64(0)
	for _, l := range all {
		whole += l.ns + gap
	}
	t = warped(t, insert{at, whole})
	t.Kernels = slices.Clone(t.Kernels)
	for _, l := range all {
		subject := measure.Subject{Scope: measure.ScopeKernel, Name: l.name,
			Grid: measure.Dim3{X: uint32(l.grid), Y: 1, Z: 1}, Block: measure.Dim3{X: 128, Y: 1, Z: 1}}
		k := slices.IndexFunc(t.Kernels, func(k model.KernelInfo) bool { return k.Subject == subject })
		if k < 0 {
			k = len(t.Kernels)
			t.Kernels = append(t.Kernels, model.KernelInfo{Subject: subject, Raw: l.name, Registers: 32})
		}
		x := t.Launches[0]
		x.Kernel, x.API, x.Start, x.End, x.Range = int32(k), at+1, at+2, at+2+l.ns, -1
		t.Launches = append(t.Launches, x)
		at += l.ns + gap
	}
	slices.SortStableFunc(t.Launches, func(a, b model.Launch) int { return cmp.Compare(a.Start, b.Start) })
	return t
}

// beforeFirst is the instant before the first operation of a step.
func beforeStep(t *model.Trace, step int) int64 {
	at := int64(0)
	for i, r := range t.Ranges {
		if t.RangeNames[r.Name] == "step" {
			if step--; step < 0 {
				at = t.Ranges[i].Start
				break
			}
		}
	}
	return at - 1
}

// slowKernel makes each launch of a kernel longer by a factor.
func slowKernel(t model.Trace, name string, factor float64) model.Trace {
	var inserts []insert
	for _, l := range t.Launches {
		if t.Kernels[l.Kernel].Subject.Short() == name {
			inserts = append(inserts, insert{(l.Start + l.End) / 2, int64(factor * float64(l.End-l.Start))})
		}
	}
	return warped(t, inserts...)
}

// startUps are the start-ups of programs, longer by a factor in some.
var startUps = map[string]func(t model.Trace, random *rand.Rand, factor float64) model.Trace{
	"nothing": func(t model.Trace, _ *rand.Rand, _ float64) model.Trace { return t },
	"an autotuner": func(t model.Trace, random *rand.Rand, factor float64) model.Trace {
		var all []launched
		for k := range int64(60) {
			all = append(all, launched{"delay", 1, 20_000 + random.Int64N(40_000)})
			for range 1 + random.IntN(3) {
				all = append(all, launched{fmt.Sprint("candidate_", k), 1 + k,
					int64(factor * float64(100_000+20_000*k+random.Int64N(30_000)))})
			}
			for range 5 + random.IntN(2) {
				all = append(all, launched{"check", 64, 20_000 + random.Int64N(1000)})
			}
		}
		return launchAt(t, beforeStep(&t, 0), all)
	},
	"do_bench": func(t model.Trace, random *rand.Rand, factor float64) model.Trace {
		var all []launched
		for k := range int64(8) {
			ns := int64(factor * float64(20_000+5_000*k))
			for range 2_000_000/ns + random.Int64N(20) {
				all = append(all, launched{"matmul_kernel", 64 << k, ns + random.Int64N(500)})
			}
		}
		return launchAt(t, beforeStep(&t, 0), all)
	},
	"benchmark in the first step": func(t model.Trace, random *rand.Rand, factor float64) model.Trace {
		at := t.Launches[0].Start + 10
		for i := range t.Launches[:6] {
			at = max(at, t.Launches[i].End)
			var all []launched
			for k := range int64(8) {
				all = append(all, launched{fmt.Sprint("engine_", i, "_", k), 1 + k,
					int64(factor * float64(300_000+50_000*k+random.Int64N(100_000)))})
			}
			t = launchAt(t, at+1, all)
		}
		return t
	},
}

// loops are the loops of programs.
var loops = map[string]func(t model.Trace, run int) model.Trace{
	"the same steps": func(t model.Trace, _ int) model.Trace { return t },
	"evaluation every 10 steps": func(t model.Trace, _ int) model.Trace {
		for step := 50; step > 0; step -= 10 {
			t = launchAt(t, beforeStep(&t, step), []launched{{"forward", 8, 90_000}, {"forward", 8, 90_000},
				{"loss", 1, 5_000}})
		}
		return t
	},
	"gradient accumulation": func(t model.Trace, _ int) model.Trace {
		for step := 56; step > 0; step -= 4 {
			t = launchAt(t, beforeStep(&t, step), []launched{{"adam", 8, 150_000}})
		}
		return t
	},
	"a checkpoint": func(t model.Trace, _ int) model.Trace { return stalls(t, 30, 31, 1, 3_000_000) },
	"variable shapes": func(t model.Trace, _ int) model.Trace {
		random := rand.New(rand.NewPCG(1, 2))
		t.Kernels, t.Launches = slices.Clone(t.Kernels), slices.Clone(t.Launches)
		n := len(t.Kernels)
		_, steps := gpuSteps(&t)
		for i := range 5 {
			for _, k := range t.Kernels[:n] {
				k.Subject.Grid.X += uint32(i + 1)
				t.Kernels = append(t.Kernels, k)
			}
		}
		for _, of := range steps {
			shape := random.IntN(6)
			for _, i := range of {
				t.Launches[i].Kernel += int32(n * shape)
			}
		}
		return t
	},
	"another kernel in one run": func(t model.Trace, run int) model.Trace {
		if run != 2 {
			return t
		}
		t.Kernels = slices.Clone(t.Kernels)
		for i := range t.Kernels {
			if s := &t.Kernels[i].Subject; s.Short() == "softmax" {
				s.Name = "softmax_v2"
			}
		}
		return t
	},
}

// Programs as they are: whatever comes before a loop, and whatever it repeats, unchanged programs are decided, a kernel
// that is 5 % slower in the loop fails the gate, and a longer start-up is no failure of one kernel.
func TestPhases(t *testing.T) {
	base, head := recordedRuns(t, "base"), recordedRuns(t, "unchanged")
	for start, before := range startUps {
		for name, repeat := range loops {
			if !full() && start != "nothing" && name != "the same steps" {
				continue // each start-up and each loop once
			}
			t.Run(start+", "+name, func(t *testing.T) {
				side := func(runs []model.Trace, seed uint64, startUp, kernel float64) (out []model.Trace) {
					for i, x := range runs {
						x = repeat(x, i)
						x = before(x, rand.New(rand.NewPCG(seed, uint64(i))), startUp)
						out = append(out, withoutRanges(slowKernel(x, "sgemm", kernel)))
					}
					return out
				}
				say := func(what string, r *result.Report, wrong bool) {
					s := fmt.Sprint(what, ": ", r.Verdict, " undecided ", r.Undecided, " ", r.ReasonKey, " ", r.Reason,
						", ", r.Base.Repeats, " repeats")
					for _, f := range r.Findings {
						if f.Outcome == result.Slower && f.Gates {
							s += fmt.Sprintf("\n   %s %s %.3g", f.Kernel, f.Metric, f.Change)
						}
					}
					if t.Log(s); wrong {
						t.Error(s)
					}
				}
				b := side(base, 1, 1, 0)
				for _, r := range judgeTraces(t, b, side(head, 2, 1, 0)) {
					say("unchanged", r, r.Verdict != result.Pass || r.Undecided || !(r.Base.Repeats > 5))
				}
				for _, r := range judgeTraces(t, b, side(head, 2, 1, 0.05)) {
					say("sgemm 5 % slower", r, r.Verdict != result.Fail)
				}
				for _, r := range judgeTraces(t, b, side(head, 2, 1.5, 0)) {
					say("a longer start-up", r, slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
						return f.Scope == measure.ScopeKernel && f.Outcome == result.Slower && f.Gates
					}))
				}
			})
		}
	}
}

// someSteps are so many of the steps of a run, from its first, without ranges.
func someSteps(t model.Trace, n int) model.Trace {
	end := beforeStep(&t, n)
	t.Launches = slices.DeleteFunc(slices.Clone(t.Launches), func(l model.Launch) bool { return l.API >= end })
	t.Copies = slices.DeleteFunc(slices.Clone(t.Copies), func(x model.Copy) bool { return x.API >= end })
	return withoutRanges(t)
}

// oneByOne are a run's kernels one after the other, each launched in a loop of its own, so many times as times gives.
func oneByOne(t model.Trace, times func() int) model.Trace {
	const gap = 2000
	t = withoutRanges(t)
	byKernel := make([][]model.Launch, len(t.Kernels))
	for _, l := range t.Launches {
		byKernel[l.Kernel] = append(byKernel[l.Kernel], l)
	}
	now := t.Launches[0].API
	t.Launches, t.Copies, t.Calls = nil, nil, exporttest.Calls()
	for _, of := range byKernel {
		for _, l := range of[:min(len(of), times())] {
			l.API, l.Start, l.End = now, now+gap, now+gap+l.End-l.Start
			t.Launches, now = append(t.Launches, l), l.End
		}
	}
	return t
}

// A harness that chooses its iterations while it runs repeats a loop 30 to 60 times, or each of several loops: an
// unchanged program is decided all the same, and a kernel that is 5 % slower is found.
func TestAdaptiveIterations(t *testing.T) {
	base, head := recordedRuns(t, "base"), recordedRuns(t, "unchanged")
	seeds := uint64(2)
	if full() {
		seeds = 100
	}
	for name, some := range map[string]func(model.Trace, func() int) model.Trace{
		"one loop":      func(t model.Trace, times func() int) model.Trace { return someSteps(t, times()) },
		"several loops": oneByOne,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				side := func(runs []model.Trace, stream uint64, factor float64) (out []model.Trace) {
					random := rand.New(rand.NewPCG(seed, stream))
					for _, x := range runs {
						out = append(out, some(slowKernel(x, "sgemm", factor),
							func() int { return 30 + random.IntN(30) }))
					}
					return out
				}
				b := side(base, 1, 0)
				for i, r := range judgeTraces(t, b, side(head, 2, 0)) {
					if r.Verdict != result.Pass || r.Undecided {
						t.Errorf("seed %d, unchanged, %d: %s: %s", seed, i, r.Verdict, r.Reason)
					}
				}
				for i, r := range judgeTraces(t, b, side(head, 3, 0.05)) {
					slower := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
						return f.Kernel == "sgemm" && f.Outcome == result.Slower && f.Gates
					})
					if r.Verdict != result.Fail || !slower {
						t.Errorf("seed %d, sgemm 5 %% slower, %d: %s: %s", seed, i, r.Verdict, r.Reason)
					}
				}
			}
		})
	}
}

// The baseline runs its loop 59 times; each run of the head lost its end, in the middle of a cycle. Runs of the head
// differ by one cycle, so no harness chose the number: the report says how often the loop runs.
func TestLostEnd(t *testing.T) {
	base, head := recordedRuns(t, "base"), recordedRuns(t, "unchanged")
	for i := range base {
		base[i] = someSteps(base[i], 59)
	}
	for lost := range 7 {
		cut := slices.Clone(head)
		for i := range cut {
			x := someSteps(cut[i], 37+i%2)
			slices.SortFunc(x.Launches, func(a, b model.Launch) int { return cmp.Compare(a.API, b.API) })
			x.Launches = x.Launches[:len(x.Launches)-lost]
			cut[i] = x
		}
		for i, r := range judgeTraces(t, base, cut) {
			said := slices.ContainsFunc(r.Warnings, func(x string) bool {
				return strings.Contains(x, "in the baseline")
			})
			if r.Verdict == result.Pass && !said {
				t.Errorf("%d launches lost, %d: %s: %s: %v", lost, i, r.Verdict, r.Reason, r.Warnings)
			}
		}
	}
}

// A program of several loops without ranges is judged in each of them, before and after the largest.
func TestEachPhase(t *testing.T) {
	base, head := recordedRuns(t, "base"), recordedRuns(t, "unchanged")
	loop := func(kernel int64, pause int64) (out []launched) {
		for range 50 {
			out = append(out, launched{"forward", 8, kernel}, launched{"loss", 1, 5_000 + pause})
		}
		return out
	}
	for _, where := range []string{"before", "after"} {
		side := func(runs []model.Trace, all []launched) (out []model.Trace) {
			for i, x := range runs {
				for k := range all {
					all[k].ns += int64(32 * (i % 2))
				}
				at := beforeStep(&x, 0)
				if where == "after" {
					at = x.End() + 1_000_000
				}
				out = append(out, withoutRanges(launchAt(x, at, all)))
			}
			return out
		}
		b := side(base, loop(90_000, 0))
		for _, tt := range []struct {
			name   string
			head   []launched
			passes bool
			by     string
		}{
			{"unchanged", loop(90_000, 0), true, ""},
			{"a kernel 5 % slower", loop(94_500, 0), false, "forward"},
		} {
			for i, r := range judgeTraces(t, b, side(head, tt.head)) {
				found := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
					return f.Kernel == tt.by && f.Outcome == result.Slower && f.Gates
				})
				if (r.Verdict == result.Pass) != tt.passes || r.Undecided || !tt.passes && !found {
					t.Errorf("%s, %s, %d: %s undecided %v: %s", where, tt.name, i, r.Verdict, r.Undecided, r.Reason)
				}
			}
		}
		paused := side(head, loop(90_000, 0))
		for i, x := range paused {
			var inserts []insert
			for _, l := range x.Launches {
				if x.Kernels[l.Kernel].Subject.Name == "forward" {
					inserts = append(inserts, insert{l.API - 1, 60_000})
				}
			}
			paused[i] = warped(x, inserts...)
		}
		for i, r := range judgeTraces(t, b, paused) {
			if r.Verdict != result.Fail {
				t.Errorf("%s, a pause of 60 µs in every cycle, %d: %s undecided %v: %s", where, i, r.Verdict,
					r.Undecided, r.Reason)
			}
			for _, f := range r.Findings {
				if f.Outcome == result.Slower && f.Gates && !strings.HasPrefix(f.Name, "loop of ") {
					t.Errorf("%s, a pause in every cycle, %d: %s %s", where, i, f.Kernel, f.Metric)
				}
			}
		}
	}
}

// A program of one short kernel in a row takes what the CPU takes to launch it, which differs between processes:
// kernels and GPU time decide.
func TestLaunchRate(t *testing.T) {
	from := recordedRuns(t, "base")[0]
	side := func(start, ns int64, periods ...int64) (out []model.Trace) {
		for i, period := range periods {
			x := withoutRanges(from)
			x.Source, x.Start = fmt.Sprint(start, i), x.Start.Add(time.Duration(start+int64(i))*time.Minute)
			now, l := x.Launches[0].API+1000*int64(i), x.Launches[0]
			x.Launches, x.Copies, x.Calls = nil, nil, exporttest.Calls()
			for k := range int64(3000) {
				l.API, l.Start, l.End = now, now+1000, now+1000+ns+32*((k+int64(i))%2)
				x.Launches, now = append(x.Launches, l), now+period
			}
			out = append(out, x)
		}
		return out
	}
	base := side(0, 2016, 4500, 4500, 6400, 4510, 6410)
	for i, r := range judgeTraces(t, base, side(10, 2016, 6400, 6410, 6400, 4500, 6420)) {
		said := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
			return slices.ContainsFunc(f.Facts, func(x result.Remark) bool { return x.Key == "launch-rate" })
		})
		if r.Verdict != result.Pass || r.Undecided || !said {
			t.Errorf("unchanged, %d: %s undecided %v, said %v: %s", i, r.Verdict, r.Undecided, said, r.Reason)
		}
	}
	for i, r := range judgeTraces(t, base, side(10, 2208, 6400, 6410, 6400, 4500, 6420)) {
		if r.Verdict != result.Fail {
			t.Errorf("kernel 10 %% slower, %d: %s: %s", i, r.Verdict, r.Reason)
		}
	}
}
