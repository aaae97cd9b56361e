package decide_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// solving are three runs of a solver of so many launches, after a start-up of ten. With a fixed step it repeats the
// same launches; else it chooses them by the error of the last ones. by is how much longer they take.
func solving(side string, fixed bool, launches int, by float64) (out []model.Trace) {
	const us = 1000
	random := rand.New(rand.NewPCG(uint64(launches), 14))
	for run := range 3 {
		t := model.Trace{Source: side + strconv.Itoa(run), MemoryPeak: -1, CallNames: []string{"cudaLaunchKernel"}}
		t.Environment = model.Environment{GPU: "NVIDIA H200", GPUHash: "1", GPUs: 1, Tick: 32,
			Start: time.Date(2026, 1, 1, len(side), run, 0, 0, time.UTC)}
		for _, name := range []string{"f", "tanh", "axpy", "norm", "init"} {
			kernel := measure.Subject{Scope: measure.ScopeKernel, Name: name}
			t.Kernels = append(t.Kernels, model.KernelInfo{Subject: kernel})
		}
		now := int64(0)
		for i := range launches + 10 {
			kernel := []int32{0, 1, 0, 1, 2, 3}[i%6]
			if i < 10 {
				kernel = 4
			} else if !fixed {
				kernel = int32(random.IntN(4))
			}
			took := float64(20+10*kernel) * us * (1 + 0.002*random.NormFloat64()) * by
			t.Launches = append(t.Launches, model.Launch{Kernel: kernel, API: now, Start: now + 5*us,
				End: now + 5*us + int64(took), Range: -1})
			now += int64(took) + 10*us
		}
		out = append(out, t)
	}
	return out
}

// Where one side alone has a step, the GPU time and the run time of whole runs are judged, and that is said.
func TestOneStep(t *testing.T) {
	for _, tt := range []struct {
		name       string
		base, head []model.Trace
		want       result.Verdict
		gpu        float64 // change of the GPU time
		without    string
	}{
		{"a finer tolerance", solving("b", true, 600, 1), solving("he", false, 1200, 1), result.Fail, 1, "head"},
		{"slower kernels", solving("b", true, 600, 1), solving("he", false, 600, 1.2), result.Fail, 0.3, "head"},
		{"as much work", solving("b", true, 600, 1), solving("he", false, 520, 1), result.Pass, 0, "head"},
		{"a coarser tolerance", solving("b", false, 1200, 1), solving("he", true, 600, 1), result.Pass, -0.5,
			"baseline"},
		{"a fixed step of more work", solving("b", false, 600, 1), solving("he", true, 1100, 1), result.Fail, 0.6,
			"baseline"},
	} {
		for _, r := range judgeTraces(t, tt.base, tt.head) {
			said := slices.ContainsFunc(r.Doubts, func(x result.Remark) bool {
				return x.Key == "one-step" && x.Args["without"] == tt.without
			})
			f := find(r, "workload", measure.GPUTime.Name)
			if len(r.Doubts) != 1 || r.Unjudged != nil {
				t.Errorf("%s: %+v, %+v", tt.name, r.Doubts, r.Unjudged)
			}
			if r.Verdict != tt.want || !said || f == nil || math.Abs(float64(f.Change)-tt.gpu) > 0.2 {
				t.Errorf("%s: %s, said %v, %+v: %s", tt.name, r.Verdict, said, f, r.Reason)
			}
		}
	}
}

// Rules on kernels and steps are named where only one side has a step, and a bound of the step is judged by the head
// alone.
func TestRulesOfOneStep(t *testing.T) {
	rule := func(r thresholds.Rule) thresholds.Rule {
		r.Where, r.Severity = "nsgate.toml:3", thresholds.Fail
		return r
	}
	percent, us := 0.02, measure.Amount{Value: 1000, Unit: "ns"}
	for _, tt := range []struct {
		name   string
		rule   thresholds.Rule
		fixed  bool // the head
		named  bool
		wanted result.Verdict
	}{
		{"kernel", rule(thresholds.Rule{Kernel: "f", Max: &percent}), false, true, result.Pass},
		{"step, by the run time", rule(thresholds.Rule{Metric: "step_time", Max: &percent}), false, false, result.Pass},
		{"mean step", rule(thresholds.Rule{Metric: "mean_step_time", Max: &percent}), false, true, result.Pass},
		{"mean step of the head", rule(thresholds.Rule{Metric: "mean_step_time", Max: &percent}), true, true,
			result.Pass},
		{"GPU time", rule(thresholds.Rule{Metric: "gpu_time", Max: &percent}), false, false, result.Pass},
		{"bound of the lost step", rule(thresholds.Rule{Metric: "step_time", AtMost: &us}), false, false,
			result.NoVerdict},
		{"bound of the new step", rule(thresholds.Rule{Metric: "step_time", AtMost: &us}), true, false, result.Fail},
	} {
		base, head := solving("b", true, 600, 1), solving("he", false, 520, 1)
		if tt.fixed {
			base, head = solving("b", false, 1200, 1), solving("he", true, 600, 1)
		}
		for _, r := range judgeTraces(t, base, head, tt.rule) {
			named := slices.ContainsFunc(r.Doubts, func(x result.Remark) bool { return x.Key == "rule-of-steps" })
			if r.Verdict != tt.wanted || named != tt.named {
				t.Errorf("%s: %s, named %v: %s, %+v", tt.name, r.Verdict, named, r.Reason, r.Doubts)
			}
		}
	}
}
