package decide_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

var tokens = measure.Output{Name: "tokens/s", Better: measure.Higher}

// slowPart is the part of runs that are off by slowBy, of a program with outlier runs: of four unprofiled runs of a
// PyTorch program one was.
const slowPart, slowBy = 0.25, -0.076

// printing is a session of a program with so many unprofiled runs, interleaved with the profiled ones, that print a
// rate around mean. A negative sd makes some runs slow.
func (m made) printing(r *rand.Rand, o measure.Output, runs int, mean, sd float64) model.Session {
	all := []model.Session{m.session(r, nil)}
	var bare []model.Unprofiled
	for range runs {
		v := mean * math.Exp(math.Abs(sd)*r.NormFloat64())
		if sd < 0 && r.Float64() < slowPart {
			v *= 1 + slowBy
		}
		bare = append(bare, model.Unprofiled{Start: m.start, Wall: time.Second, Outputs: []float64{v}})
	}
	trace.AddUnprofiled(all, bare, []measure.Output{o})
	return all[0]
}

// A noisy program that did not change does not fail, and one that became slower does, wherever the sides were measured.
func TestOutputs(t *testing.T) {
	cpu := model.Hardware{CPU: "EPYC 9554", Board: "692-2G520-0282-001"}
	for _, tt := range []struct {
		name    string
		runs    int
		sd      float64 // between runs
		between float64 // sd between sessions
		effect  float64
		head    func(*made)
		cpu     bool // known, and the same
		wanted  []share
	}{
		{"unchanged, quiet", 5, 0.003, 0, 0, nil, false, []share{atLeast(passes, 95), never(fails)}},
		{"unchanged, 1.5 %", 5, 0.015, 0, 0, nil, false, []share{atMost(fails, 1)}},
		{"unchanged, 3 %", 5, 0.03, 0, 0, nil, false, []share{atMost(fails, 1), atMost(noVerdict, 10)}},
		{"unchanged, 6 %", 5, 0.06, 0, 0, nil, false, []share{atMost(fails, 1), atMost(noVerdict, 10)}},
		{"unchanged, 3 %, two runs", 2, 0.03, 0, 0, nil, false, []share{atMost(fails, 1)}},
		{"unchanged, some runs slow", 5, -0.003, 0, 0, nil, false, []share{atMost(fails, 1), atMost(noVerdict, 10)}},
		{"-20 % where some runs are slow", 5, -0.003, 0, -0.2, nil, false, []share{atLeast(fails, 90), never(passes)}},
		{"-10 % of a quiet one", 5, 0.003, 0, -0.1, nil, false, []share{always(fails)}},
		{"-10 % at 1.5 %", 5, 0.015, 0, -0.1, nil, false, []share{atLeast(fails, 95), never(passes)}},
		{"-5 % of a quiet one", 5, 0.003, 0, -0.05, nil, false, []share{atLeast(fails, 95)}},
		{"+10 %", 5, 0.003, 0, 0.1, nil, false, []share{atLeast(passes, 95)}},
		{"a later batch, unchanged", 5, 0.01, 0.005, 0, batch, false, []share{atMost(fails, 1)}},
		{"a later batch, -10 %", 5, 0.01, 0.005, -0.1, batch, false, []share{atLeast(fails, 95)}},
		{"another host, unchanged", 5, 0.01, 0.04, 0, elsewhere, false, []share{atMost(fails, 1)}},
		{"another host, -30 %", 5, 0.01, 0.04, -0.3, elsewhere, false, notGreen},
		{"another host, -10 %", 5, 0.01, 0.04, -0.1, elsewhere, false, []share{atMost(passes, 2)}},
		{"a host of the same kind, unchanged", 5, 0.01, 0.01, 0, elsewhere, true, []share{atMost(fails, 1)}},
		{"a host of the same kind, -10 %", 5, 0.01, 0.01, -0.1, elsewhere, true, []share{never(passes)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gates := sample(300)
			r := rand.New(rand.NewPCG(3, 4))
			count := map[answer]int{}
			for range gates {
				m := six()
				base := m.printing(r, tokens, tt.runs, 1000, tt.sd)
				if tt.head != nil {
					tt.head(&m)
				}
				head := m.printing(r, tokens, tt.runs,
					1000*(1+tt.effect)*math.Exp(math.Sqrt2*tt.between*r.NormFloat64()), tt.sd)
				if tt.cpu {
					base.Hardware, head.Hardware = cpu, cpu
				}
				count[answerOf(compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default()))]++
			}
			for _, w := range tt.wanted {
				if part := 100 * float64(count[w.answer]) / float64(gates); !w.met(part, gates) {
					t.Errorf("%.1f %% %v, want %v: %v", part, w.answer, w, count)
				}
			}
		})
	}
}

