package report

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestHeadlineKeepsItsMarks wants the first line of a refusal and the line below it to hold the whole reason, with its
// commas, colons and semicolons.
func TestHeadlineKeepsItsMarks(t *testing.T) {
	for _, reason := range []string{
		"the GPU differs: the baseline was recorded on NVIDIA H200, this is NVIDIA A100-SXM4-80GB",
		"the total time of saxpy looks worse: too much to pass and not surely enough to fail",
		"one two three four five six seven; eight nine ten eleven twelve thirteen fourteen fifteen",
		"a word after the other (with a list, in brackets) that holds no mark where the line has to end, and one " +
			"behind",
	} {
		r := &result.Report{Verdict: result.NoVerdict, Reason: reason, Workload: "train"}
		for _, width := range []int{40, 80, 160} {
			text := story.Flat(render(t, "text", r, Options{Width: width}))
			if want := "NO VERDICT train " + reason; text != want {
				t.Errorf("%d columns: %q, want %q", width, text, want)
			}
		}
	}
}

// TestHeadlineOfProfiledLaunches wants the first line of a comparison by ncu to be true of all kernels that were
// profiled.
func TestHeadlineOfProfiledLaunches(t *testing.T) {
	of := func(name string, base, head result.Number, o result.Outcome) result.Finding {
		return result.Finding{Scope: measure.ScopeKernel, Name: name, Kernel: name, Metric: "ncu_time", Unit: "ns",
			Base: base, Head: head, Change: head/base - 1, Outcome: o, Gates: true, Limit: 0.03, Share: base / 4e5}
	}
	slow := of("reduce", 40_000, 60_000, result.Slower)
	for want, other := range map[string]result.Finding{
		"FAIL train reduce ncu time +50 %, but all 2 kernels 200 → 140 µs -30 %": of("sgemm", 160_000, 80_000,
			result.Faster),
		"FAIL train reduce ncu time 40.0 → 60.0 µs +50 % (limit 3 %)": of("sgemm", 160_000, 160_000,
			result.WithinLimit),
	} {
		r := &result.Report{Verdict: result.Fail, Reason: "reduce is slower", Workload: "train",
			Findings: []result.Finding{slow, other}}
		first, _, _ := strings.Cut(render(t, "text", r, Options{Width: 100}), "\n")
		if got := story.Flat(first); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRefusedHeadlineNamesTheChange wants the first line of a comparison without a verdict to say what moved most.
func TestRefusedHeadlineNamesTheChange(t *testing.T) {
	const reason = "1 run against 1 cannot judge times: without the spread between runs no change can be told from " +
		"noise at all"
	finding := func(scope measure.Scope, name, metric string, change result.Number) result.Finding {
		return result.Finding{Scope: scope, Name: name, Kernel: name, Metric: metric, Unit: "ns", Base: 1e6,
			Head: 1e6 * (1 + change), Change: change}
	}
	step, gpu := finding(measure.ScopeWorkload, "", "step_time", 0.002),
		finding(measure.ScopeWorkload, "", "gpu_time", -0.08)
	slow, small := finding(measure.ScopeKernel, "saxpy", "total", 0.5),
		finding(measure.ScopeKernel, "sgemm", "total", 0.003)
	before := finding(measure.ScopeSection, "before", "elapsed_time", 0.9)
	for _, c := range []struct {
		findings []result.Finding
		args     result.Args
		want     string
	}{
		{[]result.Finding{slow, step, gpu, before}, nil,
			"NO VERDICT train 1 run against 1 cannot judge times: GPU time -8.0 %"},
		{[]result.Finding{before, small, slow, step}, nil,
			"NO VERDICT train 1 run against 1 cannot judge times: saxpy +50 %"},
		{[]result.Finding{before, small, step}, nil, "NO VERDICT train 1 run against 1 cannot judge times:"},
		{[]result.Finding{gpu, slow}, result.Args{"finding": result.Number(1)},
			"NO VERDICT train 1 run against 1 cannot judge times: 1.000 → 1.500 ms +50 %"},
	} {
		r := &result.Report{Verdict: result.NoVerdict, Reason: reason, ReasonArgs: c.args, Workload: "train",
			Findings: c.findings}
		first, _, _ := strings.Cut(render(t, "text", r, Options{Width: 100}), "\n")
		if got := story.Flat(first); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestUndecidedNamesIncreases wants an undecided step with the new synchronising call beside it, and the advice once.
func TestUndecidedNamesIncreases(t *testing.T) {
	step := result.Finding{Scope: measure.ScopeWorkload, Metric: "step_time", Unit: "ns", Base: 7e6, Head: 7.2e6,
		Change: 0.03, Low: -0.01, High: 0.07, Limit: 0.05, Outcome: result.Undecided, Undecided: true, Gates: true,
		Reason: "batches differ by about 1.41 %: measure the base build beside the head"}
	calls := result.Finding{Scope: measure.ScopeWorkload, Metric: "sync_calls", Unit: "count", Base: 0, Head: 1,
		Change: result.Unknown, Limit: 0.03, Outcome: result.Slower, ReasonKey: result.KeyCountFromZero,
		Evidence: []string{"cudaStreamSynchronize 0 → 1, in training_step"}}
	r := &result.Report{Verdict: result.Pass, Undecided: true, Workload: "train",
		Findings: []result.Finding{step, calls}}
	r.Head.Step = "training_step"
	text := story.Flat(render(t, "text", r, Options{Width: 200}))
	for _, want := range []string{"New synchronising calls 0 → 1 a step, cudaStreamSynchronize 0 → 1, in training_step",
		"Open batches differ by about 1.41 % Settle measure the base build"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

// TestUndecidedOfTheHeadline wants the open interval of the comparison in the first line, not that of a part that costs
// more.
func TestUndecidedOfTheHeadline(t *testing.T) {
	open := func(metric, reason string, base, head result.Number) result.Finding {
		return result.Finding{Scope: measure.ScopeWorkload, Metric: metric, Unit: "ns", Base: base, Head: head,
			Change: head/base - 1, Low: -0.1, High: 0.2, Limit: 0.05, Outcome: result.Undecided, Undecided: true,
			Gates: true, Reason: reason}
	}
	copies := open("copy_time", "interval of the copies", 1e6, 4e6)
	copies.Kernel, copies.Name = "memcpy HtoD", "memcpy HtoD"
	r := &result.Report{Verdict: result.Pass, Undecided: true,
		Findings: []result.Finding{copies, open("step_time", "interval of the step", 7e6, 7.2e6)}}
	text := story.Flat(render(t, "text", r, Options{Width: 200}))
	if !strings.Contains(text, "step 7.000 → 7.200 ms") ||
		!strings.Contains(text, "Open interval of the step; 1 more comparison") {
		t.Error(text)
	}
}
