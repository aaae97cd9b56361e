package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(want) && math.IsNaN(got) {
		return
	}
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestCentres(t *testing.T) {
	near(t, "Median of none", Median(nil), math.NaN(), 0)
	near(t, "Median, odd", Median([]float64{3, 1, 2}), 2, 0)
	near(t, "Median, even", Median([]float64{4, 1, 3, 2}), 2.5, 0)
	// R: mad(c(1, 2, 3, 4, 100)) = 1.4826
	near(t, "MAD", MAD([]float64{1, 2, 3, 4, 100}), 1.4826, 1e-12)
	// R: mean(c(0, 1, 2, 3, 4, 5, 6, 7, 8, 1000), trim = 0.1) = 4.5
	near(t, "TrimmedMean", TrimmedMean([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 1000}, 0.1), 4.5, 1e-12)
	near(t, "TrimmedMean of few", TrimmedMean([]float64{1, 2, 9}, 0.1), 4, 1e-12)
	near(t, "TrimmedMean, half", TrimmedMean([]float64{1, 2, 9}, 0.5), 2, 1e-12)
	near(t, "TrimmedMean of none", TrimmedMean(nil, 0.1), math.NaN(), 0)
}

func TestShortestHalf(t *testing.T) {
	near(t, "two groups", ShortestHalf([]float64{1.5, 1, 1.5, 1, 1.5, 1}), 0, 0)
	near(t, "outliers", ShortestHalf([]float64{-9, 1, 2, 3, 40}), 2/(2*NormalQuartile), 1e-12)
	near(t, "one value", ShortestHalf([]float64{4}), 0, 0)
}

func TestSteady(t *testing.T) {
	noisy := func(n int, f func(i int) float64) []float64 {
		r := rand.New(rand.NewPCG(1, 2))
		x := make([]float64, n)
		for i := range x {
			x[i] = f(i) * (1 + 0.002*r.NormFloat64())
		}
		return x
	}
	outlier := noisy(60, func(int) float64 { return 100 })
	outlier[20], outlier[40] = 300, 300
	for _, c := range []struct {
		name   string
		x      []float64
		skip   int
		steady bool
	}{
		{"constant", noisy(60, func(int) float64 { return 100 }), 0, true},
		{"slow start", noisy(60, func(i int) float64 {
			if i < 7 {
				return 140
			}
			return 100
		}), 7, true},
		{"fast start", noisy(30, func(i int) float64 {
			if i < 3 {
				return 50
			}
			return 100
		}), 3, true},
		{"outliers later on", outlier, 0, true},
		{"steps up for ever", noisy(60, func(i int) float64 { return 100 + 5*float64(i) }), 30, false},
		{"too short to tell", []float64{9, 1, 1}, 0, true},
		{"none", nil, 0, true},
	} {
		if skip, steady := Steady(c.x); skip != c.skip || steady != c.steady {
			t.Errorf("%s: Steady = %d, %v, want %d, %v", c.name, skip, steady, c.skip, c.steady)
		}
	}
}

// The trigamma function has closed forms at 1/2 and 1 (Abramowitz and Stegun 6.4.2, 6.4.4).
func TestTrigamma(t *testing.T) {
	near(t, "trigamma(1)", trigamma(1), math.Pi*math.Pi/6, 1e-12)
	near(t, "trigamma(1/2)", trigamma(0.5), math.Pi*math.Pi/2, 1e-12)
	for _, x := range []float64{1e-3, 0.1, 1, 4, 50, 1e4} {
		near(t, "trigammaInverse", trigammaInverse(trigamma(x))/x, 1, 1e-6)
	}
}

// Variances drawn from a known prior give that prior back (Smyth 2004, section 6.2).
func TestFitPriorRecovers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	chi := func(df int) float64 {
		s := 0.0
		for range df {
			z := r.NormFloat64()
			s += z * z
		}
		return s
	}
	const d0, s0, d = 6, 0.04, 4
	v := make([]Variance, 20000)
	for i := range v {
		sigma2 := d0 * s0 / chi(d0)
		v[i] = Variance{S2: sigma2 * chi(d) / d, DF: d}
	}
	p := fitPrior(v)
	near(t, "prior variance", p.S2, s0, 0.002)
	near(t, "prior degrees of freedom", p.DF, d0, 0.5)

	for i := range v {
		v[i] = Variance{S2: s0 * chi(d) / d, DF: d}
	}
	if p := fitPrior(v); p.DF < 100 {
		t.Errorf("with one common variance the prior has %v degrees of freedom, want many", p.DF)
	}
	if p := fitPrior(v[:1]); p != (Variance{}) {
		t.Errorf("prior of one variance = %v, want none", p)
	}
}

