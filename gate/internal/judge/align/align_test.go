package align

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

var (
	kernel = measure.Subject{Scope: measure.ScopeKernel, Name: "sgemm"}
	other  = measure.Subject{Scope: measure.ScopeKernel, Name: "relu"}
	third  = measure.Subject{Scope: measure.ScopeKernel, Name: "fill"}
)

// session has three runs of ten steps with one kernel.
func session() model.Session {
	s := model.Session{Step: "step", Warmup: "auto"}
	s.GPU, s.GPUs, s.Tool, s.Tick = "NVIDIA H200", 1, "nsys 2025.3.2", 1
	for range 3 {
		s.Runs = append(s.Runs, model.Run{Steady: true, Total: 10})
	}
	s.Series = []model.Series{{Subject: kernel, Metric: measure.Time, Values: model.Values{1e5, 1e5, 1e5}}}
	return s
}

// repeating are runs without steps that repeat themselves so often, with so many launches of a kernel, and one of
// another.
func repeating(repeats, launches, once float64) func(*model.Session) {
	return func(s *model.Session) {
		s.Step, s.Series = "", nil
		for _, x := range []struct {
			of    measure.Subject
			what  measure.Metric
			value float64
		}{
			{measure.Workload, measure.GPUTime, 1e5*launches + 5e4*once},
			{measure.Workload, measure.Launches, launches + once},
			{measure.Workload, measure.Repeats, repeats}, {measure.Workload, measure.SyncCalls, 3 * launches},
			{kernel, measure.Launches, launches}, {kernel, measure.Total, 1e5 * launches},
			{other, measure.Launches, once}, {other, measure.Total, 5e4 * once},
		} {
			s.Series = append(s.Series, model.Series{Subject: x.of, Metric: x.what,
				Values: model.Values{x.value, x.value, x.value}, Role: "fit"})
		}
		s.SortSeries()
	}
}

// TestAsMany wants sums over repeats scaled to as many repeats as the baseline has, and all other metrics as measured.
func TestAsMany(t *testing.T) {
	base, head := session(), session()
	repeating(28, 29, 1)(&base)
	repeating(14, 15, 1)(&head)
	w := repeatsOf([]model.Session{base}, []model.Session{head})
	if w == nil {
		t.Fatal("not taken for as many")
	}
	got := w.asMany([]model.Session{head})[0]
	for i, x := range got.Series {
		if want := base.Series[i].Values[0]; math.Abs(x.Values[0]/want-1) > 1e-12 {
			t.Errorf("%s of %s is %v, want %v", x.Metric.Name, x.Subject.Name, x.Values[0], want)
		}
	}
	for _, unlike := range []func(*model.Session){repeating(28, 29, 1), repeating(5, 15, 1), repeating(14, 15, 30),
		func(s *model.Session) { s.Step = "step" }} {
		other := session()
		unlike(&other)
		if w := repeatsOf([]model.Session{base}, []model.Session{other}); w != nil {
			t.Errorf("taken for as many by %v", w.ratio)
		}
	}
}

// TestAsManyOnce wants the copies and launches of a program's start and end, which no number of repeats changes, as
// they were measured.
func TestAsManyOnce(t *testing.T) {
	copied := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy DtoH"}
	// Every repeat copies 1 kB, the end 4 times 1 GB; a kernel is launched ten times at first, then once a repeat.
	program := func(repeats float64, more float64) model.Session {
		s := session()
		repeating(repeats-1, repeats, 1)(&s)
		for _, x := range []struct {
			of    measure.Subject
			what  measure.Metric
			value float64
		}{
			{copied, measure.Copies, repeats + 4}, {copied, measure.CopyBytes, 4e9 + 1e3*repeats},
			{copied, measure.CopyTime, 8e7 * more},
			{third, measure.Launches, 10 + repeats}, {third, measure.Total, 100 * (10 + repeats) * more},
		} {
			s.Series = append(s.Series, model.Series{Subject: x.of, Metric: x.what,
				Values: model.Values{x.value, x.value, x.value}})
		}
		s.SortSeries()
		return s
	}
	for _, repeats := range [][2]float64{{50, 60}, {60, 50}} {
		for _, more := range []float64{1, 1.3} {
			base, head := program(repeats[0], 1), program(repeats[1], more)
			w := repeatsOf([]model.Session{base}, []model.Session{head})
			if w == nil {
				t.Fatal("not taken for as many")
			}
			for i, x := range w.asMany([]model.Session{head})[0].Series {
				want := base.Series[i].Values[0]
				if x.Metric == measure.CopyTime || x.Metric == measure.Total && x.Subject == third {
					want *= more
				}
				if x.Subject != measure.Workload && math.Abs(x.Values[0]/want-1) > 1e-5 {
					t.Errorf("%v: %s of %s is %v, want %v", repeats, x.Metric.Name, x.Subject.Name, x.Values[0], want)
				}
			}
		}
	}
}

