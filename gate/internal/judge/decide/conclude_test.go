package decide_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// program describes a made-up workload: what its kernels cost and how much they move between runs.
type program struct {
	kernels []madeUp
	sd      float64 // between runs, relative
	runs    int
	host    string
	start   time.Time
	step    string
	seed    uint64
}

type madeUp struct {
	name     string
	time     float64 // ns a launch
	launches float64 // a step
	role     string
	grid     uint32
}

func (p program) session() model.Session {
	r := rand.New(rand.NewPCG(p.seed, 7))
	s := model.Session{Step: p.step, Warmup: "auto", Environment: model.Environment{
		GPU: "NVIDIA H200", GPUs: 1, GPUHash: model.HashUUID(p.host), Start: p.start, Tick: 32, Tool: "nsys 2025.3.2",
	}}
	for range p.runs {
		s.Runs = append(s.Runs, model.Run{Skipped: 6, Total: 60, Steady: true, Launches: 54})
	}
	add := func(subject measure.Subject, m measure.Metric, role string, v model.Values) {
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: m, Role: role, Values: v})
	}
	whole, count := make(model.Values, p.runs), make(model.Values, p.runs)
	for _, k := range p.kernels {
		subject := measure.Subject{Scope: measure.ScopeKernel, Name: k.name + "(float*)",
			Grid: measure.Dim3{X: max(k.grid, 1), Y: 1, Z: 1}, Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
		times, launches, total := make(model.Values, p.runs), make(model.Values, p.runs), make(model.Values, p.runs)
		for i := range times {
			times[i] = k.time * math.Exp(p.sd*r.NormFloat64())
			launches[i] = k.launches
			total[i] = times[i] * launches[i]
			whole[i] += total[i]
			count[i] += launches[i]
		}
		add(subject, measure.Time, k.role, times)
		add(subject, measure.Launches, k.role, launches)
		add(subject, measure.Total, k.role, total)
		add(subject, measure.Registers, k.role, slices.Repeat(model.Values{32}, p.runs))
	}
	add(measure.Workload, measure.GPUTime, "", whole)
	add(measure.Workload, measure.Launches, "", count)
	s.SortSeries()
	return s
}

func quiet() program {
	return program{
		kernels: []madeUp{
			{"gemm", 150000, 1, "step/compute", 1}, {"softmax", 70000, 1, "step/compute", 1},
			{"reduce", 50000, 2, "step/memory", 1}, {"tiny", 900, 1, "step/compute", 1},
		},
		sd: 0.002, runs: 5, host: "GPU-a", start: noon, step: "step", seed: 1,
	}
}

func (p program) with(change func(*program)) program {
	p.kernels = slices.Clone(p.kernels)
	p.seed++
	change(&p)
	return p
}

// evaluate judges both sides and panics where a sentence of the report is a single word.
func evaluate(base, head []model.Session, policy *thresholds.Policy) *result.Report {
	r := compareSides(base, head, policy)
	said := slices.Concat(r.Warnings, r.Notes, r.Next, []string{r.Reason})
	for _, f := range r.Findings {
		said = append(append(said, f.Reason), f.Evidence...)
	}
	for _, s := range said {
		if !strings.Contains(s, " ") {
			panic(s + " is not in words")
		}
	}
	return r
}

func judge(base, head program) *result.Report {
	return evaluate([]model.Session{base.session()}, []model.Session{head.session()}, thresholds.Default())
}

