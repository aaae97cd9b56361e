package stats

import (
	"fmt"
	"math"
	"testing"
)

// Upper tail probabilities of S for series without ties, from table A18 of Gilbert, Statistical Methods for
// Environmental Pollution Monitoring (1987): n = 4, S = 6: 0.042; n = 10, S = 15: 0.108, S = 27: 0.0083.
func TestTrend(t *testing.T) {
	for _, c := range []struct {
		x         []float64
		change, p float64
	}{
		{[]float64{1, 2, 3, 4}, 3, 2 * 0.042},
		{[]float64{40, 30, 20, 10}, -30, 2 * 0.042},
		{[]float64{7, 1, 2, 3, 4, 5, 6, 8, 9, 0}, math.NaN(), 2 * 0.108},
		{[]float64{7, 1, 2, 3, 4, 5, 6, 10, 9, 8}, math.NaN(), 2 * 0.0083},
		{[]float64{5, 5, 5, 5, 5, 5}, 0, 1},
		{[]float64{5}, 0, 1},
		{nil, 0, 1},
	} {
		change, p := Trend(c.x)
		if math.Abs(p-c.p) > 0.001 {
			t.Errorf("%v: p = %v, want %v", c.x, p, c.p)
		}
		if !math.IsNaN(c.change) && change != c.change {
			t.Errorf("%v: change = %v, want %v", c.x, change, c.change)
		}
	}
}

// One wild run does not tilt the slope.
func TestTrendIsRobust(t *testing.T) {
	if change, p := Trend([]float64{10, 11, 12, 13, 1000, 15, 16}); change != 6 || p > 0.05 {
		t.Errorf("change %v, p %v", change, p)
	}
}

func TestRateBound(t *testing.T) {
	for _, c := range []struct {
		k, n             int
		confidence, want float64
	}{
		{0, 100, 0.95, 0.02951},  // 1 - 0.05^(1/100); the rule of three says 0.03
		{10, 100, 0.975, 0.1762}, // R: binom.test(10, 100)$conf.int is 0.0490 to 0.1762
		{3, 50, 0.95, 0.1478},
		{50, 50, 0.95, 1},
		{0, 0, 0.95, 1},
	} {
		t.Run(fmt.Sprintf("%d of %d", c.k, c.n), func(t *testing.T) {
			if got := RateBound(c.k, c.n, c.confidence); math.Abs(got-c.want) > 5e-5 {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
