package decide_test

import (
	"math"
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

// modeKinds are the things whose runs may have modes: values are of time, relative.
var modeKinds = []struct {
	name string
	side func(r *rand.Rand, at made, times []float64) model.Session
}{
	{"kernel", func(r *rand.Rand, m made, times []float64) model.Session {
		m.runs = len(times)
		return m.session(r, func(run, k int, c cell) cell {
			if k == 0 {
				c.time = 84550 * times[run]
			}
			return c
		})
	}},
	{"small kernel", func(r *rand.Rand, m made, times []float64) model.Session {
		m.runs = len(times)
		return m.session(r, func(run, k int, c cell) cell {
			if k == 5 {
				c.time = 9000 * times[run]
			}
			return c
		})
	}},
	{"step", func(r *rand.Rand, m made, times []float64) model.Session {
		m.runs = len(times)
		s := m.session(r, nil)
		for _, metric := range []measure.Metric{measure.StepTime, measure.MeanStep} {
			x := model.Series{Subject: measure.Workload, Metric: metric}
			for _, v := range times {
				x.Values = append(x.Values, 1e6*v)
			}
			s.Series = append(s.Series, x)
		}
		s.SortSeries()
		return s
	}},
	{"output", func(r *rand.Rand, m made, times []float64) model.Session {
		m.runs = len(times)
		all := []model.Session{m.session(r, nil)}
		var bare []model.Unprofiled
		for _, v := range times {
			bare = append(bare, model.Unprofiled{Start: m.start, Wall: time.Second, Outputs: []float64{4.1 / v}})
		}
		trace.AddUnprofiled(all, bare, []measure.Output{tokens})
		return all[0]
	}},
	{"row", func(_ *rand.Rand, m made, times []float64) model.Session {
		var values []float64
		for _, v := range times {
			values = append(values, 1e6*v)
		}
		s := rowsOf(m.gpu, [][]float64{values}, measure.Duration)
		s.Start = m.start
		for i := range s.Runs {
			s.Runs[i].Start = m.start.Add(time.Duration(i) * time.Minute)
		}
		return s
	}},
	{"row of rate", func(_ *rand.Rand, m made, times []float64) model.Session {
		var values []float64
		for _, v := range times {
			values = append(values, 4.1/v)
		}
		return rowsOf(m.gpu, [][]float64{values}, measure.ItemRate)
	}},
}

var modeRelations = []struct {
	name string
	move func(*made)
}{{"interleaved", func(*made) {}}, {"back to back", batch},
	{"another day", func(m *made) { m.start = m.start.Add(24 * time.Hour) }}, {"another host", elsewhere}}

// modeGate judges runs of one kind in one relation, by their times.
func modeGate(kind, relation int, r *rand.Rand, base, head []float64) (*result.Report, *result.Finding) {
	m, k := six(), modeKinds[kind]
	b := k.side(r, m, base)
	modeRelations[relation].move(&m)
	report := compareSides([]model.Session{b}, []model.Session{k.side(r, m, head)}, thresholds.Default())
	for i := range report.Findings {
		if report.Findings[i].Mode != nil {
			return report, &report.Findings[i]
		}
	}
	return report, nil
}

// timesOf are the times of rates of tokens.
func timesOf(rates ...float64) (out []float64) {
	for _, x := range rates {
		out = append(out, 4.1/x)
	}
	return out
}

// Hiccups of the host in some steps of most runs are levels of the mean step alone: undecided, unless so many runs
// hardly ever have them by chance.
func TestModesOfMeanStep(t *testing.T) {
	steps := []float64{1, 1.002, 0.999, 1.001, 1.003}
	for _, x := range []struct {
		mean []float64
		want result.Verdict
	}{
		{[]float64{1.35, 1.36, 1.01}, result.Pass}, // was: no verdict, live, for an unchanged program
		{[]float64{1.35, 1.36, 1.35, 1.34, 1.02}, result.NoVerdict},
	} {
		side := func(mean []float64) model.Session {
			m := six()
			m.runs = len(mean)
			s := m.session(rand.New(rand.NewPCG(1, 2)), nil)
			for metric, of := range map[measure.Metric][]float64{measure.StepTime: steps[:len(mean)],
				measure.MeanStep: mean} {
				series := model.Series{Subject: measure.Workload, Metric: metric}
				for _, v := range of {
					series.Values = append(series.Values, 1e6*v)
				}
				s.Series = append(s.Series, series)
			}
			s.SortSeries()
			return s
		}
		r := compareSides([]model.Session{side([]float64{1.01, 1.02, 1.015, 1.02, 1.01}[:len(x.mean)])},
			[]model.Session{side(x.mean)}, thresholds.Default())
		if r.Verdict != x.want || !r.Undecided && x.want == result.Pass {
			t.Errorf("%v: %s %t: %s", x.mean, r.Verdict, r.Undecided, r.Reason)
		}
	}
}

// A gate never passes where most runs of the head, or so many as hardly ever by chance, are in a mode that no run of
// the baseline is in, whatever is judged and wherever it ran.
func TestModeAppears(t *testing.T) {
	base := timesOf(4.09, 4.11, 4.13, 4.16, 4.18)
	for _, x := range []struct {
		name       string
		base, head []float64
		needed     int
	}{
		{"three of five", base, timesOf(2.54, 2.57, 2.58, 4.04, 4.16), 13}, // was: red rows, "6 runs would decide"
		{"two of three", base[:3], timesOf(2.54, 2.57, 4.16), 12},          // was: green steps
		{"four of five", base, timesOf(2.54, 2.57, 2.55, 2.53, 4.16), 9},   // was: red outputs
		{"four of nine", slices.Concat(base, base[:4]), timesOf(2.54, 2.57, 2.58, 2.56, 4.04, 4.16, 4.1, 4.12, 4.09),
			19},
	} {
		for k, kind := range modeKinds {
			for rel, relation := range modeRelations {
				r, f := modeGate(k, rel, rand.New(rand.NewPCG(1, 2)), x.base, x.head)
				switch {
				case r.Verdict != result.NoVerdict:
					t.Errorf("%s, %s, %s: %s: %s", x.name, kind.name, relation.name, r.Verdict, r.Reason)
				case f == nil || f.Mode.Kind != "appeared" || f.Mode.BaseIn != 0 || f.Mode.Needed != x.needed:
					t.Errorf("%s, %s, %s: %+v, want %d runs", x.name, kind.name, relation.name, f, x.needed)
				}
				said := strings.Contains(f.Reason, "a mode appeared: the head is bimodal")
				if n := f.MoreRuns(); rel == 3 && n > 0 && n < x.needed { // was: 12 runs on one host; 5 runs
					t.Errorf("%s, %s, %s: %s", x.name, kind.name, relation.name, f.Reason)
				}
				if rel < 3 && (f.MoreRuns() != x.needed || !said) {
					t.Errorf("%s, %s, %s: %s", x.name, kind.name, relation.name, f.Reason)
				}
			}
		}
	}
	r, f := modeGate(3, 0, rand.New(rand.NewPCG(1, 2)), base[:3], timesOf(2.54, 4.07, 4.16))
	if !r.Undecided || f.MoreRuns() != 30 {
		t.Errorf("one of three: %s: %s", r.Verdict, f.Reason) // was: 4 runs would decide
	}
}

// A mode explains no change of both levels: every run of the head is slower than every run of the baseline.
func TestModeOfSlowerRuns(t *testing.T) {
	for k, kind := range modeKinds {
		r, _ := modeGate(k, 0, rand.New(rand.NewPCG(1, 2)), []float64{1, 0.997, 1.003, 0.999, 1.001},
			[]float64{1.698, 1.702, 1.06, 1.061, 1.058})
		if r.Verdict == result.Pass { // was: rows pass, undecided
			t.Errorf("%s: %s: %s", kind.name, r.Verdict, r.Reason)
		}
	}
}

// Where both sides have a mode as often, and that of the head is slower than every run of the baseline, the gate does
// not pass in silence.
func TestSlowerMode(t *testing.T) {
	base := []float64{1, 0.997, 1.003, 0.999, 1.001, 0.998, 1.002, 1.601, 1.597, 1.602, 1.599, 1.6, 1.603}
	head := slices.Clone(base)
	for i := range head[7:] {
		head[7+i] *= 1.5
	}
	for k, kind := range modeKinds {
		for rel, relation := range modeRelations {
			r, _ := modeGate(k, rel, rand.New(rand.NewPCG(1, 2)), base, head)
			if r.Verdict == result.Pass && !r.Undecided { // was: rows and outputs passed, six runs being outliers
				t.Errorf("%s, %s: %s", kind.name, relation.name, r.Reason)
			}
		}
	}
}

// Shares of a mode that are equal fail no gate of five runs, and those that differ are found as often as the manual
// says on one host.
func TestModeShares(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		runs       int
		base, head float64
		wanted     share
	}{
		{5, 0.4, 0.4, atMost(fails, 0.2)}, {13, 0.2, 0.2, atMost(fails, 0.2)}, {13, 0.5, 0.5, atMost(fails, 0.2)},
		{13, 0, 0.6, atLeast(fails, 88)}, {13, 0.2, 0.6, atLeast(fails, 10)}, {33, 0, 0.3, atLeast(fails, 90)},
		{33, 0.2, 0.6, atLeast(fails, 50)},
	} {
		for k, kind := range modeKinds {
			if (k%4 > 0 || k > 0 && x.runs > 13) && !full() {
				continue
			}
			r, count := rand.New(rand.NewPCG(uint64(x.runs), 2)), map[answer]int{}
			gates := sample(measure.Either(x.base == x.head, 1000, 300)) // a power takes fewer than an error rate
			for i := range gates {
				draw := func(share float64) (out []float64) {
					for range x.runs {
						v := math.Exp(0.005 * r.NormFloat64())
						if r.Float64() < share {
							v *= 1.6
						}
						out = append(out, v)
					}
					return out
				}
				report, _ := modeGate(k, i%3, r, draw(x.base), draw(x.head))
				count[answerOf(report)]++
			}
			part := 100 * float64(count[fails]) / float64(gates)
			if !x.wanted.met(part, gates) {
				t.Errorf("%s, %d runs, %.0f to %.0f %%: %v", kind.name, x.runs, 100*x.base, 100*x.head, count)
			}
			t.Logf("%s, %d runs, %.0f to %.0f %%: %v", kind.name, x.runs, 100*x.base, 100*x.head, count)
		}
	}
}

