package measure_test

import (
	"errors"
	"fmt"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// The limits of the policy that applies without a file.
func Example() {
	policy := thresholds.Default()
	show := func(s measure.Subject, metrics ...measure.Metric) {
		for _, m := range metrics {
			if limit := policy.Limit(s, m); limit.Severity == thresholds.Ignore {
				fmt.Println(s.Short(), m.Title(), "is not judged")
			} else {
				fmt.Println(s.Short(), m.Title(), measure.Percent(limit.Max))
			}
		}
	}
	show(measure.Workload, measure.StepTime, measure.GPUTime)
	show(measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}, measure.CopyTime)
	grid := measure.Dim3{X: 1056, Y: 1, Z: 1}
	saxpy := measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy(int, float*)", Grid: grid}
	show(saxpy, measure.Time, measure.Total, measure.Launches)
	for _, scope := range []measure.Scope{measure.ScopeRange, measure.ScopeDevice, measure.ScopeSection} {
		show(measure.Subject{Scope: scope, Name: "a " + string(scope)}, measure.GPUTime)
	}
	tokens := measure.Output{Name: "tokens/s", Pattern: "throughput: ([0-9.]+)", Better: measure.Higher}
	show(measure.Subject{Scope: measure.ScopeOutput, Name: tokens.Name}, tokens.Metric())
	scan, _ := measure.MetricByName("duration")
	show(measure.Subject{Scope: measure.ScopeBenchmark, Name: "scan --json " + measure.RunDir}, scan)
	for _, section := range []measure.Subject{measure.Warmup, measure.Steps, measure.Between} {
		show(section, measure.GPUTime)
	}
	// Output:
	// workload step time 5 %
	// workload GPU time 3 %
	// memcpy HtoD copy time 10 %
	// saxpy time 3 %
	// saxpy total time 3 %
	// saxpy launches 3 %
	// a range GPU time 3 %
	// a device GPU time 3 %
	// a section GPU time 3 %
	// tokens/s output 3 %
	// scan --json $NSGATE_RUN_DIR time 3 %
	// warm-up GPU time 3 %
	// steps GPU time is not judged
	// between GPU time is not judged
}

func ExampleMetricByName() {
	better := map[measure.Direction]string{measure.Lower: "lower", measure.Higher: "higher", measure.Neither: "neither"}
	for _, name := range []string{"time", "rate", "sm_clock", "ncu:smsp__inst_executed.sum", "speed"} {
		m, ok := measure.MetricByName(name)
		fmt.Printf("%t %q %q %s\n", ok, m.Name, m.Unit, better[m.Better])
	}
	// Output:
	// true "time" "ns" lower
	// true "rate" "" higher
	// true "sm_clock" "Hz" neither
	// true "ncu:smsp__inst_executed.sum" "count" lower
	// false "" "" neither
}

func ExampleMetrics() {
	for _, m := range measure.Metrics() {
		if m.Unit == "Hz" {
			fmt.Println(m.Name)
		}
	}
	// Output: sm_clock
}

func ExampleParseAmount() {
	a, err := measure.ParseAmount("64 KiB")
	fmt.Println(a.Value, a.Unit, err)
	// Output: 65536 B <nil>
}

func ExampleParsePercent() {
	v, err := measure.ParsePercent("0.5 %")
	fmt.Println(v, err)
	_, err = measure.ParsePercent("1")
	fmt.Println(err)
	// Output:
	// 0.005 <nil>
	// "1" has no unit; write "1%"
}

func ExamplePlaceError() {
	_, err := thresholds.Parse("nsgate.toml", []byte("alpha = \"1%\"\nthreshhold = \"3%\"\n"))
	if place := (*measure.PlaceError)(nil); errors.As(err, &place) {
		fmt.Println(place.File, place.Line)
	}
	// Output: nsgate.toml 2
}

// A word that was misspelt.
func ExampleNearest() {
	fmt.Println(measure.Nearest("treshold", []string{"threshold", "warmup_threshold"}))
	// Output: threshold
}

// Metrics that runs lack unless a flag or a rule asks for them.
func ExampleMetricsOf() {
	for _, m := range measure.MetricsOf(measure.ScopeWorkload) {
		switch m.Means() {
		case measure.ByMemory, measure.ByWall:
			fmt.Println(m.Name, "by", m.Means())
		}
	}
	fmt.Println(measure.MetricsOf(measure.ScopeCopy)[0].Name, measure.RunTime.Means(), measure.Attributes[0].Name,
		measure.BySampling)
	// Output:
	// memory_peak by memory tracing
	// wall_time by unprofiled runs
	// copy_time always registers GPU metrics
}

// The name of an output says what it measures, unless the policy does.
func ExampleOutputKind() {
	for _, o := range []measure.Output{
		{Name: "tokens/s", Better: measure.Higher},
		{Name: "training time (s)", Better: measure.Lower},
		{Name: "loss", Better: measure.Lower},
		{Name: "samples", Better: measure.Higher, Measures: measure.OfSteps},
	} {
		of := map[measure.OutputKind]string{measure.OfSteps: "the steps", measure.OfRun: "the run",
			measure.OfOther: "no speed"}
		fmt.Println(o.Name, "measures", of[o.Kind()])
	}
	// Output:
	// tokens/s measures the steps
	// training time (s) measures the run
	// loss measures no speed
	// samples measures the steps
}

func ExampleNearby() {
	fmt.Println(measure.Nearby("tme", []string{"launches", "time", "total"}, 2))
	// Output: [time total]
}
