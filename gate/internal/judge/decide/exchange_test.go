package decide_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// ofAutotuner selects the kernels of matrix products that XLA's autotuner exchanges in sessions/jax-*.
func ofAutotuner(s measure.Subject) bool {
	return strings.HasPrefix(s.Name, "gemm_fusion_") || slices.Contains([]string{
		"nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNT",
		"nvjet_sm90_tst_256x128_64x4_1x2_h_bx_coopA_bias_NNT", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT",
	}, s.Name)
}

// ofNumbers selects the kernels that XLA numbers anew there.
func ofNumbers(s measure.Subject) bool { return strings.HasPrefix(s.Name, "wrapped_subtract") }

// ofJAX is a recorded session of a JAX program: runs of 99 steps, which kernels show.
func ofJAX(tb testing.TB, name string) model.Session {
	tb.Helper()
	all, err := baseline.Read(filepath.Join(testdata, "h200/sessions", name, "nvidia-h200"))
	if err != nil {
		tb.Fatal(err)
	}
	return all[0]
}

// renamed exchanges the names of kernels.
func renamed(s *model.Session, names map[string]string) {
	for i := range s.Series {
		if name, ok := names[s.Series[i].Subject.Name]; ok {
			s.Series[i].Subject.Name = name
		}
	}
	s.SortSeries()
}

// slowerOfJAX makes kernels slower, and the runs and steps with them.
func slowerOfJAX(s *model.Session, which func(measure.Subject) bool, by float64) {
	for _, x := range slices.Clone(s.Series) {
		if x.Subject.Scope != measure.ScopeKernel || x.Metric != measure.Total || !which(x.Subject) {
			continue
		}
		for run, v := range x.Values {
			if more := v * by; more > 0 {
				values(s, measure.Workload, measure.GPUTime)[run] += more
				values(s, measure.Workload, measure.StepTime)[run] += more / 99
				values(s, measure.Workload, measure.MeanStep)[run] += more / 99
			}
		}
		scale(s, x.Subject, measure.Total, 1+by)
		scale(s, x.Subject, measure.Time, 1+by)
	}
}

// XLA's autotuner and its numbering choose kernels anew in each process. Sessions of JAX on one H200 are judged by
// the sums of the kernels that exchange launches.
func TestExchange(t *testing.T) {
	t.Parallel()
	gemm := []string{"gemm_fusion_dot_general_26", "nvjet_sm90_tst_256x128_64x4_1x2_h_bx_coopA_bias_NNT"}
	subtract := []string{"wrapped_subtract", "wrapped_subtract_5", "wrapped_subtract_6", "wrapped_subtract_7"}
	for _, tt := range []struct {
		name, head string
		edit       func(base, head *model.Session)
		verdict    result.Verdict
		slower     string     // a finding that fails the gate
		sums       [][]string // some members of each exchange
	}{
		{"unchanged", "jax-unchanged", nil, result.Pass, "", [][]string{gemm, subtract}},
		{"unchanged, numbered otherwise by each build", "jax-unchanged", func(base, _ *model.Session) {
			renamed(base, map[string]string{"wrapped_subtract_5": "wrapped_subtract_6",
				"wrapped_subtract_6": "loop_subtract_fusion_4", "loop_subtract_fusion_4": "wrapped_subtract_5"})
		}, result.Pass, "", [][]string{append([]string{"wrapped_subtract_6", "loop_subtract_fusion_4"}, gemm...)}},
		{"another activation", "jax-tanhexp", nil, result.Fail, "input_add_reduce_fusion_1", nil},
		{"all products +20 %", "jax-unchanged", func(_, head *model.Session) {
			slowerOfJAX(head, ofAutotuner, 0.2)
		}, result.Fail, "gemm_fusion_dot_general_26", [][]string{gemm, subtract}},
		{"all of one name +20 %", "jax-unchanged", func(_, head *model.Session) {
			slowerOfJAX(head, ofNumbers, 0.2)
		}, result.Fail, "wrapped_subtract_6", [][]string{gemm, subtract}},
		{"one product +20 % a launch", "jax-unchanged", func(_, head *model.Session) {
			slowerOfJAX(head, named(gemm[1]), 0.2)
		}, result.Fail, gemm[1], [][]string{gemm, subtract}},
		{"twice the products", "jax-unchanged", func(_, head *model.Session) {
			for _, m := range []measure.Metric{measure.Launches, measure.Total} {
				for i := range head.Series {
					if x := &head.Series[i]; ofAutotuner(x.Subject) && x.Metric == m {
						scale(head, x.Subject, m, 2)
					}
				}
			}
		}, result.NoVerdict, "", [][]string{subtract}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, head := ofJAX(t, "jax-base"), ofJAX(t, tt.head)
			if tt.edit != nil {
				tt.edit(&base, &head)
			}
			r := compareSides([]model.Session{base}, []model.Session{head}, thresholds.Default())
			if r.Verdict != tt.verdict || r.Verdict == result.Pass && r.Undecided {
				t.Errorf("%s, undecided %t: %s", r.Verdict, r.Undecided, r.Reason)
			}
			var sums [][]string
			failing := tt.slower == ""
			for _, f := range r.Findings {
				failing = failing || f.Kernel == tt.slower && f.Fails()
				if f.Match == "choice" {
					sums = append(sums, slices.Concat(f.BaseNames, f.HeadNames))
					oneOwner(t, r, &f)
				}
			}
			if !failing {
				t.Errorf("%s does not fail the gate", tt.slower)
			}
			for _, members := range tt.sums {
				if !slices.ContainsFunc(sums, func(all []string) bool {
					return !slices.ContainsFunc(members, func(s string) bool { return !slices.Contains(all, s) })
				}) {
					t.Errorf("no sum of %s in %s", members, sums)
				}
			}
			if tt.sums != nil && len(sums) != len(tt.sums) {
				t.Errorf("sums %s", sums)
			}
		})
	}
}