// The report says what the runs in a mode share: another kernel, a pause before them, a lower clock, a host of the
// head.
func TestModeFollows(t *testing.T) {
	slow := []float64{1.6, 1, 1.6, 1.002, 1.6}
	base := []float64{1, 1.001, 0.999, 1.002, 1}
	r := rand.New(rand.NewPCG(1, 2))
	row := func(values []float64, host string, clock int) model.Session {
		s := rowsOf(host, [][]float64{timesIn(values)}, measure.Duration)
		s.ClockMHz = clock
		return s
	}
	chosen := modeKinds[0].side(r, six(), slow)
	subject := measure.Subject{Scope: measure.ScopeKernel, Name: "fallback(float*)"}
	for _, m := range []measure.Metric{measure.Time, measure.Launches, measure.Total} {
		x := model.Series{Subject: subject, Metric: m, Values: model.Values{5000, math.NaN(), 5000, math.NaN(), 5000}}
		if m == measure.Launches {
			x.Values = model.Values{1, math.NaN(), 1, math.NaN(), 1}
		}
		chosen.Series = append(chosen.Series, x)
	}
	chosen.SortSeries()
	paused := row(slow, "a", 0)
	for i, minutes := range []int{0, 1, 60, 61, 120} {
		paused.Runs[i].Start = morning.Add(time.Duration(minutes) * time.Minute)
	}
	for _, x := range []struct {
		want       string
		base, head []model.Session
	}{
		{"kernel fallback", []model.Session{modeKinds[0].side(r, six(), base)}, []model.Session{chosen}},
		{"a pause before the run", []model.Session{without0(row(base, "a", 0))}, []model.Session{paused}},
		{"a lower clock", []model.Session{row(base, "a", 1980)}, []model.Session{row(slow, "a", 1755)}},
		{"the host", []model.Session{row(base, "a", 0)}, []model.Session{row(slow, "b", 0), row(base, "c", 0)}},
		{"", []model.Session{row(base, "a", 0)}, []model.Session{row(slow, "a", 0)}},
	} {
		report := compareSides(x.base, x.head, thresholds.Default())
		i := slices.IndexFunc(report.Findings, func(f result.Finding) bool { return f.Mode != nil })
		if i < 0 || report.Findings[i].Mode.Follows != x.want {
			t.Errorf("want %q: %+v", x.want, report.Findings[max(i, 0)].Mode)
		}
	}
}

