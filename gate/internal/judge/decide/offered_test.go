package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// altered is a program before and after a change, in sessions of the baseline and one of the head.
type altered struct {
	name, policy string
	base         []model.Session
	head         model.Session
}

// gate is a gate with a committed baseline.
type gate struct {
	t         *testing.T
	root, dir string
	policy    *thresholds.Policy
	head      model.Session
}

func (g *gate) read() *baseline.Baseline {
	b, err := baseline.Open(g.dir, (*baseline.Baseline).ReadSinceAnchor)
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

func (g *gate) judge() *result.Report {
	b := g.read()
	r := insight.Judge(decide.Input{Baseline: b.InEffect(), Since: b.SinceAnchor(), Head: []model.Session{g.head},
		Policy: g.policy.For("app")})
	r.Workload, r.Baseline = "app", g.dir
	return r
}

// parse is the policy with more text.
func (g *gate) parse(text string) {
	policy, err := thresholds.Parse("nsgate.toml", []byte(text))
	if err != nil {
		g.t.Fatalf("%v in\n%s", err, text)
	}
	g.policy = policy
}

func newGate(t *testing.T, x *altered) *gate {
	g := &gate{t: t, root: t.TempDir(), head: x.head}
	g.parse(x.policy)
	g.head.ID = ""
	g.head.SortSeries()
	g.dir = baseline.Dir(g.root, "app", g.head.GPU)
	for _, s := range x.base {
		s.ID = ""
		s.SortSeries()
		_, err := baseline.Add(g.dir, func(*baseline.Baseline) ([]baseline.Entry, error) {
			return []baseline.Entry{{Session: s, Workload: "app"}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// accepts runs the command that a report offers, as accept does with a saved report.
func (g *gate) accepts(r *result.Report) (kind string, err error) {
	a := app.Accept{Judgement: r, Root: g.root, Home: g.root, Own: true, Reason: "why"}
	switch {
	case slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Fails() && f.Bounded() }):
		return "", nil // no baseline lifts an absolute bound, see kept in the command line
	case app.Changed(r):
		kind = "accept"
		if r.OverDrift() {
			a.Anchor = "anew"
		}
	case app.Faster(r):
		kind, a.Improved = "accept --improved", true
	default:
		return "", nil
	}
	one, err := a.Again(g.t.Context(), g.policy.For("app"))
	if err == nil {
		_, err = one.Run(g.t.Context())
	}
	return kind, err
}

// allowed is a policy with the rules that a report offers, "" where it offers none: for what fails and what is gone.
func allowed(r *result.Report) string {
	rules, general := "", "" // the first rule that matches applies
	add := func(f *result.Finding, setting string) {
		if s := f.Subject(); s.Kind() != measure.ScopeWorkload && s.Kind() != measure.ScopeIdle {
			rules += fmt.Sprintf("[[rule]]\n%s = %q\n%s\n", s.Kind(), strings.ReplaceAll(s.Name, "*", "?"), setting)
			return
		}
		general += fmt.Sprintf("[[rule]]\n%s\n", strings.Replace(setting, `"mean_step`, `"step`, 1)) // a rule for both
	}
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.Fails():
			add(f, fmt.Sprintf("metric = %q\nseverity = \"warn\"", f.Metric))
		case r.ReasonKey == string(model.RowGone) && f.Scope == measure.ScopeBenchmark && f.Outcome == result.Gone:
			add(f, `severity = "ignore"`)
		}
	}
	rules += general
	if rules == "" {
		return ""
	}
	return dedupe(rules)
}

// dedupe leaves a table of rules with each rule once; a metric is set once in a rule.
func dedupe(rules string) string {
	var out []string
	for rule := range strings.SplitSeq(rules, "[[rule]]\n") {
		var lines []string
		for line := range strings.SplitSeq(rule, "\n") {
			if line != "" && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		if text := strings.Join(lines, "\n"); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return "[[rule]]\n" + strings.Join(out, "\n[[rule]]\n") + "\n"
}

// After any command that a report offers, the same head passes.
func TestOffered(t *testing.T) {
	t.Parallel()
	offers := map[string]int{}
	try := func(t *testing.T, x *altered) {
		g := newGate(t, x)
		r := g.judge()
		before := fmt.Sprintf("%s: %s", r.Verdict, r.Reason)
		if text := allowed(r); text != "" && x.policy == "" {
			offers["rule"]++
			g.parse(text)
			// A doubt that was behind the failure is there still, and has steps of its own.
			if after := g.judge(); after.Verdict == result.Fail || after.Verdict == r.Verdict {
				t.Errorf("%s\nafter rules: %s: %s\n%s%s", before, after.Verdict, after.Reason, text,
					said(after.Shown(nil)))
			}
			g.parse(x.policy)
		}
		kind, err := g.accepts(r)
		if kind == "" {
			return
		}
		offers[kind]++
		if err != nil {
			t.Errorf("%s\n%s: %v", before, kind, err)
			return
		}
		if after := g.judge(); after.Verdict != result.Pass {
			t.Errorf("%s\nafter %s: %s: %s\n%s\nbefore\n%s", before, kind, after.Verdict, after.Reason,
				said(after.Shown(nil)), said(r.Shown(nil)))
		}
	}
	for _, x := range changes() {
		t.Run(x.name, func(t *testing.T) { try(t, &x) })
	}
	every := 12
	if full() {
		every = 1
	}
	for _, c := range classes {
		for i, x := range c.cases(t) {
			if i%every > 0 {
				continue
			}
			t.Run(c.name+", "+x.name, func(t *testing.T) {
				base, head := x.draw(rand.New(rand.NewPCG(0, uint64(i))))
				try(t, &altered{x.name, x.policy, []model.Session{base}, head})
			})
		}
	}
	t.Log(offers)
}

// changes are programs of every kind of finding.
func changes() (out []altered) {
	day := func(p program, n int) program { p.start = p.start.AddDate(0, 0, n); return p }
	kernels := func(name, policy string, change func(*program)) {
		head := day(quiet(), 9).with(change).session()
		base, third := quiet().session(), day(quiet(), 3).with(func(p *program) { p.seed = 9 }).session()
		out = append(out, altered{name, policy, []model.Session{base}, head},
			altered{name + ", two sessions of the baseline", policy, []model.Session{base, third}, head})
		elsewhere := day(quiet(), 9).with(change)
		elsewhere.host = "GPU-b"
		out = append(out, altered{name + ", another host", policy, []model.Session{base}, elsewhere.session()})
	}
	times := func(i int, by float64) func(*program) { return func(p *program) { p.kernels[i].time *= by } }
	both := func(all ...func(*program)) func(*program) {
		return func(p *program) {
			for _, change := range all {
				change(p)
			}
		}
	}
	const counted = "[[rule]]\nkernel = \"*\"\nmetric = \"launches\"\nmax = \"0%\"\n"
	fused := func(by float64) func(*program) {
		return func(p *program) {
			p.kernels[1] = madeUp{"softmax_fused", (70000 + 100000) * by, 1, "step/compute", 1}
			p.kernels = slices.Delete(p.kernels, 2, 3)
		}
	}
	kernels("kernel slower", "", times(0, 1.3))
	kernels("kernel slower, one faster", "", both(times(0, 1.3), times(1, 0.8)))
	kernels("traded", "", both(times(0, 1.1), times(1, 0.6)))
	kernels("traded within a range", "", both(times(1, 1.2), times(0, 0.8), times(2, 0.7)))
	kernels("renamed and slower", "", func(p *program) { p.kernels[0].name, p.kernels[0].time = "gemm_v2", 190000 })
	kernels("renamed and faster, another slower", "", both(times(2, 1.1), func(p *program) {
		p.kernels[0].name, p.kernels[0].time = "gemm_v2", 120000
	}))
	kernels("another geometry, slower", "", func(p *program) { p.kernels[0].grid, p.kernels[0].time = 8, 190000 })
	kernels("new kernel", "", func(p *program) {
		p.kernels = append(p.kernels, madeUp{"copy", 40000, 1, "step/memory", 1})
	})
	kernels("new kernel, others faster", "", both(times(0, 0.7), func(p *program) {
		p.kernels = append(p.kernels, madeUp{"copy", 30000, 1, "step/memory", 1})
	}))
	kernels("gone, another slower", "", both(times(0, 1.2), func(p *program) { p.kernels = p.kernels[:3] }))
	kernels("two gone, another slower", "", both(times(0, 1.2), func(p *program) { p.kernels = p.kernels[:2] }))
	kernels("fused and slower", "", fused(1.1))
	kernels("fused and faster", "", fused(0.8))
	kernels("fused and faster, another slower", "", both(times(0, 1.05), fused(0.8)))
	kernels("more launches", "", func(p *program) { p.kernels[2].launches = 3 })
	kernels("more launches, each shorter", "", func(p *program) { p.kernels[2].launches, p.kernels[2].time = 4, 20000 })
	kernels("fewer launches, each longer", "", func(p *program) { p.kernels[2].launches, p.kernels[2].time = 1, 80000 })
	kernels("a count by rule", counted, func(p *program) { p.kernels[3].launches = 2 })
	kernels("a count by rule, others faster", counted, both(times(0, 0.8), func(p *program) {
		p.kernels[3].launches = 2
	}))
	kernels("all slower", "", func(p *program) {
		for i := range p.kernels {
			p.kernels[i].time *= 1.2
		}
	})
	kernels("steps of half the work", "", func(p *program) {
		for i := range p.kernels {
			p.kernels[i].launches *= 2
		}
	})
	kernels("drift", "[[rule]]\nkernel = \"gemm\"\nmax = \"20%\"\ndrift = \"4%\"\n", times(0, 1.1))

	r := rand.New(rand.NewPCG(4, 4))
	outputs := func(name string, o measure.Output, from, to float64, change func(*program)) {
		base, head := quiet().session(), day(quiet(), 1).with(change).session()
		printed(&base, o, drawnRates(r, 5, from)...)
		printed(&head, o, drawnRates(r, 5, to)...)
		out = append(out, altered{name, "", []model.Session{base}, head})
	}
	same := func(*program) {}
	rate := measure.Output{Name: "tokens/s", Better: measure.Higher}
	memory := measure.Output{Name: "peak memory MiB", Better: measure.Lower}
	outputs("output slower", rate, 1000, 900, same)
	outputs("output and a kernel slower", rate, 1000, 900, times(0, 1.3))
	outputs("a kernel forgiven by an output", rate, 1000, 1100, times(0, 1.1))
	outputs("an output faster", rate, 1000, 1100, same)
	outputs("more memory, a kernel faster", memory, 1000, 1100, times(0, 0.8))
	outputs("less memory, a kernel slower", memory, 1000, 900, times(0, 1.3))
	lacks, has := day(quiet(), 1).session(), quiet().session()
	printed(&has, rate, drawnRates(r, 5, 1000)...)
	out = append(out, altered{"an output gone", "", []model.Session{has}, lacks},
		altered{"an output gone, a kernel faster", "", []model.Session{has},
			day(quiet(), 1).with(times(0, 0.8)).session()})

	a, b := model.HashUUID("a"), model.HashUUID("b")
	rows := func(name string, change func([][]float64) [][]float64) {
		for _, host := range []string{a, "", b} {
			drawn := func() (rows [][]float64) {
				for i := range 12 {
					rows = append(rows, drawnRates(r, 5, 1e6*float64(i+1)))
				}
				return rows
			}
			base, head := rowsOf(a, drawn(), measure.Duration), rowsOf(host, change(drawn()), measure.Duration)
			head.Start = head.Start.Add(time.Hour)
			if host == "" {
				base.GPUHash = ""
			}
			out = append(out, altered{name + ", host " + host, "", []model.Session{base}, head})
		}
	}
	row := func(rows [][]float64, i int, by float64) {
		for run := range rows[i] {
			rows[i][run] *= by
		}
	}
	rows("a row slower", func(rows [][]float64) [][]float64 { row(rows, 3, 2); return rows })
	rows("a row faster", func(rows [][]float64) [][]float64 { row(rows, 3, 0.5); return rows })
	rows("a row slower, one faster", func(rows [][]float64) [][]float64 {
		row(rows, 3, 2)
		row(rows, 4, 0.5)
		return rows
	})
	rows("rows gone", func(rows [][]float64) [][]float64 { return rows[:9] })
	rows("rows gone, one slower", func(rows [][]float64) [][]float64 { row(rows, 3, 2); return rows[:9] })
	rows("rows gone, one faster", func(rows [][]float64) [][]float64 { row(rows, 3, 0.5); return rows[:9] })
	rows("rows new, one slower", func(rows [][]float64) [][]float64 { row(rows, 3, 2); return append(rows, rows[2]) })
	rows("rows new, one faster", func(rows [][]float64) [][]float64 { row(rows, 3, 0.5); return append(rows, rows[2]) })
	rows("all rows slower", func(rows [][]float64) [][]float64 {
		for i := range rows {
			row(rows, i, 1.5)
		}
		return rows
	})
	rows("a row gone in one run", func(rows [][]float64) [][]float64 { rows[3][2] = math.NaN(); return rows })
	rows("a row slower, one gone in one run", func(rows [][]float64) [][]float64 {
		rows[3][2] = math.NaN()
		row(rows, 4, 2)
		return rows
	})
	return out
}
