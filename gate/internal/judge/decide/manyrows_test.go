package decide_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// unlikeRows draws a side of five processes: rows of 20 µs and more, each with a noise of its own, whose values are
// outliers with this chance.
func unlikeRows(r *rand.Rand, host string, noise []float64, outliers float64) model.Session {
	rows := make([][]float64, len(noise))
	for i, sd := range noise {
		for range 5 {
			by := sd * r.NormFloat64()
			if r.Float64() < outliers {
				by += 4 * sd
			}
			rows[i] = append(rows[i], 20e6*float64(i+1)*(1+by))
		}
	}
	return rowsOf(host, rows, measure.Duration)
}

// Rows of a file share one error rate, for failures and for doubts: of unchanged gates with 120 rows at a noise of 1 %,
// none fails and all have a verdict; with outliers and at 3 % as many as alpha says.
func TestUnchangedRows(t *testing.T) {
	t.Parallel()
	draws, sizes, levels := 20, []int{120}, []float64{0.01}
	if full() {
		draws, sizes, levels = 250, []int{4, 40, 120}, []float64{0.01, 0.03}
	}
	for _, kind := range []struct {
		name             string
		outliers, unlike float64
	}{{"alike", 0, 0}, {"with outliers", 0.05, 0}, {"of unlike noise", 0.05, 0.7}} {
		for _, host := range []string{"a", ""} {
			for _, n := range sizes {
				for _, noise := range levels {
					r, counts := rand.New(rand.NewPCG(uint64(n), 2)), map[result.Verdict]int{}
					for range draws {
						sds := make([]float64, n)
						for i := range sds {
							sds[i] = noise * math.Exp(kind.unlike*r.NormFloat64())
						}
						counts[decide.Judge(decide.Input{Policy: thresholds.Default().For(""),
							Baseline: []model.Session{unlikeRows(r, host, sds, kind.outliers)},
							Head:     []model.Session{unlikeRows(r, host, sds, kind.outliers)}}).Verdict]++
					}
					t.Logf("%d rows %s, host %q, noise %.0f %%: %v", n, kind.name, host, 100*noise, counts)
					if red, open := counts[result.Fail], counts[result.NoVerdict]; red > 1+draws/100 ||
						red > 1 && host == "" || open > draws/20 || open+red > 0 && kind.outliers == 0 && noise == 0.01 {
						t.Errorf("%d rows %s, host %q, noise %.0f %%: %d red, %d without a verdict of %d", n, kind.name,
							host, 100*noise, red, open, draws)
					}
				}
			}
		}
	}
}
