package decide_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// asJob makes a session one of a launcher's job: three jobs of torchrun on one host took 4.4 to 7.0 s before the first
// step, 0.24 to 0.39 s in the first steps and 0.55 to 0.89 s after the last one, and the next session 18 % less.
func asJob(r *rand.Rand, s *model.Session, sessionSD float64) {
	s.Processes, s.GPUs = 4, 4
	for _, x := range []struct {
		of      measure.Subject
		typical float64
	}{{measure.Before, 5.8e9}, {measure.Warmup, 0.27e9}, {measure.After, 0.62e9}} {
		session := sessionSD * r.NormFloat64()
		put(s, x.of, measure.Elapsed, func(int) float64 { return x.typical * math.Exp(session+0.22*r.NormFloat64()) })
	}
}

// The start and the end of a launcher's processes vary so much that they are judged by the whole run.
func TestJob(t *testing.T) {
	longer := func(of measure.Subject, by float64) func(*model.Session) {
		return func(s *model.Session) { scale(s, of, measure.Elapsed, by) }
	}
	for _, tt := range []struct {
		name, policy string
		head         func(*model.Session)
		passes       bool // else there is no pass of runs that alternate, and no other one without a word
	}{
		{"unchanged", "", func(*model.Session) {}, true},
		{"end of the process group", "", longer(measure.After, 1.65), true},
		{"start ten times as long", "", longer(measure.Before, 10), false},
		{"end ten times as long", "", longer(measure.After, 30), false},
		{"end by a rule", "[[rule]]\nsection = \"after\"\nmax = \"10%\"\n", longer(measure.After, 4), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			policy, err := thresholds.Parse("nsgate.toml", []byte(tt.policy))
			if err != nil {
				t.Fatal(err)
			}
			for k, x := range kernelRelations(t) {
				sd := 0.25
				if k == 0 {
					sd = 0 // interleaved
				}
				for seed := range uint64(20) {
					r := rand.New(rand.NewPCG(seed, 12))
					base, head := x.from(r, 3)
					asJob(r, &base, sd)
					asJob(r, &head, sd)
					tt.head(&head)
					got := compareSides([]model.Session{base}, []model.Session{head}, policy)
					doubted := got.Verdict == result.NoVerdict || got.Verdict == result.Pass && got.Undecided && k > 0
					if tt.passes && got.Verdict != result.Pass || !tt.passes && got.Verdict != result.Fail && !doubted {
						t.Errorf("%s, seed %d: %s: %s", x.name, seed, got.Verdict, got.Reason)
					}
				}
			}
		})
	}
}

// One profile of all jobs knows the start-up of the first alone: the others are no shorter runs. An end that is eight
// times as long makes a run of 6.7 s longer by 65 %, and is said.
func TestJobsWithoutStartUp(t *testing.T) {
	for _, x := range kernelRelations(t)[:3] {
		for _, runs := range [][2]int{{1, 10}, {2, 10}, {10, 2}, {10, 10}} {
			for seed := range uint64(5) {
				r := rand.New(rand.NewPCG(seed, 13))
				base, head := x.from(r, 10)
				base, head = some(base, r.Perm(10)[:runs[0]]), some(head, r.Perm(10)[:runs[1]])
				for _, s := range []*model.Session{&base, &head} {
					asJob(r, s, 0)
					for run := range s.Runs[1:] {
						values(s, measure.Before, measure.Elapsed)[1+run] = math.NaN()
					}
				}
				scale(&head, measure.After, measure.Elapsed, 8)
				got := compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
				f := find(got, "after", measure.Elapsed.Name)
				change, known := f.ReasonArgs["change"].(result.Number)
				wrong := f.ReasonKey == "launched" && known && (change < 0.3 || change > 1.5)
				if wrong || got.Verdict == result.Pass && !got.Undecided {
					t.Errorf("%s, %v runs, seed %d: %s, %s", x.name, runs, seed, got.Verdict, f.Reason)
				}
			}
		}
	}
}
