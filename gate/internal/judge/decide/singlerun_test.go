package decide_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// sideOf is a program with so many runs, changed.
func sideOf(runs int, change func(*program)) program {
	return quiet().with(func(p *program) {
		p.runs, p.seed = runs, p.seed+uint64(runs)
		change(p)
	})
}

// One run is compared with the spread of three or more, on either side; with fewer only bounds are judged.
func TestOnce(t *testing.T) {
	same := func(*program) {}
	slower := func(k int, by float64) func(*program) {
		return func(p *program) { p.kernels[k].time *= by }
	}
	all := func(by float64) func(*program) {
		return func(p *program) {
			for k := range p.kernels {
				p.kernels[k].time *= by
			}
		}
	}
	for _, c := range []struct {
		name       string
		base, head program
		limit      float64
		verdict    result.Verdict
		key        string // of the verdict
		finding    string // of the time of softmax
	}{
		{"1 against 1", sideOf(1, same), sideOf(1, slower(1, 2)), 0.03, result.NoVerdict, "few-runs", "not-judged"},
		{"2 against 1", sideOf(2, same), sideOf(1, slower(1, 2)), 0.03, result.NoVerdict, "few-runs", "not-judged"},
		{"1 against 2", sideOf(1, same), sideOf(2, slower(1, 2)), 0.03, result.NoVerdict, "few-runs", "not-judged"},
		{"3 against 1", sideOf(3, same), sideOf(1, slower(1, 1.08)), 0.03, result.Fail, "slower", "beyond"},
		{"5 against 1, unchanged", sideOf(5, same), sideOf(1, same), 0.03, result.Pass, "none-slower", "within"},
		{"5 against 1, +5 %", sideOf(5, same), sideOf(1, slower(1, 1.05)), 0.03, result.Fail, "slower", "beyond"},
		{"1 against 5, +5 %", sideOf(1, same), sideOf(5, slower(1, 1.05)), 0.03, result.Fail, "slower", "beyond"},
		{"5 against 1, faster", sideOf(5, same), sideOf(1, slower(1, 0.95)), 0.03, result.Pass, "none-slower",
			"better"},
		{"5 against 1, as much as a kernel may be off in one run", sideOf(5, same), sideOf(1, slower(1, 1.014)), 0.005,
			result.NoVerdict, "doubted", "single-run"},
		{"5 against 1, slower as a whole", sideOf(5, same), sideOf(1, all(1.1)), 0.03, result.NoVerdict,
			"single-run-outlier", "outlier-as-a-whole"},
		{"5 against 1, faster as a whole", sideOf(5, same), sideOf(1, all(0.9)), 0.03, result.NoVerdict,
			"single-run-outlier", "outlier-as-a-whole"},
		{"1 against 5, slower as a whole", sideOf(1, same), sideOf(5, all(1.1)), 0.03, result.NoVerdict,
			"single-run-outlier", "outlier-as-a-whole"},
		{"5 against 5, slower as a whole", sideOf(5, same), sideOf(5, all(1.1)), 0.03, result.Fail, "slower", "beyond"},
	} {
		p := thresholds.Default()
		p.Threshold = c.limit
		r := evaluate([]model.Session{c.base.session()}, []model.Session{c.head.session()}, p)
		if f := find(r, "softmax", "time"); r.Verdict != c.verdict || r.ReasonKey != c.key || f.ReasonKey != c.finding {
			t.Errorf("%s: %s (%s), softmax %s; want %s (%s), %s", c.name, r.Verdict, r.Reason, f.Reason, c.verdict,
				c.key, c.finding)
		}
		lone := min(c.base.runs, c.head.runs) == 1 && max(c.base.runs, c.head.runs) >= 3
		if held := slices.ContainsFunc(r.Remarks,
			func(x result.Remark) bool { return x.Key == "compared-single" }); held != lone {
			t.Errorf("%s: that one run was held against several is said: %v", c.name, held)
		}
		if r.ReasonKey == "few-runs" && (r.Findings[0].Kernel != "softmax" &&
			r.Findings[0].Scope == measure.ScopeKernel ||
			slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Fails() })) {
			t.Errorf("%s: %+v is first, %+v", c.name, r.Findings[0], r.Findings)
		}
	}
}

