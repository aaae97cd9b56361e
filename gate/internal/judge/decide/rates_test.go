package decide_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// This file measures how often a rule cries wolf and how often it finds what is there, on recordings of unchanged
// programs: runs are drawn at random for both sides of a gate, again and again; an effect is put in by multiplying a
// kernel's times on the head's side. The same draws judge nsgate's rule and those that others use.
//
//	go test -run=NONE -bench=Verdict -benchtime=1x ./gate/internal/judge/decide

const recordings = "../../../../testdata/h200"

// host is the runs of one program on one GPU host, in one session.
type host struct {
	name     string
	session  model.Session
	launches []map[string][]float64 // by run and kernel; nil where only samples were kept
}

func loadSession(tb testing.TB, name string) model.Session {
	tb.Helper()
	sessions, err := baseline.Read(filepath.Join(recordings, "sessions", name, "nvidia-h200"))
	if err != nil {
		tb.Fatal(err)
	}
	return sessions[0]
}

func loadHosts(tb testing.TB, program string, names ...string) []host {
	tb.Helper()
	var out []host
	for _, name := range names {
		h := host{name: name, session: loadSession(tb, program+"-"+name)}
		if f, err := os.Open(filepath.Join(recordings, "launches", program+"-"+name+".csv")); err == nil {
			rows, err := csv.NewReader(f).ReadAll()
			f.Close()
			if err != nil {
				tb.Fatal(err)
			}
			h.launches = make([]map[string][]float64, len(h.session.Runs))
			for _, row := range rows[1:] {
				run, _ := strconv.Atoi(row[0])
				if h.launches[run] == nil {
					h.launches[run] = map[string][]float64{}
				}
				for _, ns := range strings.Fields(row[2]) {
					v, err := strconv.ParseFloat(ns, 64)
					if err != nil {
						tb.Fatal(err)
					}
					h.launches[run][row[1]] = append(h.launches[run][row[1]], v)
				}
			}
		}
		out = append(out, h)
	}
	return out
}

// draw is some runs of a host, as one side of a gate.
type draw struct {
	host   *host
	runs   []int
	kernel measure.Subject // that is made slower
	effect float64         // by this much; 0 for none
}

// session is the draw as nsgate sees it.
func (d draw) session() model.Session {
	s := d.host.session
	s.Runs, s.Series = nil, nil
	for _, i := range d.runs {
		s.Runs = append(s.Runs, d.host.session.Runs[i])
	}
	extra, role := make([]float64, len(d.runs)), ""
	for _, x := range d.host.session.Series {
		var values model.Values
		for _, i := range d.runs {
			values = append(values, x.Values[i])
		}
		if d.effect != 0 && x.Subject == d.kernel && x.Metric.Unit == "ns" {
			role = x.Role
			for i := range values {
				if x.Metric == measure.Total {
					extra[i] = values[i] * d.effect
				}
				values[i] *= 1 + d.effect
			}
		}
		x.Values = values
		if !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }) {
			continue
		}
		s.Series = append(s.Series, x)
	}
	for i, x := range s.Series {
		around := x.Subject == measure.Workload || x.Subject.Scope == measure.ScopeRange &&
			slices.Contains(strings.Split(role, "/"), x.Subject.Name)
		step := x.Subject == measure.Workload && (x.Metric == measure.StepTime || x.Metric == measure.MeanStep)
		if d.effect != 0 && (step || around && x.Metric == measure.GPUTime) {
			for j := range x.Values {
				s.Series[i].Values[j] += extra[j]
			}
		}
	}
	return s
}

// times are one value a run and kernel (the median launch), launches all launches of all runs.
func (d draw) times(kernel string) []float64 {
	var out []float64
	for _, run := range d.runs {
		out = append(out, stats.Median(d.host.launches[run][kernel])*d.factor(kernel))
	}
	return out
}

func (d draw) launches(kernel string) []float64 {
	var out []float64
	for _, run := range d.runs {
		for _, v := range d.host.launches[run][kernel] {
			out = append(out, v*d.factor(kernel))
		}
	}
	return out
}

func (d draw) factor(kernel string) float64 {
	if d.effect != 0 && d.kernel.Short() == kernel {
		return 1 + d.effect
	}
	return 1
}

