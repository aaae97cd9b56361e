package decide_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// This file measures what looks at growing data cost and save against a fixed number of runs.
//
//	go test -run=NONE -bench='Looks$' -benchtime=1x ./gate/internal/judge/decide

// lookGate draws the baseline and the head of a gate; each makes a session of its first n runs.
type lookGate func(r *rand.Rand, effect float64) (base, head func(n int) model.Session)

// betweenTwo draws the baseline from one host and the head, with a change in a kernel of some weight, from one with
// another name; of a lone host both, from different runs.
func betweenTwo(bases, heads []host) lookGate {
	return func(r *rand.Rand, effect float64) (base, head func(n int) model.Session) {
		h := &heads[r.IntN(len(heads))]
		of := h
		for len(bases) > 0 && (of == h || of.name == h.name) {
			of = &bases[r.IntN(len(bases))]
		}
		kernels, runs := heavy(h.session), r.Perm(len(h.session.Runs))
		kernel, others := kernels[r.IntN(len(kernels))], runs
		if of != h {
			others = r.Perm(len(of.session.Runs))
		}
		return func(n int) model.Session { return draw{host: of, runs: others[max(0, len(others)-n):]}.session() },
			func(n int) model.Session {
				return draw{host: h, runs: runs[:n], kernel: kernel, effect: effect}.session()
			}
	}
}

// slowCPU draws steps of a program whose CPU is slow in some runs, all of the head longer by the effect.
func slowCPU(c cpu) lookGate {
	return func(r *rand.Rand, effect float64) (base, head func(n int) model.Session) {
		before, after := c.steps(r, 8, 0), c.steps(r, 8, effect)
		return func(n int) model.Session { return stepping("launch-starved", before[:n]...) },
			func(n int) model.Session { return stepping("launch-starved", after[:n]...) }
	}
}

// lookRates are the results of gates of one schedule.
type lookRates struct{ gates, failed, without, undecided, runs int }

// part is a number for each gate, in per cent.
func (x lookRates) part(n int) float64 { return 100 * float64(n) / float64(x.gates) }

// looks judges gates as check does: after each number of runs, until nothing is undecided that could still fail.
func (g lookGate) looks(gates int, looks []int, paired bool, limit, effect float64) (out lookRates) {
	policy := thresholds.Default()
	policy.Threshold, policy.StepThreshold = limit, max(limit, policy.StepThreshold)
	r := rand.New(rand.NewPCG(41, 43))
	for range gates {
		base, head := g(r, effect)
		var report *decide.Decision
		n := 0
		for i, share := range stats.Spend(policy.Alpha, looks) {
			n = looks[i]
			b := 5
			if paired {
				b = n
			}
			report = decide.Judge(decide.Input{Baseline: []model.Session{base(b)}, Head: []model.Session{head(n)},
				Policy: policy.For(""),
				Look: decide.Look{Number: i + 1, Of: len(looks), Runs: n, MostRuns: looks[len(looks)-1],
					Alpha: share}})
			if verdict.Settled(&report.Report) {
				break
			}
		}
		out.gates++
		out.runs += n
		switch {
		case report.Verdict == result.Fail:
			out.failed++
		case report.Verdict == result.NoVerdict && !report.Undecided:
			out.without++
		case report.Undecided:
			out.undecided++
		}
	}
	return out
}

// lookProgram is a program of the table, with the changes that are put into it and the schedules that its runs allow.
type lookProgram struct {
	name      string
	gate      lookGate
	effects   []float64
	schedules [][]int
}

// gatesOf are the programs of the table.
func gatesOf(tb testing.TB) []lookProgram {
	kernels, pytorch := loadHosts(tb, "kernels", "a", "b", "e", "f", "g"),
		loadHosts(tb, "transformer", "b", "e", "f", "g")
	small, large := []float64{0, 0.02, 0.05}, []float64{0, 0.05, 0.1, 0.2}
	all := [][]int{{5}, {3, 5}, {3, 5, 8}, {4, 6, 8}}
	return []lookProgram{
		{"six kernels, one host", betweenTwo(nil, kernels[:2]), small, all},
		{"PyTorch, one host", betweenTwo(nil, pytorch[:1]), small, all[:2]},
		{"six kernels, another host", betweenTwo(kernels, kernels), small, all},
		{"PyTorch, another host", betweenTwo(pytorch, pytorch[:1]), small, all},
		{"steps, sd 2.5 %", slowCPU(cpu{sd: 0.025}), large, all},
		{"steps, four runs in ten slow", slowCPU(cpu{0.4, 0.3, 0.005}), large, all},
	}
}

// BenchmarkLooks is the table of schedules of the manual.
func BenchmarkLooks(b *testing.B) {
	for _, p := range gatesOf(b) {
		for _, paired := range []bool{false, true} {
			for _, limit := range []float64{0.03, 0.05} {
				for _, looks := range p.schedules {
					name := fmt.Sprintf("%s/paired %v/limit %g %%/after %v", p.name, paired, 100*limit, looks)
					b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
						for b.Loop() {
							b.ReportMetric(0, "ns/op")
							for _, effect := range p.effects {
								x := p.gate.looks(sample(400), looks, paired, limit, effect)
								at := fmt.Sprintf("@%g", 100*effect)
								b.ReportMetric(x.part(x.failed), "fail-%"+at)
								b.ReportMetric(x.part(x.without), "none-%"+at)
								b.ReportMetric(x.part(x.undecided), "undecided-%"+at)
								b.ReportMetric(x.part(x.runs)/100, "runs"+at)
							}
						}
					})
				}
			}
		}
	}
}

// The default schedule of check takes a third less runs of a quiet program than five, raises no false alarm and finds
// as much.
func TestLooks(t *testing.T) {
	t.Parallel()
	programs := gatesOf(t)
	for _, tt := range []struct {
		program       int
		effect, found float64 // at least, in per cent
		runs          float64 // at most
	}{{0, 0, 0, 3.35}, {0, 0.05, 100, 3.35}, {2, 0, 0, 3.6}, {4, 0, 0, 3.8}, {4, 0.2, 80, 5}} {
		p := programs[tt.program]
		x := p.gate.looks(sample(160), []int{3, 5}, false, 0.03, tt.effect)
		if tt.effect == 0 && x.failed > 0 || x.part(x.failed) < tt.found || x.part(x.runs)/100 > tt.runs {
			t.Errorf("%s, +%g %%: %d of %d gates fail, after %.3g runs", p.name, 100*tt.effect, x.failed, x.gates,
				x.part(x.runs)/100)
		}
	}
}
