package calibrate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// program is a session of two kernels whose runs vary by sd, and by a factor of each run.
func program(runs int, sd float64, factor func(run int) float64) model.Session {
	r := rand.New(rand.NewPCG(1, 2))
	s := model.Session{Step: "step", Warmup: "auto", Environment: model.Environment{GPU: "NVIDIA H200", GPUs: 1,
		GPUHash: model.HashUUID("a"), Start: time.Unix(1e9, 0), Tick: 32, Tool: "nsys 2025.3.2"}}
	whole := make(model.Values, runs)
	add := func(subject measure.Subject, m measure.Metric, v model.Values) {
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: m, Values: v})
	}
	for _, k := range []struct {
		name string
		time float64
	}{{"gemm", 150e3}, {"softmax", 70e3}} {
		times := make(model.Values, runs)
		for i := range times {
			times[i] = k.time * math.Exp(sd*r.NormFloat64()) * factor(i)
			whole[i] += times[i]
		}
		subject := measure.Subject{Scope: measure.ScopeKernel, Name: k.name, Grid: measure.Dim3{X: 1, Y: 1, Z: 1},
			Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
		add(subject, measure.Time, times)
		add(subject, measure.Total, times)
		add(subject, measure.Launches, slices.Repeat(model.Values{1}, runs))
	}
	add(measure.Workload, measure.GPUTime, whole)
	for range runs {
		s.Runs = append(s.Runs, model.Run{Skipped: 6, Total: 60, Steady: true, Launches: 54})
	}
	s.SortSeries()
	return s
}

func alike(int) float64 { return 1 }

func policy() *thresholds.Resolved { return thresholds.Default().For("") }

// A quiet program is sound: gates of its runs do not fail, and larger slowdowns need no more runs.
func TestCalibrate(t *testing.T) {
	c := Calibrate([]model.Session{program(10, 0.002, alike)}, policy(), 5, 2*time.Second)
	if !c.Sound || c.Gates.Alarms != 0 || c.Gates.Gates < 100 || c.Gates.Runs != 5 || !(c.Gates.AlarmBound < 0.05) {
		t.Fatalf("sound %v (%s), gates %+v", c.Sound, c.Reason, c.Gates)
	}
	for i, p := range c.Plan {
		if p.Runs == 0 || float64(p.Seconds) != 2*float64(p.Runs) || i > 0 && p.Runs > c.Plan[i-1].Runs {
			t.Errorf("plan %+v", p)
		}
	}
	for i, m := range c.MDE {
		if i > 0 && (m.Workload > c.MDE[i-1].Workload || m.Limited > c.MDE[i-1].Limited) {
			t.Errorf("%d runs detect less than %d: %+v", m.Runs, c.MDE[i-1].Runs, m)
		}
	}
	for _, n := range c.Noise {
		if !(n.SD > 0.0004 && n.SD < 0.006) || len(n.Runs) != 10 || n.Levels != nil {
			t.Errorf("noise %+v", n)
		}
	}
	again := Calibrate([]model.Session{program(10, 0.002, alike)}, policy(), 5, 2*time.Second)
	if again.Gates != c.Gates {
		t.Errorf("the same runs give %+v and %+v", c.Gates, again.Gates)
	}
}

// A measurement that says nothing about gates is not sound, and says why and what to do.
func TestUnsound(t *testing.T) {
	few, unsteady, drifting := program(3, 0.002, alike), program(10, 0.002, alike),
		program(10, 0.0001, func(run int) float64 { return 1 + 0.01*float64(run) })
	for i := range 6 {
		unsteady.Runs[i].Steady = false
	}
	broken := program(10, 0.002, alike)
	broken.Series[0].Values = broken.Series[0].Values[1:]
	for kind, sessions := range map[model.Kind][]model.Session{model.NoSession: nil, model.FewRuns: {few},
		model.Unsteady: {unsteady}, model.Drift: {drifting}, model.BadSession: {broken}} {
		c := Calibrate(sessions, policy(), 5, 0)
		if c.Sound || c.ReasonKey != string(kind) || c.Reason == "" || len(c.Next) != 1 || len(c.Plan) > 0 {
			t.Errorf("%s: sound %v, %s: %s, next %q", kind, c.Sound, c.ReasonKey, c.Reason, c.Next)
		}
	}
	refused := Refused(model.Refuse(model.NoProfile, "wait", "busy"), policy())
	if refused.ReasonKey != string(model.NoProfile) || refused.Sound {
		t.Errorf("%+v", refused)
	}
	if c := Refused(errors.New("broken"), policy()); !strings.Contains(c.Reason, "broken") {
		t.Errorf("%q", c.Reason)
	}
}