// oneOwner wants the title of an exchange to say how many members it has, and the waterfall to name none of them alone.
func oneOwner(t *testing.T, r *result.Report, f *result.Finding) {
	t.Helper()
	if !strings.Contains(f.Title(), " alternative") && len(f.BaseNames) > 1 {
		t.Errorf("%s sums %s", f.Title(), f.BaseNames)
	}
	if r.Waterfall == nil {
		return
	}
	for _, p := range r.Waterfall.Parts {
		for _, o := range p.Owners {
			if slices.Contains(f.BaseNames, o.Name) && o.Title() != f.Title() {
				t.Errorf("%s is named beside the sum %s", o.Title(), f.Title())
			}
		}
	}
}

// An exchange of launches with a constant sum hides no longer GPU time: drawn anew for each run, with members of
// different speeds that are slower in the head.
func TestExchangeHidesNothing(t *testing.T) {
	t.Parallel()
	recorded := [2]model.Session{ofJAX(t, "jax-base"), ofJAX(t, "jax-unchanged")}
	var members []measure.Subject
	for _, x := range recorded[0].Series {
		if ofAutotuner(x.Subject) && x.Metric == measure.Total {
			members = append(members, x.Subject)
		}
	}
	certain := 0
	rapid.Check(t, func(t *rapid.T) {
		times := make([]float64, len(members))
		for k := range times {
			times[k] = rapid.Float64Range(100e3, 125e3).Draw(t, "ns a launch")
		}
		slower := rapid.Float64Range(0, 1).Draw(t, "slower") // of the members' time
		var drawn [2]model.Session
		for side, s := range recorded {
			s.Series = slices.Clone(s.Series)
			for i := range s.Series {
				s.Series[i].Values = slices.Clone(s.Series[i].Values)
			}
			runs := len(s.Runs)
			before, after := make([]float64, runs), make([]float64, runs)
			launches := make([][]float64, len(members))
			for k := range launches {
				launches[k] = make([]float64, runs)
			}
			for run := range runs {
				for range 7 {
					launches[rapid.IntRange(0, len(members)-1).Draw(t, "member")][run] += 100
				}
			}
			for k, m := range members {
				for run, v := range values(&s, m, measure.Total) {
					if v > 0 {
						before[run] += v
					}
				}
				for run := range after {
					after[run] += launches[k][run] * times[k]
				}
			}
			gpu := values(&s, measure.Workload, measure.GPUTime)
			factor := 1 + slower*float64(side)
			isMember := func(x model.Series) bool { return slices.Contains(members, x.Subject) }
			s.Series = slices.DeleteFunc(s.Series, isMember)
			for k, m := range members {
				if slices.Max(launches[k]) == 0 {
					continue
				}
				total := func(run int) float64 {
					if launches[k][run] == 0 {
						return math.NaN()
					}
					return launches[k][run] * times[k] * factor
				}
				put(&s, m, measure.Launches, func(run int) float64 { return launches[k][run] })
				put(&s, m, measure.Total, total)
				put(&s, m, measure.Time, func(run int) float64 { return total(run) / launches[k][run] })
			}
			put(&s, measure.Workload, measure.GPUTime, func(run int) float64 {
				return gpu[run] - before[run] + after[run]*factor
			})
			s.SortSeries()
			drawn[side] = s
		}
		r := compareSides(drawn[:1], drawn[1:], thresholds.Default())
		for _, f := range r.Findings {
			beyond := f.Subject() == measure.Workload && f.Metric == measure.GPUTime.Name && f.Low > f.Limit
			if beyond {
				certain++
			}
			if beyond && r.Verdict == result.Pass {
				t.Fatalf("a pass with a GPU time of %+.3f (%+.3f at least): %s", f.Change, f.Low, r.Reason)
			}
		}
	})
	t.Logf("%d gates have a GPU time beyond its limit", certain)
	if certain == 0 && !testing.Short() { // which draws too few
		t.Error("no gate has a GPU time beyond its limit")
	}
}