func find(r *result.Report, kernel, metric string) *result.Finding {
	i := slices.IndexFunc(r.Findings, func(f result.Finding) bool {
		return f.Kernel == kernel && f.Metric == metric && f.Outcome != result.New && f.Outcome != result.Gone
	})
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name           string
		change         func(*program)
		verdict        result.Verdict
		kernel, metric string
		outcome        result.Outcome
	}{
		{"nothing changed", func(*program) {}, result.Pass, "gemm", "time", result.WithinLimit},
		{"5 % slower", func(p *program) { p.kernels[1].time *= 1.05 }, result.Fail, "softmax", "time", result.Slower},
		{"2 % slower, within 3 %", func(p *program) { p.kernels[1].time *= 1.02 }, result.Pass, "softmax", "time",
			result.WithinLimit},
		{"5 % faster", func(p *program) { p.kernels[1].time *= 0.95 }, result.Pass, "softmax", "time", result.Faster},
		// by its total time
		{"one launch more", func(p *program) { p.kernels[2].launches = 3 }, result.Fail, "reduce", "launches",
			result.Slower},
		{"a tiny kernel, one tick", func(p *program) { p.kernels[3].time += 32 }, result.Pass, "tiny", "time",
			result.Undecided},
		{"a tiny kernel, at little cost", func(p *program) { p.kernels[3].time *= 1.2 }, result.Pass, "tiny", "time",
			result.Slower},
		{"another geometry, as fast", func(p *program) { p.kernels[0].grid = 7 }, result.Pass, "gemm", "total",
			result.WithinLimit},
		{"another geometry, slower", func(p *program) { p.kernels[0].grid = 7; p.kernels[0].time *= 1.1 }, result.Fail,
			"gemm", "total", result.Slower},
		{"a template instance, slower", func(p *program) { p.kernels[0].name = "gemm<32>"; p.kernels[0].time *= 1.1 },
			result.Fail, "gemm", "total", result.Slower},
		{"another kernel in its place", func(p *program) { p.kernels[2].name = "sum"; p.kernels[2].time *= 1.2 },
			result.Fail,
			"sum", "total", result.Slower},
		{"everything 4 % slower", func(p *program) {
			for i := range p.kernels {
				p.kernels[i].time *= 1.04
			}
		}, result.Fail, "workload", "gpu_time", result.Slower},
		// Most runs of the head lie beyond the limit and beyond every run of the base: that is no pass.
		{"noise hides it", func(p *program) { p.sd = 0.05; p.kernels[0].time *= 1.02 }, result.NoVerdict, "gemm",
			"time",
			result.Undecided},
	} {
		r := judge(quiet(), quiet().with(c.change))
		if r.Verdict != c.verdict {
			t.Errorf("%s: verdict %s (%s), want %s", c.name, r.Verdict, r.Reason, c.verdict)
		}
		f := find(r, c.kernel, c.metric)
		if f == nil {
			t.Errorf("%s: no finding for %s %s", c.name, c.kernel, c.metric)
			continue
		}
		if f.Outcome != c.outcome {
			t.Errorf("%s: %s %s is %s (%v, %s), want %s", c.name, c.kernel, c.metric, f.Outcome, f.Change, f.Reason,
				c.outcome)
		}
		if f.Reason == "" {
			t.Errorf("%s: no reason", c.name)
		}
	}
}

// A metric has one name, in headlines as in tables; and every interval says its level.
func TestNamesAndLevels(t *testing.T) {
	slower := quiet().with(func(p *program) {
		for i := range p.kernels {
			p.kernels[i].time *= 1.04
		}
	})
	r := judge(quiet(), slower)
	if !strings.HasPrefix(r.Reason, "slower: workload GPU time +4.") {
		t.Errorf("headline %q", r.Reason)
	}
	for _, r := range []*result.Report{r, evaluate(nil, nil, thresholds.Default()),
		insight.Refuse(decide.Input{}, errors.New("no GPU")).Shown(nil)} {
		if data, err := json.Marshal(r); err != nil || !strings.Contains(string(data), `"confidence":0.9,`) {
			t.Errorf("no level of the intervals in %.200s (%v)", data, err)
		}
	}
}

// The only new kernel of its geometry in its range takes the place of the one that is gone. Of several, those matched
// by their range are listed by name as well.
func TestReplacedKernelIsListed(t *testing.T) {
	r := judge(quiet(), quiet().with(func(p *program) { p.kernels[2].name = "sum" }))
	if f := find(r, "sum", "total"); f.Match != "place" || !slices.Equal(f.BaseNames, []string{"reduce(float*)"}) ||
		r.Verdict != result.Pass {
		t.Errorf("match %q of %v: %s, want the place of reduce", f.Match, f.BaseNames, r.Verdict)
	}
	r = judge(quiet(), quiet().with(func(p *program) { p.kernels[2].name, p.kernels[2].grid = "sum", 77 }))
	var got []string
	for _, f := range r.Findings {
		if f.Outcome == result.New || f.Outcome == result.Gone {
			got = append(got, string(f.Outcome)+" "+f.Kernel)
		}
	}
	if want := []string{"new sum", "gone reduce"}; !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	if f := find(r, "sum", "total"); f.Match != "role" || !slices.Equal(f.BaseNames, []string{"reduce(float*)"}) {
		t.Errorf("match %q of %v, want the role of reduce", f.Match, f.BaseNames)
	}
}

