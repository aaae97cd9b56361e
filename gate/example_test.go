package gate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/thresholds"
)

// Two recordings of the same program, the second with a slower saxpy.
func ExampleCompare() {
	base, err := gate.ReadBaseline("../testdata/h200/sessions/kernels-a/nvidia-h200")
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := gate.ReadBaseline("../testdata/h200/sessions/saxpy-105-a/nvidia-h200")
	if err != nil {
		fmt.Println(err)
		return
	}
	decision, err := gate.Compare(context.Background(), thresholds.Default(), base, head)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(decision.Verdict)
	for _, f := range decision.Findings {
		if f.Fails {
			fmt.Println(f)
		}
	}
	// Output:
	// fail
	// saxpy time 84.54 µs → 88.61 µs +4.81 % (+4.59 … +5.03 %): slower
	// saxpy total 84.54 µs → 88.59 µs +4.80 % (+4.57 … +5.02 %): slower
}

// Values that a program of one's own measured: the time of a kernel, and a number that the program prints.
func ExampleNewSession() {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	session := func(minute int, saxpy, tokens []float64) *gate.Recording {
		var runs []gate.Run
		for i := range saxpy {
			runs = append(runs, gate.Run{Start: start.Add(time.Duration(minute+i) * time.Minute)})
		}
		for range tokens {
			runs = append(runs, gate.Run{Start: runs[0].Start, Unprofiled: true})
		}
		kernel := gate.Subject{Scope: gate.Kernel, Name: "saxpy(int, float*)"}
		output := gate.Subject{Scope: gate.Output, Name: "tokens/s"}
		s, err := gate.NewSession(gate.Host{GPU: "NVIDIA H200", UUID: "GPU-1"}, runs, []gate.Series{
			{Subject: kernel, Metric: "time", Unit: "us", Values: saxpy},
			{Subject: kernel, Metric: "total", Unit: "us", Values: saxpy},
			{Subject: output, Metric: "rate", Values: tokens},
		})
		if err != nil {
			fmt.Println(err)
		}
		return s
	}
	base := session(0, []float64{84.5, 84.6, 84.4, 84.5, 84.6}, []float64{1502, 1498, 1500, 1501, 1499})
	head := session(10, []float64{89.1, 89.0, 89.2, 89.1, 89.0}, []float64{1431, 1429, 1430, 1430, 1432})
	decision, err := gate.Compare(context.Background(), thresholds.Default(), base, head)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(decision.Verdict, decision.Reason)
	for _, f := range decision.Findings {
		fmt.Println(f)
	}
	// Output:
	// fail slower: tokens/s output -4.64 %, saxpy time +5.40 %
	// tokens/s rate 1500 → 1430 -4.64 % (-7.17 … -2.04 %): slower
	// saxpy time 84.52 µs → 89.08 µs +5.40 % (+5.17 … +5.62 %): slower
	// saxpy total 84.52 µs → 89.08 µs +5.40 % (+5.17 … +5.62 %): slower
}

// A file that must not be judged.
func ExampleRefusal() {
	_, err := gate.ReadProfile(context.Background(), "../testdata/h200/README.md")
	if r := (*gate.Refusal)(nil); errors.As(err, &r) {
		fmt.Println(r.Kind, r.Reason)
	}
	// Output:
	// other-format ../testdata/h200/README.md is no profile that nsgate knows
}

// A summary of a decision: its verdict, and how many findings of a kind it has.
func ExampleDecision() {
	ctx, policy := context.Background(), thresholds.Default()
	base, err := gate.ReadProfile(ctx, "../testdata/h200/kernels/base", policy.RawMetrics()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := gate.ReadProfile(ctx, "../testdata/h200/kernels/extra_20", policy.RawMetrics()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	decision, err := gate.Compare(ctx, policy, base, head)
	if err != nil {
		fmt.Println(err)
		return
	}
	switch decision.Verdict {
	case gate.Pass, gate.Fail:
		fmt.Println(decision.Reason)
	case gate.NoVerdict:
		fmt.Println(decision.Reason, decision.Next)
	}
	outcomes, scopes := map[gate.Outcome]int{}, map[gate.Scope]int{}
	for _, f := range decision.Findings {
		outcomes[f.Outcome]++
		scopes[f.Subject.Scope]++
	}
	worst := []gate.Outcome{gate.Slower, gate.Undecided}
	for _, o := range append(worst, gate.New, gate.Gone, gate.Faster, gate.WithinLimit, gate.BelowFloor) {
		fmt.Println(o, outcomes[o])
	}
	whole := []gate.Scope{gate.Workload, gate.Section, gate.Device}
	for _, s := range append(whole, gate.Range, gate.Kernel, gate.Output) {
		fmt.Println(s, scopes[s])
	}
	// Output:
	// slower: workload step time +5.83 %, tiny total time ×17.24, range compute GPU time +6.46 %, warm-up GPU time +3.80 %
	// slower 9
	// undecided 1
	// new 0
	// gone 0
	// faster 1
	// within limit 26
	// below floor 1
	// workload 12
	// section 6
	// device 0
	// range 2
	// kernel 18
	// output 0
}
