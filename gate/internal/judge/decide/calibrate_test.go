package decide_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// calibrationOf calibrates and puts it into words.
func calibrationOf(sessions []model.Session, policy *thresholds.Policy, runs int,
	perRun time.Duration) *calibrate.Calibration {
	c := calibrate.Calibrate(sessions, policy.For(""), runs, perRun)
	return c
}

// calibrated calibrates a made-up program of ten runs after a change to its session.
func calibrated(p program, change func(*model.Session)) *calibrate.Calibration {
	p.runs = 10
	s := p.session()
	if change != nil {
		change(&s)
	}
	return calibrationOf([]model.Session{s}, thresholds.Default(), 5, 2*time.Second)
}

// times multiplies every time of one kernel, or of everything, by a factor of the run.
func times(s *model.Session, kernel string, factor func(run int) float64) {
	for _, x := range s.Series {
		if x.Metric.Unit == "ns" && (kernel == "" || x.Subject.Short() == kernel) {
			for i := range x.Values {
				x.Values[i] *= factor(i)
			}
		}
	}
}

func TestCalibrate(t *testing.T) {
	c := calibrated(quiet(), nil)
	if !c.Sound || len(c.Warnings) > 0 {
		t.Fatalf("not sound: %s %v", c.Reason, c.Warnings)
	}
	var kernels []string
	for i, n := range c.Noise {
		kernels = append(kernels, n.Kernel)
		if sd := float64(n.SD); sd < 0.0005 || sd > 0.004 || len(n.Runs) != 10 || n.Levels != nil {
			t.Errorf("%s: sd %v, want about 0.002 of 10 runs", n.Kernel, sd)
		}
		if i > 1 && n.SD > c.Noise[i-1].SD {
			t.Errorf("%s is noisier than what stands before it", n.Kernel)
		}
	}
	slices.Sort(kernels[1:])
	if want := []string{"workload", "gemm", "reduce", "softmax"}; !slices.Equal(kernels, want) {
		t.Errorf("noise of %v, want %v: tiny has too small a share", kernels, want)
	}
	if c.Gates.FixedAlarms != 0 {
		t.Errorf("a rule of 3 %% fails %d draws of runs with a spread of 0.2 %%", c.Gates.FixedAlarms)
	}
	if g := c.Gates; g.Runs != 5 || g.Gates < 200 || g.Gates > 252 || g.Alarms != 0 || g.AlarmBound < 0.01 ||
		g.AlarmBound > 0.02 {
		t.Errorf("unchanged gates: %+v; there are 252 ways to split 10 runs into 5 and 5", g)
	}
	for _, p := range c.Plan {
		if p.Runs < 2 || float64(p.Seconds) != 2*float64(p.Runs) || p.Hardest == "" ||
			float64(p.MDE) > calibrate.PlanEffect*float64(p.Threshold) {
			t.Errorf("plan %+v", p)
		}
	}
}

func TestCalibrateNames(t *testing.T) {
	t.Run("two levels", func(t *testing.T) {
		c := calibrated(quiet(), func(s *model.Session) {
			times(s, "softmax", func(run int) float64 { return []float64{1, 1.1, 1}[run%3] })
		})
		i := slices.IndexFunc(c.Noise, func(n calibrate.Noise) bool { return n.Kernel == "softmax" })
		if n := c.Noise[i]; !c.Sound || n.Levels == nil || n.Levels.Runs != 7 {
			t.Errorf("%v %v: %+v", c.Sound, c.Reason, n)
		}
	})
	t.Run("false alarms", func(t *testing.T) {
		s := quiet().with(func(p *program) { p.runs, p.sd = 12, 1e-5 }).session()
		times(&s, "softmax", func(run int) float64 { return 1 + 0.2*float64((run*7%12)%2) })
		c := calibrationOf([]model.Session{s}, thresholds.Default(), 2, 0)
		// One run of a pair is slow and the other is not in half of the draws, and the head has it in half of these.
		if g := c.Gates; 5*g.FixedAlarms < g.Gates || 3*g.FixedAlarms > g.Gates {
			t.Errorf("a fixed rule fails %d of %d draws, want about a quarter", g.FixedAlarms, g.Gates)
		}
		if c.Gates.Runs != 2 || c.Gates.Alarms == 0 || !slices.ContainsFunc(c.Warnings, func(w string) bool {
			return strings.Contains(w, "unchanged gates failed, more than the 1 % that the policy allows")
		}) {
			t.Errorf("%+v %v", c.Gates, c.Warnings)
		}
		if c.SecondsPerRun.Known() || c.Plan[0].Seconds.Known() {
			t.Error("a time is stated that nobody measured")
		}
	})
	t.Run("the timer", func(t *testing.T) {
		p := program{kernels: []madeUp{{"blink", 1000, 10, "", 1}}, sd: 1e-4, host: "GPU-a", start: noon, step: "step"}
		for _, x := range calibrated(p, nil).Plan {
			if can := x.Threshold == 0.03 || x.Threshold == 0.05; (x.Runs > 0) != can || x.Hardest != "blink" {
				t.Errorf("%+v: one tick of the timer is 3.2 %% of a launch", x)
			}
		}
	})
	t.Run("several sessions", func(t *testing.T) {
		old, last := quiet().session(), quiet().with(func(p *program) { p.host = "GPU-b"; p.runs = 6 }).session()
		c := calibrationOf([]model.Session{old, last}, thresholds.Default(), 5, 0)
		if c.Measured.Runs != 6 || c.Gates.Runs != 3 || len(c.Warnings) != 1 ||
			!strings.Contains(c.Warnings[0], "only the last") {
			t.Errorf("%+v %v", c.Measured, c.Warnings)
		}
	})
}