func TestSessionRefusals(t *testing.T) {
	unchanged := func(*model.Session) {}
	cases := []struct {
		row        string               // "" for no refusal
		base, head func(*model.Session) // edits of their session, nil for no session
		says       string
	}{
		{"no session", nil, unchanged, "the baseline holds no session"},
		{"no session", unchanged, nil, "the head holds no session"},
		{"damaged session", unchanged, func(s *model.Session) { s.Runs = nil }, "head: the session holds no run"},
		{"other profiler", func(s *model.Session) { s.Tool = "ncu 2025.3" }, unchanged, "with ncu, the head with nsys"},
		{"", func(s *model.Session) { s.Tool = "" }, unchanged, ""},
		{"other GPU", func(s *model.Session) { s.GPU = "NVIDIA H100" }, unchanged, "NVIDIA H100, NVIDIA H200"},
		{"", func(s *model.Session) { s.GPU = "" }, unchanged, ""},
		{"", func(s *model.Session) { s.GraphTrace = "graph" }, func(s *model.Session) { s.GraphTrace = "graph" }, ""},
		{"graphs traced otherwise", func(s *model.Session) { s.GraphTrace = "graph" },
			func(s *model.Session) { s.GraphTrace = "node" }, "as a whole in the baseline, node by node in the head"},
		{"", func(s *model.Session) { s.GraphTrace = "node" }, unchanged, ""},
		{"profiler set otherwise", func(s *model.Session) { s.Mode = "clock none" }, unchanged,
			"clock none in the baseline, not known in the head"},
		{"setting on one side", func(s *model.Session) { s.Mode = "num_prompts=8" },
			func(s *model.Session) { s.Mode = "num_prompts=8 request_rate=2" }, "only the head names request_rate=2"},
		{"setting on one side", func(s *model.Session) { s.Mode = "num_prompts=8" }, unchanged,
			"only the baseline names num_prompts=8"},
		{"", func(s *model.Session) { s.Mode = "num_prompts=8 max_concurrency=none completed=7" },
			func(s *model.Session) { s.Mode = "num_prompts=8" }, ""},
		{"", func(s *model.Session) { s.Mode = "c=1/num_prompts=8 c=2/num_prompts=8" },
			func(s *model.Session) { s.Mode = "c=1/num_prompts=8" }, ""},
		{"other number of GPUs", func(s *model.Session) { s.GPUs = 2 }, unchanged, "2 GPUs, the head 1 GPU"},
		{"other number of processes", func(s *model.Session) { s.Processes = 2 },
			func(s *model.Session) { s.Processes = 1 }, "2 processes at a time, the head 1 process"},
		{"", func(s *model.Session) { s.Processes = 2 }, unchanged, ""},
		{"captured on one side", func(s *model.Session) { s.Warmup = "capture" }, unchanged, "only one side"},
		{"other step", func(s *model.Session) { s.Step = "" }, unchanged, `none in the baseline, "step" in the head`},
		{"other number of steps", func(s *model.Session) { s.Runs[1].Total = 21 },
			func(s *model.Session) { s.Runs[0].Total = 4 }, "10 steps in the baseline, 4 in the head"},
		{"", unchanged, func(s *model.Session) { s.Runs[0].Total = 5 }, ""},
		{"other number of repeats", repeating(28, 29, 1), repeating(9, 10, 1),
			"28 repeats in the baseline, 9 in the head"},
		{"", repeating(28, 29, 1), repeating(14, 15, 1), ""},
		{"", repeating(127, 128, 1), repeating(9, 128, 1), ""}, // layers, steps
		{"no steady state", unchanged, func(s *model.Session) { s.Runs[0].Steady, s.Runs[1].Steady = false, false },
			"2 of the 3 runs of the head"},
		{"no steady state", func(s *model.Session) { s.Runs[0].Steady, s.Runs[2].Steady = false, false },
			func(s *model.Session) { s.Runs[0].Steady, s.Runs[1].Steady = false, false },
			"2 of the 3 runs of the baseline"},
		{"", func(s *model.Session) { s.Runs[2].Steady = false }, // three of six: the program is so
			func(s *model.Session) { s.Runs[0].Steady, s.Runs[1].Steady = false, false }, ""},
		{"", unchanged, func(s *model.Session) { s.Runs[0].Steady = false }, ""},
		{"", unchanged, func(s *model.Session) { s.Warmup, s.Runs[0].Steady, s.Runs[1].Steady = "4", false, false },
			""},
		{"", unchanged, unchanged, ""},
	}
	tested := map[string]bool{"head of several profilers": true}
	for _, c := range cases {
		side := func(edit func(*model.Session)) []model.Session {
			if edit == nil {
				return nil
			}
			s := session()
			edit(&s)
			return []model.Session{s}
		}
		holds(t, sessionRefusals, newSides(side(c.base), side(c.head)), c.row, c.says)
		tested[c.row] = true
	}
	torch := session()
	torch.Tool = "torch.profiler 2.6"
	holds(t, sessionRefusals, newSides([]model.Session{session()}, []model.Session{torch, session()}),
		"head of several profilers", "torch.profiler and nsys")
	for _, row := range sessionRefusals {
		if !tested[row.Name] {
			t.Errorf("no case for refusal %q", row.Name)
		}
	}
}