// rule calls kernels slower. It returns their short names; undecided says that it could not answer.
type rule struct {
	name   string
	runs   int // a side
	slower func(base []draw, head draw) (kernels []string, undecided bool)
}

// byKernel makes a rule of a test that looks at one kernel at a time.
func byKernel(name string, runs int, slower func(base, head draw, kernel string) bool) rule {
	return rule{name, runs, func(base []draw, head draw) ([]string, bool) {
		var out []string
		for _, kernel := range slices.Sorted(maps.Keys(head.host.launches[0])) {
			if slower(base[0], head, kernel) {
				out = append(out, kernel)
			}
		}
		return out, false
	}}
}

// limited is the default policy with another limit of kernels.
func limited(threshold float64) *thresholds.Policy {
	policy := thresholds.Default()
	policy.Threshold = threshold
	return policy
}

func nsgate(runs int, threshold float64) rule {
	policy := limited(threshold)
	return rule{fmt.Sprintf("nsgate, %g %%", 100*threshold), runs, func(base []draw, head draw) ([]string, bool) {
		var sessions []model.Session
		for _, b := range base {
			sessions = append(sessions, b.session())
		}
		r := compareSides(sessions, []model.Session{head.session()}, policy)
		var out []string
		for _, f := range r.Findings {
			// Any metric of any kernel, range or the whole workload that is called worse counts, gating or not.
			if f.Outcome == result.Slower && !slices.Contains(out, f.Kernel) {
				out = append(out, f.Kernel)
			}
		}
		return out, r.Undecided
	}}
}

// others are rules in use elsewhere.
func others() []rule {
	return []rule{
		byKernel("Mann-Whitney 0.05 on pooled launches", 5, func(base, head draw, kernel string) bool {
			b, h := base.launches(kernel), head.launches(kernel)
			return mannWhitney(b, h) < 0.05 && stats.Median(h) > stats.Median(b)
		}),
		byKernel("Mann-Whitney 0.05 on runs", 5, func(base, head draw, kernel string) bool {
			b, h := base.times(kernel), head.times(kernel)
			return mannWhitney(b, h) < 0.05 && stats.Median(h) > stats.Median(b)
		}),
		byKernel("Welch 0.01 inside one capture", 1, func(base, head draw, kernel string) bool {
			b, h := base.launches(kernel), head.launches(kernel)
			v := stats.Satterthwaite([]float64{1 / float64(len(b)), 1 / float64(len(h))},
				[]stats.Variance{stats.SampleVariance(b), stats.SampleVariance(h)})
			d := stat.Mean(h, nil) - stat.Mean(b, nil)
			return d > 0 && stats.TwoSided(d, v) < 0.01
		}),
		byKernel("one capture a side, +5 %", 1, func(base, head draw, kernel string) bool {
			return head.times(kernel)[0] > 1.05*base.times(kernel)[0]
		}),
		byKernel("medians +3 % and quartiles apart", 7, func(base, head draw, kernel string) bool {
			b, h := base.times(kernel), head.times(kernel)
			slices.Sort(b)
			slices.Sort(h)
			return stats.Median(h) > 1.03*stats.Median(b) && h[len(h)/4] > b[len(b)-1-len(b)/4]
		}),
	}
}

