package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// This file measures what the printed intervals cover: in how many gates of an unchanged program they contain no change
// at all.
//
//	go test -run=NONE -bench=Intervals -benchtime=1x ./gate/internal/judge/decide

// oneHost draws both sides of so many runs from the runs of one host, which are one session.
func oneHost(h host, runs int) hostGate {
	return func(r *rand.Rand, _ int) (base []model.Session, head model.Session) {
		order := r.Perm(len(h.session.Runs))
		return []model.Session{draw{host: &h, runs: order[:runs]}.session()},
			draw{host: &h, runs: order[runs : 2*runs]}.session()
	}
}

// coverage counts intervals of one kind of finding.
type coverage struct {
	all, contain  int
	halves, moves []float64 // half of each interval, and how far its estimate lies from the truth, on the log scale
}

// intervals are those of gates of an unchanged program by kind: kernels, the GPU time, the step.
func (g hostGate) intervals(seed uint64, gates, bases int) map[string]*coverage {
	r, out := rand.New(rand.NewPCG(seed, 73)), map[string]*coverage{}
	for range gates {
		base, head := g(r, bases)
		for _, f := range compareSides(base, []model.Session{head}, limited(0.01)).Findings {
			kind := ""
			switch {
			case f.Scope == measure.ScopeKernel && f.Metric == measure.Time.Name && f.Share >= 0.005:
				kind = "kernels"
			case f.Subject() == measure.Workload && (f.Metric == measure.GPUTime.Name ||
				f.Metric == measure.StepTime.Name || f.Metric == measure.MeanStep.Name):
				kind = result.Title(f.Metric)
			}
			if kind == "" || !f.Low.Known() || !f.High.Known() {
				continue
			}
			c := out[kind]
			if c == nil {
				c = &coverage{}
				out[kind] = c
			}
			if c.all++; f.Low <= 0 && 0 <= f.High {
				c.contain++
			}
			c.halves = append(c.halves, (math.Log1p(float64(f.High))-math.Log1p(float64(f.Low)))/2)
			c.moves = append(c.moves, math.Abs(math.Log1p(float64(f.Change))))
		}
	}
	return out
}

// contained is the part of the intervals that contain no change, wide their median width by 90 % of the changes.
func (c *coverage) contained() float64 { return float64(c.contain) / float64(c.all) }

func (c *coverage) wide() float64 {
	slices.Sort(c.moves)
	return stats.Median(c.halves) / c.moves[int(0.9*float64(len(c.moves)-1))]
}

// BenchmarkIntervals prints the table.
func BenchmarkIntervals(b *testing.B) {
	kernels := loadHosts(b, "kernels", "a", "b", "e", "f", "g")
	transformer := loadHosts(b, "transformer", "b", "e", "f", "g")
	for b.Loop() {
		fmt.Printf("\n| program, hosts | bases | kind | intervals | contain no change | width by need |\n| --- | " +
			"--- | --- | --- | --- | --- |\n")
		for _, x := range []struct {
			name  string
			bases int
			gates int
			hosts hostGate
		}{
			{"kernels, one session, 5 runs", 1, 400, oneHost(kernels[0], 5)},
			{"kernels, one session, 10 runs", 1, 400, oneHost(kernels[0], 10)},
			{"kernels, one session b, 5 runs", 1, 400, oneHost(kernels[1], 5)},
			{"kernels, one session b, 3 runs", 1, 400, oneHost(kernels[1], 3)},
			{"PyTorch, one session, 5 runs", 1, 100, oneHost(transformer[0], 5)},
			{"PyTorch, one session, 3 runs", 1, 100, oneHost(transformer[0], 3)},
			{"kernels recorded, one board", 1, 300, betweenHosts([]host{kernels[0], kernels[1], kernels[3]},
				fastBoard)},
			{"kernels recorded, one board", 2, 300, betweenHosts([]host{kernels[0], kernels[1], kernels[3]},
				fastBoard)},
			{"kernels recorded, unknown", 1, 300, betweenHosts(kernels, "")},
			{"kernels recorded, unknown", 3, 300, betweenHosts(kernels, "")},
			{"kernels on 11 hosts, one board", 1, 300, classed(b, kernels[0], false, fastBoard)},
			{"kernels on 11 hosts, one board", 3, 300, classed(b, kernels[0], false, fastBoard)},
			{"kernels on 13 hosts, unknown", 1, 300, classed(b, kernels[0], true, "")},
			{"kernels on 13 hosts, unknown", 3, 300, classed(b, kernels[0], true, "")},
			{"PyTorch recorded, one board", 1, 60, betweenHosts([]host{transformer[0], transformer[2]}, fastBoard)},
			{"PyTorch recorded, unknown", 1, 100, betweenHosts(transformer, "")},
			{"PyTorch made up, one board", 1, 200, pytorch(0, true)},
			{"PyTorch made up, one board", 3, 200, pytorch(0, true)},
			{"PyTorch made up, boards known", 3, 200, pytorch(0.4, true)},
			{"PyTorch made up, unknown", 1, 200, pytorch(0.4, false)},
			{"PyTorch made up, unknown", 3, 200, pytorch(0.4, false)},
		} {
			of := x.hosts.intervals(977, x.gates, x.bases)
			for _, kind := range []string{"kernels", "GPU time", "step time", "mean step time"} {
				if c := of[kind]; c != nil {
					fmt.Printf("| %-30s | %d | %s | %d | %.1f %% | %.2f |\n", x.name, x.bases, kind, c.all,
						100*c.contained(), c.wide())
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}
