package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// stepping is a session whose steps take so long in each run: kernels have 372 µs of that, and the rest is a cause of
// idle time.
func stepping(class string, ns ...float64) model.Session {
	s := quiet().with(func(p *program) { p.runs = len(ns) }).session()
	add := func(subject measure.Subject, m measure.Metric, of func(float64) float64) {
		x := model.Series{Subject: subject, Metric: m}
		for _, v := range ns {
			x.Values = append(x.Values, of(v))
		}
		s.Series = append(s.Series, x)
	}
	kernels := 0.0
	for _, x := range s.Series {
		if x.Metric == measure.Total {
			add(x.Subject, measure.Owned, func(float64) float64 { return x.Values[0] })
			kernels += x.Values[0]
		}
	}
	add(measure.Workload, measure.StepTime, func(v float64) float64 { return v })
	add(measure.IdleSubject(class, measure.Place{}), measure.Owned, func(v float64) float64 { return v - kernels })
	s.SortSeries()
	return s
}

// The period of a step, in µs a run: what fails, what does not, and what is no verdict.
func TestSteps(t *testing.T) {
	one := []float64{572, 571, 573, 572, 570}
	for _, tt := range []struct {
		name       string
		base, head []float64
		class      string
		elsewhere  bool
		verdict    result.Verdict
		undecided  bool
		outcome    result.Outcome
	}{
		{"unchanged", one, []float64{571, 573, 572, 570, 572}, "", false, result.Pass, false, result.WithinLimit},
		{"the CPU sleeps", one, []float64{854, 853, 856, 855, 854}, "", false, result.Fail, false, result.Slower},
		{"with three runs", one, []float64{854, 853, 856}, "", false, result.Fail, false, result.Slower},
		{"by a fifth", one, []float64{686, 688, 685}, "", false, result.Fail, false, result.Slower},
		{"by one per cent", one, []float64{578, 577, 579, 578, 577}, "", false, result.Pass, false, result.WithinLimit},
		{"a stray run makes no finding", one, []float64{571, 573, 900, 570, 572}, "", false, result.Pass, false,
			result.WithinLimit},
		{"nor hides one", one, []float64{686, 688, 685, 1900, 687}, "", false, result.Fail, false, result.Slower},
		{"nor one of the base", []float64{572, 571, 573, 900, 570}, []float64{686, 688, 685, 686, 687}, "", false,
			result.Fail, false, result.Slower},
		// One unchanged PyTorch program on a H100 host, in the order of the runs.
		{"a CPU that is slow at times", []float64{9872, 8353, 7501, 7557, 7524},
			[]float64{7542, 7688, 7545, 8842, 9353}, "", false, result.Pass, true, result.Undecided},
		{"all runs of one side met it", []float64{7501, 7557, 7524, 7542, 7545}, []float64{9872, 8353, 8842}, "", false,
			result.NoVerdict, true, result.Undecided},
		{"another host's CPU", one, []float64{686, 688, 685, 686, 687}, "", true, result.NoVerdict, true,
			result.Undecided},
		{"twice as long on another host", one, []float64{1900, 1890, 1910, 1905, 1895}, "", true, result.Fail, false,
			result.Slower},
		{"a GPU that others use", one, []float64{1096, 1095, 1097, 1096, 1095}, "dependency-stalled", false,
			result.NoVerdict, true, result.Undecided},
	} {
		ns := func(us []float64) []float64 {
			out := slices.Clone(us)
			for i := range out {
				out[i] *= 1000
			}
			return out
		}
		class := tt.class
		if class == "" {
			class = "launch-starved"
		}
		base, head := stepping("launch-starved", ns(tt.base)...), stepping(class, ns(tt.head)...)
		if tt.elsewhere {
			head.GPUHash = model.HashUUID("GPU-b")
		}
		r := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
		f := find(r, "workload", "step_time")
		if r.Verdict != tt.verdict || r.Undecided != tt.undecided || f.Outcome != tt.outcome {
			t.Errorf("%s: %s, undecided %v: %s; the step is %s: %s", tt.name, r.Verdict, r.Undecided, r.Reason,
				f.Outcome, f.Reason)
		}
		if why := "the baseline's steps were not replayed"; strings.Contains(f.Reason, why) != (tt.elsewhere &&
			f.Outcome == result.Undecided) {
			t.Errorf("%s: %q in %q", tt.name, why, f.Reason)
		}
	}
}