// mannWhitney is the two-sided p-value of the rank sum test: exact for small samples without ties (Mann and Whitney
// 1947), else the normal approximation with corrections for ties and continuity.
func mannWhitney(x, y []float64) float64 {
	type value struct {
		v     float64
		first bool
	}
	all := make([]value, 0, len(x)+len(y))
	for _, v := range x {
		all = append(all, value{v, true})
	}
	for _, v := range y {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(a, b value) int {
		switch {
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		}
		return 0
	})
	var rankSum, ties float64
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		for k := i; k < j; k++ {
			if all[k].first {
				rankSum += float64(i+j+1) / 2
			}
		}
		i = j
	}
	n, m := float64(len(x)), float64(len(y))
	u := rankSum - n*(n+1)/2
	if ties == 0 && len(x)*len(y) <= 100 {
		// counts[k][s]: subsets of size k with rank sum s
		total := len(x) + len(y)
		size := total*(total+1)/2 + 1
		counts := make([][]float64, len(x)+1)
		for k := range counts {
			counts[k] = make([]float64, size)
		}
		counts[0][0] = 1
		for r := 1; r <= total; r++ {
			for k := min(r, len(x)); k >= 1; k-- {
				for s := size - 1; s >= r; s-- {
					counts[k][s] += counts[k-1][s-r]
				}
			}
		}
		var below, above, whole float64
		for s, c := range counts[len(x)] {
			whole += c
			if float64(s) <= rankSum {
				below += c
			}
			if float64(s) >= rankSum {
				above += c
			}
		}
		return math.Min(1, 2*math.Min(below, above)/whole)
	}
	sd := math.Sqrt(n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1))))
	if sd == 0 {
		return 1
	}
	z := (math.Abs(u-n*m/2) - 0.5) / sd
	return math.Min(1, 2*distuv.UnitNormal.Survival(z))
}

// R: wilcox.test(c(1.1, 2.2, 3.3, 4.4), c(2.5, 5.5, 6.6, 7.7, 8.8)) has p-value = 0.06349, exact.
// Of three against three apart: 2 of the 20 arrangements are as extreme.
func TestMannWhitney(t *testing.T) {
	if p := mannWhitney([]float64{1.1, 2.2, 3.3, 4.4}, []float64{2.5, 5.5, 6.6, 7.7, 8.8}); math.Abs(p-0.06349) > 1e-5 {
		t.Errorf("exact p = %v, want 0.06349", p)
	}
	if p := mannWhitney([]float64{1, 2, 3}, []float64{4, 5, 6}); math.Abs(p-0.1) > 1e-12 {
		t.Errorf("exact p = %v, want 0.1", p)
	}
}

// score is the result of a rule over many gates.
type score struct {
	gates, alarms, undecided int
	tried, found             map[float64]int
}

func newScore() *score { return &score{tried: map[float64]int{}, found: map[float64]int{}} }

// try draws one gate, judges the unchanged program and each effect on a random kernel of some weight.
func (s *score) try(r *rand.Rand, rule rule, base []draw, head draw, effects []float64) {
	slower, undecided := rule.slower(base, head)
	s.gates++
	if len(slower) > 0 {
		s.alarms++
	}
	if undecided {
		s.undecided++
	}
	kernels := heavy(head.host.session)
	for _, effect := range effects {
		head.kernel, head.effect = kernels[r.IntN(len(kernels))], effect
		slower, _ := rule.slower(base, head)
		s.tried[effect]++
		if slices.Contains(slower, head.kernel.Short()) {
			s.found[effect]++
		}
	}
}

// heavy lists the kernels with at least 5 % of GPU time.
func heavy(s model.Session) []measure.Subject {
	whole, _ := s.Find(measure.Workload, measure.GPUTime.Name)
	var out []measure.Subject
	for _, x := range s.Series {
		if x.Subject.Scope == measure.ScopeKernel && x.Metric == measure.Total && x.Values[0] >= 0.05*whole.Values[0] {
			out = append(out, x.Subject)
		}
	}
	return out
}

// within draws both sides from one host, disjoint.
func within(r *rand.Rand, hosts []host, rule rule, gates int, effects []float64) *score {
	s := newScore()
	for range gates {
		h := &hosts[r.IntN(len(hosts))]
		runs := r.Perm(len(h.session.Runs))
		n := min(rule.runs, len(runs)/2)
		s.try(r, rule, []draw{{host: h, runs: runs[:n]}}, draw{host: h, runs: runs[n : 2*n]}, effects)
	}
	return s
}

// across draws the base from some hosts and the head from another.
func across(r *rand.Rand, hosts []host, bases int, rule rule, gates int, effects []float64) *score {
	s := newScore()
	for range gates {
		order := r.Perm(len(hosts))
		side := func(i int) draw {
			h := &hosts[order[i]]
			return draw{host: h, runs: r.Perm(len(h.session.Runs))[:min(rule.runs, len(h.session.Runs))]}
		}
		var base []draw
		for i := range bases {
			base = append(base, side(i))
		}
		s.try(r, rule, base, side(bases), effects)
	}
	return s
}

