package thresholds_test

import (
	"fmt"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

func Example() {
	policy, err := thresholds.Parse("nsgate.toml", []byte(`
threshold = "2%"

[[workload]]
name = "kernels"
command = "./kernels --steps 60"

[[rule]]
kernel = "sgemm*"
max = "5%"
severity = "warn"
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	means := map[thresholds.Severity]string{
		thresholds.Fail: "fails", thresholds.Warn: "warns", thresholds.Ignore: "is ignored",
	}
	for _, name := range []string{"sgemm(float*)", "saxpy(float*)"} {
		limit := policy.Limit(measure.Subject{Scope: measure.ScopeKernel, Name: name}, measure.Time)
		fmt.Println(name, measure.Percent(limit.Max), means[limit.Severity], limit.Rule)
	}
	// Output:
	// sgemm(float*) 5 % warns nsgate.toml:8
	// saxpy(float*) 2 % fails nsgate.toml:2
}

// The keys of a policy file that have a default.
func ExampleKeys() {
	describe := func(k thresholds.Key) string { return k.Name + " = " + k.Default }
	for _, k := range thresholds.Keys() {
		if k.Table == "" && k.Literal() {
			fmt.Println(describe(k))
		}
	}
	// Output:
	// threshold = "3%"
	// step_threshold = "5%"
	// warmup_threshold = "25%"
	// outside_threshold = "25%"
	// alpha = "1%"
	// cost = "0.15%"
	// session_sd = "0.5%"
	// undecided = "warn"
	// max_age = "90d"
}

// The settings of a workload as a command line has them.
func ExampleWorkload() {
	var w thresholds.Workload
	for _, x := range [][2]string{{"name", "training"}, {"name", "../training"},
		{"command", `./train --data "my files"`}, {"warmup", "12"}, {"timeout", "none"}, {"ranks", "0-3,7"}} {
		if err := w.Set(x[0], x[1], "--"+x[0]); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(w.Name, len(w.Command), thresholds.JoinCommand(w.Command))
	fmt.Println(w.Warmup, w.Timeout == thresholds.NoTimeout, w.Ranks, w.Places.Of("ranks"),
		w.Places.Of("starts") == thresholds.Unset)
	// Output:
	// name: "../training" is not a name; use up to 64 letters, digits, ".", "_" and "-"
	// training 3 ./train --data 'my files'
	// 12 true [0 1 2 3 7] --ranks true
}

func ExampleParseRuns() {
	runs, err := thresholds.ParseRuns("5..12")
	fmt.Println(runs.First, runs.Most, err)
	fmt.Println(thresholds.FixedRuns(7), thresholds.MaxRuns)
	// Output:
	// 5 12 <nil>
	// 7 1000
}
