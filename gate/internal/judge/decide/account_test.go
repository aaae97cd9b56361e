package decide_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/nsys"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
	"github.com/nsgate/nsgate/thresholds"
)

// This file slows down parts of recorded runs that a step hides: everything after the slow part moves with it.

// insert is time that is added at an instant of the trace's clock.
type insert struct{ at, by int64 }

// warped is a trace with time inserted: everything that starts or ends later moves.
func warped(t model.Trace, inserts ...insert) model.Trace {
	slices.SortFunc(inserts, func(a, b insert) int { return cmp.Compare(a.at, b.at) })
	moved := make([]int64, len(inserts)+1)
	for i, x := range inserts {
		moved[i+1] = moved[i] + x.by
	}
	move := func(at *int64) {
		n, _ := slices.BinarySearchFunc(inserts, *at, func(x insert, at int64) int { return cmp.Compare(x.at, at) })
		*at += moved[n]
	}
	t.Launches, t.Copies, t.Ranges = slices.Clone(t.Launches), slices.Clone(t.Copies), slices.Clone(t.Ranges)
	for i := range t.Launches {
		l := &t.Launches[i]
		move(&l.Start)
		move(&l.End)
		move(&l.API)
	}
	for i := range t.Copies {
		x := &t.Copies[i]
		move(&x.Start)
		move(&x.End)
		move(&x.API)
	}
	for i := range t.Ranges {
		move(&t.Ranges[i].Start)
		move(&t.Ranges[i].End)
	}
	var calls []model.Call
	for x := range t.Calls.All() {
		move(&x.Start)
		move(&x.End)
		calls = append(calls, x)
	}
	t.Calls = exporttest.Calls(calls...)
	t.Overhead = nil
	return t
}

// recordedRuns reads the runs of the CUDA program, which has 60 steps of 570 µs of six kernels each.
func recordedRuns(tb testing.TB, name string) (out []model.Trace) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(recordings, "kernels", name, "*.sqlite"))
	if err != nil || len(files) == 0 {
		tb.Fatal("no recordings ", name, err)
	}
	for _, file := range files {
		traces, err := nsys.Read(tb.Context(), file)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, traces...)
	}
	return out
}

// gpuSteps are the starts of the first operations of the recorded steps, and the launches of each.
func gpuSteps(t *model.Trace) (firsts []int64, launches [][]int) {
	for _, r := range t.Ranges {
		if t.RangeNames[r.Name] != "step" {
			continue
		}
		first, of := int64(0), []int(nil)
		for i, l := range t.Launches {
			if r.Start <= l.API && l.API <= r.End {
				of = append(of, i)
				if first == 0 || l.Start < first {
					first = l.Start
				}
			}
		}
		for _, x := range t.Copies {
			if r.Start <= x.API && x.API <= r.End {
				first = min(first, x.Start)
			}
		}
		firsts, launches = append(firsts, first), append(launches, of)
	}
	return firsts, launches
}

// slowKernels makes the kernels of steps from one to another slower by a factor.
func slowKernels(t model.Trace, from, to int, factor float64) model.Trace {
	_, steps := gpuSteps(&t)
	var inserts []insert
	for _, of := range steps[from:to] {
		for _, i := range of {
			l := t.Launches[i]
			inserts = append(inserts, insert{(l.Start + l.End) / 2, int64(factor * float64(l.End-l.Start))})
		}
	}
	return warped(t, inserts...)
}

// stalls makes every nth of the steps from one to another wait for the host.
func stalls(t model.Trace, from, to, n int, ns int64) model.Trace {
	firsts, _ := gpuSteps(&t)
	var inserts []insert
	for i := from; i < to; i += n {
		inserts = append(inserts, insert{firsts[i] - 1, ns})
	}
	return warped(t, inserts...)
}

// evaluating names the last n steps "evaluate".
func evaluating(t model.Trace, n int) model.Trace {
	t.Ranges, t.RangeNames = slices.Clone(t.Ranges), append(slices.Clone(t.RangeNames), "evaluate")
	step := int32(slices.Index(t.RangeNames, "step"))
	for i := len(t.Ranges) - 1; i >= 0 && n > 0; i-- {
		if t.Ranges[i].Name == step {
			t.Ranges[i].Name = int32(len(t.RangeNames) - 1)
			n--
		}
	}
	return t
}

// withoutRanges has no NVTX.
func withoutRanges(t model.Trace) model.Trace {
	t.Launches, t.Copies = slices.Clone(t.Launches), slices.Clone(t.Copies)
	for i := range t.Launches {
		t.Launches[i].Range = -1
	}
	for i := range t.Copies {
		t.Copies[i].Range = -1
	}
	t.Ranges, t.RangeNames = nil, nil
	return t
}

// each gives every trace its edit.
func edited(traces []model.Trace, edit func(model.Trace) model.Trace) []model.Trace {
	out := make([]model.Trace, len(traces))
	for i, t := range traces {
		out[i] = t
		if edit != nil {
			out[i] = edit(t)
		}
	}
	return out
}