func (s *score) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*float64(s.alarms)/float64(s.gates), "false-%")
	b.ReportMetric(100*float64(s.undecided)/float64(s.gates), "undecided-%")
	for _, e := range slices.Sorted(maps.Keys(s.tried)) {
		b.ReportMetric(100*float64(s.found[e])/float64(s.tried[e]), fmt.Sprintf("found+%g%%-%%", 100*e))
	}
	b.ReportMetric(float64(s.gates), "gates")
}

// BenchmarkVerdict is the table of the README.
func BenchmarkVerdict(b *testing.B) {
	kernels := loadHosts(b, "kernels", "a", "b", "e", "f", "g")
	transformer := loadHosts(b, "transformer", "b", "e", "f", "g")
	gates := sample(1000)
	effects := []float64{0.02, 0.03, 0.05}
	run := func(name string, measure func(r *rand.Rand) *score) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				measure(rand.New(rand.NewPCG(11, 13))).report(b)
			}
		})
	}
	rules := append(others(), nsgate(3, 0.01), nsgate(5, 0.005), nsgate(5, 0.01), nsgate(5, 0.03))
	for _, rule := range rules {
		effects := effects
		if strings.Contains(rule.name, "0.5") {
			effects = []float64{0.01}
		}
		run(fmt.Sprintf("kernels/one host/%s, %d runs", rule.name, rule.runs), func(r *rand.Rand) *score {
			return within(r, kernels, rule, gates, effects)
		})
	}
	for _, rule := range rules {
		run(fmt.Sprintf("kernels/another host/%s, %d runs", rule.name, rule.runs), func(r *rand.Rand) *score {
			return across(r, kernels, 1, rule, gates, effects)
		})
	}
	for bases := 1; bases <= 3; bases++ {
		for _, rule := range []rule{nsgate(5, 0.01), nsgate(5, 0.03)} {
			run(fmt.Sprintf("kernels/baseline of %d hosts/%s", bases, rule.name), func(r *rand.Rand) *score {
				return across(r, kernels, bases, rule, gates, effects)
			})
			run(fmt.Sprintf("transformer/baseline of %d hosts/%s", bases, rule.name), func(r *rand.Rand) *score {
				return across(r, transformer, bases, rule, gates/5, effects)
			})
		}
	}
	for _, rule := range []rule{nsgate(3, 0.01), nsgate(5, 0.01), nsgate(5, 0.03)} {
		run(fmt.Sprintf("transformer/one host/%s, %d runs", rule.name, rule.runs), func(r *rand.Rand) *score {
			return within(r, transformer[:1], rule, gates/5, effects)
		})
	}
}

// The rates that the README states, with room for chance, on fewer draws.
func TestVerdictRates(t *testing.T) {
	t.Parallel()
	kernels := loadHosts(t, "kernels", "a", "b", "e", "f", "g")
	transformer := loadHosts(t, "transformer", "b", "e", "f", "g")
	for _, c := range []struct {
		name   string
		score  func(*rand.Rand) *score
		alarms float64 // at most, a gate
		effect float64
		found  float64 // at least
	}{
		{"one host, 3 runs, 1 %", func(r *rand.Rand) *score {
			return within(r, kernels, nsgate(3, 0.01), sample(150), []float64{0.02})
		}, 0, 0.02, 0.98},
		{"one host, 5 runs, 0.5 %", func(r *rand.Rand) *score {
			return within(r, kernels, nsgate(5, 0.005), sample(150), []float64{0.01})
		}, 0, 0.01, 0.95},
		{"another host, 3 %", func(r *rand.Rand) *score {
			return across(r, kernels, 1, nsgate(5, 0.03), sample(150), []float64{0.05})
		}, 0.01, 0.05, 0.80},
		{"another host, 1 %", func(r *rand.Rand) *score {
			return across(r, kernels, 1, nsgate(5, 0.01), sample(150), []float64{0.05})
		}, 0.01, 0.05, 0.80},
		{"three hosts, 1 %", func(r *rand.Rand) *score {
			return across(r, kernels, 3, nsgate(5, 0.01), sample(150), []float64{0.05})
		}, 0.01, 0.05, 0.80},
		{"PyTorch, another host, 3 %", func(r *rand.Rand) *score {
			return across(r, transformer, 1, nsgate(3, 0.03), sample(30), []float64{0.05})
		}, 0.02, 0.05, 0},
		{"PyTorch, three hosts, 1 %", func(r *rand.Rand) *score {
			return across(r, transformer, 3, nsgate(3, 0.01), sample(30), []float64{0.05})
		}, 0.02, 0.05, 0},
	} {
		s := c.score(rand.New(rand.NewPCG(17, 19)))
		if got := float64(s.alarms) / float64(s.gates); got > c.alarms {
			t.Errorf("%s: %d false alarms in %d gates", c.name, s.alarms, s.gates)
		}
		if got := float64(s.found[c.effect]) / float64(s.tried[c.effect]); got < c.found {
			t.Errorf("%s: %v of the effects of %v found, want %v", c.name, got, c.effect, c.found)
		}
	}
}