// All of the head is judged, not only what was measured beside the base.
func TestHeadFromTwoHosts(t *testing.T) {
	base := quiet().session()
	slower := quiet().with(func(p *program) {
		p.host = "GPU-b"
		p.kernels[0].time *= 1.2
	}).session()
	if r := evaluate([]model.Session{base}, []model.Session{quiet().session(), slower},
		thresholds.Default()); r.Paired || r.Verdict == result.Pass && !r.Undecided {
		t.Errorf("%s (%s), paired %v", r.Verdict, r.Reason, r.Paired)
	}
}

// Hosts of one model do not differ by a fifth: where everything is so much slower, it is.
func TestEverythingSlowerElsewhere(t *testing.T) {
	many := quiet()
	for i := range 12 {
		many.kernels = append(many.kernels, madeUp{fmt.Sprint("k", i), 40000, 1, "step/compute", 1})
	}
	r := judge(many, many.with(func(p *program) {
		p.host = "GPU-b"
		for i := range p.kernels {
			p.kernels[i].time *= 1.2
		}
	}))
	if r.Verdict != result.Fail {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// A time of zero is no measurement, and no improvement.
func TestZeroTime(t *testing.T) {
	for _, side := range []string{"head", "baseline"} {
		zero := quiet().session()
		for i, x := range zero.Series {
			if x.Subject.Short() == "reduce" && x.Metric == measure.Time {
				zero.Series[i].Values = make(model.Values, len(x.Values))
			}
		}
		base, head := quiet().session(), zero
		if side == "baseline" {
			base, head = head, base
		}
		r := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
		if r.Verdict != result.NoVerdict || !strings.Contains(r.Reason, "reduce takes no time in the "+side) {
			t.Errorf("%s: %s", r.Verdict, r.Reason)
		}
	}
}

// A code generator counts its kernels anew when other code changes: that is neither a new kernel nor one less.
func TestRenumberedKernelIsMatched(t *testing.T) {
	numbered := func(n string) func(*program) {
		return func(p *program) { p.kernels[2].name = "triton_poi_fused_add_" + n }
	}
	r := judge(quiet().with(numbered("3")), quiet().with(numbered("4")))
	f := find(r, "triton_poi_fused_add_4", "total")
	if f == nil || f.Match != "stem" || f.Outcome != result.WithinLimit || r.Verdict != result.Pass ||
		slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
			return f.Outcome == result.New || f.Outcome == result.Gone
		}) {
		t.Errorf("%s (%s): %+v", r.Verdict, r.Reason, f)
	}
}

// A side that does not name its GPU may be of any: it is judged, with a warning.
func TestUnknownGPU(t *testing.T) {
	s := quiet().session()
	s.GPU = ""
	for _, sides := range [][2][]model.Session{{{s}, {quiet().session()}}, {{quiet().session()}, {s}}} {
		r := evaluate(sides[0], sides[1], thresholds.Default())
		if r.Verdict != result.Pass || !slices.ContainsFunc(r.Doubts,
			func(x result.Remark) bool { return x.Key == "unknown-gpu" }) {
			t.Errorf("%s (%s), %v", r.Verdict, r.Reason, r.Doubts)
		}
	}
}