func timesIn(values []float64) (out []float64) {
	for _, v := range values {
		out = append(out, 1e6*v)
	}
	return out
}

// without0 is a session whose runs follow one another at once, but for the first of them, which has no value.
func without0(s model.Session) model.Session {
	s.Series[0].Values[0] = math.NaN()
	return s
}

// A rule that only warns says what it would have doubted: a new mode, and a bound that some runs break.
func TestModeWarned(t *testing.T) {
	bound := measure.Amount{Value: 3}
	for _, x := range []struct {
		kind int
		rule thresholds.Rule
	}{
		{0, thresholds.Rule{Kernel: "saxpy*"}}, {2, thresholds.Rule{Metric: "*step*"}},
		{3, thresholds.Rule{Output: "*"}},
		{3, thresholds.Rule{Output: "*", Metric: "rate", AtLeast: &bound}},
	} {
		policy := thresholds.Default()
		x.rule.Severity, x.rule.Where = thresholds.Warn, "nsgate.toml:3"
		policy.Rules = []thresholds.Rule{x.rule}
		r, m, kind := rand.New(rand.NewPCG(1, 2)), six(), modeKinds[x.kind]
		sides := [2][]float64{timesOf(4.09, 4.11, 4.13, 4.16, 4.18), timesOf(2.54, 2.57, 2.58, 4.04, 4.16)}
		for _, strict := range []string{"pass", "fail"} {
			policy.Undecided = strict
			got := compareSides([]model.Session{kind.side(r, m, sides[0])}, []model.Session{kind.side(r, m, sides[1])},
				policy)
			said := slices.ContainsFunc(got.Findings, func(f result.Finding) bool { return f.Undecided && !f.Gates })
			if got.Verdict != result.Pass || got.Gate.Does != result.Warns || !said { // was: passed without a word
				t.Errorf("%s, %+v: %s: %s", kind.name, x.rule, got.Verdict, got.Reason)
			}
		}
	}
}

