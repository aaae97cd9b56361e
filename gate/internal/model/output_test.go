package model

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Metrics of profiled runs have no value in unprofiled ones, and the reverse.
func TestUnprofiledRuns(t *testing.T) {
	nan := math.NaN()
	session := func(change func(*Session)) error {
		s := Session{
			Runs: []Run{{Total: 5}, {Total: 5}, {Unprofiled: true}},
			Series: []Series{
				{Subject: measure.Workload, Metric: measure.GPUTime, Values: Values{1, 2, nan}},
				{Subject: measure.Output{Name: "tokens/s", Better: measure.Higher}.Subject(), Metric: measure.Rate,
					Values: Values{nan, nan, 3}},
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
		{"the order of runs", "run 3 was profiled and stands behind an unprofiled one; put the profiled ones first",
			func(s *Session) { s.Runs[1].Unprofiled, s.Runs[2].Unprofiled = true, false }},
		{"a time without a profiler",
			"workload gpu_time: run 3 has a value, and gpu_time is not measured in a run that was unprofiled",
			func(s *Session) { s.Series[0].Values[2] = 1 }},
		{"a rate with one", "tokens/s rate: run 1 has a value, and rate is not measured in a run that was profiled",
			func(s *Session) { s.Series[1].Values[0] = 1 }},
	} {
		err := session(tt.change)
		if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A profiled run is written without the mark of unprofiled ones.
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
