package align

import (
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const (
	// CycleSlack is the part that the numbers of cycles of two runs may differ by, and one cycle at least.
	CycleSlack = 0.1
	// proportional is the least share of GPU time in kernels whose launches follow the number of repeats.
	proportional = 0.9
	// repeatSlack is how far a count in proportion to the repeats may be from it, as a part of it.
	repeatSlack = 0.02
	// cutSlack is that where the first or the last repeat is cut, at most.
	cutSlack = 0.1
)

// SameWork gives the head for as much work as the baseline did, and says what it was scaled by: for as many repeats
// of a cycle, or per step of the baseline where the same launches are done in another number of steps. Both sides have
// the same steps as warm-up.
func SameWork(base, head []model.Session) (_, scaled []model.Session, says []result.Remark) {
	if recorded.ByLaunch(head) { // launches of each kernel, chosen by their number
		return base, head, nil
	}
	if w := repeatsOf(base, head); w != nil {
		head = w.asMany(head)
		says = append(says, result.Say(reason.Repeats{Base: int(w.inBase), Head: int(w.inHead),
			Ratio: result.Number(w.ratio)}))
	}
	head, ratio := regroup(base, head)
	base, head = sameWarmup(base, head, ratio)
	return base, head, append(says, result.SayIf(ratio != 1, reason.Regrouped{Ratio: result.Number(ratio)})...)
}

// repeats compares how often the runs of both sides repeat one cycle.
type repeats struct {
	base, head     *recorded.Index
	inBase, inHead float64 // repeats of a run
	ratio          float64 // of the launches of the baseline to those of the head
}

// repeatsOf compares runs without steps, nil where both sides repeat themselves as often, or other cycles.
func repeatsOf(base, head []model.Session) *repeats {
	if len(base) == 0 || len(head) == 0 || base[len(base)-1].Step != "" {
		return nil
	}
	w := &repeats{base: recorded.New(base, measure.Total), head: recorded.New(head, measure.Total)}
	w.inBase, w.inHead = w.base.Typical(measure.Workload, measure.Repeats.Name),
		w.head.Typical(measure.Workload, measure.Repeats.Name)
	kernels := recorded.Kernels(w.head.Subjects())
	var ratios, shares []float64
	for _, s := range kernels {
		if r, share := w.of(s, measure.Launches), w.head.Share(s); r > 0 && !math.IsInf(r, 1) && share > 0 {
			ratios, shares = append(ratios, r), append(shares, share)
		}
	}
	if len(ratios) == 0 {
		return nil
	}
	if w.ratio = stats.WeightedMedian(ratios, shares); w.ratio == 1 ||
		!(math.Abs(w.inBase-w.ratio*w.inHead) <= 2*math.Max(1, w.ratio)) {
		return nil
	}
	share, slack := 0.0, max(repeatSlack, min(cutSlack, 1/min(w.inBase, w.inHead))) // one repeat may be cut
	for _, s := range kernels {
		if math.Abs(w.of(s, measure.Launches)/w.ratio-1) < slack {
			share += w.head.Share(s)
		}
	}
	return measure.Either(share < proportional, nil, w)
}

// of is how many times as much the baseline counts as the head.
func (w *repeats) of(s measure.Subject, count measure.Metric) float64 {
	return w.base.Typical(s, count.Name) / w.head.Typical(s, count.Name)
}

// factor scales a series of the head to as many repeats as the baseline has. It is 1 for a metric that is no sum over
// the repeats. The workload's own time and launches follow from its kernels.
func (w *repeats) factor(x *model.Series) float64 {
	switch s := x.Subject; {
	case s.Scope == measure.ScopeKernel && (x.Metric == measure.Total || x.Metric == measure.Launches):
		return w.explained(s, measure.Launches)
	case s == measure.Workload:
		if x.Metric.Exact && x.Metric != measure.Repeats && x.Metric != measure.Launches &&
			w.of(s, x.Metric) == w.ratio {
			return w.ratio
		}
	case s.Scope == measure.ScopeWorkload && x.Metric == measure.Copies:
		return w.explained(s, measure.Copies)
	case s.Scope == measure.ScopeWorkload && (x.Metric == measure.CopyTime || x.Metric == measure.CopyBytes):
		return w.explained(s, measure.CopyBytes)
	}
	return 1
}

// explained is the part of the difference of a count that the repeats explain, as a factor between 1 and their ratio:
// a part of the launches and copies of a run may be done once, whatever the number of repeats.
func (w *repeats) explained(s measure.Subject, count measure.Metric) float64 {
	f := w.of(s, count)
	return measure.Either(f > 0, min(max(f, min(1, w.ratio)), max(1, w.ratio)), 1)
}

// asMany gives the sums of the head's runs for as many repeats as the baseline has.
func (w *repeats) asMany(head []model.Session) []model.Session {
	out := slices.Clone(head)
	for i := range out {
		s := &out[i]
		s.Series = slices.Clone(s.Series)
		// that are added: by range, "" for the workload
		added, launches := map[string][]float64{}, make([]float64, len(s.Runs))
		for j := range s.Series {
			x := &s.Series[j]
			factor := w.factor(x)
			if factor == 1 {
				continue
			}
			switch x.Metric {
			case measure.Total:
				for _, in := range slices.Compact(append(strings.Split(x.Role, "/"), "")) {
					added[in] = plus(added[in], x.Values, factor-1)
				}
			case measure.Launches:
				launches = plus(launches, x.Values, factor-1)
			}
			x.Values = measure.Map(x.Values, func(v float64) float64 { return factor * v })
		}
		for j := range s.Series {
			switch x := &s.Series[j]; {
			case x.Metric == measure.GPUTime && (x.Subject == measure.Workload ||
				x.Subject.Scope == measure.ScopeRange):
				x.Values = plus(x.Values, added[x.Subject.Name], 1)
			case x.Subject == measure.Workload && x.Metric == measure.Launches:
				x.Values = plus(x.Values, launches, 1)
			case x.Subject == measure.Workload && x.Metric == measure.Repeats:
				x.Values = slices.Repeat([]float64{w.inBase}, len(x.Values))
			}
		}
	}
	return out
}

// plus adds to each run a multiple of other values. What is not known adds nothing.
func plus(to, values []float64, factor float64) []float64 {
	out := make([]float64, max(len(to), len(values)))
	copy(out, to)
	for i, v := range values {
		if !math.IsNaN(v) {
			out[i] += factor * v
		}
	}
	return out
}

// regroup gives the head per step of the baseline where its runs do the same launches in another number of steps:
// then a step of the head is another part of the work. ratio is the steps of the head to those of the baseline, 1
// where they are the same.
func regroup(base, head []model.Session) (regrouped []model.Session, ratio float64) {
	if base[len(base)-1].Step == "" {
		return head, 1
	}
	b, h := recorded.New(base, measure.Total), recorded.New(head, measure.Total)
	steps := func(s []model.Session) float64 { return float64(s[len(s)-1].Runs[0].Total) }
	ratio = steps(head) / steps(base)
	if !(math.Abs(math.Log(ratio)) > math.Log1p(CycleSlack)) {
		return head, 1
	}
	share := 0.0
	for _, s := range recorded.Kernels(h.Subjects()) {
		if by := b.Typical(s, measure.Launches.Name) / h.Typical(s,
			measure.Launches.Name); math.Abs(by/ratio-1) < repeatSlack {
			share += h.Share(s)
		}
	}
	if share < proportional {
		return head, 1
	}
	regrouped = slices.Clone(head)
	for i := range regrouped {
		s := &regrouped[i]
		s.Series = slices.Clone(s.Series)
		for j := range s.Series {
			if x := &s.Series[j]; x.Subject.Scope != measure.ScopeSection && x.Metric.PerStep() {
				x.Values = measure.Map(x.Values, func(v float64) float64 { return ratio * v })
			}
		}
	}
	return regrouped, ratio
}

// sameWarmup gives both sides as many steps of warm-up as the one with more of them has, found or given: slow steps do
// not leave the gate by that. Steps that are added are as long as those that count, and no longer do.
func sameWarmup(base, head []model.Session, ratio float64) (_, _ []model.Session) {
	b, h := &base[len(base)-1], &head[len(head)-1]
	before := recorded.New(base, measure.Total).WarmupSteps()
	now := recorded.New(head, measure.Total).WarmupSteps() / ratio
	steps := b.Step != "" && h.Step != "" && b.Warmup != "capture" && h.Warmup != "capture"
	if most := max(before, now); steps && most > min(before, now) {
		return withWarmup(base, most), withWarmup(head, ratio*most)
	}
	return base, head
}

// withWarmup gives every run so many steps of warm-up.
func withWarmup(sessions []model.Session, steps float64) []model.Session {
	out := slices.Clone(sessions)
	for i := range out {
		s, was := &out[i], &sessions[i]
		s.Series = slices.Clone(s.Series)
		repeats, _ := was.Find(measure.Warmup, measure.Repeats.Name)
		counted, more := make([]float64, len(repeats.Values)), make([]float64, len(repeats.Values))
		for run, n := range repeats.Values {
			counted[run] = float64(max(1, s.Runs[run].Total-s.Runs[run].Skipped))
			more[run] = math.Min(steps-n, counted[run]-1) // one counts still
		}
		for j := range s.Series {
			x := &s.Series[j]
			if x.Subject == measure.Warmup && x.Metric == measure.Repeats {
				x.Values = plus(x.Values, more, 1)
				continue
			}
			each, known := was.Find(measure.Steps, x.Metric.Name)
			if !known || x.Subject != measure.Warmup && x.Subject != measure.Steps {
				continue
			}
			moved := slices.Clone(more)
			for run := range moved {
				moved[run] *= each.Values[run] / counted[run]
			}
			x.Values = plus(x.Values, moved, measure.Either(x.Subject == measure.Warmup, 1.0, -1.0))
		}
	}
	return out
}

// Alike gives the sessions of one side with rows named as the other side names them: tests of JUnit with their suite
// where several suites there have a test of that name, and rows of one load with the settings in which loads differ.
func Alike(sessions, other []model.Session) []model.Session {
	names := map[string]bool{}
	for i := range other {
		for j := range other[i].Series {
			if s := other[i].Series[j].Subject; s.Scope == measure.ScopeBenchmark {
				names[s.Name] = true
			}
		}
	}
	if len(names) == 0 {
		return sessions
	}
	out := slices.Clone(sessions)
	for i := range out {
		load := inLoads(&out[i], other)
		own := slices.Clone(out[i].Series)
		for j := range own {
			x := &own[j]
			full := bench.InSuite(x.Role, x.Subject.Name)
			switch {
			case x.Subject.Scope != measure.ScopeBenchmark:
			case load != "":
				x.Subject.Name = load + x.Subject.Name
			case x.Role != "" && names[full] && !names[x.Subject.Name]:
				x.Subject.Name, x.Role = full, ""
			}
		}
		out[i].Series = own
		out[i].SortSeries()
	}
	return out
}

// inLoads is what the names of rows of a session begin with on a side whose loads differ in settings that are one here,
// "" for other sessions. It takes these settings from the session, and names others by load where that side does.
func inLoads(s *model.Session, other []model.Session) (load string) {
	own := model.ParseSettings(s.Mode)
	for i := range other {
		for j := 0; j < len(other[i].Series) && load == ""; j++ {
			for _, word := range strings.Fields(other[i].Series[j].Subject.Name) {
				name, _, _ := strings.Cut(word, "=")
				if own[name] == "" || model.ParseSettings(other[i].Mode)[name] != "" {
					break
				}
				load += name + "=" + own[name] + " "
			}
		}
	}
	if load == "" {
		return ""
	}
	rest := model.Settings{}
	for name, value := range own {
		of := func(o model.Session) bool { return strings.Contains(o.Mode, "/"+name+"=") }
		switch {
		case strings.Contains(" "+load, " "+name+"="):
		case slices.ContainsFunc(other, of):
			rest[strings.ReplaceAll(strings.TrimSpace(load), " ", ",")+"/"+name] = value
		default:
			rest[name] = value
		}
	}
	s.Mode = rest.String()
	return load
}
