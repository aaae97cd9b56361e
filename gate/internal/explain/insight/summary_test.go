package insight

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// stepping is a session of two runs with steps: kernels a in step/x and b in step/x/y, idle time, a copy.
func stepping(change func(*model.Session)) []model.Session {
	s := model.Session{Environment: model.Environment{GPU: "NVIDIA H200", Tool: "nsys 2025.3.2"}, Step: "step",
		Runs: []model.Run{{Steady: true, Total: 10, Skipped: 1}, {Steady: true, Total: 10, Skipped: 1}}}
	kernel := func(name, role string, total, owned float64) {
		subject := measure.Subject{Scope: measure.ScopeKernel, Name: name}
		for metric, v := range map[measure.Metric]float64{measure.Time: total / 2, measure.Launches: 2,
			measure.Total: total, measure.Owned: owned} {
			s.Series = append(s.Series, model.Series{Subject: subject, Metric: metric, Values: model.Values{v, v},
				Role: role})
		}
	}
	one := func(subject measure.Subject, metric measure.Metric, a, b float64) {
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: metric, Values: model.Values{a, b}})
	}
	kernel("a", "step/x", 300, 290)
	kernel("b", "step/x/y", 100, 100)
	one(measure.Workload, measure.GPUTime, 400, 400)
	one(measure.Workload, measure.Launches, 4, 4)
	one(measure.Workload, measure.StepTime, 490, 510)
	one(measure.Workload, measure.MemoryPeak, 1000, 1000)
	one(measure.Subject{Scope: measure.ScopeRange, Name: "x"}, measure.GPUTime, 390, 390)
	one(measure.Subject{Scope: measure.ScopeRange, Name: "y"}, measure.GPUTime, 90, 90)
	copied := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}
	one(copied, measure.CopyTime, 100, 100)
	one(copied, measure.CopyBytes, 200, 200)
	one(copied, measure.Copies, 1, 1)
	one(copied, measure.Owned, 60, 60)
	one(measure.IdleSubject(measure.IdleLaunch, measure.ParsePlace("host code")), measure.Owned, 40, 60)
	if change != nil {
		change(&s)
	}
	s.SortSeries()
	return []model.Session{s}
}

