package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// past is a program that is measured again and again, a day apart.
type past struct {
	kernels   int
	sessionSD float64 // of each session
	hosts     int     // it is measured on one of these at random; 0 for always the same
	hostSD    float64 // of each host
	runSD     float64
	runs      int
}

// sessions are n of them, a day apart. Each kernel in slow is slower by drift with every session.
func (h past) sessions(r *rand.Rand, n int, drift float64, slow ...int) []model.Session {
	shifts := map[[2]int]float64{}
	var out []model.Session
	for day := range n {
		host := 0
		if h.hosts > 0 {
			host = r.IntN(h.hosts)
		}
		p := program{sd: h.runSD, runs: h.runs, host: fmt.Sprint("GPU-", host), start: noon.AddDate(0, 0, day),
			step: "step", seed: r.Uint64()}
		for k := range h.kernels {
			at := [2]int{host, k}
			if _, ok := shifts[at]; !ok {
				shifts[at] = h.hostSD * r.NormFloat64()
			}
			change := shifts[at] + h.sessionSD*r.NormFloat64()
			if slices.Contains(slow, k) {
				change += float64(day) * math.Log1p(drift)
			}
			p.kernels = append(p.kernels, madeUp{fmt.Sprint("k", k), 100000 * math.Exp(change), 1, "step", 1})
		}
		s := p.session()
		s.Commit = fmt.Sprint("commit", day)
		out = append(out, s)
	}
	return out
}

// driftOf holds the remarks of Drift on the last session, by key.
func driftOf(sessions []model.Session, policy *thresholds.Policy) map[string]result.Remark {
	out := map[string]result.Remark{}
	drifts, _ := decide.Drift(sessions[:len(sessions)-1], sessions[:len(sessions)-1], sessions[len(sessions)-1:],
		policy.For(""))
	for _, x := range drifts {
		out[x.Key] = x
	}
	return out
}

// A gate of 1 % that holds each merge against the newest state alone never notices ten times +0.5 %. Against several
// recorded states it doubts: most runs lie beyond the limit and beyond every run before. The anchor sees it in all of
// them and says by how much, and where the limit is too wide for the anchor the sum of the steps does.
func TestDriftThatNoGateSees(t *testing.T) {
	t.Parallel()
	const merges = 10
	tries := sample(120)
	policy := thresholds.Default()
	policy.Threshold = 0.01
	wide := thresholds.Default()
	wide.Threshold = 0.5
	r := rand.New(rand.NewPCG(3, 5))
	pass := func(base []model.Session, head model.Session) bool {
		return compareSides(base, []model.Session{head}, policy).Verdict == result.Pass
	}
	replaced, recorded, anchor, sums := 0, 0, 0, 0
	for range tries {
		s := past{kernels: 5, sessionSD: 0.001, runSD: 0.0015, runs: 5}.sessions(r, merges+1, 0.005, 0)
		base := s[:1:1]
		one, all, seen, summed := true, true, false, false
		for i := 1; i <= merges; i++ {
			one, all = one && pass(s[i-1:i], s[i]), all && pass(base, s[i])
			history := append(slices.Clone(base), s[i])
			seen = seen || driftOf(history, policy)["drifted"].Key != ""
			summed = summed || driftOf(history, wide)["drifting"].Key != ""
			base = append(base, s[i])
			base = base[max(0, len(base)-baseline.Keep):]
		}
		for count, yes := range map[*int]bool{&replaced: one, &recorded: all, &anchor: seen, &sums: summed} {
			if yes {
				*count++
			}
		}
	}
	said := fmt.Sprintf("of %d series %d pass all %d gates with a record after each, %d with record --replace; the "+
		"anchor sees %d, the CUSUM %d", tries, recorded, merges, replaced, anchor, sums)
	if t.Log(said); recorded > tries/4 || replaced < tries*9/10 || anchor < tries || sums < tries {
		t.Error(said)
	}
}

