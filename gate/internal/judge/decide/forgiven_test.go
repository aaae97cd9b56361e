package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// forgivenCases try what the list of forgivers must not forgive, and what it must.
func forgivenCases(tb testing.TB) (out []classCase) {
	kernels, pytorch := kernelRelations(tb), pytorchRelations(tb)
	here := kernels[:2] // of one host
	sgemm := named("sgemm")
	const warn = "[[rule]]\nkernel = %q\nseverity = \"warn\"\n"
	out = append(out, inAll("a warned kernel +100 %, the step with it", fmt.Sprintf(warn, "sgemm*"), here, mustFail,
		slow(sgemm, 1))...)
	out = append(out, inAll("a rule that warns of all kernels, all +30 %", fmt.Sprintf(warn, "*"), here, mustFail,
		slow(every, 0.3))...)
	out = append(out, inAll("a rule that ignores ?*, all +30 %", "[[rule]]\nkernel = \"?*\"\nseverity = \"ignore\"\n",
		here, mustFail, slow(every, 0.3))...)
	out = append(out, inAll("a warned kernel of PyTorch +100 %", fmt.Sprintf(warn, "nvjet_*"), pytorch[:1], mustNotPass,
		slow(func(s measure.Subject) bool { return len(s.Name) > 5 && s.Name[:5] == "nvjet" }, 1))...)
	for _, o := range []struct {
		measure.Output
		of, to float64
		wanted expectation
	}{
		{measure.Output{Name: "peak memory MiB", Better: measure.Lower}, 1000, 900, mustFail},
		{measure.Output{Name: "accuracy", Better: measure.Higher}, 0.7, 0.728, mustFail},
		{measure.Output{Name: "loss", Better: measure.Lower}, 2, 1.9, mustFail},
		{measure.Output{Name: "loss", Better: measure.Lower}, 2, 2, mustFail},
		{measure.Output{Name: "tokens/s", Better: measure.Higher}, 1000, 1040, mustPass},
		{measure.Output{Name: "score", Better: measure.Higher, Measures: measure.OfSteps}, 1000, 1040, mustPass},
	} {
		policy := ""
		if o.Measures != "" {
			policy = fmt.Sprintf("[[workload]]\nname = \"a\"\ncommand = \"a\"\n[[workload.output]]\nname = "+
				"%q\npattern = 'x ([0-9.]+)'\nmeasures = %q\n", o.Name, o.Measures)
		}
		for _, x := range []struct {
			name string
			edit sessionEdit
		}{{"all kernels +30 %", slow(every, 0.3)}, {"a step of +52 %", func(_ *rand.Rand, s *model.Session) {
			stepTo(s, slices.Clone(values(s, measure.Workload, measure.StepTime)), 1.52, starved)
		}}} {
			name := fmt.Sprintf("%s %v → %v, %s", o.Name, o.of, o.to, x.name)
			out = append(out, classCase{name: name, policy: policy, wanted: []expectation{o.wanted},
				draw: func(r *rand.Rand) (base, head model.Session) {
					base, head = drawsOf(here[0].from, 5, x.edit)(r)
					printed(&base, o.Output, drawnRates(r, 5, o.of)...)
					printed(&head, o.Output, drawnRates(r, 5, o.to)...)
					return base, head
				}})
		}
	}
	late := func(_ *rand.Rand, s *model.Session) {
		plus(s, measure.After, measure.Elapsed, inEveryRun(1e9))
	}
	for _, o := range []struct {
		measure.Output
		of, to float64
		wanted expectation
	}{
		{measure.Output{Name: "tokens/s", Better: measure.Higher}, 1000, 1030, mustFail},
		{measure.Output{Name: "total time s", Better: measure.Lower}, 10, 9.6, mustPass},
	} {
		out = append(out, classCase{name: o.Name + " better, the end +1 s", wanted: []expectation{o.wanted},
			draw: func(r *rand.Rand) (base, head model.Session) {
				base, head = drawsOf(here[0].from, 5, late)(r)
				printed(&base, o.Output, drawnRates(r, 5, o.of)...)
				printed(&head, o.Output, drawnRates(r, 5, o.to)...)
				return base, head
			}})
	}
	out = append(out, inAll("a shorter warm-up, a longer end, the sum +18 %", "", here, mustFail,
		func(_ *rand.Rand, s *model.Session) {
			run := 0.0
			for _, x := range []measure.Subject{measure.Warmup, measure.Steps, measure.After} {
				if v := values(s, x, measure.Elapsed); v != nil {
					run += v[0]
				}
			}
			warm := values(s, measure.Warmup, measure.Elapsed)[0] / 2
			plus(s, measure.Warmup, measure.Elapsed, inEveryRun(-warm))
			plus(s, measure.After, measure.Elapsed, inEveryRun(warm+0.18*run))
		})...)
	out = append(out, inAll("rank 1 of 2 gets 10 % faster", "", here, mustNotFail,
		func(_ *rand.Rand, s *model.Session) {
			put(s, measure.Workload, measure.Imbalance, inEveryRun(1.0489))
			stepTo(s, slices.Clone(values(s, measure.Workload, measure.StepTime)), 0.96, gaps)
		}, func(_ *rand.Rand, s *model.Session) { put(s, measure.Workload, measure.Imbalance, inEveryRun(1)) })...)
	waiting := func(_ *rand.Rand, s *model.Session) {
		step := slices.Clone(values(s, measure.Workload, measure.StepTime))
		put(s, measure.Workload, measure.Sensitivity, inEveryRun(0.95))
		lengthened(s, starved, func(i int) float64 { return step[i] })
	}
	out = append(out, inAll("a launch-bound step -16 %, a kernel +12 %, the GPU time +2 %", "", here, mustNotPass,
		func(_ *rand.Rand, s *model.Session) {
			slowedBy(s, named("saxpy"), inEveryRun(0.12))
			step := slices.Clone(values(s, measure.Workload, measure.StepTime))
			lengthened(s, starved, func(i int) float64 { return -0.16 * step[i] })
		}, waiting)...)
	return append(out, inAll("hidden copies +40 %, nothing known of what is exposed", "", here[:1], mustNotFail,
		func(_ *rand.Rand, s *model.Session) {
			scale(s, hostToDevice, measure.CopyTime, 1.4)
			stepTo(s, slices.Clone(values(s, measure.Workload, measure.StepTime)), 0.9995, gaps)
		}, func(_ *rand.Rand, s *model.Session) {
			s.Series = slices.DeleteFunc(s.Series, func(x model.Series) bool { return x.Metric == measure.Owned })
		})...)
}