// judgeTraces judges recordings side by side, and the head against the baseline as a file would hold it.
func judgeTraces(tb testing.TB, base, head []model.Trace, rules ...thresholds.Rule) (out []*result.Report) {
	tb.Helper()
	policy := thresholds.Default()
	policy.Rules = rules
	judge := func(base, head *profile.Recording) *result.Report {
		cut, err := profile.Cut(profile.Rule{}, base, head)
		if err != nil {
			return insight.Refuse(decide.Input{Policy: policy.For("")}, err).Shown(nil)
		}
		return insight.Judge(decide.Input{Baseline: cut[0], Head: cut[1], Policy: policy.For("")}).Shown(nil)
	}
	out = append(out, judge(&profile.Recording{Traces: base}, &profile.Recording{Traces: head}))
	alone, err := profile.Cut(profile.Rule{}, &profile.Recording{Traces: base})
	if err != nil {
		tb.Fatal(err)
	}
	return append(out, judge(&profile.Recording{Finished: alone[0]}, &profile.Recording{Traces: head}))
}

func TestAccount(t *testing.T) {
	base, head := recordedRuns(t, "base"), recordedRuns(t, "unchanged")
	const green, red = true, false
	evaluate := func(t model.Trace) model.Trace { return evaluating(t, 6) }
	then := func(a, b func(model.Trace) model.Trace) func(model.Trace) model.Trace {
		return func(t model.Trace) model.Trace { return b(a(t)) }
	}
	slow := func(from, to int, by float64) func(model.Trace) model.Trace {
		return func(t model.Trace) model.Trace { return slowKernels(t, from, to, by) }
	}
	stall := func(from, to, n int, us int64) func(model.Trace) model.Trace {
		return func(t model.Trace) model.Trace { return stalls(t, from, to, n, us*1000) }
	}
	outside := func(after bool, ms int64) func(model.Trace) model.Trace {
		return func(t model.Trace) model.Trace {
			firsts, _ := gpuSteps(&t)
			at := firsts[0] - 1
			if after {
				at = t.End() - 1000
			}
			return warped(t, insert{at, ms * 1e6})
		}
	}
	nothing := func(t model.Trace) model.Trace { return t }
	evaluate5 := func(t model.Trace) model.Trace { return evaluating(t, 5) }
	slowEvery := func(n int) func(model.Trace) model.Trace {
		return func(t model.Trace) model.Trace {
			for i := n - 1; i < 60; i += n {
				t = slowKernels(t, i, i+1, 0.5)
			}
			return t
		}
	}
	heavy := func(inTen int) func(model.Trace) model.Trace {
		return func(t model.Trace) model.Trace {
			for i := range 60 {
				if i%10 < inTen {
					t = slowKernels(t, i, i+1, 0.5)
				}
			}
			return t
		}
	}
	growing := func(by float64) func(model.Trace) model.Trace {
		return func(t model.Trace) model.Trace {
			for i := range 60 {
				t = slowKernels(t, i, i+1, by*float64(i))
			}
			return t
		}
	}
	lastStepGone := func(t model.Trace) model.Trace {
		_, steps := gpuSteps(&t)
		t.Launches = t.Launches[:steps[59][0]]
		return t
	}
	renamed := func(t model.Trace) model.Trace {
		t.RangeNames = slices.Clone(t.RangeNames)
		t.RangeNames[slices.Index(t.RangeNames, "step")] = "iteration"
		return t
	}
	for _, tt := range []struct {
		name       string
		base, head func(model.Trace) model.Trace
		passes     bool
	}{
		{"unchanged", nil, nil, green},
		{"unchanged, evaluation at the end", evaluate, evaluate, green},
		{"training twice as slow before an evaluation", evaluate, then(slow(0, 54, 1), evaluate), red},
		{"evaluation twice as slow", evaluate, then(slow(54, 60, 1), evaluate), red},
		{"stall in every 10th step", nil, stall(0, 60, 10, 600), red},
		{"stall in every 5th step", nil, stall(0, 60, 5, 400), red},
		{"stall in every 4th step", nil, stall(0, 60, 4, 400), red},
		{"stall in every 4th step, without ranges", withoutRanges, then(stall(0, 60, 4, 400), withoutRanges), red},
		{"first 28 steps slower", nil, slow(0, 28, 4), red},
		{"first 6 steps slower", nil, slow(0, 6, 4), red},
		{"first phase slower on both sides", slow(0, 28, 1), slow(0, 28, 3), red},
		{"host late in 15 steps", nil, stall(20, 35, 1, 3000), red},
		{"before the steps", nil, outside(false, 100), red},
		{"after the steps", nil, outside(true, 60), red},
		{"one run in five stalls", nil, nil, green},
		{"two runs in five stall", nil, nil, green},
		{"five short evaluations at the end, training slower", then(evaluate5, nothing),
			then(slow(0, 55, 0.7), evaluate5), red},
		{"every second step heavier on both sides", slowEvery(2), slowEvery(2), green},
		{"every third step heavier on both sides", slowEvery(3), slowEvery(3), green},
		{"every fourth step heavier on both sides", slowEvery(4), slowEvery(4), green},
		{"every second step heavier, and longer in the head", slowEvery(2), then(slow(0, 60, 0.1), slowEvery(2)), red},
		{"fewer heavy steps", heavy(5), heavy(3), green},
		{"more heavy steps", heavy(3), heavy(5), red},
		{"steps grow on both sides alike", growing(0.02), growing(0.02), green},
		{"steps grow faster in the head", growing(0.02), growing(0.04), red},
		{"a cycle less, without ranges", then(lastStepGone, withoutRanges), then(stall(0, 60, 1, 300), withoutRanges),
			red},
		{"a cycle less, unchanged", then(lastStepGone, withoutRanges), withoutRanges, green},
		{"the step is lost", nil, withoutRanges, red},
		{"the step is renamed and slower", nil, then(stall(0, 60, 1, 300), renamed), red},
		{"unchanged, without ranges", withoutRanges, withoutRanges, green},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, y := edited(base, tt.base), edited(head, tt.head)
			switch tt.name {
			case "one run in five stalls":
				y[2] = stalls(y[2], 0, 60, 4, 400_000)
			case "two runs in five stall":
				y[0], y[3] = stalls(y[0], 0, 60, 1, 100_000), stalls(y[3], 0, 60, 1, 100_000)
			}
			for i, r := range judgeTraces(t, x, y) {
				s := fmt.Sprint(r.Verdict, " ", r.Undecided, " ", r.ReasonKey, " ", r.Reason)
				for _, f := range r.Findings {
					if f.Outcome == result.Slower && f.Gates {
						s += fmt.Sprintf("\n   %s %s %.3g", f.Kernel, f.Metric, f.Change)
					}
				}
				for _, d := range r.Doubts {
					s += " | " + d.Key
				}
				t.Logf("%d: %s", i, s)
				if (r.Verdict == result.Pass) != tt.passes || r.Undecided != (tt.name == "two runs in five stall") &&
					r.Verdict == result.Pass {
					t.Errorf("%d: %s", i, s)
				}
			}
		})
	}
}