// cpu is how long the steps of a program take whose CPU is slow in some runs: a part of them, each by its own delay,
// drawn evenly up to the most. All have noise of one sd.
type cpu struct{ slow, most, sd float64 }

// steps draws the step of n runs, in ns, all of them longer by a change.
func (c cpu) steps(r *rand.Rand, n int, change float64) (out []float64) {
	for range n {
		v := 572e3 * math.Exp(c.sd*r.NormFloat64()) * (1 + change)
		if r.Float64() < c.slow {
			v *= 1 + c.most*r.Float64()
		}
		out = append(out, v)
	}
	return out
}

// fails counts the gates that fail, and those without a verdict, of runs of a base and a head whose steps are longer by
// a change.
func (c cpu) fails(gates, base, head int, change float64) (fail, without int) {
	r := rand.New(rand.NewPCG(3, 4))
	for range gates {
		switch compareSides([]model.Session{stepping("launch-starved", c.steps(r, base, 0)...)},
			[]model.Session{stepping("launch-starved", c.steps(r, head, change)...)}, thresholds.Default()).Verdict {
		case result.Fail:
			fail++
		case result.NoVerdict:
			without++
		}
	}
	return fail, without
}

// Gates over unchanged steps, steady and of a CPU that is slow in some runs, hardly ever fail. Of a rate of 1 in 1,000,
// three in 1,000 gates are chance; [BenchmarkSteps] measures the rate.
func TestUnchangedSteps(t *testing.T) {
	gates := sample(1000)
	for _, tt := range []struct {
		name           string
		runs           int
		cpu            cpu
		fails, without int // at most
	}{
		{"steady", 5, cpu{sd: 0.005}, 0, 1},
		{"steady, three runs", 3, cpu{sd: 0.005}, 0, 1},
		{"noisy", 5, cpu{sd: 0.05}, 1, 20},
		{"one run in ten slow", 5, cpu{0.1, 0.3, 0.005}, 1, 10},
		{"four in ten slow", 5, cpu{0.4, 0.3, 0.005}, 3, 45},
		// Most runs of the head are in a mode that the baseline lacks in up to 76: none of these passes.
		{"four in ten slow, three runs", 3, cpu{0.4, 0.3, 0.005}, 3, 76},
	} {
		fails, without := tt.cpu.fails(gates, tt.runs, tt.runs, 0)
		t.Logf("%s: %d of %d unchanged gates fail, %d have no verdict", tt.name, fails, gates, without)
		if fails > tt.fails || without > tt.without {
			t.Errorf("%s: %d of %d unchanged gates fail, %d have no verdict", tt.name, fails, gates, without)
		}
	}
}

// recordedSteps are the steps, in us, of 40 unchanged runs of one CUDA program within six minutes on an H200.
var recordedSteps = []float64{
	571.55, 567.70, 568.51, 569.13, 571.80, 577.44, 572.62, 585.18, 568.58, 571.21, 568.71, 569.09, 568.44, 571.02,
	570.18,
	568.14, 577.04, 569.94, 567.92, 569.95, 571.41, 569.13, 568.97, 571.09, 569.46, 569.28, 569.22, 569.18, 569.45,
	569.76,
	571.91, 570.39, 568.36, 571.14, 569.09, 568.48, 570.57, 569.45, 568.96, 570.05,
}

// ofRecorded counts the gates that fail where both sides are runs drawn from the recorded ones, and the head's steps
// are longer by so many us: as recorded, 50 us of sleep in a step make it 114 us longer.
func ofRecorded(gates, base, head int, longer float64) (fail int) {
	r := rand.New(rand.NewPCG(7, 8))
	for range gates {
		var sides [2][]float64
		for i, k := range r.Perm(len(recordedSteps))[:base+head] {
			if i < base {
				sides[0] = append(sides[0], 1e3*recordedSteps[k])
			} else {
				sides[1] = append(sides[1], 1e3*(recordedSteps[k]+longer))
			}
		}
		if compareSides([]model.Session{stepping("launch-starved", sides[0]...)},
			[]model.Session{stepping("launch-starved", sides[1]...)}, thresholds.Default()).Verdict == result.Fail {
			fail++
		}
	}
	return fail
}

