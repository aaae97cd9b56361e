package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	index "github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// ranksOf describes the ranks of a head alone.
func ranksOf(head model.Session, policy *thresholds.Policy) *result.Ranks {
	return insight.CompareRanks(nil, index.New([]model.Session{head}, measure.Total), policy.For(""))
}

func rank(n int) measure.Subject {
	return measure.Subject{Scope: measure.ScopeDevice, Name: fmt.Sprintf("rank %d", n)}
}

// rankedSession gives the runs of a session ranks, perhaps one of them slow, by more of a kernel.
func rankedSession(t *rapid.T, s *model.Session, kernel measure.Subject, ranks int) {
	n := len(s.Runs)
	if ranks == 0 {
		return
	}
	add := func(subject measure.Subject, m measure.Metric, values ...float64) {
		if len(values) == 1 {
			values = slices.Repeat(values, n)
		}
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: m, Values: values})
	}
	slow := rapid.SampledFrom([]float64{1, 1.01, 1.04, 1.3}).Draw(t, "slow rank")
	for i := range ranks {
		compute := make([]float64, n)
		for run := range compute {
			compute[run] = 400e3 * (1 + 0.001*float64((run+i)%3))
			if i == 1 {
				compute[run] *= slow
			}
		}
		add(rank(i), measure.GPUTime, compute...)
		add(rank(i), measure.CausedWait, 1000*float64(i))
	}
	add(measure.Subject{Scope: measure.ScopeKernel, Name: "ncclDevKernel_AllReduce_Sum(int)"}, measure.CollectiveWait,
		500)
	add(measure.Workload, measure.UnmatchedCollectives, rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "unmatched"))
	launches, _ := s.Find(kernel, measure.Launches.Name)
	total, ok := s.Find(kernel, measure.Total.Name)
	if !ok || len(launches.Values) == 0 {
		return
	}
	most, calls := make([]float64, n), make([]float64, n)
	for i := range most {
		most[i], calls[i] = total.Values[i]*1.2, launches.Values[i]+0.5
	}
	add(kernel, measure.SlowestRank, 1)
	add(kernel, measure.SlowestTotal, most...)
	add(kernel, measure.SlowestLaunches, calls...)
}

