// Package history follows a workload over time: change points, drift that adds up, and the commit of a change.
package history

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const (
	// trendPoints is from how many points on a trend is searched for changes; below, the ends are compared.
	trendPoints = 10
	// trendP is the largest p-value of a change of level, shared out among the trends (Apache Otava's default for one
	// series), and trendLeast the smallest change that is one.
	trendP, trendLeast = 0.001, 0.002
	// trendShare is the smallest part of the GPU time of a kernel with a trend.
	trendShare = 0.005
)

// History is the course of a workload over time on one model of GPU.
type History struct {
	Schema   string   `json:"schema"`
	Workload string   `json:"workload,omitempty"`
	GPU      string   `json:"gpu"`
	Moments  []Moment `json:"moments"`            // the oldest first
	Trends   []Trend  `json:"trends"`             // the program first, then what changed most
	LeftOut  []string `json:"left_out,omitempty"` // by what each session differs that is not compared: "batch_size=1"
}

// HistorySchema is the schema of a [History].
const HistorySchema = "nsgate.history/1"

// Moment is when and where something was measured.
type Moment struct {
	At          time.Time         `json:"at,omitempty,omitzero"`
	Commit      string            `json:"commit,omitempty"`
	File        string            `json:"file,omitempty"`   // of a benchmark harness
	Reason      string            `json:"reason,omitempty"` // untrusted
	Environment model.Environment `json:"environment"`
	Step        string            `json:"step,omitempty"`
	// Anchor names the state that later moments are compared with, "" where this is none.
	Anchor string `json:"anchor,omitempty"`
	// Since lists the changes of the environment since then, without a commit: "driver", "board", "host", "clock".
	Since []string `json:"since,omitempty"`

	values map[number]point
}

type number struct {
	subject measure.Subject
	metric  string
}

type point struct {
	value float64
	unit  string
}

// Trend is one number over time.
type Trend struct {
	Scope measure.Scope `json:"scope"`
	result.Named
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// Values has one for each moment, unknown where it was not measured.
	Values []result.Number `json:"values"`
	// Change is that from the first value to the last.
	Change result.Number `json:"change"`
	// SinceAnchor is that from the state that the last anchor names to the last value, nil where there is no later one.
	SinceAnchor *result.Number `json:"since_anchor,omitempty"`
	// Changes are where its level changes, in order; none where there are under ten points to tell.
	Changes []LevelChange `json:"changes,omitempty"`
	// Enough is true where there are enough points to look for changes of level.
	Enough bool `json:"enough"`
}

// LevelChange is a change of level of a trend.
type LevelChange struct {
	Moment int           `json:"moment"` // index of the first of the new level
	Before result.Number `json:"before"`
	After  result.Number `json:"after"`
	Change result.Number `json:"change"`
	P      result.Number `json:"p"`
	// From and To are the commits around the change, or the files of a harness, "" where neither is known.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Elsewhere lists the changes of the environment there, which explain the change: "driver", "board", "clock".
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// MomentOf is the moment of a session.
func MomentOf(s *model.Session) Moment {
	m := Moment{At: s.Start, Commit: s.Commit, Reason: s.Reason, Environment: s.Environment, Step: s.Step,
		values: map[number]point{}}
	for _, x := range s.Series {
		if trended(x.Subject, x.Metric.Name) {
			m.set(x.Subject, x.Metric.Name, stats.Median(stats.Known(s.Of(&x))), x.Unit())
		}
	}
	return m
}

// MomentOfReport is the moment of a report's head.
func MomentOfReport(r *result.Report) Moment {
	m := Moment{At: r.Head.Environment.Start, Commit: r.Head.Commit, Environment: r.Head.Environment, Step: r.Head.Step,
		values: map[number]point{}}
	for i := range r.Findings {
		if f := &r.Findings[i]; trended(f.Subject(), f.Metric) && f.Head.Known() {
			m.set(f.Subject(), f.Metric, float64(f.Head), f.Unit)
		}
	}
	return m
}

// origin is the commit of a moment, else its file.
func (m *Moment) origin() string { return cmp.Or(m.Commit, m.File) }

func (m *Moment) set(s measure.Subject, metric string, v float64, unit string) {
	if !math.IsNaN(v) {
		m.values[number{s, metric}] = point{v, unit}
	}
}

// trended reports whether a number is followed: outputs, step and GPU time, rows of benchmarks, totals of kernels.
func trended(s measure.Subject, metric string) bool {
	m := measure.Metric{Name: metric}
	followed := []measure.Scope{measure.ScopeOutput, measure.ScopeBenchmark, measure.ScopeKernel}
	return m.Followed() && (s == measure.Workload || slices.Contains(followed, s.Scope))
}

// NewHistory orders moments of a workload on one model of GPU, without those unlike the last, and makes their trends.
func NewHistory(moments []Moment) *History {
	h := &History{Schema: HistorySchema, Trends: []Trend{}}
	moments = slices.Clone(moments)
	measure.Sort(moments, func(a, b Moment) int { return a.At.Compare(b.At) })
	if len(moments) == 0 {
		return h
	}
	last := &moments[len(moments)-1]
	h.GPU = last.Environment.GPU
	of := func(what, a, b string) string { return measure.Either(a == b, "", what+measure.Quote(a)) }
	h.Moments = measure.Where(moments, func(m Moment) bool {
		setting, value, _ := model.Unlike(m.Environment.Mode, last.Environment.Mode)
		why := cmp.Or(of("step ", m.Step, last.Step), of("tool ", string(m.Environment.Profiler()),
			string(last.Environment.Profiler())),
			measure.Either(setting == "" || setting == model.WholeMode, "", setting+"="+value))
		if why != "" {
			h.LeftOut = append(h.LeftOut, why)
		}
		return why == "" && m.Environment.GPU == h.GPU
	})
	for i := range h.Moments[1:] {
		h.Moments[i+1].Since = differs(&h.Moments[i].Environment, &h.Moments[i+1].Environment)
	}
	units := map[number]string{}
	for _, m := range h.Moments {
		for n, p := range m.values {
			units[n] = p.unit
		}
	}
	for n, unit := range units {
		if t := h.trend(n, unit); t != nil {
			h.Trends = append(h.Trends, *t)
		}
	}
	for i := range h.Trends {
		h.levels(&h.Trends[i])
	}
	measure.Sort(h.Trends, func(a, b Trend) int {
		return cmp.Or(cmp.Compare(order(a.Scope), order(b.Scope)), cmp.Compare(movedBy(b), movedBy(a)),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Grid+a.Block, b.Grid+b.Block),
			strings.Compare(a.Metric, b.Metric))
	})
	result.Labelled(h.Trends, func(t *Trend) (*result.Named, measure.Scope) { return &t.Named, t.Scope })
	return h
}

