package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// The first boundary of a one-sided design at 0.025 with equally spaced looks, as Lan-DeMets tables print it (Reboussin
// et al. 2000; East and ldbounds give the same). It is the quantile of the spent error at that look.
func TestSpendAgainstTables(t *testing.T) {
	for looks, boundary := range map[int]float64{2: 2.963, 3: 3.710, 4: 4.333, 5: 4.877} {
		spent := spentAt(0.025, 1/float64(looks))
		near(t, "first boundary", distuv.UnitNormal.Quantile(1-spent), boundary, 0.0006)
	}
	// Python: math.erfc(NormalDist().inv_cdf(1 - 0.01/2) / math.sqrt(2*5/12)), and 8/12 likewise.
	got := Spend(0.01, []int{5, 8, 12})
	near(t, "after 5 of 12", got[0], 6.594594e-05, 1e-10)
	near(t, "after 8 of 12", got[0]+got[1], 0.001606446457, 1e-10)
	near(t, "the last look", got[0]+got[1]+got[2], 0.01, 1e-15)
	near(t, "one look", Spend(0.01, []int{5})[0], 0.01, 0)
}

func TestSpendProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha := rapid.Float64Range(1e-4, 0.1).Draw(t, "alpha")
		looks := []int{}
		n := 0
		for range rapid.IntRange(1, 8).Draw(t, "looks") {
			n += rapid.IntRange(1, 20).Draw(t, "more")
			looks = append(looks, n)
		}
		sum := 0.0
		for i, share := range Spend(alpha, looks) {
			if !(share >= 0 && share <= alpha) {
				t.Fatalf("look %d of %v may spend %v of %v", i+1, looks, share, alpha)
			}
			sum += share
			// Before the end less is spent than the part of the data that is there.
			if part := float64(looks[i]) / float64(n); part < 1 && sum > alpha*part {
				t.Fatalf("%v is spent at %v of the data", sum, part)
			}
		}
		if math.Abs(sum-alpha) > 1e-12 {
			t.Fatalf("the looks spend %v, not %v", sum, alpha)
		}
	})
}