// printed adds an output of unprofiled runs.
func printed(s *model.Session, o measure.Output, of ...float64) {
	printing(s, of...)
	for i := range s.Series {
		if s.Series[i].Subject.Scope == measure.ScopeOutput {
			s.Series[i].Subject, s.Series[i].Metric = o.Subject(), o.Metric()
		}
	}
}

// A kernel that took over the work of another one is in doubt, and does not fail, where only the end of an interval is
// beyond the limit: hosts of unknown boards differ by as much.
func TestReplacedWorkInDoubt(t *testing.T) {
	hosts, doubted := loadHosts(t, "kernels", "a", "f"), 0
	fused := edits()[slices.IndexFunc(edits(), func(e edit) bool { return e.name == "kernel fused into another" })]
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 7))
		order := r.Perm(12)
		base := draw{host: &hosts[1], runs: order[:3]}.session()
		head := fused.apply(r, draw{host: &hosts[0], runs: order[3:6]}.session())
		got := compareSides([]model.Session{base}, []model.Session{head}, limited(0.01))
		if got.Verdict == result.Fail {
			t.Errorf("draw %d: %s", seed, got.Reason)
		}
		if strings.Contains(got.Reason, "what replaces it") {
			doubted++
		}
	}
	if doubted == 0 {
		t.Error("no gate is in doubt for what replaces a kernel")
	}
}

// A certain part that only an undecided whole would forgive is in doubt: neither a failure nor a pass.
func TestOpenWhole(t *testing.T) {
	doubted := 0
	for _, x := range fasterCases(t) {
		if x.name != "overlap, six kernels, kernels +4.0 %, step -5.0 %, interleaved, 3 runs" {
			continue
		}
		for seed := range uint64(5) {
			base, head := x.draw(rand.New(rand.NewPCG(seed, 39)))
			base.SortSeries()
			head.SortSeries()
			r := compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
			for i := range r.Findings {
				f := &r.Findings[i]
				said := result.Remark{Key: f.ReasonKey, Args: f.ReasonArgs}
				if said.Key != "open-whole" {
					continue
				}
				doubted++
				if r.Verdict != result.NoVerdict || !claims[said.Key](claim{r: r, f: f, x: said}) {
					t.Errorf("seed %d: %s, %v is not so: %s", seed, r.Verdict, said.Args, f.Reason)
				}
			}
		}
	}
	if doubted == 0 {
		t.Error("no part is in doubt")
	}
}