// Steps as recorded do not fail, and a CPU that sleeps in them does.
func TestRecordedSteps(t *testing.T) {
	gates := sample(300)
	for _, runs := range []int{3, 5} {
		if n := ofRecorded(gates, runs, runs, 0); n > 0 {
			t.Errorf("%d runs a side: %d of %d unchanged gates fail", runs, n, gates)
		}
		if n := ofRecorded(gates, runs, runs, 114); n < gates*99/100 {
			t.Errorf("%d runs a side: sleeping fails in %d of %d gates", runs, n, gates)
		}
	}
}

// BenchmarkSteps measures how often the step of an unchanged program fails the gate where a part of its runs is slow,
// and how often one that got longer does where none is:
//
//	go test -run=NONE -bench=Steps -benchtime=1x ./gate/internal/judge/decide
func BenchmarkSteps(b *testing.B) {
	runs := [][2]int{{3, 3}, {5, 3}, {5, 5}, {10, 5}}
	row := func(name string, gates int, c cpu, change float64) {
		fmt.Printf("| %-46s |", name)
		for _, n := range runs {
			fails, _ := c.fails(gates, n[0], n[1], change)
			fmt.Printf(" %4d of %d |", fails, gates)
		}
		fmt.Println()
	}
	for b.Loop() {
		fmt.Printf("\n| %-46s | 3 against 3 | 3 against 5 | 5 against 5 | 5 against 10 |\n| --- | --- | --- | --- | "+
			"--- |\n", "gates that fail")
		for _, longer := range []float64{0, 50, 114} {
			fmt.Printf("| %-46s |", fmt.Sprintf("as recorded, longer by %.0f µs", longer))
			for _, n := range runs {
				fmt.Printf(" %4d of 1000 |", ofRecorded(1000, n[0], n[1], longer))
			}
			fmt.Println()
		}
		for _, slow := range []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6} {
			for _, most := range []float64{0.15, 0.3, 0.7} {
				row(fmt.Sprintf("unchanged, %.0f %% of the runs slower by up to %.0f %%", 100*slow, 100*most), 2000,
					cpu{slow, most, 0.005}, 0)
			}
		}
		for _, change := range []float64{0.1, 0.2, 0.47} {
			for _, sd := range []float64{0.002, 0.01, 0.025, 0.05} {
				row(fmt.Sprintf("longer by %.0f %%, sd between runs %.1f %%", 100*change, 100*sd), 300, cpu{sd: sd},
					change)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// Idle time is one part where a side knows no cause of it: a recording without its calls.
func TestIdleOfUnknownCause(t *testing.T) {
	for _, classes := range [][2]string{{measure.IdleUnknown, measure.IdleLaunch},
		{measure.IdleLaunch, measure.IdleUnknown}} {
		base, head := stepping(classes[0], 571e3, 572e3, 570e3), stepping(classes[1], 686e3, 688e3, 685e3)
		r := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
		idle := slices.DeleteFunc(slices.Clone(r.Waterfall.Parts), func(p result.WaterfallPart) bool { return !p.Idle })
		if len(idle) != 1 || idle[0].Class != measure.IdleUnknown || idle[0].Base <= 0 || idle[0].Head <= idle[0].Base {
			t.Errorf("%v: %+v", classes, idle)
		}
	}
}

// The parts of a waterfall add up to its whole, on both sides, whatever the owners are.
func TestWaterfallAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := func(label string) model.Session {
			n := rapid.IntRange(2, 6).Draw(t, label)
			period := rapid.SliceOfN(rapid.Float64Range(400e3, 4e6), n, n).Draw(t, label)
			return stepping(rapid.SampledFrom([]string{"launch-starved", "blocking", "dependency-stalled", "micro gaps",
				"profiler"}).Draw(t, label), period...)
		}
		w := compareSides([]model.Session{side("base")}, []model.Session{side("head")}, thresholds.Default()).Waterfall
		if w == nil {
			t.Fatal("no waterfall")
		}
		var base, head, change float64
		for _, p := range w.Parts {
			base, head, change = base+float64(p.Base), head+float64(p.Head), change+float64(p.Change)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*4e6 }
		if !near(base, float64(w.Base)) || !near(head, float64(w.Head)) || !near(change, float64(w.Change)) ||
			!near(float64(w.Head-w.Base), change) {
			t.Fatalf("%v → %v (%v), and the parts %v → %v (%v)", w.Base, w.Head, w.Change, base, head, change)
		}
		for i, p := range w.Parts[1:] {
			if math.Abs(float64(p.Change)) > math.Abs(float64(w.Parts[i].Change)) {
				t.Fatalf("part %d changed more than the one before it", i+1)
			}
		}
	})
}

