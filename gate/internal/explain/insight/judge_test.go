package insight

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// judged judges two sides of three runs of [stepping], after a change to the head.
func judged(change func(*model.Session)) *result.Report {
	side := func(host string, change func(*model.Session)) []model.Session {
		return stepping(func(s *model.Session) {
			s.GPUHash, s.GPUs, s.Tick = model.HashUUID("a"), 1, 1
			s.Start = time.Unix(int64(len(host)), 0)
			s.Runs = append(s.Runs, s.Runs[0])
			for i := range s.Series {
				x := &s.Series[i]
				x.Values = append(x.Values, (x.Values[0]+x.Values[1])/2)
			}
			if change != nil {
				change(s)
			}
		})
	}
	return Judge(decide.Input{Baseline: side("base", nil), Head: side("later", change),
		Policy: thresholds.Default().For("")}).Shown(nil)
}

func add(s *model.Session, of measure.Subject, m measure.Metric, v float64) *model.Series {
	s.Series = append(s.Series, model.Series{Subject: of, Metric: m, Values: model.Values{v, v, v}})
	return &s.Series[len(s.Series)-1]
}

// scaled multiplies a metric of the subjects with a name.
func scaled(s *model.Session, name string, m measure.Metric, by float64) {
	for _, x := range s.Series {
		if x.Subject.Name == name && x.Metric == m {
			for i := range x.Values {
				x.Values[i] *= by
			}
		}
	}
}

// Each explanation is given where its evidence is, and not of an unchanged program.
func TestExplanations(t *testing.T) {
	workload, forward := measure.Workload, measure.Subject{Scope: measure.ScopeRange, Name: "x"}
	unchanged := keysOf(judged(nil))
	for keys, change := range map[string]func(*model.Session){
		"gpu-idle low-utilisation step-part": func(s *model.Session) {
			scaled(s, "", measure.StepTime, 2)
			for _, x := range s.Series {
				if x.Subject.Scope == measure.ScopeIdle {
					for i := range x.Values {
						x.Values[i] += 500
					}
				}
			}
		},
		"memory-grew peak-at": func(s *model.Session) {
			scaled(s, "", measure.MemoryPeak, 2)
			for i := range s.Series {
				if s.Series[i].Metric == measure.MemoryPeak {
					s.Series[i].Note = "x"
				}
			}
			add(s, forward, measure.MemoryHeld, 900)
		},
		"too-short": func(s *model.Session) {
			add(s, workload, measure.SamplingPeriod, 1e5)
			add(s, workload, measure.SMActive, 70)
		},
		"common-shift": func(s *model.Session) {
			for _, name := range []string{"a", "b"} {
				scaled(s, name, measure.Time, 1.02)
				scaled(s, name, measure.Total, 1.02)
			}
			s.GPUHash = model.HashUUID("another")
		},
		"steps-cover": func(s *model.Session) {
			add(s, measure.Before, measure.GPUTime, 4000)
			add(s, measure.Steps, measure.GPUTime, 4000)
		},
		"unmatched": func(s *model.Session) {
			add(s, workload, measure.UnmatchedCollectives, 3)
		},
		"omitted": func(s *model.Session) {
			s.LeaveOut(model.LeftOut{Name: "BM_x", Why: model.Skipped})
		},
		"": func(s *model.Session) { s.GPU = "NVIDIA A100" },
	} {
		r := judged(change)
		added := slices.DeleteFunc(keysOf(r), func(k string) bool { return slices.Contains(unchanged, k) })
		if got := strings.Join(added, " "); got != keys || (r.Verdict == result.NoVerdict) != (len(r.Overview) > 0) {
			t.Errorf("%q, want %q; %s: %s, %d rows of both sides", got, keys, r.Verdict, r.Reason, len(r.Overview))
		}
	}
}

