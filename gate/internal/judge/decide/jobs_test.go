package decide_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// moment is the expected value, and its relative standard deviation between jobs.
type moment struct{ mean, sd float64 }

func moments(x *model.Series) moment {
	sum, n := 0.0, 0.0
	for _, v := range x.Values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	m := moment{mean: sum / n}
	for _, v := range x.Values {
		if !math.IsNaN(v) && m.mean > 0 && n > 1 {
			m.sd += math.Pow(v/m.mean-1, 2) / (n - 1)
		}
	}
	m.sd = math.Sqrt(m.sd)
	return m
}

// drawJobs draws jobs that differ as recorded ones do, a part of the way from one program to another.
func drawJobs(random *rand.Rand, from, to *model.Session, part float64, jobs int, later time.Duration) model.Session {
	s := *from
	s.Runs, s.Series, s.Start = nil, nil, s.Start.Add(later)
	for i := range jobs {
		run := from.Runs[0]
		run.Start = s.Start.Add(time.Duration(i) * time.Second)
		s.Runs = append(s.Runs, run)
	}
	for _, x := range from.Series {
		m := moments(&x)
		if y, ok := to.Find(x.Subject, x.Metric.Name); ok && x.Metric != measure.SlowestRank {
			m.mean += part * (moments(&y).mean - m.mean)
		}
		x.Values = make(model.Values, jobs)
		for i := range x.Values {
			x.Values[i] = m.mean * math.Exp(m.sd*random.NormFloat64())
			if x.Metric.Exact {
				x.Values[i] = m.mean
			}
		}
		s.Series = append(s.Series, x)
	}
	return s
}

// Jobs of two ranks, drawn as the recorded ones differ, 5 against 3: unchanged ones pass, and one layer done once or
// twice more in a rank fails and is named.
func TestJobsOfRanks(t *testing.T) {
	t.Parallel()
	read := func(name string) *model.Session {
		s, err := baseline.Read("../../../../testdata/h200/sessions/" + name + "/nvidia-h200")
		if err != nil {
			t.Fatal(err)
		}
		return &s[0]
	}
	ddp, slow := read("ddp"), read("ddp-slow1")
	random := rand.New(rand.NewPCG(29, 31))
	gates := sample(60)
	for _, test := range []struct {
		name string
		part float64
		want result.Verdict
	}{{"unchanged", 0, result.Pass}, {"one layer once more in rank 1", 0.5, result.Fail},
		{"twice more", 1, result.Fail}} {
		verdicts, named, undecided := map[result.Verdict]int{}, 0, 0
		var mde [2]float64
		for range gates {
			base, head := drawJobs(random, ddp, slow, 0, 5, 0), drawJobs(random, ddp, slow, test.part, 3, time.Minute)
			for i, threshold := range []float64{0.03, 0.01} {
				policy := thresholds.Default()
				policy.Threshold = threshold
				r := compareSides([]model.Session{base}, []model.Session{head}, policy)
				for _, f := range r.Findings {
					if f.Subject() == measure.Workload && f.Metric == measure.GPUTime.Name {
						mde[i] += float64(f.MDE) / float64(gates)
					}
				}
				if i > 0 {
					continue
				}
				verdicts[r.Verdict]++
				if r.Undecided {
					undecided++
				}
				if x := r.Ranks.Straggler; x != nil && x.Rank == "rank 1" {
					named++
				}
			}
		}
		t.Logf("%s: %v, %d undecided; rank 1 is named in %d; MDE of the workload's GPU time %.2f %% at a limit of 3 "+
			"%%, %.2f %% at 1 %%", test.name, verdicts, undecided, named, 100*mde[0], 100*mde[1])
		if verdicts[test.want] < gates*95/100 || (named > 0) != (test.want == result.Fail) ||
			test.want == result.Fail && named < gates {
			t.Errorf("%s: %v, rank 1 is named in %d", test.name, verdicts, named)
		}
	}
}