func order(s measure.Scope) int {
	of := []measure.Scope{measure.ScopeOutput, measure.ScopeWorkload, measure.ScopeBenchmark, measure.ScopeKernel}
	return slices.Index(of, s)
}

// movedBy is how far the levels of a trend are apart.
func movedBy(t Trend) float64 {
	return measure.Most(t.Changes, func(c LevelChange) float64 { return math.Abs(float64(c.Change)) })
}

func differs(a, b *model.Environment) (out []string) {
	for _, x := range []struct {
		name string
		same bool
	}{
		{"host", a.GPUHash == b.GPUHash},
		{"board", a.Board == b.Board},
		{"driver", a.Driver == b.Driver},
		{"CUDA", a.CUDA == b.CUDA},
		{"clock", near(a.ClockMHz, b.ClockMHz)},
		{"profiler", a.Tool == b.Tool},
	} {
		if !x.same {
			out = append(out, x.name)
		}
	}
	return out
}

// near reports whether two clocks are the same to a per cent, or one is not known.
func near(a, b int) bool {
	return a == 0 || b == 0 || math.Abs(float64(a-b)) <= 0.01*float64(max(a, b))
}

// trend follows one number; nil for a kernel that never matters and for a single value.
func (h *History) trend(of number, unit string) *Trend {
	s := of.subject
	t := &Trend{Scope: s.Scope, Named: result.NewNamed(s), Metric: of.metric, Change: result.Unknown}
	if s.Scope != measure.ScopeOutput { // whose name has its unit
		t.Unit = unit
	}
	first, last, n := math.NaN(), math.NaN(), 0
	matters := s.Scope != measure.ScopeKernel
	for i := range h.Moments {
		p, ok := h.Moments[i].values[of]
		otherUnit := p.unit != "" && unit != "" && !measure.SameUnit(p.unit, unit) // reports know none of outputs
		if !ok || otherUnit || !(p.value > 0) {
			t.Values = append(t.Values, result.Unknown)
			continue
		}
		t.Values = append(t.Values, result.Number(p.value))
		last = p.value
		if n == 0 {
			first = p.value
		}
		n++
		whole := h.Moments[i].values[number{measure.Workload, measure.GPUTime.Name}].value
		matters = matters || p.value >= trendShare*whole
	}
	if !matters || n < 2 {
		return nil
	}
	t.Change, t.Enough = result.Number(last/first-1), n >= trendPoints
	if from := h.anchored(t.Values); from > 0 {
		t.SinceAnchor = new(result.Number(last/from - 1))
	}
	return t
}

// Anchor is the index of the last moment that is one, -1 where there is none.
func (h *History) Anchor() int {
	for i := range slices.Backward(h.Moments) {
		if h.Moments[i].Anchor != "" {
			return i
		}
	}
	return -1
}

// anchored is the last value up to the anchor, 0 where there is none or none behind it. An accepted anchor holds
// changed kernels only; the others keep their values.
func (h *History) anchored(values []result.Number) (from float64) {
	at := h.Anchor()
	if at < 0 || !slices.ContainsFunc(values[at+1:], result.Number.Known) {
		return 0
	}
	for _, v := range values[:at+1] {
		if v.Known() {
			from = float64(v)
		}
	}
	return from
}

func (h *History) levels(t *Trend) {
	if !t.Enough {
		return
	}
	var logs []float64
	var at []int
	for i, v := range t.Values {
		if v.Known() {
			logs, at = append(logs, math.Log(float64(v))), append(at, i)
		}
	}
	for _, p := range levelChanges(logs, trendP/float64(len(h.Trends))) {
		before, here := at[p.Index-1], at[p.Index]
		c := LevelChange{Moment: here, Before: result.Number(math.Exp(p.Before)),
			After: result.Number(math.Exp(p.After)), Change: result.Number(math.Expm1(p.After - p.Before)),
			P: result.Number(p.P), From: h.Moments[before].origin(), To: h.Moments[here].origin()}
		if math.Abs(float64(c.Change)) < trendLeast {
			continue
		}
		for _, m := range h.Moments[before+1 : here+1] {
			for _, what := range m.Since {
				// Hosts of one kind differ by less than a change of level, and in a pool they change all the time.
				if what != "host" && !slices.Contains(c.Elsewhere, what) {
					c.Elsewhere = append(c.Elsewhere, what)
				}
			}
		}
		t.Changes = append(t.Changes, c)
	}
}