func keysOf(r *result.Report) (keys []string) {
	for _, x := range slices.Concat(r.Doubts, r.Remarks, r.Patterns) {
		keys = append(keys, x.Key)
	}
	for i := range r.Findings {
		for _, x := range r.Findings[i].Facts {
			keys = append(keys, x.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// rankSide is a job of several ranks in three runs, with the compute time of each and a waiting time that it causes.
func rankSide(compute, step, exposed, caused []float64) *recorded.Index {
	s := model.Session{Step: "step", Runs: slices.Repeat([]model.Run{{Steady: true}}, 3)}
	for i := range compute {
		x := measure.Subject{Scope: measure.ScopeDevice, Name: "rank " + string(rune('0'+i))}
		add(&s, x, measure.GPUTime, compute[i])
		add(&s, x, measure.RankStep, step[i])
		add(&s, x, measure.ExposedCommunication, exposed[i])
		add(&s, x, measure.CausedWait, caused[i])
	}
	kernel := measure.Subject{Scope: measure.ScopeKernel, Name: "gemm"}
	add(&s, kernel, measure.Total, 55).Role = "step/forward"
	add(&s, kernel, measure.Launches, 3)
	add(&s, kernel, measure.SlowestRank, 1)
	add(&s, kernel, measure.SlowestTotal, 80)
	add(&s, kernel, measure.SlowestLaunches, 4)
	reduce := measure.Subject{Scope: measure.ScopeKernel, Name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"}
	add(&s, reduce, measure.Total, 5)
	add(&s, reduce, measure.CollectiveWait, 9)
	s.SortSeries()
	return recorded.New([]model.Session{s}, measure.Total)
}

// A rank that computes longer is the straggler with its kernels and range, one that is only late is late, and alike
// ranks have none.
func TestCompareRanks(t *testing.T) {
	policy := thresholds.Default().For("")
	same := []float64{200, 200, 200}
	alike := rankSide([]float64{100, 100, 100}, same, []float64{50, 50, 50}, []float64{0, 0, 0})
	slow := rankSide([]float64{100, 140, 100}, same, []float64{50, 10, 50}, []float64{0, 40, 0})
	late := rankSide([]float64{100, 100, 100}, same, []float64{90, 10, 90}, []float64{0, 80, 0})
	if r := CompareRanks(alike, alike, policy); r.Straggler != nil || len(r.Ranks) != 3 || len(r.Remarks) != 0 {
		t.Errorf("alike: %+v", r)
	}
	r := CompareRanks(alike, slow, policy)
	if x := r.Straggler; x == nil || x.Rank != "rank 1" || math.Abs(float64(x.Slower)-0.4) > 1e-6 || x.Late || x.Too ||
		x.Range != "forward" || x.In != "AllReduce" || x.Waited != 40 || x.Base != 0 {
		t.Fatalf("slow: %+v", x)
	}
	if k := r.Straggler.Kernels; len(k) != 1 || k[0].Kernel != "gemm" || k[0].More != 80-42.5 || k[0].Launches != 4 ||
		k[0].Others != 2.5 {
		t.Errorf("kernels %+v", k)
	}
	said := ""
	for _, x := range r.Remarks {
		said += x.Sentence + ". "
	}
	want := "rank 1 is 40 % slower than the others in forward (gemm 2.500 → 4 launches, 37.50 ns more in this " +
		"rank); in the baseline 0 %. the others wait 40.00 ns a step for it in AllReduce, in the baseline 0 ns. "
	if said != want {
		t.Errorf("%q, want %q", said, want)
	}
	r = CompareRanks(alike, late, policy)
	if x := r.Straggler; x == nil || !x.Late || x.Rank != "rank 1" || x.More != 80 || x.Too {
		t.Errorf("late: %+v", x)
	}
	if s := r.Remarks[0].Sentence; !strings.Contains(s, "computes no longer than the others, and takes 72.7 % longer "+
		"between collectives: 80.00 ns a step") {
		t.Errorf("late: %q", s)
	}
	if r := CompareRanks(late, late, policy); !r.Straggler.Too ||
		!strings.Contains(r.Remarks[0].Sentence, "; the baseline had it too, +72.7 %") {
		t.Errorf("late in both: %+v", r.Straggler)
	}
	if r := CompareRanks(nil, slow, policy); r.Straggler.Base.Known() || r.Ranks[0].Base.Known() {
		t.Errorf("without a baseline: %+v", r.Straggler)
	}
	one := rankSide([]float64{100}, []float64{200}, []float64{50}, []float64{0})
	if r := CompareRanks(nil, one, policy); r != nil {
		t.Errorf("of one rank: %+v", r)
	}
}

// Only kernels that change by about as much have a common shift, of one host only all of them.
func TestShifts(t *testing.T) {
	of := func(changes ...float64) (list []result.Finding) {
		for i, c := range changes {
			name := string(rune('a' + i))
			list = append(list, result.Finding{Scope: measure.ScopeKernel, Kernel: name, Name: name, Share: 0.2,
				Metric: measure.Time.Name, Change: result.Number(c), Base: 100, Head: result.Number(100 * (1 + c))})
		}
		return list
	}
	for _, c := range []struct {
		changes []float64
		hosts   string
		moved   result.Number
	}{
		{[]float64{0.02, 0.021, 0.019, 0}, "different", 3}, {[]float64{0.02, 0.021, 0.019, 0}, "same", 0},
		{[]float64{0.02, 0.021, 0.019}, "same", 3}, {[]float64{0.02, -0.02, 0.3}, "different", 0},
		{[]float64{0.001, 0.001, 0.001}, "different", 0},
	} {
		got := commonShift(of(c.changes...), measure.Time, c.hosts)
		if (len(got) == 1) != (c.moved > 0) || len(got) == 1 && got[0].Args["moved"] != c.moved {
			t.Errorf("%v on %s hosts: %v", c.changes, c.hosts, got)
		}
	}
	whole := result.Finding{Scope: measure.ScopeWorkload, Metric: measure.GPUTime.Name, Outcome: result.WithinLimit}
	moved := of(0.2, -0.19)
	moved[0].Outcome, moved[1].Outcome = result.Slower, result.Faster
	for i := range moved {
		moved[i].Metric = measure.Total.Name
	}
	if got := movedWork(append(moved, whole), measure.Total); len(got) != 1 {
		t.Errorf("work that moved: %v", got)
	}
	moved[1].Head = 99
	if got := movedWork(append(moved, whole), measure.Total); len(got) != 0 {
		t.Errorf("work that came: %v", got)
	}
	step := result.Finding{Scope: measure.ScopeWorkload, Metric: measure.StepTime.Name, Outcome: result.Slower,
		Change: 0.2}
	output := result.Finding{Scope: measure.ScopeOutput, Name: "tokens/s", Kernel: "tokens/s",
		Outcome: result.WithinLimit, Better: measure.Higher, Change: -0.01}
	for what, c := range map[string]struct {
		step, output result.Outcome
		want         string
	}{"step": {result.Slower, result.WithinLimit, "the unprofiled runs decide"},
		"output": {result.WithinLimit, result.Slower, "lies outside the steps"},
		"both":   {result.Slower, result.Slower, ""}, "none": {result.Faster, result.WithinLimit, ""}} {
		step.Outcome, output.Outcome = c.step, c.output
		got := disagreement([]result.Finding{step, output})
		if (len(got) == 0) != (c.want == "") || len(got) == 1 && !strings.Contains(got[0].Sentence, c.want) {
			t.Errorf("%s slower: %v, want %q", what, got, c.want)
		}
	}
}

// A slower row is explained by its kernel with the most time, and by what increased in the other build.
func TestExplainRow(t *testing.T) {
	slow := func(s *model.Session) {
		scaled(s, "b", measure.Time, 1.5)
		scaled(s, "b", measure.Total, 1.5)
	}
	c, err := ExplainRow(nil, stepping(nil))
	if err != nil || !strings.HasPrefix(c.Summary, "a has 75.0 % of the GPU time, 150.0 ns a launch") ||
		!strings.Contains(c.Note, "a base build would tell") {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = ExplainRow(stepping(nil), stepping(slow))
	if err != nil || !strings.Contains(c.Summary, "Largest increase: b 50.00 → 75.00 ns a launch (+50.0 %)") &&
		!strings.Contains(c.Summary, "Largest increase: b 50.00 ns → 75.00 ns a launch") {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = ExplainRow(stepping(nil), stepping(nil))
	if err != nil || !strings.Contains(c.Summary, "No kernel takes 1 % longer.") {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := ExplainRow(nil, stepping(func(s *model.Session) { s.Series = s.Series[8:] })); err == nil {
		t.Error("a run without a kernel is explained")
	}
}
