package model

import (
	"math"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

func TestCheckSums(t *testing.T) {
	kernel := func(name string) measure.Subject { return measure.Subject{Scope: measure.ScopeKernel, Name: name} }
	for what, tt := range map[string]struct {
		a, b, whole Values
		change      func(*Session)
		fits        bool
	}{
		"fits": {a: Values{1000, 1010}, b: Values{500, math.NaN()}, whole: Values{1500, 1010},
			fits: true},
		"rounded":            {a: Values{1000, 1010}, b: Values{500, 500}, whole: Values{1504, 1506}, fits: true},
		"a kernel is gone":   {a: Values{1000, 1010}, whole: Values{1500, 1510}},
		"a value is changed": {a: Values{1000, 1e18}, b: Values{500, 500}, whole: Values{1500, 1510}},
		"the accepted part": {a: Values{1000, 1010}, whole: Values{1500, 1510}, fits: true,
			change: func(s *Session) { s.Accepted = true }},
		"launches of ncu": {a: Values{1000, 1010}, whole: Values{1500, 1510}, fits: true,
			change: func(s *Session) { s.Tool = "ncu 2025.3" }},
		"no GPU time": {a: Values{1000, 1010}, fits: true},
	} {
		s := Session{Runs: make([]Run, 2)}
		for _, x := range []Series{{Subject: kernel("a"), Metric: measure.Total, Values: tt.a},
			{Subject: kernel("b"), Metric: measure.Total, Values: tt.b},
			{Subject: measure.Workload, Metric: measure.GPUTime, Values: tt.whole}} {
			if x.Values != nil {
				s.Series = append(s.Series, x)
			}
		}
		s.SortSeries()
		if tt.change != nil {
			tt.change(&s)
		}
		if err := s.CheckSums(); (err == nil) != tt.fits {
			t.Errorf("%s: %v", what, err)
		}
	}
}