func batch(m *made)     { m.start = m.start.Add(10 * time.Minute) }
func elsewhere(m *made) { m.gpu = "b" }

// Unprofiled runs have no kernels: that nothing is known of them there is no zero, no run without launches and no
// unsteady one.
func TestUnprofiledRunsSayNothingOfKernels(t *testing.T) {
	policy, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\noutput = \"*\"\nseverity = \"ignore\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(run, k int, c cell) cell{
		"like the base": func(_, _ int, c cell) cell { return c },
		"a kernel in some runs only": func(run, k int, c cell) cell {
			if k == 2 && run%2 == 0 {
				return absent
			}
			return c
		},
		"a run that is off": func(run, _ int, c cell) cell {
			if run == 3 {
				c.time *= 1.1
			}
			return c
		},
		"two runs that are off": func(run, _ int, c cell) cell {
			if run > 2 {
				c.time *= 1.1
			}
			return c
		},
		"a slower kernel": slower(0, 0.05),
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			base, head := []model.Session{six().session(r, nil)}, []model.Session{six().session(r, edit)}
			want := compareSides(base, head, policy)
			unprofiled := func(s model.Session, runs int) []model.Session {
				out := []model.Session{s}
				out[0].Series = slices.Clone(s.Series)
				for i := range out[0].Series {
					out[0].Series[i].Values = slices.Clone(s.Series[i].Values)
				}
				var bare []model.Unprofiled
				for i := range runs {
					bare = append(bare, model.Unprofiled{Start: morning, Wall: time.Second,
						Outputs: []float64{float64(1000 + i)}})
				}
				trace.AddUnprofiled(out, bare, []measure.Output{tokens})
				if err := out[0].Check(); err != nil {
					t.Fatal(err)
				}
				return out
			}
			want.HeadSessions = nil
			for _, n := range [][2]int{{4, 3}, {0, 3}, {4, 0}} {
				got := compareSides(unprofiled(base[0], n[0]), unprofiled(head[0], n[1]), policy)
				if got.Base.Unprofiled != n[0] || got.Head.Unprofiled != n[1] {
					t.Errorf("%d and %d unprofiled runs, want %v", got.Base.Unprofiled, got.Head.Unprofiled, n)
				}
				got.HeadSessions, got.Base.Unprofiled, got.Head.Unprofiled = nil, 0, 0
				if len(got.Notes) != 1 || len(got.Remarks) != 1 {
					t.Errorf("%q, not that the rule ignores the output", got.Notes)
				}
				got.Notes, got.Remarks = nil, nil
				if diff := cmp.Diff(want, got, cmp.Comparer(func(a,
					b result.Number) bool {
					return a == b || !a.Known() && !b.Known()
				})); diff != "" {
					t.Errorf("%v unprofiled runs changed the findings of the profiled ones (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// An output that one side lacks is named once, and nothing is refused for it.
func TestOutputOfOneSide(t *testing.T) {
	cost := measure.Output{Name: tokens.Name, Better: measure.Lower}
	for _, tt := range []struct {
		name       string
		base, head *measure.Output
		want       []string // sides that have it
	}{
		{"both", &tokens, &tokens, nil},
		{"an old baseline", nil, &tokens, []string{"head"}},
		{"a head without", &tokens, nil, []string{"base"}},
		{"another direction", &tokens, &cost, []string{"base", "head"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			side := func(o *measure.Output) []model.Session {
				if o == nil {
					return []model.Session{six().session(r, nil)}
				}
				return []model.Session{six().printing(r, *o, 5, 1000, 0.002)}
			}
			report := evaluate(side(tt.base), side(tt.head), thresholds.Default())
			var with []string
			for _, doubt := range report.Doubts {
				if doubt.Key == "on-one-side" {
					with = append(with, doubt.Args["with"].(string))
				}
			}
			if !slices.Equal(with, tt.want) || report.Verdict != result.Pass || report.Undecided {
				t.Errorf("named of %v, want %v; %s: %s", with, tt.want, report.Verdict, report.Reason)
			}
			if f := find(report, tokens.Name, "rate"); (f != nil) != (tt.want == nil) {
				t.Errorf("judged: %v", f)
			}
			for _, f := range report.Findings {
				if f.Scope == measure.ScopeOutput && tt.want != nil {
					t.Errorf("it is listed as %s", f.Outcome)
				}
			}
		})
	}
}

// The first finding of its kind is an output of the program.
func TestOutputsComeFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	base, head := six().printing(r, tokens, 5, 1000, 0.002), six().printing(r, tokens, 5, 800, 0.002)
	times(&head, "sgemm", func(int) float64 { return 1.5 })
	report := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
	if f := report.Findings[0]; f.Kernel != tokens.Name || f.Outcome != result.Slower || len(f.BaseRuns) != 5 ||
		f.Share != 1 {
		t.Errorf("first of all %s %s %s over %v", f.Kernel, f.Metric, f.Outcome, f.BaseRuns)
	}
}

// A calibration splits both kinds of runs, and says how much an output moves.
func TestCalibrateOutputs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	m := six()
	m.runs = 10
	s := m.printing(r, tokens, 10, 1000, 0.01)
	c := calibrationOf([]model.Session{s}, thresholds.Default(), 5, time.Second)
	if !c.Sound || c.Measured.Runs != 10 || c.Measured.Unprofiled != 10 || c.Gates.Runs != 5 || c.Gates.Alarms > 0 {
		t.Fatalf("%+v", c)
	}
	i := slices.IndexFunc(c.Noise, func(n calibrate.Noise) bool { return n.Scope == measure.ScopeOutput })
	if i != 1 {
		t.Fatalf("the output is noise %d, want 1, behind the workload", i)
	}
	if n := c.Noise[i]; len(n.Runs) != 10 || n.SD < 0.004 || n.SD > 0.02 || !n.MDE.Known() {
		t.Errorf("%+v", n)
	}
	for _, p := range c.Plan {
		if p.Threshold == 0.03 && p.Hardest != tokens.Name {
			t.Errorf("hardest at 3 %% is %s with %d runs, want the output", p.Hardest, p.Runs)
		}
	}
	few := m.printing(r, tokens, 1, 1000, 0.01)
	if c := calibrationOf([]model.Session{few}, thresholds.Default(), 5, time.Second); !c.Sound {
		t.Errorf("one unprofiled run: %s", c.Reason)
	}
}

// A judged metric of the whole program that one side lacks is named once, and nothing is refused for it.
func TestMetricOfOneSide(t *testing.T) {
	peak := model.Series{Subject: measure.Workload, Metric: measure.MemoryPeak,
		Values: []float64{1e9, 1e9, 1e9, 1e9, 1e9}}
	for _, with := range []string{"base", "head", "both"} {
		r := rand.New(rand.NewPCG(5, 6))
		base, head := six().session(r, nil), six().session(r, nil)
		if with != "head" {
			base.Series = append(base.Series, peak)
		}
		if with != "base" {
			head.Series = append(head.Series, peak)
		}
		report := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
		var named []string
		for _, doubt := range report.Doubts {
			if doubt.Key == "on-one-side" {
				named = append(named, doubt.Args["with"].(string)+": "+strings.Join(doubt.Args["names"].([]string),
					", "))
			}
		}
		want := []string{with + ": device memory requested"}
		if with == "both" {
			want = nil
		}
		if !slices.Equal(named, want) || report.Verdict != result.Pass {
			t.Errorf("%s: named %q, want %q; %s: %s", with, named, want, report.Verdict, report.Reason)
		}
	}
}