// holds reports a table whose first row that applies is not the one of a name ("" for none), or does not say something.
func holds[Of any](t *testing.T, rows []Refusal[Of], x Of, name, says string) {
	t.Helper()
	i := slices.IndexFunc(rows, func(row Refusal[Of]) bool { return row.When(x) })
	if i < 0 || name == "" {
		if i >= 0 || name != "" {
			t.Errorf("row %d applies, want %q", i, name)
		}
		return
	}
	got := First(rows, x)
	if rows[i].Name != name || got.Key != string(rows[i].Kind) || !strings.Contains(got.Sentence, says) ||
		got.Next == "" {
		t.Errorf("%q: %+v; want %q, %q", rows[i].Name, got, name, says)
	}
}

// TestRegroup wants everything that is summed over a step for a step of the baseline, and nothing else scaled.
func TestRegroup(t *testing.T) {
	rank := measure.Subject{Scope: measure.ScopeDevice, Name: "rank 1"}
	side := func(steps int, launches float64) model.Session {
		s := session()
		for i := range s.Runs {
			s.Runs[i].Total = steps
		}
		for _, x := range []struct {
			of    measure.Subject
			what  measure.Metric
			value float64
		}{
			{kernel, measure.Launches, launches}, {kernel, measure.Total, 1e5 * launches},
			{measure.Workload, measure.GPUTime, 1e5 * launches}, {measure.Workload, measure.LostLaunches, 4},
			{measure.Workload, measure.CollectiveWait, 500}, {kernel, measure.MessageBytes, 64},
			{rank, measure.RankStep, 9000}, {rank, measure.CausedWait, 700}, {rank, measure.GPUTime, 8000},
			{measure.Workload, measure.MeanToTypical, 1.25}, {measure.Workload, measure.MemoryPeak, 1e9},
			{kernel, measure.Registers, 32},
		} {
			s.Series = append(s.Series, model.Series{Subject: x.of, Metric: x.what,
				Values: model.Values{x.value, x.value, x.value}})
		}
		s.SortSeries()
		return s
	}
	head, ratio := regroup([]model.Session{side(10, 20)}, []model.Session{side(20, 10)})
	if ratio != 2 {
		t.Fatalf("a step of the head is %v steps of the baseline", ratio)
	}
	before := side(20, 10)
	for _, x := range head[0].Series {
		measured, _ := before.Find(x.Subject, x.Metric.Name)
		want := measured.Values[0]
		switch x.Metric {
		case measure.Time, measure.MeanToTypical, measure.MemoryPeak, measure.Registers:
		default:
			want *= ratio
		}
		if x.Values[0] != want {
			t.Errorf("%s of %s is %v, want %v", x.Metric.Name, x.Subject, x.Values[0], want)
		}
	}
}