// TestDriftOfRenamed follows a kernel through two renames, the second of which an accepted part has first.
func TestDriftOfRenamed(t *testing.T) {
	t.Parallel()
	policy := thresholds.Default()
	policy.Threshold = 0.01
	for _, names := range [][]string{{"k0", "k0", "k0"}, {"was", "was", "k0"}, {"a", "b", "k0"},
		{"k0", "other", "k0"}} {
		r := rand.New(rand.NewPCG(3, 5))
		s := past{kernels: 5, sessionSD: 0.001, runSD: 0.0015, runs: 5}.sessions(r, 9, 0.005, 0)
		for i := range s {
			for j := range s[i].Series {
				if x := &s[i].Series[j]; x.Subject.Name == "k0(float*)" {
					x.Subject.Name = names[i/3] + "(float*)"
				}
			}
			s[i].SortSeries()
		}
		accepted := clone(s[6])
		accepted.Accepted, accepted.Start = true, s[5].Start.Add(time.Hour)
		other := func(x model.Series) bool { return x.Subject.Short() != "k0" }
		accepted.Series = slices.DeleteFunc(accepted.Series, other)
		s = slices.Insert(s, 6, accepted)
		if got := driftOf(s, policy)["drifted"]; !strings.Contains(got.Sentence, "k0 time drifted +4") {
			t.Errorf("%v: %q", names, got.Sentence)
		}
	}
}

// series makes n sessions of a program that gets slower by drift with every one.
type series func(r *rand.Rand, n int, drift float64) []model.Session

func (h past) series(slow ...int) series {
	return func(r *rand.Rand, n int, drift float64) []model.Session { return h.sessions(r, n, drift, slow...) }
}

// recorded draws five runs of one of the hosts at random for each session; every kernel becomes slower.
func recorded(hosts []host) series {
	return func(r *rand.Rand, n int, drift float64) []model.Session {
		var out []model.Session
		for day := range n {
			h := &hosts[r.IntN(len(hosts))]
			all := len(h.session.Runs)
			s := draw{host: h, runs: r.Perm(all)[:min(5, all)]}.session()
			s.Start = noon.AddDate(0, 0, day)
			out = append(out, slowed(s, math.Pow(1+drift, float64(day))))
		}
		return out
	}
}

// slowed is a session with all times so many times as long.
func slowed(s model.Session, factor float64) model.Session {
	s.Series = slices.Clone(s.Series)
	for k, x := range s.Series {
		if x.Metric.Unit == "ns" {
			s.Series[k].Values = slices.Clone(x.Values)
			for i := range x.Values {
				s.Series[k].Values[i] *= factor
			}
		}
	}
	return s
}

// drifting are programs, how much their sessions are expected to differ, and after how many sessions beyond the first,
// on average, +0.5 % a session is to be seen.
func drifting(tb testing.TB) []struct {
	name  string
	made  series
	prior float64
	most  float64
} {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	one := past{kernels: 7, sessionSD: 0.002, runSD: 0.0015, runs: 5}
	kind, any := one, one
	kind.sessionSD, kind.hosts, kind.hostSD = 0.001, 100, 0.001
	any.hosts, any.hostSD = 100, 0.005
	wide, two := any, any
	wide.hostSD = 0.008
	two.hosts, two.hostSD, two.runs = 2, 0.008, 3
	recordings := loadHosts(tb, "kernels", "a", "b", "e", "f", "g")
	fast := []host{recordings[0], recordings[1], recordings[3]}
	return []struct {
		name  string
		made  series
		prior float64
		most  float64
	}{
		{"one kernel, hosts of one kind", kind.series(0), 0.002, 4.5},
		{"all kernels, hosts of one kind", kind.series(all...), 0.002, 4},
		{"one kernel, one host", one.series(0), 0.005, 6},
		{"all kernels, one host", one.series(all...), 0.005, 5},
		{"one kernel, hosts of any kind", any.series(0), 0.005, 9},
		{"all kernels, hosts of any kind", wide.series(all...), 0.005, 9},
		{"one kernel, two hosts", two.series(0), 0.005, 9},
		{"recordings of three hosts of one kind", recorded(fast), 0.002, 3.5},
		{"recordings of five hosts of two kinds", recorded(recordings), 0.005, 9},
		{"recordings of a PyTorch program on four hosts", recorded(loadHosts(tb, "transformer", "b", "e", "f", "g")),
			0.005, 9},
	}
}