func TestCalibrateRefuses(t *testing.T) {
	few := quiet().with(func(p *program) { p.runs = 3 }).session()
	for _, c := range []struct {
		name string
		got  *calibrate.Calibration
		want string
	}{
		{"nothing", calibrationOf(nil, thresholds.Default(), 5, 0), "no session"},
		{"few runs", calibrationOf([]model.Session{few}, thresholds.Default(), 5, 0), "3 runs cannot be split"},
		{"unsteady", calibrated(quiet(), func(s *model.Session) {
			for i := range 6 {
				s.Runs[i].Steady = false
			}
		}), "no steady state in 6 of 10 runs"},
		{"drift", calibrated(quiet(), func(s *model.Session) {
			times(s, "", func(run int) float64 { return 1 + 0.003*float64(run) })
		}), "the workload's GPU time drifts: +2."},
		{"bad value", calibrated(quiet(), func(s *model.Session) { s.Series[0].Values[0] = -1 }), "not a measurement"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got.Sound || !strings.Contains(c.got.Reason, c.want) || len(c.got.Plan) > 0 {
				t.Errorf("sound %v: %q, want %q", c.got.Sound, c.got.Reason, c.want)
			}
		})
	}
	ignore := thresholds.Default()
	ignore.Rules = []thresholds.Rule{{Severity: thresholds.Ignore, Where: "x"}}
	if c := calibrationOf([]model.Session{quiet().session()}, ignore, 5, 0); c.Sound ||
		!strings.Contains(c.Reason, "nothing to judge") {
		t.Errorf("%v %q", c.Sound, c.Reason)
	}
	// A negligible drift and a scatter without a direction are no drift.
	for name, factor := range map[string]func(int) float64{
		"small":   func(run int) float64 { return 1 + 0.0002*float64(run) },
		"scatter": func(run int) float64 { return 1 + 0.02*float64(run*7%10) },
	} {
		p := quiet().with(func(p *program) { p.sd = 1e-6 })
		if c := calibrated(p, func(s *model.Session) { times(s, "", factor) }); !c.Sound {
			t.Errorf("%s: %s", name, c.Reason)
		}
	}
}

func TestCalibrateProperties(t *testing.T) {
	close := cmp.Comparer(func(a, b result.Number) bool {
		return a == b || math.Abs(float64(a-b)) < 1e-6*math.Abs(float64(a)) || !a.Known() && !b.Known()
	})
	rapid.Check(t, func(t *rapid.T) {
		p := quiet()
		p.seed = rapid.Uint64().Draw(t, "seed")
		p.sd = rapid.Float64Range(0.0001, 0.05).Draw(t, "sd")
		p.runs = rapid.IntRange(4, 5).Draw(t, "runs")
		p.kernels = p.kernels[:3]
		s := p.session()
		c := calibrationOf([]model.Session{s}, thresholds.Default(), 3, time.Second)
		for i := 1; i < len(c.MDE); i++ {
			if a, b := c.MDE[i-1], c.MDE[i]; b.Kernels > a.Kernels || b.Workload > a.Workload || b.Limited > a.Limited {
				t.Errorf("more runs, worse MDE: %+v %+v", a, b)
			}
		}
		for i := 1; i < len(c.Plan); i++ {
			if a, b := c.Plan[i-1].Runs, c.Plan[i].Runs; a > 0 && (b == 0 || b > a) {
				t.Errorf("a wider limit asks for more runs: %+v", c.Plan)
			}
		}
		// The same runs give the same answer, in any order and unit of their series.
		s.Series = slices.Clone(s.Series)
		rand.New(rand.NewPCG(p.seed, 1)).Shuffle(len(s.Series),
			func(i, j int) { s.Series[i], s.Series[j] = s.Series[j], s.Series[i] })
		shuffled := calibrationOf([]model.Session{s}, thresholds.Default(), 3, time.Second)
		if diff := cmp.Diff(c, shuffled, close); diff != "" {
			t.Errorf("another order of series, another answer:\n%s", diff)
		}
		times(&s, "", func(int) float64 { return 1024 })
		s.Tick *= 1024
		scaled := calibrationOf([]model.Session{s}, thresholds.Default(), 3, time.Second)
		if diff := cmp.Diff([]any{c.MDE, c.Plan, c.Gates}, []any{scaled.MDE, scaled.Plan, scaled.Gates},
			close); diff != "" {
			t.Errorf("another unit, another answer:\n%s", diff)
		}
	})
}

// A session without any identity is one session all the same.
func TestSubset(t *testing.T) {
	s := quiet().session()
	s.GPUHash, s.Start = "", time.Time{}
	s.Series[0].Values[3] = math.NaN()
	a, b := calibrate.Subset(&s, []int{0, 4}), calibrate.Subset(&s, []int{3})
	if !model.SameSession(a.Environment, b.Environment) {
		t.Error("the parts of a session are not one session")
	}
	if len(a.Series) != len(s.Series) || len(b.Series) != len(s.Series)-1 ||
		a.Series[0].Values[1] != s.Series[0].Values[4] {
		t.Errorf("%d and %d series", len(a.Series), len(b.Series))
	}
}