// A step or a GPU time that is beyond its limit for certain never passes in silence, unless a rule names it or a time
// or rate of the program got better: over every class and both programs.
func TestNoSilence(t *testing.T) {
	gates := 0
	for _, c := range classes {
		for k, x := range c.cases(t) {
			if !full() && k%7 != 0 {
				continue
			}
			policy, err := thresholds.Parse("nsgate.toml", []byte(x.policy))
			if err != nil {
				t.Fatal(err)
			}
			base, head := x.draw(rand.New(rand.NewPCG(7, 59)))
			base.SortSeries()
			head.SortSeries()
			r := insight.Judge(decide.Input{Baseline: []model.Session{base}, Head: []model.Session{head},
				Policy: policy.For("")}).Shown(nil)
			gates++
			if f := silenced(r, policy.For("")); f != nil {
				t.Errorf("%s, %s: passes, and the %s is %s: %s\n%s", c.name, x.name, result.Title(f.Metric),
					f.Change.Change(), f.Reason, said(r))
			}
		}
	}
	t.Logf("%d gates", gates)
}

// silenced is a finding on the step or the GPU time that is beyond its limit for certain in a gate that passes for no
// good reason, nil for none.
func silenced(r *result.Report, policy *thresholds.Resolved) *result.Finding {
	if r.Verdict != result.Pass {
		return nil
	}
	better := func(f *result.Finding) bool {
		m, _ := measure.MetricByName(f.Metric)
		speed := f.Scope == measure.ScopeOutput && policy.OutputKind(f.Name, m) != measure.OfOther ||
			f.Subject() == measure.Workload && (m == measure.StepTime || m == measure.MeanStep || m == measure.RunTime)
		return speed && f.Harm() <= 0
	}
	gain := slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return better(&f) })
	outputs := slices.ContainsFunc(r.Findings, func(f result.Finding) bool { // they take the place of the profiled step
		m, _ := measure.MetricByName(f.Metric)
		return f.Scope == measure.ScopeOutput && policy.OutputKind(f.Name, m) != measure.OfOther
	})
	for i := range r.Findings {
		f := &r.Findings[i]
		of := f.Metric == measure.GPUTime.Name || !outputs && (f.Metric == measure.StepTime.Name ||
			f.Metric == measure.MeanStep.Name)
		// rules name its kernels
		excused := slices.ContainsFunc(f.Also, func(x result.Remark) bool { return x.Key == "excused" })
		if f.Subject() == measure.Workload && of && f.Outcome == result.Slower && f.Rule == "default" && !gain &&
			!excused && float64(f.Cost) >= 0.0015 {
			return f
		}
	}
	return nil
}

// A kernel that got slower beside others that got faster is in doubt, and does not fail, where the GPU time is shorter
// and only a single run's delay of the CPU makes the step longer.
func TestLargerWholeUndecided(t *testing.T) {
	all := recording(t, "h200/sessions/transformer-b")
	base, head := some(all, []int{0, 1, 2, 3, 4}), some(all, []int{5})
	backToBack(&head)
	slowedBy(&head, func(s measure.Subject) bool { return strings.HasPrefix(s.Name, "nvjet") }, inEveryRun(-0.1))
	slowedBy(&head, named("vectorized_layer_norm_kernel"), inEveryRun(0.3))
	step := slices.Clone(values(&base, measure.Workload, measure.StepTime))
	stepTo(&head, step, 1.1, starved)
	base.SortSeries()
	head.SortSeries()
	r := compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
	f := find(r, "vectorized_layer_norm_kernel", "total")
	if r.Verdict != result.NoVerdict || f.ReasonKey != "open-whole" {
		t.Errorf("%s: %s\n%s", r.Verdict, r.Reason, said(r))
	}
}

