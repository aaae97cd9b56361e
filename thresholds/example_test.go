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
	for _, name := range []string{"sgemm(float*)", "saxpy(float*)"} {
		limit := policy.Limit(measure.Subject{Scope: measure.ScopeKernel, Name: name}, measure.Time)
		fmt.Println(name, measure.Percent(limit.Max), limit.Severity, limit.Rule)
	}
	// Output:
	// sgemm(float*) 5 % warn nsgate.toml:8
	// saxpy(float*) 2 % fail nsgate.toml:2
}
