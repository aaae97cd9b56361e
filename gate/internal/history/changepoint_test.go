package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func indexes(points []changePoint) (out []int) {
	for _, p := range points {
		out = append(out, p.Index)
	}
	return out
}

// The answers of Apache Otava's published tests (tests/analysis_test.py, tests/series_test.py).
func TestKnownAnswers(t *testing.T) {
	falling := []float64{1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}
	slowly := []float64{2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78}
	for _, tt := range []struct {
		name   string
		series []float64
		p      float64
		want   []int
	}{
		{"one change", []float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48,
			0.55, 0.50, 0.49, 0.51, 0.50, 0.49},
			0.0001, []int{10}},
		{"to a half", falling, trendP, []int{6}},
		{"by a tenth", slowly, trendP, []int{4}},
		{"from zero", []float64{0, 0, 0, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}, trendP, []int{3, 6}},
		{"nothing", nil, trendP, nil},
		{"one value", []float64{1}, trendP, nil},
		{"all alike", slices.Repeat([]float64{3}, 60), trendP, nil},
	} {
		if got := indexes(changePoints(tt.series, tt.p)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A step is found where it is, wherever in a long series, and its means are those of its sides.
func TestStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(12, 160).Draw(t, "points")
		at := rapid.IntRange(5, n-5).Draw(t, "at")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		series := make([]float64, n)
		for i := range series {
			series[i] = 1 + 0.001*r.NormFloat64()
			if i >= at {
				series[i] *= 1.05
			}
		}
		points := changePoints(series, trendP)
		i := slices.IndexFunc(points, func(p changePoint) bool { return p.Index == at })
		if i < 0 || math.Abs(points[i].After/points[i].Before-1.05) > 0.01 {
			t.Fatalf("%v, want %d", points, at)
		}
	})
}

// An excursion of a few nights is found at both of its ends, to a night; noise adds a point now and then.
func TestExcursion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, nights := rapid.IntRange(12, 60).Draw(t, "at"), rapid.IntRange(2, 8).Draw(t, "nights")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		series := make([]float64, 100)
		for i := range series {
			series[i] = 1 + 0.02*r.NormFloat64()
			if i >= at && i < at+nights {
				series[i] += 2
			}
		}
		got := indexes(changePoints(series, trendP/50))
		near := func(want int) bool {
			return slices.ContainsFunc(got, func(i int) bool { return max(i-want, want-i) <= 1 })
		}
		if !near(at) || !near(at+nights) || len(got) > 4 {
			t.Fatalf("%v, want %d and %d", got, at, at+nights)
		}
	})
}

// A series without a change has no change of level.
func TestFalsePoints(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 400 {
		series := make([]float64, 40)
		for i := range series {
			series[i] = 1 + 0.01*r.NormFloat64()
		}
		if len(levelChanges(series, trendP)) > 0 {
			found++
		}
	}
	if found > 0 {
		t.Errorf("%d of 400 unchanged series have a change point", found)
	}
}

// A series of nights with outliers, noisy weeks and slow wandering has no change of level, and a step of it has one.
func TestNights(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	found, steps := 0, 0
	for range 200 {
		series := make([]float64, 120)
		drift, week := 0., 1.
		for i := range series {
			if i%7 == 0 {
				week = math.Exp(r.NormFloat64())
			}
			drift += 0.001 * r.NormFloat64()
			series[i] = drift + 0.003*week*r.NormFloat64()
			if r.IntN(20) == 0 {
				series[i] += 0.05 * r.ExpFloat64()
			}
		}
		found += len(levelChanges(series, trendP))
		at := 10 + r.IntN(100)
		for i := at; i < len(series); i++ {
			series[i] += math.Log(1.1)
		}
		if slices.Contains(indexes(changePoints(series, trendP)), at) {
			steps++
		}
	}
	if found > 2 || steps < 180 {
		t.Errorf("%d change points in 200 unchanged series, +10 %% found in %d", found, steps)
	}
}

// A step of 12 standard errors between two levels that last is found in at least 18 of 20 short series, and in hardly
// any where nights only follow each other.
func TestLastingLevels(t *testing.T) {
	const all, most = 200, 180
	for _, x := range []struct{ nights, at int }{{24, 12}, {24, 8}, {24, 14}, {16, 8}, {20, 10}, {30, 15}, {40, 20}} {
		r := rand.New(rand.NewPCG(7, uint64(x.nights)))
		found, alarms := 0, 0
		for range all {
			sd := 0.05 / 12 / math.Sqrt(1/float64(x.at)+1/float64(x.nights-x.at))
			series, follows := make([]float64, x.nights), make([]float64, x.nights)
			for i := range series {
				series[i], follows[i] = sd*r.NormFloat64(), sd*r.NormFloat64()
				if i > 0 {
					follows[i] += 0.5 * follows[i-1]
				}
				if i >= x.at {
					series[i] += math.Log(1.05)
				}
			}
			near := func(i int) bool { return max(i-x.at, x.at-i) <= 1 }
			if slices.ContainsFunc(indexes(levelChanges(series, trendP/8)), near) {
				found++
			}
			alarms += min(1, len(levelChanges(follows, trendP/8)))
		}
		if found < most || alarms > all/100 { // was: 23 of 200 in the middle of 24 nights
			t.Errorf("%d nights, a step at %d: found in %d of %d; %d alarms without one", x.nights, x.at, found, all,
				alarms)
		}
	}
}