// A run in a mode that both sides have is no outlier, and a side on one level has no mode beside the other.
func TestModeOfBoth(t *testing.T) {
	quiet := []float64{1, 1.001, 0.999, 1.002, 0.998}
	in := func(runs ...int) (out []float64) {
		out = slices.Clone(quiet)
		for _, run := range runs {
			out[run] *= 1.6
		}
		return out
	}
	for k, kind := range modeKinds {
		r, _ := modeGate(k, 0, rand.New(rand.NewPCG(1, 2)), in(3), in(1))
		said := r.Doubts
		for _, f := range r.Findings {
			said = append(said, f.Also...)
		}
		i := slices.IndexFunc(said, func(x result.Remark) bool { return strings.Contains(x.Sentence, "outlier") })
		if i >= 0 || r.Verdict != result.Pass { // was: run 2 is an outlier
			t.Errorf("%s: %s: %+v", kind.name, r.Verdict, said)
		}
		_, f := modeGate(k, 0, rand.New(rand.NewPCG(1, 2)), in(0, 1, 2, 3, 4), in(0, 1, 2))
		if f == nil || f.Mode.Kind != "share" || strings.Contains(f.Reason, "both sides") { // was: 0 of 5
			t.Errorf("%s: %+v", kind.name, f)
		}
	}
}