func TestSummarize(t *testing.T) {
	got, err := Summarize(stepping(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := &result.Summary{
		Schema: result.SummarySchema, Recorded: got.Recorded, StepTime: got.StepTime, Period: 500,
		GPUTime: 400, Launches: 4,
		Parts: []result.SummaryPart{
			{Class: "compute", Time: 390, Share: 0.78},
			{Class: "exposed copies", Time: 60, Share: 0.12},
			{Class: "launch-starved", Where: "host code", Idle: true, Time: 50, Share: 0.1},
		},
		Kernels: []result.SummaryKernel{
			{Named: result.Named{Kernel: "a", Name: "a"}, Role: "step/x", Share: 0.75, Time: 150, Launches: 2,
				Total: 300, Owned: 290},
			{Named: result.Named{Kernel: "b", Name: "b"}, Role: "step/x/y", Share: 0.25, Time: 50, Launches: 2,
				Total: 100, Owned: 100},
		},
		// The time of a range is its measured time, not the sum of the kernels that are mostly launched there.
		Ranges: []result.SummaryRange{{Name: "step", Time: 400, Share: 1,
			Ranges: []result.SummaryRange{{Name: "x", Time: 390, Share: 0.975,
				Ranges: []result.SummaryRange{{Name: "y", Time: 90, Share: 0.225}}}}}},
		Copies: []result.SummaryCopy{{Kind: "memcpy HtoD", Count: 1, Bytes: 200, Time: 100, Rate: 2e9, Share: 0.2,
			Owned: 60}},
		Others:   []result.SummaryValue{{Scope: measure.ScopeWorkload, Metric: "memory_peak", Unit: "B", Value: 1000}},
		Patterns: got.Patterns,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(result.Summary{}, "Devices", "Hidden")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.Recorded.Runs != 2 || got.Recorded.Skip == nil {
		t.Errorf("recorded %+v", got.Recorded)
	}
	var keys []string
	for _, p := range got.Patterns {
		keys = append(keys, p.Key)
	}
	// Launches starve in one of the two runs only.
	if diff := cmp.Diff([]string{"copy-bottleneck"}, keys); diff != "" {
		t.Errorf("patterns (-want +got)\n%s", diff)
	}
}

// Of runs without a profiler is shown what they print, beside what the others did.
func TestSummarizeUntraced(t *testing.T) {
	profiled, err := Summarize(stepping(nil))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Summarize(stepping(func(s *model.Session) {
		s.Runs = append(s.Runs, model.Run{Unprofiled: true}, model.Run{Unprofiled: true}, model.Run{Unprofiled: true})
		for i := range s.Series {
			s.Series[i].Values = append(s.Series[i].Values, math.NaN(), math.NaN(), math.NaN())
		}
		rate := measure.Output{Name: "tokens/s", Better: measure.Higher}
		s.Series = append(s.Series, model.Series{Subject: rate.Subject(), Metric: rate.Metric(),
			Values: model.Values{math.NaN(), math.NaN(), 7, 9, 8}})
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(profiled.Others), result.SummaryValue{Scope: measure.ScopeOutput, Name: "tokens/s",
		Metric: "rate", Value: 8})
	if diff := cmp.Diff(want, got.Others); diff != "" {
		t.Errorf("others (-want +got)\n%s", diff)
	}
	got.Others, got.Recorded = profiled.Others, profiled.Recorded
	if diff := cmp.Diff(profiled, got, cmpopts.IgnoreFields(result.Summary{}, "Devices", "Hidden")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Unknown values stay unknown.
func TestSummarizeLittle(t *testing.T) {
	s := stepping(func(s *model.Session) {
		s.Step = ""
		s.Series = []model.Series{{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "k"},
			Metric: measure.Total, Values: model.Values{math.NaN(), 10}}}
	})
	got, err := Summarize(s)
	if err != nil {
		t.Fatal(err)
	}
	k := got.Kernels[0]
	if got.Period.Known() || got.GPUTime.Known() || got.Launches.Known() || k.Time.Known() || k.Owned.Known() ||
		k.Launches.Known() {
		t.Errorf("known without being measured: %+v", got)
	}
	if k.Total != 10 || k.Share != 1 || got.Parts != nil || got.Ranges != nil || got.Patterns != nil {
		t.Errorf("%+v", got)
	}
}

// Names of ranges may hold the slash between them, and one name may have several places.
func TestSummaryRanges(t *testing.T) {
	s := stepping(func(s *model.Session) {
		for i := range s.Series {
			x := &s.Series[i]
			switch {
			case x.Subject.Name == "a":
				x.Role = "step/x/load/data"
			case x.Subject.Name == "b":
				x.Role = "y/x"
			case x.Subject == measure.Subject{Scope: measure.ScopeRange, Name: "y"}:
				x.Subject.Name = "load/data"
			}
		}
	})
	got, err := Summarize(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []result.SummaryRange{
		{Name: "step", Time: 400, Share: 1, Ranges: []result.SummaryRange{
			{Name: "x", Time: 300, Share: 0.75, Ranges: []result.SummaryRange{{Name: "load/data", Time: 90,
				Share: 0.225}}}}},
		{Name: "y", Time: 100, Share: 0.25, Ranges: []result.SummaryRange{{Name: "x", Time: 100, Share: 0.25}}},
	}
	if diff := cmp.Diff(want, got.Ranges); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Sessions of another GPU are left out and that is said; runs that never settled are named.
func TestSummarizeDoubts(t *testing.T) {
	sessions := append(stepping(func(s *model.Session) { s.GPU = "NVIDIA A100" }),
		stepping(func(s *model.Session) { s.Runs[1].Steady = false })...)
	got, err := Summarize(sessions)
	if err != nil {
		t.Fatal(err)
	}
	want := []result.Remark{
		result.Say(UnlikeSessions{1, 2}),
		result.Say(Restless{1, 2}),
	}
	if diff := cmp.Diff(want, got.Doubts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSummarizeRefuses(t *testing.T) {
	twice := stepping(func(s *model.Session) { s.Series = append(s.Series, s.Series[0]) })
	for key, sessions := range map[model.Kind][]model.Session{"no-session": nil, "bad-session": twice} {
		if _, err := Summarize(sessions); model.KindOf(err) != key {
			t.Errorf("%s: got %v", key, err)
		}
	}
}