func TestModerate(t *testing.T) {
	prior := Variance{S2: 1, DF: 4}
	got := Moderate(Variance{S2: 4, DF: 4}, prior)
	near(t, "moderated variance", got.S2, 2.5, 1e-12)
	near(t, "its degrees of freedom", got.DF, 8, 0)
	if got := Moderate(Variance{S2: 100, DF: 8}, prior); got != (Variance{S2: 100, DF: 8}) {
		t.Errorf("a variance beyond the prior = %v, want it unchanged", got)
	}
	if got := Moderate(Variance{S2: 2, DF: 3}, Variance{}); got != (Variance{S2: 2, DF: 3}) {
		t.Errorf("without a prior = %v, want it unchanged", got)
	}
}

// Welch's test on the sleep data of Student (1908): R's t.test(extra ~ group, data = sleep) prints t = -1.8608,
// df = 17.776, p-value = 0.07939, 95 percent interval -3.3654832 0.2054832.
func TestWelchOnSleep(t *testing.T) {
	a := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	b := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	v := Satterthwaite([]float64{0.1, 0.1}, []Variance{SampleVariance(a), SampleVariance(b)})
	near(t, "df", v.DF, 17.776, 0.001)
	near(t, "p", TwoSided(-1.58, v), 0.07939, 0.00001)
	near(t, "half the interval", Margin(v, 0.95), (0.2054832+3.3654832)/2, 1e-5)
}

func TestTwoSidedWithoutSpread(t *testing.T) {
	near(t, "no difference", TwoSided(0, Variance{S2: 0, DF: 4}), 1, 0)
	near(t, "a difference", TwoSided(1e-9, Variance{S2: 0, DF: 4}), 0, 0)
	near(t, "no degrees of freedom", TwoSided(1, Variance{S2: 1}), math.NaN(), 0)
	near(t, "no estimate", TwoSided(math.NaN(), Variance{S2: 1, DF: 3}), math.NaN(), 0)
}

// R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm") is 0.05 0.08 0.09 0.09 0.09.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.03, math.NaN(), 0.01, 0.05, 0.02, 0.04}, []float64{1, 1, 1, 1, 1, 1})
	want := []float64{0.09, math.NaN(), 0.05, 0.09, 0.08, 0.09}
	for i := range want {
		near(t, "Holm", got[i], want[i], 1e-12)
	}
}

// With weights the error is spent in proportion, and what has none is left alone.
func TestHolmWeights(t *testing.T) {
	got := Holm([]float64{0.01, 0.004, 0.5}, []float64{1, 0.2, 0})
	for i, want := range []float64{0.012, 0.012, 0.5} {
		near(t, "weighted Holm", got[i], want, 1e-12)
	}
}

func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		w := make([]float64, len(p))
		for i := range w {
			w[i] = rapid.Float64Range(0.1, 1).Draw(t, "w")
		}
		q := Holm(p, w)
		for i := range q {
			if q[i] < p[i]-1e-12 || q[i] > 1 {
				t.Fatalf("corrected %v to %v", p[i], q[i])
			}
			for j := range q {
				if p[i]/w[i] < p[j]/w[j] && q[i] > q[j] {
					t.Fatalf("order lost: %v < %v but %v > %v", p[i], p[j], q[i], q[j])
				}
			}
		}
	})
}

func TestContrast(t *testing.T) {
	nan := math.NaN()
	base := [][]float64{{1, 3, nan}, {nan, nan, nan}, {6, 8}}
	head := [][]float64{{5, 7}}
	c := NewContrast(base, head, nil)
	near(t, "estimate of unpaired sessions", c.Estimate, 6-(2+7)/2.0, 1e-12)
	near(t, "run variance", c.Run.S2, 2, 1e-12)
	near(t, "its degrees of freedom", c.Run.DF, 3, 0)
	near(t, "weight of runs", c.RunWeight, 0.5+(0.5+0.5)/4, 1e-12)
	near(t, "weight of sessions", c.SessionWeight, 1+0.5, 1e-12)
	near(t, "session variance", c.Session.S2, 12.5-2*0.5, 1e-12)
	near(t, "its degrees of freedom", c.Session.DF, 1, 0)

	c = NewContrast(base, head, [][2]int{{2, 0}, {1, 0}})
	near(t, "estimate within a session", c.Estimate, 6-7, 1e-12)
	near(t, "weight of runs", c.RunWeight, 1, 1e-12)
	near(t, "weight of sessions", c.SessionWeight, 0, 0)

	c = NewContrast([][]float64{{1}, {2}, {6}}, [][]float64{{2}, {5}, {8}}, [][2]int{{0, 0}, {1, 1}, {2, 2}})
	near(t, "estimate of pairs of single runs", c.Estimate, 2, 1e-12)
	near(t, "variance of their differences", c.Run.S2*c.RunWeight, 1/3.0, 1e-12)
	near(t, "its degrees of freedom", c.Run.DF, 2, 0)

	c = NewContrast([][]float64{{nan}}, head, nil)
	near(t, "estimate without a base", c.Estimate, nan, 0)
}