// Every reason not to compare leads to no verdict, with something to do about it.
func TestRefusals(t *testing.T) {
	one := func(change func(*model.Session)) []model.Session {
		s := quiet().session()
		change(&s)
		return []model.Session{s}
	}
	same := one(func(*model.Session) {})
	for _, c := range []struct {
		name       string
		base, head []model.Session
		want       string
	}{
		{"no base", nil, same, "the baseline holds no session"},
		{"no head", same, nil, "the head holds no session"},
		{"no runs", same, one(func(s *model.Session) { s.Runs = nil }), "holds no run"},
		{"one run", []model.Session{quiet().with(func(p *program) { p.runs = 1 }).session()},
			[]model.Session{quiet().with(func(p *program) { p.runs = 2 }).session()}, "1 run against 2 is too few"},
		{"other GPU", same, one(func(s *model.Session) { s.GPU = "NVIDIA A100" }),
			"different GPUs: NVIDIA H200, NVIDIA A100"},
		{"more GPUs", same, one(func(s *model.Session) { s.GPUs = 2 }), "1 GPU, the head 2 GPUs"},
		{"graphs", one(func(s *model.Session) { s.GraphTrace = "node" }),
			one(func(s *model.Session) { s.GraphTrace = "graph" }), "traced differently"},
		{"mixed profilers", same, append(one(func(s *model.Session) { s.Tool = "ncu 2025.3" }), same...),
			"the head mixes the measurements of ncu and nsys"},
		{"another profiler", same, one(func(s *model.Session) { s.Tool = "torch.profiler" }),
			"measured with nsys, the head with torch.profiler"},
		{"another mode", same, one(func(s *model.Session) { s.Mode = "cache none" }),
			"not known in the baseline, cache none in the head"},
		{"fewer processes", one(func(s *model.Session) { s.Processes = 2 }),
			one(func(s *model.Session) { s.Processes = 1 }),
			"ran 2 processes at a time, the head 1 process"},
		{"capture", same, one(func(s *model.Session) { s.Warmup = "capture" }), "only one side is restricted"},
		{"steps", same, one(func(s *model.Session) { s.Step = "" }), "different steps"},
		{"fewer steps", same, one(func(s *model.Session) {
			for i := range s.Runs {
				s.Runs[i].Total = 20
			}
		}), "different amount of work"},
		{"never steady", same, one(func(s *model.Session) {
			for i := range s.Runs {
				s.Runs[i].Steady = false
			}
		}), "no steady state in 5 of the 5 runs of the head"},
		{"infinite", same, one(func(s *model.Session) { s.Series[0].Values[0] = math.Inf(1) }), "not a measurement"},
		{"negative", same, one(func(s *model.Session) { s.Series[0].Values[0] = -1 }), "not a measurement"},
		{"all missing", same, one(func(s *model.Session) {
			for i := range s.Series[0].Values {
				s.Series[0].Values[i] = math.NaN()
			}
		}), "no run has a value"},
	} {
		r := evaluate(c.base, c.head, thresholds.Default())
		if r.Verdict != result.NoVerdict || !strings.Contains(r.Reason, c.want) {
			t.Errorf("%s: %s (%s), want no verdict because %q", c.name, r.Verdict, r.Reason, c.want)
		}
		if len(r.Next) == 0 {
			t.Errorf("%s: nothing to do about it", c.name)
		}
	}
}

// Sides from different hosts: a shift that hosts alone explain is not a regression, and the report says so.
func TestHosts(t *testing.T) {
	shifted := quiet().with(func(p *program) {
		p.host = "GPU-b"
		for i := range p.kernels {
			p.kernels[i].time *= 1.015
		}
	})
	p := thresholds.Default()
	p.Threshold = 0.01
	r := evaluate([]model.Session{quiet().session()}, []model.Session{shifted.session()}, p)
	if r.Verdict != result.NoVerdict || !r.Undecided || r.Paired {
		t.Errorf("verdict %s, undecided %v, paired %v, want no verdict: all runs lie beyond the limit and every run "+
			"of the base", r.Verdict, r.Undecided, r.Paired)
	}
	if f := find(r, "gemm", "time"); !strings.Contains(f.Reason, "second host") {
		t.Errorf("reason %q, want the way out", f.Reason)
	}
	p.Undecided = "fail"
	if r := evaluate([]model.Session{quiet().session()}, []model.Session{shifted.session()},
		p); r.Verdict != result.NoVerdict {
		t.Errorf("undecided under --undecided=fail is %s, want no verdict", r.Verdict)
	}
	slow := shifted.with(func(p *program) { p.kernels[0].time *= 1.10 })
	if r := judge(quiet(), slow); r.Verdict != result.Fail {
		t.Errorf("12 %% slower on another host: %s, want fail", r.Verdict)
	}
}

