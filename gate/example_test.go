package gate_test

import (
	"fmt"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Two recordings of the same program, the second with a slower saxpy.
func ExampleCompare() {
	base, err := baseline.Read("../testdata/h200/sessions/kernels-a/nvidia-h200")
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := baseline.Read("../testdata/h200/sessions/saxpy-105-a/nvidia-h200")
	if err != nil {
		fmt.Println(err)
		return
	}
	report := gate.Compare(base, head, thresholds.Default())
	fmt.Println(report.Verdict, report.ReasonKey)
	for _, f := range report.Findings {
		if f.Outcome == result.Regressed && f.Gates {
			fmt.Printf("%s %s %+.1f %%, %s the %s\n", f.Kernel, f.Metric, 100*f.Change, f.ReasonKey, f.ReasonArgs["by"])
		}
	}
	// Output:
	// fail regressed
	// saxpy time +4.8 %, beyond the limit
	// saxpy total +4.8 %, beyond the limit
}

// What a recording holds, without a judgement.
func ExampleSummarize() {
	sessions, err := baseline.Read("../testdata/h200/sessions/transformer-b/nvidia-h200")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := insight.Summarize(sessions)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d kernels, %.0f launches a step\n", len(s.Kernels), s.Launches)
	for _, r := range s.Ranges[0].Ranges {
		fmt.Printf("%s %.1f %%\n", r.Name, 100*r.Share)
	}
	for _, p := range s.Patterns {
		fmt.Println(p.Sentence)
	}
	// Output:
	// 44 kernels, 176 launches a step
	// backward 66.7 %
	// forward 28.3 %
	// optimizer 5.0 %
	// memcpy HtoD takes 8.65 % of the step, at 55.28 GB/s
	// 0.00207 % of 624.9 µs of copies a step are overlapped by kernels
}
