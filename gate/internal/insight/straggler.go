package insight

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// A rank may hold up the others without computing longer: it copies, reads its data, or its CPU is slow. All ranks then have one
// period, and those that wait spend the difference in collectives.

// outside is how long a rank does not communicate in a step, a value a job: its period without the communication that nothing hides,
// in which its waiting is.
func outside(s *recorded.Index, rank measure.Subject) []float64 {
	steps, talks := slices.Concat(s.Values(rank, model.RankStep.Name)...), slices.Concat(s.Values(rank, model.ExposedCommunication.Name)...)
	out := make([]float64, len(steps))
	for i := range steps {
		out[i] = math.NaN()
		if i < len(talks) {
			out[i] = steps[i] - talks[i]
		}
	}
	return out
}

// late is the rank that takes longest between its collectives, where it does so by more than the limit and than jobs differ by, and
// the others wait for it. What CPUs do differs from program to program: that the jobs of others were steady says nothing of these.
func late(s *recorded.Index, names []measure.Subject, limit, alpha float64) *result.Straggler {
	x := slowest(names, behind(names, func(r measure.Subject) []float64 { return outside(s, r) }), stats.Variance{S2: stats.StepRunSD * stats.StepRunSD}, limit, alpha)
	if x == nil {
		return nil
	}
	x.Late = true
	if waitedFor(x, s); !(x.Waited > 0) {
		return nil
	}
	x.More = excess(s, names, x.Rank, func(r measure.Subject) []float64 { return outside(s, r) })
	x.Copies = excess(s, names, x.Rank, func(r measure.Subject) []float64 { return slices.Concat(s.Values(r, model.RankCopies.Name)...) })
	return x
}

// excess is how much more a rank takes than the mean of the others, in the middle job.
func excess(s *recorded.Index, names []measure.Subject, rank string, takes func(measure.Subject) []float64) result.Number {
	var jobs []float64
	others := float64(len(names) - 1)
	for _, x := range names {
		for job, v := range takes(x) {
			if job == len(jobs) {
				jobs = append(jobs, 0)
			}
			if x.Name != rank {
				v /= -others
			}
			jobs[job] += v
		}
	}
	return result.Number(stats.Median(stats.Known(jobs)))
}
