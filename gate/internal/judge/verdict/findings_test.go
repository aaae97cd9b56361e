package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// finding is a comparison of a kernel's time that gates, 10 % slower than its base.
func finding(name string, o result.Outcome) result.Finding {
	return result.Finding{Scope: measure.ScopeKernel, Name: name, Kernel: name, Metric: measure.Time.Name, Unit: "ns",
		Base: 100, Head: 110, Change: 0.1, Low: 0.08, High: 0.12, Limit: 0.03, Outcome: o, Gates: true, Share: 0.2,
		MDE: 0.01, Severity: string(thresholds.Fail)}
}

func sides(base, head []model.Series, rules ...thresholds.Rule) match.Sides {
	side := func(all []model.Series) []model.Session {
		unprofiled := all[0].Metric.Unprofiled()
		s := model.Session{Series: all, Runs: []model.Run{{Steady: true, Unprofiled: unprofiled},
			{Steady: true, Unprofiled: unprofiled}}}
		s.SortSeries()
		return []model.Session{s}
	}
	policy := thresholds.Default()
	policy.Rules = rules
	return match.NewSides(side(base), side(head), policy.For(""))
}

func series(scope measure.Scope, name string, m measure.Metric, values ...float64) model.Series {
	return model.Series{Subject: measure.Subject{Scope: scope, Name: name}, Metric: m, Values: values}
}

// The verdict on findings: failing ones fail, open ones pass undecided, or give none under a strict policy.
func TestOf(t *testing.T) {
	slower, kept, open := finding("saxpy", result.Slower), finding("gemm", result.WithinLimit),
		finding("reduce", result.Undecided)
	open.Undecided, open.Reason = true, "noise"
	doubted := open
	doubted.Doubted = true
	few := open
	few.Because(result.Say(reason.NotJudged{Base: 1, Head: 1}))
	drift := []result.Remark{{Key: result.KeyOverDrift, Sentence: "drift"}}
	outlier := &result.Remark{Key: "outlier-run", Sentence: "one run"}
	for _, c := range []struct {
		what     string
		findings []result.Finding
		gate     Gate
		strict   bool
		verdict  result.Verdict
		reason   string
	}{
		{"kept", []result.Finding{kept}, Gate{}, false, result.Pass, "1 comparison"},
		{"slower", []result.Finding{slower, kept}, Gate{}, false, result.Fail, "saxpy time +10.0 %"},
		{"open", []result.Finding{open, kept}, Gate{}, false, result.Pass, "reduce"},
		{"open, strict", []result.Finding{open, kept}, Gate{}, true, result.NoVerdict, "reduce"},
		{"doubted", []result.Finding{doubted}, Gate{}, false, result.NoVerdict, "the time of reduce looks worse"},
		{"drift", []result.Finding{kept}, Gate{Drift: drift}, false, result.Fail, "drift"},
		{"doubted before open", []result.Finding{open, doubted}, Gate{}, true, result.NoVerdict, "reduce looks worse"},
		{"drift before doubt", []result.Finding{doubted}, Gate{Drift: drift}, false, result.Fail, "drift"},
		{"an outlier before drift", []result.Finding{kept}, Gate{Drift: drift, Outlier: outlier}, false,
			result.NoVerdict, "one run"},
		{"too few runs before drift", []result.Finding{few}, Gate{Drift: drift}, false, result.NoVerdict,
			"1 run against 1 is too few"},
		{"nothing judged before drift", nil, Gate{Drift: drift}, false, result.NoVerdict, "can be judged"},
		{"a regression before all", []result.Finding{slower, doubted, open}, Gate{Drift: drift, Outlier: outlier}, true,
			result.Fail, "saxpy time +10.0 %"},
		{"refused", []result.Finding{slower}, Gate{Refused: &result.Remark{Key: "busy-gpu", Sentence: "busy"}}, false,
			result.NoVerdict, "busy"},
		{"code alone", nil, Gate{CodeAlone: &result.Remark{Key: "code-alone", Sentence: "code"}}, false, result.Pass,
			"code"},
	} {
		c.gate.Sides = sides([]model.Series{series(measure.ScopeKernel, "saxpy", measure.Time, 1, 1)},
			[]model.Series{series(measure.ScopeKernel, "saxpy", measure.Time, 1, 1)})
		if c.strict {
			c.gate.Policy.Undecided = "fail"
		}
		r := &result.Report{Findings: c.findings, Family: len(c.findings)}
		Of(c.gate, r)
		if r.Verdict != c.verdict || !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: %s %q, want %s %q", c.what, r.Verdict, r.Reason, c.verdict, c.reason)
		}
	}
}

