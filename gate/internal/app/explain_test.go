package app

import (
	"math"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestLaunched(t *testing.T) {
	k := measure.Subject{Scope: measure.ScopeKernel, Name: "k"}
	session := func(step string, total int, values ...float64) model.Session {
		s := model.Session{Step: step, Series: []model.Series{{Subject: k, Metric: measure.Launches, Values: values}}}
		for range values {
			s.Runs = append(s.Runs, model.Run{Total: total})
		}
		return s
	}
	for _, tt := range []struct {
		sessions []model.Session
		want     int
	}{
		{[]model.Session{session("", 99, 3, 2)}, 2},
		{[]model.Session{session("step", 60, 2, 2), session("step", 60, 3)}, 120},
		{[]model.Session{session("", 1, math.NaN(), 7)}, 7},
		{nil, 1e6},
	} {
		if got := launched(tt.sessions, k); got != tt.want {
			t.Errorf("%d, want %d", got, tt.want)
		}
	}
}

func TestInductor(t *testing.T) {
	for name, want := range map[string]bool{"triton_poi_fused_gelu_1": true, "triton_red_fused_sum_0": true,
		"triton_tem_fused_mm_3": true, "triton_": false, "softmax": false, "my_triton_poi_kernel": false} {
		if inductor().MatchString(name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}