// seen is in how many of n series a drift is seen, and after how many sessions on average.
func (made series) seen(policy *thresholds.Policy, n int) (seen int, mean float64) {
	r := rand.New(rand.NewPCG(7, 11))
	for range n {
		s := made(r, 15, 0.005)
		for i := 2; i < len(s); i++ {
			if len(driftOf(s[:i+1], policy)) > 0 {
				mean += float64(i)
				seen++
				break
			}
		}
	}
	return seen, mean / float64(seen)
}

// unchanged counts in how many of n series of 3 to 11 sessions without a change the anchor and the CUSUM see one.
func (made series) unchanged(policy *thresholds.Policy, n int) (anchor, sums int) {
	r := rand.New(rand.NewPCG(13, 17))
	for range n {
		said := driftOf(made(r, 3+r.IntN(9), 0), policy)
		if said["drifted"].Key != "" {
			anchor++
		}
		if said["drifting"].Key != "" {
			sums++
		}
	}
	return anchor, sums
}

// A drift far below the limit a step is detected, the sooner the less sessions differ, and none without a change.
func TestDriftIsSeen(t *testing.T) {
	t.Parallel()
	n := sample(100)
	for _, c := range drifting(t) {
		policy := thresholds.Default()
		policy.Threshold, policy.SessionSD = 0.01, c.prior
		if seen, mean := c.made.seen(policy, n); seen < n || mean > c.most {
			t.Errorf("%s: +0.5 %% a session is seen in %d of %d series after %.1f sessions", c.name, seen, n, mean)
		}
		if anchor, sums := c.made.unchanged(policy, n); anchor+sums > 0 {
			t.Errorf("%s: of %d unchanged series the anchor calls %d, the CUSUM %d", c.name, n, anchor, sums)
		}
	}
}

// BenchmarkDrift prints after how many sessions +0.5 % a session is seen at a limit of 1 %, and how often nothing is.
func BenchmarkDrift(b *testing.B) {
	for _, c := range drifting(b) {
		b.Run(c.name, func(b *testing.B) {
			const n = 4000
			policy := thresholds.Default()
			policy.Threshold, policy.SessionSD = 0.01, c.prior
			for b.Loop() {
				seen, mean := c.made.seen(policy, n/40)
				anchor, sums := c.made.unchanged(policy, n)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(mean, "sessions")
				b.ReportMetric(100*float64(seen)/(n/40), "seen-%")
				b.ReportMetric(float64(anchor), "false-anchor")
				b.ReportMetric(float64(sums), "false-cusum")
			}
		})
	}
}

