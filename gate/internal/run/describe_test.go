package run

import (
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// A trace knows the life of its process on its own clock, unless that clock or the process is unknown.
func TestLifetimeOfRuns(t *testing.T) {
	zero := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	runs := []Run{{Start: zero.Add(time.Second), Duration: 3 * time.Second},
		{Start: zero.Add(5 * time.Second), Duration: time.Second}, {}}
	r := Result{Runs: runs, Traces: [][]model.Trace{{{Zero: zero}}, {{}, {Zero: zero, Job: "run 2"}}, {{Zero: zero}}}}
	r.describe(1)
	if got, want := r.Traces[0][0].Lifetime, (model.Interval{Start: 1e9, End: 4e9}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	for _, x := range append(r.Traces[1], r.Traces[2]...) {
		if x.Lifetime != (model.Interval{}) {
			t.Errorf("%+v has a lifetime of %v", x.Environment, x.Lifetime)
		}
	}
}