// Runs on two levels fail unchanged gates of few runs, as the warning says; a single limit fails more.
func TestFalseAlarms(t *testing.T) {
	s := program(12, 1e-5, func(run int) float64 { return 1 + 0.2*float64((run*7%12)%2) })
	c := Calibrate([]model.Session{program(6, 0.002, alike), s}, policy(), 2, 0)
	if c.Gates.Alarms == 0 || 5*c.Gates.FixedAlarms < c.Gates.Gates || c.SecondsPerRun.Known() {
		t.Errorf("%+v", c.Gates)
	}
	keys := map[string]bool{}
	for i, x := range c.Doubts {
		keys[x.Key] = true
		if x.Sentence != c.Warnings[i] {
			t.Errorf("%q is not %q", x.Sentence, c.Warnings[i])
		}
	}
	if !keys["false-alarms"] || !keys["last-session"] {
		t.Errorf("%q", c.Warnings)
	}
	noise := NoiseOf(s, policy(), 5)
	if i := slices.IndexFunc(noise, func(n Noise) bool { return n.Kernel == "gemm" }); i < 0 ||
		noise[i].Levels == nil || noise[i].Levels.Runs != 6 {
		t.Errorf("%+v", noise)
	}
	if noise := NoiseOf(program(3, 0.002, alike), policy(), 5); noise != nil {
		t.Errorf("of three runs %+v", noise)
	}
}

// Unprofiled runs are drawn in the proportion of the profiled ones.
func TestUnprofiled(t *testing.T) {
	s := program(8, 0.002, alike)
	for i := range s.Series {
		s.Series[i].Values = append(s.Series[i].Values, math.NaN(), math.NaN(), math.NaN(), math.NaN())
	}
	rate := measure.Output{Name: "tokens/s", Better: measure.Higher}
	values := slices.Repeat(model.Values{math.NaN()}, 8)
	s.Series = append(s.Series, model.Series{Subject: rate.Subject(), Metric: rate.Metric(),
		Values: append(values, 1000, 1002, 999, 1001)})
	for range 4 {
		s.Runs = append(s.Runs, model.Run{Unprofiled: true})
	}
	s.SortSeries()
	c := Calibrate([]model.Session{s}, policy(), 4, 0)
	i := slices.IndexFunc(c.Noise, func(n Noise) bool { return n.Scope == measure.ScopeOutput })
	if !c.Sound || i < 0 || c.Noise[i].Typical != 1000.5 || c.Gates.Alarms > 0 {
		t.Errorf("sound %v (%s), %+v", c.Sound, c.Reason, c.Noise)
	}
}

// A part of a session holds the runs that were asked for, without series that none of them has.
func TestSubset(t *testing.T) {
	s := program(6, 0.01, alike)
	s.Series = append(s.Series, model.Series{Subject: measure.Subject{Scope: measure.ScopeRange, Name: "last"},
		Metric: measure.GPUTime, Values: append(slices.Repeat(model.Values{math.NaN()}, 5), 7)})
	s.SortSeries()
	rapid.Check(t, func(r *rapid.T) {
		runs := rapid.SliceOfNDistinct(rapid.IntRange(0, 5), 1, 6, rapid.ID[int]).Draw(r, "runs")
		slices.Sort(runs)
		out := Subset(&s, runs)
		if _, has := out.Find(measure.Subject{Scope: measure.ScopeRange, Name: "last"}, "gpu_time"); has !=
			slices.Contains(runs, 5) || len(out.Runs) != len(runs) {
			r.Fatalf("series of the last run: %v", has)
		}
		for _, x := range out.Series {
			of, _ := s.Find(x.Subject, x.Metric.Name)
			for i, run := range runs {
				if v := of.Values[run]; v == v && x.Values[i] != v {
					r.Fatalf("run %d: %v, want %v", run, x.Values[i], v)
				}
			}
		}
		base, head := draw(rand.New(rand.NewPCG(3, 4)), 10, 6, len(runs)/2)
		if both := slices.Concat(base, head); len(both) != len(runs)/2*2 || !slices.IsSorted(base) ||
			len(slices.Compact(slices.Sorted(slices.Values(both)))) != len(both) {
			r.Fatalf("drawn %v and %v", base, head)
		}
	})
	if !slices.ContainsFunc(s.Series, func(x model.Series) bool { return x.Subject.Name == "last" }) {
		t.Error("the session has changed")
	}
}

// A host is compared with the sessions of each board of its GPU model.
func TestFingerprint(t *testing.T) {
	host := program(4, 0.0001, alike)
	elsewhere := func(board string, factor float64) model.Session {
		s := program(4, 0.0001, func(int) float64 { return factor })
		s.GPUHash, s.Board, s.Start = model.HashUUID(board), board, time.Unix(2e9, 0)
		return s
	}
	foreign := elsewhere("3", 1)
	for i := range foreign.Series {
		if x := &foreign.Series[i]; x.Subject.Scope == measure.ScopeKernel {
			x.Subject.Name += "_other"
		}
	}
	got := Fingerprint(host, []model.Session{host, elsewhere("1", 1), elsewhere("2", 0.9), foreign}, 0.005)
	var keys []string
	for _, x := range got {
		keys = append(keys, x.Key)
	}
	if want := []string{"host-alike", "host-apart", "host-foreign"}; !slices.Equal(keys, want) {
		t.Fatalf("%q, want %q", keys, want)
	}
	if s := got[1].Sentence; !strings.Contains(s, "+11.1 % against 1 session on board 2, and 2 of 2 kernels by") {
		t.Errorf("%q", s)
	}
	if alone := Fingerprint(host, []model.Session{host}, 0.005); len(alone) != 1 || alone[0].Key != "host-alone" {
		t.Errorf("%v", alone)
	}
	if result.Say(HostForeign{2, ""}).Sentence != "this host has no kernel in common with 2 sessions" {
		t.Error(result.Say(HostForeign{2, ""}).Sentence)
	}
}