// TestDriftSays wants the remarks on drift, and none without one.
func TestDriftSays(t *testing.T) {
	policy := thresholds.Default()
	h := past{kernels: 5, sessionSD: 1e-5, runSD: 0.001, runs: 5}
	series := func(n int, drift float64, slow ...int) []model.Session {
		return h.sessions(rand.New(rand.NewPCG(1, 2)), n, drift, slow...)
	}
	s := series(7, 0.0075, 1, 3)
	x, ok := driftOf(s, policy)["drifted"]
	if !ok {
		t.Fatal("nothing drifted")
	}
	change, _ := x.Args["change"].(result.Number)
	low, _ := x.Args["low"].(result.Number)
	high, _ := x.Args["high"].(result.Number)
	if x.Args["since"] != "2026-03-01" || x.Args["commit"] != "commit0" || x.Args["sessions"] != result.Number(6) ||
		x.Args["limit"] != result.Number(0.03) || math.Abs(float64(change)-0.0459) > 0.002 ||
		!(low > 0.02 && low < change && change < high && high < 0.07) || len(x.Args["also"].([]string)) != 1 {
		t.Errorf("%v", x.Args)
	}

	jump := append(series(6, 0), series(7, 0.01, 1)[6])
	sameHour := slices.Clone(s[:3])
	for i := range sameHour {
		sameHour[i].Start = noon.Add(time.Duration(i) * time.Minute)
	}
	restless := series(6, 0)
	for i, up := range []bool{false, false, true, false, true, true} {
		if up {
			restless[i] = slowed(restless[i], 1.04)
		}
	}
	ignored, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nseverity = \"ignore\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		s      []model.Session
		policy *thresholds.Policy
	}{
		{"one session", []model.Session{s[0], s[6]}, policy},
		{"no session", s[6:], policy},
		{"unchanged", series(9, 0), policy},
		{"faster and faster", series(9, -0.009, 0, 1), policy},
		{"a step of the head alone", jump, policy},
		{"sessions that differ more than expected", restless, policy},
		{"recorded again within the hour", sameHour, policy},
		{"ignored", s, ignored},
	} {
		if said := driftOf(tt.s, tt.policy); len(said) > 0 {
			t.Errorf("%s: %v", tt.name, said)
		}
	}
	other := slices.Clone(s)
	other[6].GPU = "NVIDIA H100"
	if said := driftOf(other, policy); len(said) > 0 {
		t.Errorf("another GPU: %v", said)
	}
	if said := driftOf(append(slices.Clone(s[:3]), other[6], s[4], s[5], s[6]), policy); len(said) != 1 {
		t.Errorf("a session of another GPU among the others: %v", said)
	}
}

// TestUnjudgedDrift holds that a rule on drift judges a small kernel that it names, and that a report says of which
// kernels it cannot: ones of another name, of one run a session, or without an anchor.
func TestUnjudgedDrift(t *testing.T) {
	t.Parallel()
	rename := func(s []model.Session) {
		for i := range s[len(s)-1].Series {
			if x := &s[len(s)-1].Series[i].Subject; x.Name == "k0(float*)" {
				x.Name = "other(float*)"
			}
		}
	}
	for name, x := range map[string]struct {
		kernel        string
		edit          func(s []model.Session)
		anchor        int // the sessions since the anchor begin there
		drifts, words string
	}{
		"judged": {"k0", func([]model.Session) {}, 0, "over-drift", ""},
		"small": {"k0", func(s []model.Session) {
			for i := range s {
				for _, y := range s[i].Series {
					for run := range y.Values {
						if y.Subject.Name == "k0(float*)" && y.Metric.Unit == "ns" {
							y.Values[run] *= 0.01
						}
					}
				}
			}
		}, 0, "over-drift", ""},
		"renamed": {"k*", rename, 0, "", "limits the drift of k0, which is not judged"},
		"one run": {"k0", func(s []model.Session) {
			for i := range s {
				s[i] = some(s[i], []int{0})
			}
		}, 0, "", "limits the drift of k0, which is not judged"},
		"no anchor": {"k0", func([]model.Session) {}, 8, "", "limits drift, which is not judged"},
	} {
		rule := fmt.Sprintf("[[rule]]\nkernel = %q\ndrift = \"5%%\"\n", x.kernel)
		policy, err := thresholds.Parse("x.toml", []byte(rule))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(2, 5))
		s := past{kernels: 5, sessionSD: 0.001, runSD: 0.0015, runs: 5}.sessions(r, 9, 0.01, 0)
		x.edit(s)
		drifts, idle := decide.Drift(s[3:8:8], s[x.anchor:8:8], s[8:], policy.For(""))
		got, said := "", ""
		for _, d := range append(drifts, idle...) {
			if d.Key == "over-drift" {
				got = d.Key
			} else if d.Key == "rule-idle" {
				said += d.Sentence
			}
		}
		if got != x.drifts || !strings.Contains(said, x.words) || (x.words == "") != (said == "") {
			t.Errorf("%s: %q, want %q; %q, want %q", name, got, x.drifts, said, x.words)
		}
	}
}