// A step that takes as much longer as a stray run does is no failure and no pass where one run says so; one that takes
// twice as long is a failure; and where the base has such runs it is open.
func TestOnceStep(t *testing.T) {
	stepped := func(runs int, times ...float64) []model.Session {
		s := sideOf(runs, func(*program) {}).session()
		s.Series = append(s.Series, model.Series{Subject: measure.Workload, Metric: measure.StepTime, Values: times})
		s.SortSeries()
		return []model.Session{s}
	}
	for _, c := range []struct {
		name    string
		base    []model.Session
		head    float64
		verdict result.Verdict
		key     string // of the step
	}{
		{"unchanged", stepped(5, 500e3, 501e3, 502e3, 499e3, 500e3), 501e3, result.Pass, "within"},
		{"+45 %", stepped(5, 500e3, 501e3, 502e3, 499e3, 500e3), 725e3, result.NoVerdict, "single-run"},
		{"a base that strays by 2 %", stepped(5, 500e3, 501e3, 502e3, 499e3, 510e3), 725e3, result.NoVerdict,
			"single-run"},
		{"a base that strays as well", stepped(5, 500e3, 501e3, 502e3, 499e3, 700e3), 725e3, result.Pass, "slow-runs"},
		{"more than twice", stepped(5, 500e3, 501e3, 502e3, 499e3, 500e3), 1100e3, result.Fail, "beyond"},
		{"faster", stepped(5, 500e3, 501e3, 502e3, 499e3, 500e3), 400e3, result.Pass, "single-run"},
	} {
		r := evaluate(c.base, stepped(1, c.head), thresholds.Default())
		if f := find(r, "workload", "step_time"); f == nil || r.Verdict != c.verdict || f.ReasonKey != c.key {
			t.Errorf("%s: %s (%s), %+v; want %s, %s", c.name, r.Verdict, r.Reason, f, c.verdict, c.key)
		}
	}
	// A second run that agrees with the first is no less evidence.
	r := evaluate(stepped(2, 500e3, 501e3), stepped(2, 725e3, 731e3), thresholds.Default())
	if f := find(r, "workload", "step_time"); r.Verdict != result.NoVerdict || f.ReasonKey != "slow-runs" {
		t.Errorf("two runs a side: %s (%s), %+v", r.Verdict, r.Reason, f)
	}
	// Of a shorter step the baseline may be the delayed side.
	r = evaluate(stepped(2, 725e3, 731e3), stepped(2, 500e3, 505e3), thresholds.Default())
	f := find(r, "workload", "step_time")
	if f.ReasonKey != "slow-runs" || !strings.Contains(f.Reason, "2 runs are faster") {
		t.Errorf("two runs a side, faster: %s", f.Reason)
	}
}

// One unprofiled run is no surer than one profiled run, whatever the number of those. Outputs of too few runs have no
// verdict, and the step is judged in their place.
func TestOnceUnprofiled(t *testing.T) {
	five := []float64{1.001, 0.999, 1.002, 1, 0.998}
	output := func(step float64, times []float64) model.Session { // beside five profiled runs
		var steps []float64
		for _, v := range five {
			steps = append(steps, 500e3*step*v)
		}
		all := []model.Session{stepping("launch-starved", steps...)}
		var bare []model.Unprofiled
		for _, v := range times {
			bare = append(bare, model.Unprofiled{Start: noon, Wall: time.Second, Outputs: []float64{1000 / v}})
		}
		trace.AddUnprofiled(all, bare, []measure.Output{tokens})
		return all[0]
	}
	kind := func(k int) func(float64, []float64) model.Session {
		return func(_ float64, times []float64) model.Session {
			return modeKinds[k].side(rand.New(rand.NewPCG(1, 2)), six(), times)
		}
	}
	for _, c := range []struct {
		name       string
		side       func(step float64, times []float64) model.Session
		base, head []float64
		step       float64 // of the head's step
		verdict    result.Verdict
		key        string
	}{
		{"an output, unchanged", output, five, []float64{1.0005}, 1, result.Pass, "none-slower"},
		{"an output, +30 %", output, five, []float64{1.3}, 1, result.NoVerdict, "doubted"},
		{"an output, more than twice", output, five, []float64{2.5}, 1, result.Fail, "slower"},
		{"the only run of the base", output, five[:1], []float64{1.3, 1.301, 1.299}, 1, result.NoVerdict, "doubted"},
		{"one against one", output, five[:1], []float64{2}, 1, result.NoVerdict, "few-runs"}, // was: pass
		{"two against one", output, five[:2], []float64{2}, 1, result.NoVerdict, "few-runs"},
		{"one against one, a longer step", output, five[:1], []float64{2}, 2, result.Fail, "slower"},
		{"one profiled run, +30 %", kind(3), five, []float64{1.3}, 1, result.NoVerdict, "doubted"}, // was: fail
		{"a row, +30 %", kind(4), five, []float64{1.3}, 1, result.NoVerdict, "doubted"},            // was: fail
		{"a row, more than twice", kind(4), five, []float64{2.5}, 1, result.Fail, "slower"},
		{"a row of rate, +30 %", kind(5), five, []float64{1.3}, 1, result.NoVerdict, "doubted"},
	} {
		r := evaluate([]model.Session{c.side(1, c.base)}, []model.Session{c.side(c.step, c.head)}, thresholds.Default())
		if r.Verdict != c.verdict || r.ReasonKey != c.key {
			t.Errorf("%s: %s (%s): %s; want %s (%s)", c.name, r.Verdict, r.ReasonKey, r.Reason, c.verdict, c.key)
		}
	}
}

// Unchanged programs with one run against five raise a false alarm in at most 1 % of gates. Kernels that got 5 % slower
// are found.
func TestOnceOnRecordings(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{0.01, 0.03} {
		p := thresholds.Default()
		p.Threshold = limit
		for _, h := range slices.Concat(loadHosts(t, "kernels", "a", "b"), loadHosts(t, "transformer", "b")) {
			r := rand.New(rand.NewPCG(3, 9))
			gates, alarms, found := sample(100), 0, 0
			for range gates {
				order := r.Perm(len(h.session.Runs))
				base, head := draw{host: &h, runs: order[:5]}, draw{host: &h, runs: order[5:6]}
				verdict := func() result.Verdict {
					return compareSides([]model.Session{base.session()}, []model.Session{head.session()}, p).Verdict
				}
				if verdict() == result.Fail {
					alarms++
				}
				kernels := heavy(h.session)
				head.kernel, head.effect = kernels[r.IntN(len(kernels))], 0.05
				if verdict() == result.Fail {
					found++
				}
			}
			if alarms > gates/100 || found < gates*60/100 {
				t.Errorf("%s at %v: %d alarms, %d of 5 %% found, of %d", h.name, limit, alarms, found, gates)
			}
		}
	}
}
