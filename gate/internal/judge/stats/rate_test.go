package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/combin"
)

// Values drawn evenly lie as close together as often as is said, and some of them no more often than that.
func TestWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, tt := range []struct {
		k, n int
		part float64
	}{{2, 2, 0.1}, {3, 3, 0.05}, {3, 3, 0.3}, {5, 5, 0.5}, {4, 5, 0.1}, {4, 5, 0.3}, {8, 10, 0.3}, {1, 1, 0.1},
		{3, 3, 1}, {3, 3, math.NaN()}} {
		const draws = 20000
		close := 0
		for range draws {
			x := make([]float64, tt.n)
			for i := range x {
				x[i] = r.Float64()
			}
			slices.Sort(x)
			least := math.Inf(1)
			for i := range x[tt.k-1:] {
				least = math.Min(least, x[i+tt.k-1]-x[i])
			}
			if !(least > tt.part) {
				close++
			}
		}
		got, seen := Within(tt.k, tt.n, tt.part), float64(close)/draws
		sd := math.Sqrt(got*(1-got)/draws) + 1e-9
		if seen > got+4*sd || tt.k == tt.n && seen < got-4*sd {
			t.Errorf("Within(%d, %d, %v) = %v, of %d draws %v did", tt.k, tt.n, tt.part, got, draws, seen)
		}
	}
}

// TestApart tries every chance of a run to be an outlier, on a grid, with sums of binomial probabilities.
func TestApart(t *testing.T) {
	atMost := func(k, n int, q float64) (p float64) {
		for i := 0; i <= min(k, n); i++ {
			p += float64(combin.Binomial(n, i)) * math.Pow(q, float64(i)) * math.Pow(1-q, float64(n-i))
		}
		return p
	}
	for _, sides := range [][2]int{{1, 1}, {2, 5}, {5, 5}, {7, 3}, {4, 12}, {15, 3}} {
		all, others := sides[0], sides[1]
		for some := range all + 1 {
			for few := range others + 1 {
				want := 0.0
				for i := 1; i < 200; i++ {
					q := float64(i) / 200
					want = math.Max(want, (1-atMost(some-1, all, q))*atMost(few, others, q))
				}
				near(t, fmt.Sprintf("Apart of %d of %d and %d of %d", some, all, few, others),
					Apart(some, all, few, others), want, 1e-9)
			}
		}
	}
}

// Values of Fisher's test are those of R's fisher.test(alternative = "greater"), runs those that tell shares apart.
func TestFisher(t *testing.T) {
	for _, x := range []struct {
		some, all, few, others int
		want                   float64
	}{{3, 5, 0, 5, 0.08333}, {6, 13, 0, 13, 0.007453}, {3, 4, 1, 4, 0.2429}, {0, 5, 0, 5, 1}} {
		if got := Fisher(x.some, x.all, x.few, x.others); math.Abs(got-x.want) > 0.0001 {
			t.Errorf("%+v: %v", x, got)
		}
	}
	for _, x := range []struct {
		share, other float64
		want         int
	}{{0.6, 0, 13}, {0.3, 0, 33}, {0.6, 0.2, 0}, {1, 0, 5}} {
		if got := RunsForShares(x.share, x.other, 0.01, 0.9, 40); got != x.want {
			t.Errorf("%v against %v: %d runs, want %d", x.share, x.other, got, x.want)
		}
	}
}