// ratios is by how much a rank computes longer than the median of the others, on the log scale, in each job of a side.
func (c claim) ratios(side, of string) (out []float64) {
	for _, s := range c.sessions(side) {
		var others []model.Values
		var own model.Values
		for _, x := range s.Series {
			if x.Subject.Scope == measure.ScopeDevice && x.Metric == measure.GPUTime {
				if x.Subject.Name == of {
					own = x.Values
				} else {
					others = append(others, x.Values)
				}
			}
		}
		for run := range stats.Known(own) { // profiled runs stand before the others
			var logs []float64
			for _, o := range others {
				logs = append(logs, math.Log(o[run]))
			}
			slices.Sort(logs)
			if n := len(logs); n > 0 {
				out = append(out, math.Log(own[run])-(logs[(n-1)/2]+logs[n/2])/2)
			}
		}
	}
	return out
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// apart is how long a rank does not communicate in the jobs of a side.
func (c claim) apart(side, of string) (out []float64) {
	x := measure.Subject{Scope: measure.ScopeDevice, Name: of}
	talks := c.series(side, x, measure.ExposedCommunication)
	for i, v := range c.series(side, x, measure.RankStep) {
		out = append(out, v-talks[i])
	}
	return out
}

// lateHolds looks at jobs of two ranks.
func lateHolds(c claim) bool {
	x := c.r.Ranks.Straggler
	other := "rank 0"
	if x.Rank == other {
		other = "rank 1"
	}
	behind := func(side string) float64 {
		own, sum := c.apart(side, x.Rank), 0.0
		for i, v := range c.apart(side, other) {
			sum += math.Log(own[i] / v)
		}
		return math.Expm1(sum / float64(len(own)))
	}
	var more, copies []float64
	others := c.apart("head", other)
	theirs := c.series("head", measure.Subject{Scope: measure.ScopeDevice, Name: other}, measure.RankCopies)
	own := c.series("head", measure.Subject{Scope: measure.ScopeDevice, Name: x.Rank}, measure.RankCopies)
	for i, v := range c.apart("head", x.Rank) {
		more = append(more, v-others[i])
		if len(own) > i && len(theirs) > i {
			copies = append(copies, own[i]-theirs[i])
		}
	}
	ok := len(c.r.Ranks.Ranks) == 2 && x.Late && c.x.Args["rank"] == x.Rank && c.is("slower", behind("head")) &&
		c.number("slower") > 0.05 && c.is("more", median(more)) && (len(copies) == 0 || c.is("copies", median(copies)))
	if len(c.apart("base", x.Rank)) > 0 {
		ok = ok && c.is("base", behind("base")) && (c.x.Args["too"] == true) == (c.number("base") > 0.05)
	}
	return ok
}

func stragglerHolds(c claim) bool {
	x := c.r.Ranks.Straggler
	slower := math.Expm1(average(c.ratios("head", x.Rank)))
	ok := c.x.Args["rank"] == x.Rank && c.is("slower", slower) && slower > 0.03 && float64(x.Low) <= slower &&
		x.Low > 0 && c.is("kernels", float64(len(x.Kernels)))
	for _, k := range c.r.Ranks.Ranks {
		ok = ok && math.Expm1(average(c.ratios("head", k.Name))) <= slower*(1+slack)
	}
	if base := c.ratios("base", x.Rank); len(base) > 0 {
		ok = ok && c.is("base", math.Expm1(average(base))) && (c.x.Args["too"] == true) == (c.number("base") > 0.03)
	}
	if len(x.Kernels) > 0 {
		ok = ok && c.is("more", float64(x.Kernels[0].More)) && x.Kernels[0].More > 0 &&
			c.is("launches", float64(x.Kernels[0].Launches)) && c.is("others", float64(x.Kernels[0].Others))
	}
	return ok
}

// series are the values of a metric in all runs of a side, in those sessions that have it.
func (c claim) series(side string, of measure.Subject, m measure.Metric) (out []float64) {
	for _, s := range c.sessions(side) {
		x, _ := s.Find(of, m.Name)
		out = append(out, stats.Known(x.Values)...)
	}
	return out
}

func waitHolds(c claim) bool {
	of := measure.Subject{Scope: measure.ScopeDevice, Name: c.r.Ranks.Straggler.Rank}
	ok := c.is("wait", median(c.series("head", of, measure.CausedWait)))
	if base := c.series("base", of, measure.CausedWait); len(base) > 0 {
		ok = ok && c.is("base", median(base))
	}
	return ok
}

func unmatchedHolds(c claim) bool {
	return c.is("some", median(c.series("head", measure.Workload, measure.UnmatchedCollectives))) &&
		c.number("all") >= 0
}

// jobs is a session of jobs with these computes a rank, each job a factor off, without anything else.
func jobs(start int, compute []float64, factors ...float64) model.Session {
	s := quiet().with(func(p *program) { p.runs, p.seed = len(factors), uint64(start) }).session()
	for i, ns := range compute {
		values := make(model.Values, len(factors))
		for j, f := range factors {
			values[j] = ns * f * (1 + 0.001*float64((i*3+j*2+start)%4-1))
		}
		s.Series = append(s.Series, model.Series{Subject: rank(i), Metric: measure.GPUTime, Values: values})
	}
	s.SortSeries()
	return s
}

// meeting is a session of jobs of two ranks that meet in a collective, in us a step: how long each does something else,
// and how long of that it copies. Both compute for as long.
func meeting(start int, apart, copies [2][]float64) model.Session {
	s := jobs(start, []float64{300e3, 300e3}, slices.Repeat([]float64{1}, len(apart[0]))...)
	add := func(i int, m measure.Metric, of func(job int) float64) {
		x := model.Series{Subject: rank(i), Metric: m}
		for job := range apart[i] {
			x.Values = append(x.Values, 1e3*of(job))
		}
		s.Series = append(s.Series, x)
	}
	for i := range 2 {
		longest := func(job int) float64 { return max(apart[0][job], apart[1][job]) }
		add(i, measure.RankStep, func(job int) float64 { return longest(job) + 100 })
		add(i, measure.ExposedCommunication, func(job int) float64 { return longest(job) + 100 - apart[i][job] })
		add(i, measure.CausedWait, func(job int) float64 { return max(0, apart[i][job]-apart[1-i][job]) })
		if copies[i] != nil {
			add(i, measure.RankCopies, func(job int) float64 { return copies[i][job] })
		}
	}
	s.SortSeries()
	return s
}

// A rank that computes no longer and starts collectives late has a name too, where jobs agree.
func TestLate(t *testing.T) {
	even := meeting(0, [2][]float64{{1774, 1832, 1799}, {1790, 1801, 1815}},
		[2][]float64{{100, 101, 100}, {100, 100, 101}})
	for name, test := range map[string]struct {
		head  model.Session
		want  string
		words string
	}{
		"even": {even, "", ""},
		// One unchanged program on two H200s: its CPU was slow at times.
		"now and then": {meeting(1, [2][]float64{{1774, 1832, 1799}, {1817, 2700, 1948}}, [2][]float64{}), "", ""},
		"another time": {meeting(1, [2][]float64{{1805, 1803, 1805}, {2317, 1881, 1967}}, [2][]float64{}), "", ""},
		"one job":      {meeting(1, [2][]float64{{1774}, {2300}}, [2][]float64{}), "", ""},
		"one rank copies": {meeting(1, [2][]float64{{2990, 3050, 2997}, {3993, 4103, 3924}},
			[2][]float64{{900, 905, 901}, {1300, 1310, 1305}}), "rank 1", "copies take 404.0 µs longer"},
		"its CPU is slow": {meeting(1, [2][]float64{{2093, 2098, 2100}, {1804, 1806, 1810}},
			[2][]float64{{100, 100, 100}, {100, 100, 100}}), "rank 0", "its copies take no longer"},
		"nothing of copies": {meeting(1, [2][]float64{{2093, 2098, 2100}, {1804, 1806, 1810}}, [2][]float64{}),
			"rank 0", "between collectives: 290.0 µs a step; in the base"},
	} {
		r := evaluate([]model.Session{even}, []model.Session{test.head}, thresholds.Default())
		got, said := "", ""
		if x := r.Ranks.Straggler; x != nil {
			got, said = x.Rank, r.Ranks.Remarks[0].Sentence
			if !x.Late {
				t.Errorf("%s: it does not compute longer", name)
			}
		}
		if got != test.want || !strings.Contains(said, test.words) {
			t.Errorf("%s: %q, want %q: %s", name, got, test.want, said)
		}
	}
}

// Ranks with equally noisy CPUs have no straggler, but for the error of a gate.
func TestLateAlarms(t *testing.T) {
	gates := sample(3000)
	random := rand.New(rand.NewPCG(7, 8))
	for _, c := range []cpu{{sd: 0.005}, {sd: 0.05}, {sd: 0.15}, {0.5, 0.5, 0.01}} {
		for _, runs := range []int{2, 3, 5} {
			alarms := 0
			for range gates {
				var apart [2][]float64
				for i := range apart {
					for _, ns := range c.steps(random, runs, 0) {
						apart[i] = append(apart[i], ns/1000)
					}
				}
				if ranksOf(meeting(1, apart, [2][]float64{}), thresholds.Default()).Straggler != nil {
					alarms++
				}
			}
			if alarms > gates/50 {
				t.Errorf("%d of %d unchanged sides of %d jobs name a rank, of %+v", alarms, gates, runs, c)
			}
		}
	}
}

// Who is slow has a name only beyond the limit and beyond noise, and only where jobs agree.
func TestStraggler(t *testing.T) {
	even := []float64{1e6, 1.003e6, 0.999e6, 1.001e6}
	slow := []float64{1e6, 1.003e6, 1.21e6, 1.001e6}
	for name, test := range map[string]struct {
		base, head model.Session
		want       string
		too        bool
	}{
		"even":                        {jobs(0, even, 1, 1, 1), jobs(1, even, 1, 1, 1), "", false},
		"jobs that differ as a whole": {jobs(0, even, 1, 1.05, 0.9), jobs(1, even, 1.1, 1, 1.2), "", false},
		"one rank is slow":            {jobs(0, even, 1, 1, 1), jobs(1, slow, 1, 1, 1), "rank 2", false},
		"it was before":               {jobs(0, slow, 1, 1, 1), jobs(1, slow, 1, 1, 1), "rank 2", true},
		"one job":                     {jobs(0, even, 1, 1, 1), jobs(1, slow, 1), "", false},
		"two ranks":                   {jobs(0, even[:2], 1, 1), jobs(1, []float64{1.1e6, 1e6}, 1, 1), "rank 0", false},
		"under the limit": {jobs(0, even, 1, 1, 1), jobs(1, []float64{1e6, 1e6, 1.02e6}, 1, 1, 1), "",
			false},
	} {
		r := compareSides([]model.Session{test.base}, []model.Session{test.head}, thresholds.Default())
		got, too := "", false
		if x := r.Ranks.Straggler; x != nil {
			got, too = x.Rank, x.Too
		}
		if got != test.want || too != test.too {
			t.Errorf("%s: %q %v, want %q %v", name, got, too, test.want, test.too)
		}
	}
	// Without ranks there are none.
	if r := compareSides([]model.Session{quiet().session()}, []model.Session{quiet().session()},
		thresholds.Default()); r.Ranks != nil {
		t.Errorf("ranks %+v", r.Ranks)
	}
}

// Unchanged jobs have no straggler: of 2000 at most as many as the error of a gate allows.
func TestStragglerAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 13)).NormFloat64
	alarms, found := 0, 0
	const gates = 2000
	for range gates {
		draw := func(slow float64) model.Session {
			s := quiet().with(func(p *program) { p.runs = 3 }).session()
			for i := range 8 {
				values := make(model.Values, 3)
				for j := range values {
					values[j] = 1e6 * math.Exp(0.015*random())
					if i == 5 {
						values[j] *= slow
					}
				}
				s.Series = append(s.Series, model.Series{Subject: rank(i), Metric: measure.GPUTime, Values: values})
			}
			s.SortSeries()
			return s
		}
		policy := thresholds.Default()
		// noise alone decides
		policy.Rules = []thresholds.Rule{{Metric: "imbalance", Max: new(float64), Where: "x.toml:1"}}
		if x := ranksOf(draw(1), policy); x.Straggler != nil {
			alarms++
		}
		if x := ranksOf(draw(1.1), policy); x.Straggler != nil && x.Straggler.Rank == "rank 5" {
			found++
		}
	}
	t.Logf("%d of %d unchanged jobs of eight ranks name a straggler; 10 %% is found in %d", alarms, gates, found)
	if alarms > gates/50 || found < gates*95/100 {
		t.Errorf("%d alarms and %d found of %d", alarms, found, gates)
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(values), math.IsNaN)))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
