package model

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/measure"
)

// What is measured in traced runs has no value in untraced ones, and the other way round.
func TestUntracedRuns(t *testing.T) {
	nan := math.NaN()
	session := func(change func(*Session)) error {
		s := Session{
			Runs: []Run{{Total: 5}, {Total: 5}, {Unprofiled: true}},
			Series: []Series{
				{Subject: measure.Workload, Metric: measure.GPUTime, Values: Values{1, 2, nan}},
				{Subject: measure.Output{Name: "tokens/s", Better: measure.Higher}.Subject(), Metric: measure.Rate, Values: Values{nan, nan, 3}},
			},
		}
		if s.Profiled() != 2 || len(s.Of(&s.Series[0])) != 2 || len(s.Of(&s.Series[1])) != 1 {
			t.Fatalf("%d traced runs; %v and %v", s.Profiled(), s.Of(&s.Series[0]), s.Of(&s.Series[1]))
		}
		change(&s)
		return s.Check()
	}
	for _, tt := range []struct {
		name, want string
		change     func(*Session)
	}{
		{"as it should be", "", func(*Session) {}},
		{"the order of runs", "run 3 was traced and stands behind an untraced one; put the traced ones first",
			func(s *Session) { s.Runs[1].Unprofiled, s.Runs[2].Unprofiled = true, false }},
		{"a time without a profiler", "workload gpu_time: run 3 has a value, and gpu_time is not measured in a run that was untraced",
			func(s *Session) { s.Series[0].Values[2] = 1 }},
		{"a rate with one", "tokens/s rate: run 1 has a value, and rate is not measured in a run that was traced",
			func(s *Session) { s.Series[1].Values[0] = 1 }},
	} {
		err := session(tt.change)
		if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A traced run is written as before there were others.
func TestRunJSON(t *testing.T) {
	for run, want := range map[Run]bool{{Total: 5}: false, {Unprofiled: true}: true} {
		text, err := json.Marshal(run)
		if err != nil || strings.Contains(string(text), "untraced") != want {
			t.Errorf("%s, %v", text, err)
		}
		var back Run
		if err := json.Unmarshal(text, &back); err != nil || back != run {
			t.Errorf("%+v became %+v (%v)", run, back, err)
		}
	}
}