// A report names the parts of a recording that no limit covers: the sections and the kernels that the policy ignores.
func TestUnjudgedParts(t *testing.T) {
	policy, err := thresholds.Parse("nsgate.toml",
		[]byte("[[rule]]\nsection = \"before\"\nseverity = \"ignore\"\n[[rule]]\nkernel = \"sgemm*\"\nseverity = "+
			"\"ignore\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	cut, err := profile.Cut(profile.Rule{}, &profile.Recording{Traces: recordedRuns(t, "base")},
		&profile.Recording{Traces: recordedRuns(t, "unchanged")})
	if err != nil {
		t.Fatal(err)
	}
	shares := func(policy *thresholds.Policy) (gpu, wall map[string]result.Number) {
		gpu, wall = map[string]result.Number{}, map[string]result.Number{}
		u := insight.Judge(decide.Input{Baseline: cut[0], Head: cut[1], Policy: policy.For("")}).Shown(nil).Unjudged
		if u == nil {
			t.Fatal("not known what has no limit")
		}
		for _, x := range u.Parts {
			gpu[x.What], wall[x.What] = x.GPUShare, x.WallShare
		}
		gpu["all"], wall["all"] = u.GPUShare, u.WallShare
		return gpu, wall
	}
	gpu, wall := shares(thresholds.Default())
	ignoredGPU, ignoredWall := shares(policy)
	if gpu["ignored kernels"] != 0 || wall["before"] != 0 {
		t.Errorf("by default, GPU time %v and wall time %v have no limit", gpu, wall)
	}
	if ignoredGPU["ignored kernels"] < 0.3 || ignoredWall["before"] < 0.1 ||
		ignoredGPU["all"] < ignoredGPU["ignored kernels"] || ignoredWall["all"] < ignoredWall["before"] {
		t.Errorf("with rules that ignore, GPU time %v and wall time %v have no limit", ignoredGPU, ignoredWall)
	}
}

// A report on stalls of some steps explains the mean step, which changed.
func TestStallReport(t *testing.T) {
	base, head := recordedRuns(t, "base"), recordedRuns(t, "unchanged")
	stalled := edited(head, func(t model.Trace) model.Trace { return stalls(t, 0, 60, 10, 2_000_000) })
	for _, edit := range []func(model.Trace) model.Trace{nil, withoutRanges} {
		var out strings.Builder
		if err := report.Render("text", &out, judgeTraces(t, edited(base, edit), edited(stalled, edit))[0],
			report.Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"mean step time 5", "Where the time went, per step", "everything else",
			"typical step 5"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, &out)
			}
		}
		if edit == nil && !strings.Contains(out.String(), "a step on average") {
			t.Errorf("no mean in\n%s", &out)
		}
	}
}

// A report on a longer start names it.
func TestSectionReport(t *testing.T) {
	base, head := recordedRuns(t, "base"), recordedRuns(t, "unchanged")
	late := edited(head, func(t model.Trace) model.Trace {
		firsts, _ := gpuSteps(&t)
		return warped(t, insert{firsts[0] - 1, 100e6})
	})
	var out strings.Builder
	if err := report.Render("text", &out, judgeTraces(t, base, late)[0], report.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"time before the steps 1", "The program takes ", " longer before the steps"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