// The slowdowns that were recorded, not put in afterwards: that kernel and no other.
func TestRecordedSlowdowns(t *testing.T) {
	base := loadHosts(t, "kernels", "a")
	for _, c := range []struct {
		recording, kernel string
		threshold         float64
	}{{"saxpy-105", "saxpy", 0.03}, {"saxpy-102", "saxpy", 0.01}, {"softmax-103", "softmax", 0.02}} {
		changed := host{session: loadSession(t, c.recording+"-a")}
		r := rand.New(rand.NewPCG(23, 29))
		for range sample(120) {
			b := draw{host: &base[0], runs: r.Perm(len(base[0].session.Runs))[:5]}
			h := draw{host: &changed, runs: r.Perm(len(changed.session.Runs))[:5]}
			slower, _ := nsgate(5, c.threshold).slower([]draw{b}, h)
			if !slices.Equal(slower, []string{c.kernel}) {
				t.Errorf("%s at %v: %v called slower, want %s alone", c.recording, c.threshold, slower, c.kernel)
			}
		}
	}
}

// The effect that a finding states as its MDE is found in about 80 % of gates: clearly less often when it is a fifth
// smaller, clearly more often when it is a fifth larger.
func TestStatedMDE(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		hosts     []host
		runs      int
		threshold float64
		across    bool
	}{
		{"kernels, 1 %", loadHosts(t, "kernels", "a", "b"), 5, 0.01, false},
		{"kernels, 3 runs, 0.2 %", loadHosts(t, "kernels", "a", "b"), 3, 0.002, false},
		{"PyTorch, 1 %", loadHosts(t, "transformer", "b"), 5, 0.01, false},
	} {
		policy := thresholds.Default()
		policy.Threshold = c.threshold
		r := rand.New(rand.NewPCG(31, 37))
		gates := sample(150)
		found := map[float64]int{}
		for range gates {
			h := &c.hosts[r.IntN(len(c.hosts))]
			order := r.Perm(len(h.session.Runs))
			base, head := draw{host: h, runs: order[:c.runs]}, draw{host: h, runs: order[c.runs : 2*c.runs]}
			kernels := heavy(h.session)
			head.kernel = kernels[r.IntN(len(kernels))]
			judge := func() result.Finding {
				report := compareSides([]model.Session{base.session()}, []model.Session{head.session()}, policy)
				i := slices.IndexFunc(report.Findings, func(f result.Finding) bool {
					return f.Subject() == head.kernel && f.Metric == measure.Time.Name
				})
				return report.Findings[i]
			}
			mde := float64(judge().MDE)
			for _, part := range []float64{0.8, 1, 1.2} {
				head.effect = part * mde
				if judge().Outcome == result.Slower {
					found[part]++
				}
			}
			head.effect = 0
		}
		t.Logf("%s: found %v of %d at 0.8, 1, 1.2 of the stated MDE", c.name, found, gates)
		if found[0.8] > gates*80/100 || found[1.2] < gates*80/100 {
			t.Errorf("%s: found %v of %d at 0.8, 1, 1.2 of the stated MDE", c.name, found, gates)
		}
	}
}