// Where unprofiled runs show how fast the program is, they decide and the step explains.
func TestStepsBesideOutputs(t *testing.T) {
	printing := func(s model.Session, rate float64) model.Session {
		var bare []model.Unprofiled
		for i := range 5 {
			bare = append(bare, model.Unprofiled{Start: noon, Wall: time.Second,
				Outputs: []float64{rate * (1 + 0.001*float64(i-2))}})
		}
		all := []model.Session{s}
		trace.AddUnprofiled(all, bare, []measure.Output{tokens})
		return all[0]
	}
	short, long := []float64{572e3, 571e3, 573e3, 572e3, 570e3}, []float64{854e3, 853e3, 856e3, 855e3, 854e3}
	for _, tt := range []struct {
		name    string
		head    model.Session
		verdict result.Verdict
		warning string
	}{
		{"only the traced step got longer", printing(stepping("launch-starved", long...), 1000), result.Pass,
			"so the unprofiled runs decide"},
		{"only the output got worse", printing(stepping("launch-starved", short...), 800), result.Fail,
			"lies outside the steps"},
		{"both", printing(stepping("launch-starved", long...), 700), result.Fail, ""},
		{"neither", printing(stepping("launch-starved", short...), 1000), result.Pass, ""},
	} {
		r := evaluate([]model.Session{printing(stepping("launch-starved", short...), 1000)}, []model.Session{tt.head},
			thresholds.Default())
		said := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, tt.warning) })
		if r.Verdict != tt.verdict || said != (tt.warning != "" || len(r.Warnings) > 0) || tt.warning == "" &&
			len(r.Warnings) > 0 {
			t.Errorf("%s: %s: %s, warnings %q", tt.name, r.Verdict, r.Reason, r.Warnings)
		}
		if f := find(r, "workload", "step_time"); f.Gates {
			t.Errorf("%s: the step would fail the gate beside an output", tt.name)
		}
	}
}

// A calibration says how much the step's period moves between runs, and promises nothing of it.
func TestCalibrateStep(t *testing.T) {
	var ns []float64
	for i := range 10 {
		ns = append(ns, 572e3*(1+0.01*float64(i%2)))
	}
	c := calibrate.Calibrate([]model.Session{stepping("launch-starved", ns...)}, thresholds.Default().For(""), 5, 0)
	i := slices.IndexFunc(c.Noise, func(n calibrate.Noise) bool { return n.Metric == measure.StepTime.Name })
	if i < 0 || math.Abs(float64(c.Noise[i].SD)-0.0052) > 0.0003 || c.Noise[i].MDE.Known() ||
		c.Noise[i].Typical != 574860 {
		t.Errorf("%+v", c.Noise)
	}
}

// Where what repeats is not the same on both sides, its period is not judged, and that is said.
func TestOtherCycle(t *testing.T) {
	side := func(period float64, repeats ...float64) (out []model.Session) {
		for _, n := range repeats {
			s := stepping("launch-starved", period, period*1.001, period*0.999)
			s.Step = ""
			s.Series = append(s.Series, model.Series{Subject: measure.Workload, Metric: measure.Repeats,
				Values: []float64{n, n, n}})
			s.SortSeries()
			out = append(out, s)
		}
		return out
	}
	for _, tt := range []struct {
		name       string
		base, head []model.Session
		judged     bool
	}{
		{"as often", side(1e6, 60), side(1.5e6, 60), true},
		{"every ten steps something more", side(1e6, 60), side(10e6, 6), false},
		{"sessions of another cycle", side(1e6, 60, 6), side(1.5e6, 60), false},
	} {
		r := compareSides(tt.base, tt.head, thresholds.Default())
		said := slices.ContainsFunc(r.Doubts, func(x result.Remark) bool {
			return x.Key == "other-cycle" && x.Args["base"] != x.Args["head"]
		})
		f := find(r, "workload", measure.StepTime.Name)
		if said == tt.judged || (f != nil) != tt.judged || (r.Waterfall != nil) != tt.judged || tt.judged &&
			r.Verdict != result.Fail {
			t.Errorf("%s: said %v, judged %v, waterfall %v, %s: %s", tt.name, said, f, r.Waterfall, r.Verdict, r.Reason)
		}
	}
}

