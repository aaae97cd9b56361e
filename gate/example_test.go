package gate_test

import (
	"fmt"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/thresholds"
)

// Two recordings of the same program, the second with a slower saxpy.
func ExampleEvaluate() {
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
	report := gate.Evaluate(base, head, thresholds.Default())
	fmt.Println(report.Verdict, report.ReasonKey)
	for _, f := range report.Findings {
		if f.Outcome == gate.Regressed && f.Gates {
			fmt.Printf("%s %s %+.1f %%, %s the %s\n", f.Kernel, f.Metric, 100*f.Change, f.ReasonKey, f.ReasonArgs["by"])
		}
	}
	// Output:
	// fail regressed
	// saxpy time +4.8 %, beyond the limit
	// saxpy total +4.8 %, beyond the limit
}