// A limit or floor of some kernels' change allows no new kernel of their name: was: GPU time +31 % passed beside a
// limit of 4 %, "without reduce, reduce, which the policy allows". A rule that only warns does.
func TestLimitAllowsNoNewKernel(t *testing.T) {
	for rule, want := range map[string]result.Verdict{"max = \"4%\"": result.Fail, "severity = \"warn\"": result.Pass,
		"metric = \"time\"\nfloor = \"10ns\"": result.Fail, "severity = \"ignore\"": result.Pass} {
		for _, added := range []madeUp{{"reduce2", 100e3, 1, "step/memory", 1},
			{"reduce", 100e3, 1, "step/memory", 7}} {
			policy, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nkernel = \"reduce*\"\n"+rule))
			if err != nil {
				t.Fatal(err)
			}
			base := quiet()
			head := base.with(func(p *program) { p.kernels = append(p.kernels, added) })
			r := compareSides([]model.Session{base.session()}, []model.Session{head.session()}, policy)
			if r.Verdict != want || strings.Contains(said(r), "reduce, reduce,") {
				t.Errorf("%s, new %s: %s: %s\n%s", rule, added.name, r.Verdict, r.Reason, said(r))
			}
		}
	}
}

// copying draws a side whose kernels take so many times as long, whose copies take so many ns of a step, a part of it
// exposed, and whose steps spread by 2 % between runs.
func copying(r *rand.Rand, kernels, ns, exposed float64, period bool) model.Session {
	s := six().session(r, func(_, _ int, c cell) cell {
		c.time *= kernels
		return c
	})
	gpu, _ := s.Find(measure.Workload, measure.GPUTime.Name)
	s = copied(s, "", func(int) float64 { return ns * math.Exp(0.01*r.NormFloat64()) })
	if period {
		step := func(i int) float64 { return (gpu.Values[i] + exposed + 12e3) * math.Exp(0.02*r.NormFloat64()) }
		put(&s, hostToDevice, measure.Owned, inEveryRun(exposed))
		put(&s, measure.Workload, measure.StepTime, step)
		put(&s, measure.Workload, measure.MeanStep, step)
	} else {
		s.Step = ""
	}
	s.SortSeries()
	return s
}

// Copies that take longer fail no program whose kernels got faster by more for certain, though its steps say nothing;
// they fail it where kernels saved less, and where no period tells whether copies or kernels set it.
func TestCopiesAndKernels(t *testing.T) {
	for _, x := range []struct {
		name        string
		kernels, ns float64 // of the head; the copies of the baseline take 8 µs
		period      bool
		fails       bool
	}{
		{"kernels -5 %, copies +8 µs", 0.95, 16e3, true, false}, // was: 4 of 20 fail
		{"kernels -1 %, copies +8 µs", 0.99, 16e3, true, true},
		{"kernels -5 %, copies +8 µs, no period", 0.95, 16e3, false, true},
	} {
		for seed := range 20 {
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			base, head := copying(r, 1, 8e3, 8e3, x.period), copying(r, x.kernels, x.ns, x.ns, x.period)
			got := compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
			if (got.Verdict == result.Fail) != x.fails {
				t.Errorf("%s, gate %d: %s", x.name, seed, said(got))
			}
		}
	}
}

// A kernel that took over the work of another one, and takes longer than both, is not excused by the time of a third
// that is in doubt.
func TestReplacedWorkAlone(t *testing.T) {
	m := six()
	m.kernels = append(m.kernels, kernel{"gone", 60000, 1, "step/compute"}, kernel{"big", 2e6, 1, "step/compute"})
	doubted := 0
	for seed := range 20 {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		side := func(head bool) model.Session {
			return m.session(r, func(_, k int, c cell) cell {
				switch {
				case k == 4 && head:
					c.time *= 1.1 * (73560.0 + 60000) / 73560
				case k == 6 && head:
					return absent
				case k == 7:
					c.time *= math.Exp(0.03 * r.NormFloat64())
				}
				return c
			})
		}
		got := compareSides([]model.Session{side(false)}, []model.Session{side(true)}, thresholds.Default())
		for _, f := range got.Findings {
			if f.Kernel == "big" && f.Metric == measure.Total.Name && f.Outcome == result.Undecided {
				doubted++
			}
		}
		if got.Verdict != result.Fail {
			t.Errorf("gate %d: %s", seed, said(got))
		}
	}
	if doubted < 5 {
		t.Errorf("in %d gates the large kernel is in doubt", doubted)
	}
}