// The same GPU on another day, and another host where the GPU never waits for the CPU: a step is decided there.
func TestStepsOfOtherSessions(t *testing.T) {
	one := []float64{572e3, 571e3, 573e3, 572e3, 570e3}
	times := func(by float64) (out []float64) {
		for _, v := range one {
			out = append(out, v*by)
		}
		return out
	}
	for _, tt := range []struct {
		name      string
		class     string
		host      string // another one
		by        float64
		verdict   result.Verdict
		undecided bool
	}{
		{"another day, unchanged", "launch-starved", "", 1.002, result.Pass, false},
		{"another day, the CPU sleeps 50 µs", "launch-starved", "", 1.206, result.Fail, false}, // was: pass
		{"another day, +8 %", "launch-starved", "", 1.08, result.Fail, false},                  // was: no verdict
		{"another host, the GPU is never idle, unchanged", "micro gaps", "GPU-b", 1.004, result.Pass, false},
		{"another host, the GPU is never idle, +15 %", "micro gaps", "GPU-b", 1.15, result.Fail, false}, // was: pass
		{"another host, the GPU waits for the CPU, unchanged", "launch-starved", "GPU-b", 1.002, result.Pass, true},
		// was: pass
		{"another host, the GPU waits for the CPU, +15 %", "launch-starved", "GPU-b", 1.15, result.NoVerdict, true},
	} {
		base, head := stepping(tt.class, one...), stepping(tt.class, times(tt.by)...)
		head.Start = head.Start.Add(24 * time.Hour)
		if tt.host != "" {
			head.GPUHash = model.HashUUID(tt.host)
		}
		r := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
		if r.Verdict != tt.verdict || r.Undecided != tt.undecided {
			f := find(r, "workload", "step_time")
			t.Errorf("%s: %s, undecided %v: %s; the step is %s, %v to %v", tt.name, r.Verdict, r.Undecided, r.Reason,
				f.Outcome, f.Low, f.High)
		}
		strict := *thresholds.Default()
		strict.Undecided = "fail"
		if r := evaluate([]model.Session{base}, []model.Session{head}, &strict); tt.undecided &&
			r.Verdict != result.NoVerdict {
			t.Errorf("%s: %s where undecided is no pass", tt.name, r.Verdict)
		}
	}
}

// The time before the first step is judged where a rule names it, and by no other rule.
func TestStartupTime(t *testing.T) {
	session := func(ns float64) model.Session {
		s := stepping("launch-starved", 572e3, 571e3, 573e3, 572e3, 570e3)
		x := model.Series{Subject: measure.Workload, Metric: measure.StartupTime}
		for i := range s.Runs {
			x.Values = append(x.Values, ns*(1+0.01*float64(i)))
		}
		s.Series = append(s.Series, x)
		s.SortSeries()
		return s
	}
	for _, tt := range []struct {
		rule    string
		verdict result.Verdict
	}{{"", result.Pass}, {`metric = "step_time"`, result.Pass}, {`metric = "startup_time"`, result.Fail}} {
		text := ""
		if tt.rule != "" {
			text = "[[rule]]\n" + tt.rule + "\nmax = \"10%\"\n"
		}
		policy, err := thresholds.Parse("nsgate.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if r := evaluate([]model.Session{session(2e9)}, []model.Session{session(3e9)},
			policy); r.Verdict != tt.verdict {
			t.Errorf("rule %q: %s, %s", tt.rule, r.Verdict, r.Reason)
		}
	}
}