// Patterns across kernels and runs are named.
func TestPatterns(t *testing.T) {
	shifted := quiet().with(func(p *program) {
		p.host = "GPU-b"
		p.kernels[0].time *= 1.016
		p.kernels[2].time *= 1.014
	})
	if r := judge(quiet(), shifted); !slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "2 of 3 kernels moved together by about +1.") && strings.Contains(w, "gemm, reduce")
	}) {
		t.Errorf("warnings %q do not name the common shift", r.Warnings)
	}
	if r := judge(quiet(), quiet().with(func(p *program) { p.kernels[0].time *= 1.05 })); len(r.Warnings) > 0 {
		t.Errorf("warnings %q where one kernel changed", r.Warnings)
	}
	waits := func(ns float64) []model.Session {
		s := quiet().session()
		s.Series = append(s.Series, model.Series{Subject: measure.Workload, Metric: measure.StepTime,
			Values: model.Values{ns, 1.01 * ns, ns, 0.99 * ns, ns}})
		return []model.Session{s}
	}
	if r := evaluate(waits(500e3), waits(700e3), thresholds.Default()); r.Verdict != result.Fail ||
		find(r, "workload", "step_time").Outcome != result.Slower {
		t.Errorf("%s: %s, want longer steps to fail", r.Verdict, r.Reason)
	}
	if r := evaluate(waits(500e3), waits(510e3), thresholds.Default()); r.Verdict != result.Pass || r.Undecided {
		t.Errorf("%s: %s for 2 %%", r.Verdict, r.Reason)
	}
	s := quiet().session()
	for i, x := range s.Series {
		if x.Subject.Name == "gemm(float*)" && x.Metric == measure.Time {
			for j := range x.Values {
				s.Series[i].Values[j] *= 1 + 0.06*float64(j%2)
			}
		}
	}
	r := evaluate([]model.Session{quiet().session()}, []model.Session{s}, thresholds.Default())
	if f := find(r, "gemm", "time"); f.Outcome != result.Undecided || !strings.Contains(f.Reason, "bimodal: 3 of 5") {
		t.Errorf("bistable kernel is %s: %s", f.Outcome, f.Reason)
	}
	if f := find(r, "gemm", "time"); !strings.Contains(f.Reason, "; the baseline is not") {
		t.Errorf("new levels are not called new: %s", f.Reason)
	}
	if r := judge(quiet(), quiet().with(func(p *program) {
		by := 0.1 * p.kernels[1].time * p.kernels[1].launches
		p.kernels[1].time *= 1.1
		p.kernels[0].time -= by / p.kernels[0].launches
	})); r.Verdict != result.Fail || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "work moved between kernels: softmax slower, gemm faster") {
		t.Errorf("%s, warnings %q, want the moved work named", r.Verdict, r.Warnings)
	}
	s = quiet().session()
	for i, x := range s.Series {
		if x.Subject.Name == "gemm(float*)" && x.Metric == measure.Time {
			s.Series[i].Values[2] *= 1.3
		}
	}
	r = evaluate([]model.Session{quiet().session()}, []model.Session{s}, thresholds.Default())
	if f := find(r, "gemm", "time"); f.Outcome != result.WithinLimit ||
		!strings.Contains(f.Reason, "one run of the head is +29.4 %") {
		t.Errorf("kernel with an outlier is %s: %s", f.Outcome, f.Reason)
	}
}