// A gate without anything to fail for gives no verdict, and says which rule would make one.
func TestUnjudged(t *testing.T) {
	counted := series(measure.ScopeKernel, "saxpy", measure.Registers, 32, 32)
	timed := series(measure.ScopeKernel, "saxpy", measure.ReplayTime, 5, 5)
	value := series(measure.ScopeBenchmark, "BM_x", measure.Value, 5, 5)
	none := sides([]model.Series{counted}, []model.Series{counted})
	byCounter := none
	byCounter.Time = measure.ReplayTime
	for _, c := range []struct {
		what, next string
		of         match.Sides
	}{
		{"counters only", "--set basic", byCounter},
		{"a number without direction", `benchmark = "BM_x"`, sides([]model.Series{value}, []model.Series{value})},
		{"nothing in common", "measure the same workload", none},
	} {
		r := &result.Report{}
		Of(Gate{Sides: c.of}, r)
		if r.Verdict != result.NoVerdict || len(r.Next) != 1 || !strings.Contains(r.Next[0], c.next) {
			t.Errorf("%s: %s %q, next %q", c.what, r.Verdict, r.Reason, r.Next)
		}
	}
	lost := finding("saxpy", result.Gone)
	open := finding("saxpy", result.Undecided)
	open.Undecided, open.Metric = true, measure.ReplayTime.Name
	alone := open
	alone.Base = result.Unknown
	byCounter = sides([]model.Series{timed}, []model.Series{timed})
	byCounter.Time = measure.ReplayTime
	once := byCounter
	once.Head.Sessions[0].Runs = once.Head.Sessions[0].Runs[:1]
	for what, x := range map[string]struct {
		of   match.Sides
		f    result.Finding
		want string
	}{"gone": {byCounter, lost, "no launch of saxpy was profiled"}, "one side": {byCounter, alone, "cannot be judged"},
		"one run": {once, open, "cannot be judged"}} {
		if r := unmeasuredKernels(x.of, []result.Finding{x.f}); r == nil || !strings.Contains(r.Sentence, x.want) {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

// Rows of benchmark files that the head lacks are no pass; those that failed in it fail the gate.
func TestMissingRows(t *testing.T) {
	row := func(name string, values ...float64) model.Series {
		return series(measure.ScopeBenchmark, name, measure.Duration, values...)
	}
	base := []model.Series{row("BM_a", 5, 5), row("BM_b*", 5, 5)}
	of := func(name string, o result.Outcome) result.Finding {
		f := finding(name, o)
		f.Scope, f.Metric = measure.ScopeBenchmark, measure.Duration.Name
		return f
	}
	timed := func(f result.Finding, ns result.Number) result.Finding {
		f.Base, f.Head = ns, ns
		return f
	}
	for _, c := range []struct {
		what    string
		head    []model.Series
		left    []model.LeftOut
		finding result.Finding
		missing string
		failing string
	}{
		{"there", base, nil, of("BM_a", result.WithinLimit), "", ""},
		{"gone", base[:1], nil, of("BM_b*", result.Gone), "lacks 1 row of the baseline: BM_b*", ""},
		{"in one run", []model.Series{row("BM_a", 5, math.NaN())}, nil, of("BM_a", result.WithinLimit),
			"BM_a (in 1 of 2 runs)", ""},
		{"skipped", base[:1], []model.LeftOut{{Name: "BM_b*", Why: model.Skipped}}, of("BM_b*", result.Gone),
			"BM_b* (skipped)", ""},
		{"failed", base[:1], []model.LeftOut{{Name: "BM_b*", Why: model.Failed + ": out of memory"}},
			of("BM_b*", result.Gone), "", "BM_b* (out of memory)"},
		{"under the clock", base[:1], []model.LeftOut{{Name: "BM_b*", Why: model.UnderClock}},
			of("BM_b*", result.Gone), "", ""},
		{"of seconds, under the clock", base[:1], []model.LeftOut{{Name: "BM_b*", Why: model.UnderClock}},
			timed(of("BM_b*", result.Gone), 2e9), "lacks 1 row of the baseline: BM_b*", ""},
		{"of many digits, under the clock", base[:1], []model.LeftOut{{Name: "BM_b*", Why: model.UnderClock}},
			timed(of("BM_b*", result.Gone), 2e6), "lacks 1 row of the baseline: BM_b* (its value is 0)", ""},
	} {
		x := sides(base, c.head)
		x.Head.Sessions[0].LeftOut = c.left
		missing, failing := missingRows(x, []result.Finding{c.finding})
		for i, got := range []*result.Remark{missing, failing} {
			want := []string{c.missing, c.failing}[i]
			if (got == nil) != (want == "") || got != nil && !strings.Contains(got.Sentence, want) {
				t.Errorf("%s: %+v, want %q", c.what, got, want)
			}
		}
		if missing != nil && strings.Contains(missing.Next, "*") {
			t.Errorf("%s: the rule selects others: %s", c.what, missing.Next)
		}
	}
}

// A row of seconds that was 0 in the baseline is no pass.
func TestFromUnderTheClock(t *testing.T) {
	row := series(measure.ScopeBenchmark, "a", measure.Duration, 2e9, 2e9)
	f := finding("a", result.New)
	f.Scope, f.Metric, f.Head = measure.ScopeBenchmark, measure.Duration.Name, 2e9
	for _, c := range []struct {
		left []model.LeftOut
		head result.Number
		want string
	}{
		{nil, 2e9, ""}, {[]model.LeftOut{{Name: "a", Why: model.UnderClock}}, 0.05e9, ""},
		{[]model.LeftOut{{Name: "a", Why: model.UnderClock}}, 2e9, "is 0 in the baseline, and 2.000 s in the head"},
		{[]model.LeftOut{{Name: "a", Why: model.UnderClock}}, 0.9e9, "the time of a is 0 in the baseline"},
	} {
		other := series(measure.ScopeBenchmark, "b", measure.Duration, 0.123e9, 0.5e9) // milliseconds
		x := sides([]model.Series{other}, []model.Series{row, other})
		x.Base.Sessions[0].LeftOut, f.Head = c.left, c.head
		missing, _ := missingRows(x, []result.Finding{f})
		if (missing == nil) != (c.want == "") || missing != nil && !strings.Contains(missing.Sentence, c.want) {
			t.Errorf("%v: %+v, want %q", c.left, missing, c.want)
		}
	}
}

// At most four subjects are named, each once; of many devices the worst.
func TestFailing(t *testing.T) {
	bound, least := result.Number(105), result.Number(120)
	over, under, values := finding("a", result.Slower), finding("b", result.Slower), finding("c", result.Slower)
	over.AtMost, under.AtLeast = &bound, &least
	values.Change = result.Unknown
	ranged := finding("forward", result.Slower)
	ranged.Scope = measure.ScopeRange
	kept := finding("k", result.WithinLimit)
	for want, list := range map[string][]result.Finding{
		"a time 110.0 ns over 105.0 ns, b time 110.0 ns under 120.0 ns, c time 100.0 ns → 110.0 ns": {over, under,
			values},
		"range forward time +10.0 %": {ranged, ranged, kept},
		"":                           {kept},
	} {
		if got := Failing(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var many []result.Finding
	for _, name := range []string{"1", "2", "3", "4", "5", "6"} {
		f := finding("GPU "+name, result.Slower)
		f.Scope = measure.ScopeDevice
		many = append(many, f)
	}
	if got := Failing(many); strings.Count(got, "GPU") != 1 || !strings.HasSuffix(got, " and others") {
		t.Errorf("of six devices %q", got)
	}
}

// Failures come before what is open, improvements and the rest, whatever their sizes.
func TestRank(t *testing.T) {
	increased := finding("syncs", result.Slower)
	increased.Metric, increased.Unit, increased.Gates = measure.SyncCalls.Name, measure.SyncCalls.Unit, false
	warned, unasked := finding("k", result.Slower), finding("k", result.Undecided)
	warned.Gates = false
	open := unasked
	open.Undecided = true
	order := []result.Finding{finding("k", result.Slower), warned, open, unasked, finding("k", result.Faster),
		finding("k", result.New), finding("k", result.Gone), finding("k", result.WithinLimit)}
	rapid.Check(t, func(r *rapid.T) {
		ranks := make([]float64, len(order))
		for i, f := range order {
			f.Share = result.Number(rapid.Float64Range(0, 1).Draw(r, "share"))
			f.Change = result.Number(rapid.Float64Range(-0.9, 5).Draw(r, "change"))
			ranks[i] = Rank(&f)
		}
		if !slices.IsSorted(ranks) {
			r.Fatalf("%v", ranks)
		}
	})
	if f := Rank(&increased); !(f > Rank(&unasked) && f < Rank(&order[4])) && increased.Increased() {
		t.Errorf("an increased count has rank %v", f)
	}
	large, small := finding("k", result.Slower), finding("k", result.Slower)
	large.Share = 0.9
	if Rank(&large) >= Rank(&small) {
		t.Error("the larger part comes first")
	}
}

// Further runs settle what noise leaves open beyond the limit, and no difference between hosts.
func TestSettled(t *testing.T) {
	open := finding("k", result.Undecided)
	below, warned, hosts, also := open, open, open, open
	below.High = 0.02
	warned.Gates = false
	hosts.ReasonKey = result.Say(reason.OtherHost{}).Key
	also.Change, also.Also = 0.01, []result.Remark{result.Say(reason.LikeHosts{})}
	for _, c := range []struct {
		what    string
		f       result.Finding
		settled bool
	}{{"open", open, false}, {"below the limit", below, true}, {"does not gate", warned, true},
		{"other hosts", hosts, true}, {"also of like hosts", also, true}} {
		if got := Settled(&result.Report{Verdict: result.Pass, Findings: []result.Finding{c.f}}); got != c.settled {
			t.Errorf("%s: settled %v", c.what, got)
		}
	}
	if !Settled(&result.Report{Verdict: result.Fail, Findings: []result.Finding{open}}) ||
		Settled(&result.Report{Verdict: result.NoVerdict, Undecided: true, Findings: []result.Finding{open}}) {
		t.Error("a failure is settled, an undecided gate is not")
	}
}

// The least and the largest change that kernels of a sufficient share allow to detect, and those of the program.
func TestDetects(t *testing.T) {
	of := func(scope measure.Scope, m measure.Metric, mde, share result.Number) result.Finding {
		return result.Finding{Scope: scope, Metric: m.Name, Unit: m.Unit, MDE: mde, Share: share, Gates: true}
	}
	got := Detects([]result.Finding{of(measure.ScopeKernel, measure.Time, 0.01, 0.5),
		of(measure.ScopeKernel, measure.Time, 0.04, 0.1), of(measure.ScopeKernel, measure.Time, 0.9, 0.001),
		of(measure.ScopeWorkload, measure.GPUTime, 0.02, 1), of(measure.ScopeWorkload, measure.StepTime, 0.05, 1),
		of(measure.ScopeOutput, measure.Rate, 0.03, 1), of(measure.ScopeKernel, measure.Time, result.Unknown, 1)})
	want := result.Detects{GPUTime: 0.02, Step: 0.05, Output: 0.03, KernelLeast: 0.01, KernelMost: 0.04}
	if got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Detects([]result.Finding{of(measure.ScopeRange, measure.GPUTime, 0.1, 1)}); got != nil {
		t.Errorf("of a range alone %+v", got)
	}
}