// The stated effect is found in the stated share of simulated gates.
func TestDetectableIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const runs, sigma, limit, alpha, n = 5, 0.004, 0.002, 0.001, 20000
	weight := 2.0 / runs
	df := float64(2*runs - 2)
	effect := Detectable(Variance{S2: sigma * sigma * weight, DF: df}, limit, alpha, 0.8)
	found := 0
	for range n {
		s := 0.0
		for range int(df) {
			z := r.NormFloat64()
			s += z * z
		}
		v := Variance{S2: sigma * sigma * s / df * weight, DF: df}
		estimate := effect + r.NormFloat64()*sigma*math.Sqrt(weight)
		if estimate > limit && TwoSided(estimate, v) < alpha {
			found++
		}
	}
	near(t, "share found", float64(found)/n, 0.8, 0.06)
}

func TestRunsFor(t *testing.T) {
	run := Variance{S2: 0.01 * 0.01, DF: 8}
	n := RunsFor(0.02, run, 0, 0.9, 100)
	if n < 3 || n > 8 {
		t.Errorf("RunsFor = %d, want a handful", n)
	}
	if more := RunsFor(0.01, run, 0, 0.9, 100); more <= n {
		t.Errorf("RunsFor = %d nearer to the limit, want more than %d", more, n)
	}
	if none := RunsFor(0.02, run, 0.05*0.05, 0.9, 100); none != 0 {
		t.Errorf("RunsFor = %d although the session variance alone is too large, want 0", none)
	}
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float64
		lows int
		ok   bool
	}{
		{"two levels", []float64{10, 10.1, 12, 12.1, 10.05}, 3, true},
		{"one outlier is no level", []float64{10, 10.1, 10.05, 13}, 0, false},
		{"scatter", []float64{10, 10.5, 11, 11.5, 12}, 0, false},
		{"constant", []float64{10, 10, 10, 10}, 0, false},
		{"exact levels", []float64{1, 2, 1, 2}, 2, true},
		{"too few", []float64{1, 2, 1}, 0, false},
	} {
		if _, _, lows, ok := Levels(c.x, 2); lows != c.lows || ok != c.ok {
			t.Errorf("%s: %d low, %v, want %d, %v", c.name, lows, ok, c.lows, c.ok)
		}
	}
}

func TestQuantile(t *testing.T) {
	// Tables of Student's t, and the normal distribution's quantile, the limit of many degrees of freedom.
	near(t, "t(10)", quantile(10, 0.975), 2.2281388519862747, 1e-12)
	near(t, "t(1)", quantile(1, 0.995), 63.65674116287399, 1e-10)
	near(t, "t(∞)", quantile(math.Inf(1), 0.975), 1.959963984540054, 1e-5)
	// gonum's own answer to 1 − 1e-8 is 258 for many degrees of freedom; it is 5.6.
	for _, df := range []float64{0.5, 1, 1.5, 2, 3, 4.7, 8, 20, 123.4, 1e4, 1e6} {
		for _, p := range []float64{0.51, 0.6, 0.8, 0.9, 0.975, 0.995, 0.9999, 1 - 1e-6, 1 - 1e-8} {
			q := quantile(df, p)
			near(t, fmt.Sprintf("tail beyond t(%g, %g) = %g", df, p, q), student(df).Survival(q)/(1-p), 1, 1e-8)
		}
	}
	near(t, "below the middle", quantile(3, 0.2), -quantile(3, 0.8), 1e-9)
}

// TestMedianPolish wants the effects of runs, whatever a minority of kernels and a missing value do; those behind the
// own runs move no kernel.
func TestMedianPolish(t *testing.T) {
	runs, kernels := []float64{0, -0.01, 0.3, 0.02, 0, 0.05, 0.07}, []float64{3, 5, 4, 8, 7}
	rows := make([][]float64, len(kernels))
	for i, kernel := range kernels {
		for _, run := range runs {
			rows[i] = append(rows[i], kernel+run)
		}
	}
	rows[1][5], rows[1][6] = 9, 9 // a kernel that changed
	rows[4][3] = math.NaN()
	moves, effects := MedianPolish(rows, 5)
	for run, want := range runs {
		near(t, "effect", effects[run], want, 1e-12)
		near(t, "move", moves[0][run], want, 1e-12)
	}
	near(t, "move of the changed kernel", moves[1][6], 4, 1e-12)
	if !math.IsNaN(moves[4][3]) {
		t.Errorf("a value that is not known moved by %g", moves[4][3])
	}
	if moves, effects := MedianPolish(nil, 3); moves != nil || effects != nil {
		t.Error("effects of nothing")
	}
}

// TestMedianOfMany wants the median of sorted values, of any number of them, with ties and without.
func TestMedianOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		x := make([]float64, 1+random.IntN(200))
		kinds := 1 + random.IntN(300)
		for i := range x {
			x[i] = float64(random.IntN(kinds))
		}
		sorted := slices.Sorted(slices.Values(x))
		want := (sorted[(len(x)-1)/2] + sorted[len(x)/2]) / 2
		if got := Median(x); got != want {
			t.Fatalf("Median(%v) = %v, want %v", x, got, want)
		}
	}
}
