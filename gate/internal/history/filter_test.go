package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// The innovations of a path solve L·z = changes, with L·Lᵀ their covariance (Cholesky): that takes the cube of the
// sessions.
func TestInnovations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "sessions")
		hosts := rapid.SliceOfN(rapid.IntRange(0, rapid.IntRange(0, 12).Draw(t, "hosts")), n, n).Draw(t, "host")
		sd := rapid.Float64Range(0.001, 0.02).Draw(t, "sd")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		x := &path{run: stats.Variance{S2: rapid.Float64Range(0, 1e-3).Draw(t, "variance")}}
		sessions, changes := make([]model.Session, n), make([]float64, n-1)
		for i := range sessions {
			if hosts[i] > 0 { // else it is not known
				sessions[i].GPUHash = fmt.Sprint(hosts[i])
			}
			x.at, x.runs = append(x.at, i), append(x.runs, float64(1+random.IntN(9)))
		}
		for i := range changes {
			changes[i] = 0.02 * random.NormFloat64()
		}
		got := x.innovations(changes, sessions, sd)
		for i, want := range x.factored(changes, sessions, sd) {
			if !(math.Abs(got[i]-want) <= 1e-9*(1+math.Abs(want))) {
				t.Fatalf("session %d: %v, want %v", i+1, got[i], want)
			}
		}
	})
}

func (x *path) factored(values []float64, sessions []model.Session, sd float64) []float64 {
	covariance := func(i, j int) float64 {
		v := 0.0
		if i == j || sameHost(&sessions[i], &sessions[j]) {
			v = ofHost * sd * sd
		}
		if i == j {
			v += sd*sd + x.run.S2/x.runs[i]
		}
		return v
	}
	out, l := make([]float64, len(values)), make([][]float64, len(values))
	for i := range l {
		out[i] = values[i]
		for j := range i + 1 {
			l[i] = append(l[i], covariance(i+1, j+1)-covariance(i+1, 0)-covariance(0, j+1)+covariance(0, 0))
			for k := range j {
				l[i][j] -= l[i][k] * l[j][k]
			}
			if j < i {
				l[i][j] /= l[j][j]
				out[i] -= l[i][j] * out[j]
			}
		}
		l[i][i] = math.Sqrt(l[i][i])
		out[i] /= l[i][i]
	}
	return out
}