// A report of an undecided gate never counts as certain, whatever else changes.
func TestProperties(t *testing.T) {
	draw := func(t *rapid.T) program {
		p := quiet()
		p.seed = rapid.Uint64().Draw(t, "seed")
		p.sd = rapid.Float64Range(0, 0.02).Draw(t, "sd")
		p.runs = rapid.IntRange(2, 8).Draw(t, "runs")
		p.kernels = nil
		for i := range rapid.IntRange(1, 12).Draw(t, "kernels") {
			p.kernels = append(p.kernels, madeUp{
				name: fmt.Sprint("k", i), role: rapid.SampledFrom([]string{"", "step/a", "step/b"}).Draw(t, "role"),
				time:     rapid.Float64Range(500, 1e6).Draw(t, "time"),
				launches: float64(rapid.IntRange(1, 5).Draw(t, "launches")),
			})
		}
		return p
	}
	ignore := cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-9, 1e-12)}

	t.Run("a session against itself is unchanged", rapid.MakeCheck(func(t *rapid.T) {
		p := draw(t)
		r := judge(p, p)
		for _, f := range r.Findings {
			if f.Outcome == result.Slower || f.Outcome == result.Faster {
				t.Fatalf("%s %s against itself is %s", f.Kernel, f.Metric, f.Outcome)
			}
		}
	}))
	t.Run("the order of runs does not matter", rapid.MakeCheck(func(t *rapid.T) {
		base, head := draw(t), draw(t)
		a := judge(base, head)
		s := head.session()
		for i := range s.Series {
			slices.Reverse(s.Series[i].Values)
		}
		b := evaluate([]model.Session{base.session()}, []model.Session{s}, thresholds.Default())
		if a.Verdict != b.Verdict || !cmp.Equal(outcomes(a), outcomes(b), ignore) {
			t.Fatalf("%s", cmp.Diff(outcomes(a), outcomes(b), ignore))
		}
	}))
	t.Run("swapping the sides swaps slower and faster", rapid.MakeCheck(func(t *rapid.T) {
		base := draw(t)
		head := base
		head.seed++
		head.kernels = slices.Clone(base.kernels)
		i := rapid.IntRange(0, len(head.kernels)-1).Draw(t, "which")
		head.kernels[i].time *= rapid.Float64Range(1, 1.5).Draw(t, "factor")
		there, back := judge(base, head), judge(head, base)
		for _, f := range there.Findings {
			if f.Outcome != result.Slower && f.Outcome != result.Faster {
				continue
			}
			g := find(back, f.Kernel, f.Metric)
			// The limit is relative to the base, so a change just beyond it on the way there may be within it on the
			// way back.
			if g == nil || (g.Change > 0) == (f.Change > 0) || g.Outcome == f.Outcome {
				t.Fatalf("%s %s is %s there and %+v back", f.Kernel, f.Metric, f.Outcome, g)
			}
		}
	}))
	t.Run("a gate that fails names what got slower", rapid.MakeCheck(func(t *rapid.T) {
		base := draw(t)
		head := base.with(func(p *program) {
			for i := range p.kernels {
				p.kernels[i].time *= rapid.Float64Range(0.8, 1.3).Draw(t, "factor")
			}
		})
		r := judge(base, head)
		gating := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
			return f.Outcome == result.Slower && f.Gates
		})
		if (r.Verdict == result.Fail) != gating {
			t.Fatalf("verdict %s, gating regression %v", r.Verdict, gating)
		}
		for _, f := range r.Findings {
			if f.Outcome == result.Slower && !f.Increased() && !(f.Change > f.Limit && f.P < r.Alpha) {
				t.Fatalf("%s %s regressed by %v at a limit of %v with p = %v", f.Kernel, f.Metric, f.Change, f.Limit,
					f.P)
			}
			if f.Outcome.Kept() && f.Limit.Known() && !(float64(f.High) <= math.Max(float64(f.Limit),
				float64(f.Floor/f.Base))) {
				t.Fatalf("%s %s unchanged with an interval up to %v at a limit of %v", f.Kernel, f.Metric, f.High,
					f.Limit)
			}
		}
	}))
	t.Run("a missing sample never passes for a number", rapid.MakeCheck(func(t *rapid.T) {
		base, head := draw(t).session(), draw(t).session()
		for i := range head.Series {
			if head.Series[i].Subject.Scope == measure.ScopeKernel && rapid.Bool().Draw(t, "missing") {
				head.Series[i].Values[rapid.IntRange(0, len(head.Runs)-1).Draw(t, "run")] = math.NaN()
			}
		}
		r := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
		for _, f := range r.Findings {
			decided := f.Outcome == result.Slower || f.Outcome == result.Faster || f.Outcome == result.WithinLimit
			if decided && !(f.Change.Known() && f.Low.Known() && f.High.Known() && f.P.Known()) {
				t.Fatalf("%s %s is %s with change %v, p %v", f.Kernel, f.Metric, f.Outcome, f.Change, f.P)
			}
		}
	}))
}

type line struct {
	Kernel, Metric string
	Outcome        result.Outcome
	Change, P      float64
}

func outcomes(r *result.Report) []line {
	var out []line
	for _, f := range r.Findings {
		out = append(out, line{f.Kernel, f.Metric, f.Outcome, float64(f.Change), float64(f.P)})
	}
	slices.SortFunc(out, func(a, b line) int { return strings.Compare(a.Kernel+" "+a.Metric, b.Kernel+" "+b.Metric) })
	return out
}
