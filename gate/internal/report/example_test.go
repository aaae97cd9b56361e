package report_test

import (
	"fmt"
	"os"
	"testing/fstest"

	"github.com/nsgate/nsgate/gate/internal/explain/code"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// slower is a short result of result.Judge for a slower kernel.
var slower = &result.Report{
	Verdict: result.Fail, Reason: "slower: saxpy time +4.90 %", Workload: "train",
	Base: result.Side{Runs: 10, Sessions: 2}, Head: result.Side{Runs: 5, Sessions: 1},
	Baseline: ".nsgate/train/nvidia-h200",
	Next:     []string{"if the change is wanted, accept it with a reason"},
	Findings: []result.Finding{{
		Kernel: "saxpy", Name: "void saxpy<float>(int, float, const float*, float*)", Scope: "kernel", Metric: "time",
		Unit:    "ns",
		Outcome: result.Slower, Gates: true, Base: 21230, Head: 22270, Change: 0.049, Low: 0.046, High: 0.052,
		Share: 0.142, Limit: 0.03, Rule: "nsgate.toml:12", Evidence: []string{"registers 32 → 255"},
	}},
}

func ExampleRender() {
	if err := report.Render("text", os.Stdout, slower, report.Options{Width: 80}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// FAIL  train  saxpy 21.23 → 22.27 µs  +4.9 % (+4.6 … +5.2 %, limit 3 %)
	//   10 and 5 runs
	//
	//   Why     saxpy takes 1.040 µs longer a launch, 14.2 % of GPU time
	//           registers 32 → 255
	//   Do      compare its source, launch and input with the baseline's: code =
	//           [FILE] with -lineinfo names changed lines, ncu what limits it now
	//
	//   Next    if the change is wanted, accept it with a reason
}

func ExampleRender_markdown() {
	if err := report.Render("markdown", os.Stdout, slower, report.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ## ❌ nsgate: fail · <code>train</code>
	//
	// **saxpy 21.23 → 22.27 µs +4.9 % (+4.6 … +5.2 %, limit 3 %)** · 10 and 5 runs
	//
	// **Why**
	//
	// - saxpy takes 1.040 µs longer a launch, 14.2 % of GPU time
	// - registers 32 → 255
	//
	// Do: compare its source, launch and input with the baseline's: code = \[FILE\] with -lineinfo names changed lines, ncu what limits it now
	//
	// Next: if the change is wanted, accept it with a reason
	//
	// | Name | Before → after | Change |
	// | --- | --- | ---: |
	// | ❌ <code>saxpy</code><br><sub>time · slower · 14.2 % of GPU time</sub> | 21.23 → 22.27 µs | +4.90 %<br><sub>+4.60 … +5.20 %, limit 3 %</sub> |
	//
	// <details><summary>What was compared</summary>
	//
	// - workload: train
	// - base: 10 runs in 2 sessions
	// - head: 5 runs in 1 session
	// - pairing: different sessions: the spread between hosts widens the intervals
	// - baseline: .nsgate/train/nvidia-h200
	//
	// </details>
}

func Example_remarks() {
	repository := fstest.MapFS{"src/saxpy.cu": {Data: []byte("template <typename T>\n__global__ void saxpy(int n, T " +
		"a, const T *x, T *y) {}")}}
	for _, r := range story.Tell(slower, report.Options{Locate: code.Definitions(repository, nil)}).Remarks() {
		fmt.Printf("%s:%d: %s\n", r.File, r.Line, r.Title)
		for _, l := range r.Lines {
			fmt.Println(" ", l)
		}
	}
	// Output:
	// src/saxpy.cu:2: saxpy 21.23 → 22.27 µs +4.9 % (+4.6 … +5.2 %, limit 3 %)
	//   14.2 % of GPU time
	//   registers 32 → 255
	//   compare its source, launch and input with the baseline's: code = [FILE] with -lineinfo names changed lines, ncu what limits it now
	//   void saxpy<float>(int, float, const float*, float*)
	//   if the change is wanted, accept it with a reason
}
