package match

import (
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/judge/align"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

var (
	kernel = measure.Subject{Scope: measure.ScopeKernel, Name: "sgemm"}
	other  = measure.Subject{Scope: measure.ScopeKernel, Name: "relu"}
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

func setting(series ...model.Series) func(*model.Session) {
	return func(s *model.Session) { s.Series = series }
}

func TestMatchRefusals(t *testing.T) {
	time := func(s measure.Subject, v float64) model.Series {
		return model.Series{Subject: s, Metric: measure.Time, Values: model.Values{v, v, v}}
	}
	step := model.Series{Subject: measure.Workload, Metric: measure.StepTime, Values: model.Values{1e6, 1e6, 1e6}}
	sections := model.Series{Subject: measure.Steps, Metric: measure.Elapsed, Values: model.Values{1e7, 1e7, 1e7}}
	noStep := func(series ...model.Series) func(*model.Session) {
		return func(s *model.Session) { s.Step, s.Series = "", series }
	}
	steps := func(n int, edit func(*model.Session)) func(*model.Session) {
		return func(s *model.Session) {
			edit(s)
			for i := range s.Runs {
				s.Runs[i].Total = n
			}
		}
	}
	launches := model.Series{Subject: measure.Workload, Metric: measure.Launches, Values: model.Values{7, 7, 7}}
	rule := func(metric measure.Metric) []thresholds.Rule {
		return []thresholds.Rule{{Metric: thresholds.Glob(metric.Name), Where: "nsgate.toml:3",
			Severity: thresholds.Fail}}
	}
	byNcu := func(s *model.Session) {
		s.Tool, s.Series = "ncu 2025.3", []model.Series{{Subject: kernel, Metric: measure.ReplayTime,
			Values: model.Values{1e5, 1e5, 1e5}}}
	}
	sampled := setting(time(kernel, 1e5), model.Series{Subject: measure.Workload, Metric: measure.SamplingPeriod,
		Values: model.Values{1e5, 1e5, 1e5}})
	// costs are launches of a kernel of 100 µs and of one of 10 µs, and launches without a record.
	costs := func(of, ofOther, lost float64) func(*model.Session) {
		series := func(s measure.Subject, m measure.Metric, v float64) model.Series {
			return model.Series{Subject: s, Metric: m, Values: model.Values{v, v, v}}
		}
		out := []model.Series{
			series(kernel, measure.Time, 1e5), series(kernel, measure.Launches, of),
			series(kernel, measure.Total, 1e5*of),
			series(measure.Workload, measure.Launches, of+ofOther), series(measure.Workload, measure.GPUTime,
				1e5*of+1e4*ofOther),
		}
		if ofOther > 0 {
			out = append(out, series(other, measure.Time, 1e4), series(other, measure.Launches, ofOther),
				series(other, measure.Total, 1e4*ofOther))
		}
		if lost >= 1000 { // calls without anything
			out = append(out, series(measure.Workload, measure.SilentCalls, lost))
		} else if lost > 0 {
			out = append(out, series(measure.Workload, measure.LostLaunches, lost))
		}
		return setting(out...)
	}
	given := func(m measure.Metric, unit string) model.Series {
		m.Unit = unit
		return model.Series{Subject: measure.Subject{Scope: measure.ScopeBenchmark, Name: "scan"}, Metric: m,
			Values: model.Values{5, 5, 5}}
	}
	printed := func(unit string) model.Series {
		return model.Series{Subject: measure.Subject{Scope: measure.ScopeOutput, Name: "latency"}, Metric: measure.Cost,
			Values: model.Values{5, 5, 5}, Note: unit}
	}
	cases := []struct {
		row        string // "" for no refusal
		base, head func(*model.Session)
		rules      []thresholds.Rule
		says       string
	}{
		{"metric not sampled", sampled, sampled, rule(measure.GPUMetrics[0]), "nsgate.toml:3"},
		{"", setting(time(kernel, 1e5)), setting(time(kernel, 1e5)), rule(measure.GPUMetrics[0]), ""},
		{"metric missing", byNcu, byNcu, rule(measure.DRAMThroughput), "nsgate.toml:3"},
		{"", setting(time(kernel, 1e5)), setting(time(kernel, 1e5)), rule(measure.DRAMThroughput), ""},
		{"nothing in common", noStep(time(kernel, 1e5)), steps(9, noStep(time(other, 1e5))), nil,
			"1 kernel in the baseline, 1 kernel in the head"},
		{"nothing in common", steps(4, noStep(time(kernel, 1e5))), steps(4, noStep(time(other, 1e5))), nil,
			"1 kernel in the head"},
		{"", noStep(time(kernel, 1e5)), noStep(time(other, 1e5)), nil, ""},
		{"", noStep(time(kernel, 1e5), launches), steps(9, noStep(time(other, 1e5), launches)), nil, ""},
		{"", setting(time(kernel, 1e5)), setting(time(other, 1e5)), nil, ""},
		{"other unit", setting(given(measure.ItemRate, "rows/s")), setting(given(measure.ItemRate, "tokens/s")), nil,
			`scan is rate in "rows/s" in the baseline and rate in "tokens/s" in the head`},
		{"other unit", setting(given(measure.Duration, "ns")), setting(given(measure.Value, "min")), nil,
			`time in "ns"`},
		{"", setting(given(measure.ItemRate, "rows/s")), setting(given(measure.ItemRate, "row/s")), nil, ""},
		{"", setting(given(measure.ItemRate, "1/s")), setting(given(measure.ItemRate, "tokens/s")), nil, ""},
		{"other unit", setting(given(measure.ItemRate, "1/s")), setting(given(measure.ItemRate, "rows/s")), nil,
			`"rows/s"`},
		{"other unit", setting(printed("")), setting(printed("s")), nil,
			`latency is output without a unit in the baseline and output in "s" in the head`},
		{"other unit", setting(printed("ms")), setting(printed("")), nil, "output without a unit in the head"},
		{"", setting(printed("")), setting(printed("")), nil, ""},
		{"other unit", setting(given(measure.Value, "")), setting(given(measure.Value, "points")),
			[]thresholds.Rule{{Benchmark: "scan", Metric: "value", Better: measure.Lower, Severity: thresholds.Fail}},
			"without a unit"},
		{"kernel without time", setting(time(kernel, 0)), setting(time(kernel, 1e5)), nil,
			"sgemm takes no time in the baseline and 100.0 µs in the head"},
		{"kernel without time", setting(time(kernel, 1e5)), setting(time(kernel, 0)), nil,
			"sgemm takes no time in the head"},
		{"", setting(time(kernel, 0)), setting(time(kernel, 9)), nil, ""},
		{"launches lost", costs(50, 50, 0), costs(50, 0, 50), nil,
			"50 launches of the head, up to 9.1 % of the GPU time, more than its limit"},
		{"launches lost", costs(50, 10, 40), costs(50, 50, 0), nil,
			"40 launches of the baseline, up to 7.3 % of the GPU time"},
		{"launches lost", costs(50, 50, 0), costs(50, 50, 40), nil, "40 launches of the head, up to 40.0 %"},
		{"", costs(50, 50, 0), costs(50, 45, 5), nil, ""},
		{"launches lost", costs(50, 50, 1000), costs(50, 0, 1070), nil,
			"rows of 50 launches are missing in the tables of the head"},
		{"", costs(50, 50, 1000), costs(50, 0, 1000), nil, ""},  // their calls are gone as well
		{"", costs(50, 50, 1000), costs(50, 50, 1500), nil, ""}, // other calls
		{"", costs(50, 50, 0), costs(50, 0, 1050), nil, ""},     // a baseline of an older nsgate
		{"", costs(50, 50, 9), costs(50, 50, 9), nil, ""},
		{"", costs(50, 50, 0), costs(50, 0, 0), nil, ""}, // its calls are gone as well
		{"step lost", noStep(time(kernel, 1e5), step, sections), noStep(time(kernel, 1e5), sections), nil,
			"no step was found in the head"},
		{"step lost", noStep(time(kernel, 1e5), sections), noStep(time(kernel, 1e5), step, sections), nil,
			"no step was found in the baseline"},
		{"", noStep(time(kernel, 1e5), step, sections), noStep(time(kernel, 1e5)), nil, ""},
		{"", noStep(time(kernel, 1e5), step), noStep(time(kernel, 1e5), step), nil, ""},
	}
	tested := map[string]bool{}
	for _, c := range cases {
		base, head, policy := session(), session(), thresholds.Default()
		c.base(&base)
		c.head(&head)
		base.SortSeries()
		head.SortSeries()
		policy.Rules = c.rules
		x := NewSides([]model.Session{base}, []model.Session{head}, policy.For(""))
		holds(t, matchRefusals, New(x), c.row, c.says)
		tested[c.row] = true
	}
	for _, row := range matchRefusals {
		if !tested[row.Name] {
			t.Errorf("no case for refusal %q", row.Name)
		}
	}
}

// holds reports a table whose first row that applies is not the one of a name ("" for none), or does not say something.
func holds[Of any](t *testing.T, rows []align.Refusal[Of], x Of, name, says string) {
	t.Helper()
	i := slices.IndexFunc(rows, func(row align.Refusal[Of]) bool { return row.When(x) })
	if i < 0 || name == "" {
		if i >= 0 || name != "" {
			t.Errorf("row %d applies, want %q", i, name)
		}
		return
	}
	got := align.First(rows, x)
	if rows[i].Name != name || got.Key != string(rows[i].Kind) || !strings.Contains(got.Sentence, says) ||
		got.Next == "" {
		t.Errorf("%q: %+v; want %q, %q", rows[i].Name, got, name, says)
	}
}
