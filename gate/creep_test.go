package gate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// history is a program that is measured again and again, a day apart.
type history struct {
	kernels   int
	sessionSD float64 // of each session
	hosts     int     // it is measured on one of these at random; 0 for always the same
	hostSD    float64 // of each host
	runSD     float64
	runs      int
}

// sessions are n of them. Each kernel in slow is slower by drift with every session.
func (h history) sessions(r *rand.Rand, n int, drift float64, slow ...int) []measure.Session {
	shifts := map[[2]int]float64{}
	var out []measure.Session
	for day := range n {
		host := 0
		if h.hosts > 0 {
			host = r.IntN(h.hosts)
		}
		p := program{sd: h.runSD, runs: h.runs, host: fmt.Sprint("GPU-", host), start: noon.AddDate(0, 0, day), step: "step", seed: r.Uint64()}
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

// crept is what Creep says of the last session, by key.
func crept(sessions []measure.Session, policy *thresholds.Policy) map[string]gate.Remark {
	out := map[string]gate.Remark{}
	for _, x := range gate.Creep(sessions[:len(sessions)-1], sessions[len(sessions)-1:], policy) {
		out[x.Key] = x
	}
	return out
}

// A gate of 1 % that takes each state as its next base never notices ten times +0.9 %. The anchor does, and the sum of the
// steps before it.
func TestCreepThatNoGateSees(t *testing.T) {
	t.Parallel()
	const series, merges = 60, 10
	policy := thresholds.Default()
	policy.Threshold = 0.01
	r := rand.New(rand.NewPCG(3, 5))
	passed, anchor, sums := 0, 0, 0
	for range series {
		s := history{kernels: 5, sessionSD: 0.002, runSD: 0.0015, runs: 5}.sessions(r, merges+1, 0.009, 0)
		all, seen, summed := true, false, false
		for i := 1; i <= merges; i++ {
			all = all && gate.Evaluate(s[i-1:i], s[i:i+1], policy).Verdict == gate.Pass
			said := crept(s[:i+1], policy)
			seen = seen || said["crept"].Key != ""
			summed = summed || said["creeping"].Key != ""
		}
		if all {
			passed++
		}
		if seen {
			anchor++
		}
		if summed {
			sums++
		}
	}
	t.Logf("of %d series %d pass all %d gates; the anchor sees %d, the CUSUM %d before it", series, passed, merges, anchor, sums)
	if passed < series*9/10 || anchor < series {
		t.Errorf("of %d series %d pass all gates, the anchor sees %d", series, passed, anchor)
	}
}

// after is in how many sessions beyond the first creep is seen on average, and in how many of n series within most.
func after(h history, policy *thresholds.Policy, n, most int, drift float64, slow ...int) (mean float64, seen int) {
	r := rand.New(rand.NewPCG(7, 11))
	for range n {
		s := h.sessions(r, most+1, drift, slow...)
		for i := 2; i <= most; i++ {
			if len(crept(s[:i+1], policy)) > 0 {
				mean += float64(i)
				seen++
				break
			}
		}
	}
	return mean / float64(seen), seen
}

// A drift far below the limit a step is seen, the sooner the less sessions differ.
func TestCreepIsSeen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		h     history
		prior float64
		drift float64
		slow  []int
		most  float64 // sessions
	}{
		{"one kernel, one kind of host", history{kernels: 7, sessionSD: 0.002, runSD: 0.0015, runs: 5}, 0.002, 0.005, []int{0}, 4},
		{"all kernels, one kind of host", history{kernels: 7, sessionSD: 0.002, runSD: 0.0015, runs: 5}, 0.002, 0.005, []int{0, 1, 2, 3, 4, 5, 6}, 3},
		{"one kernel, one host", history{kernels: 7, sessionSD: 0.002, runSD: 0.0015, runs: 5}, 0.005, 0.005, []int{0}, 8},
		{"one kernel, any host", history{kernels: 7, sessionSD: 0.002, hosts: 100, hostSD: 0.005, runSD: 0.0015, runs: 5}, 0.005, 0.005, []int{0}, 10},
		{"all kernels, any host", history{kernels: 7, sessionSD: 0.002, hosts: 100, hostSD: 0.008, runSD: 0.0015, runs: 5}, 0.005, 0.005, []int{0, 1, 2, 3, 4, 5, 6}, 10},
	} {
		policy := thresholds.Default()
		policy.SessionSD = tt.prior
		mean, seen := after(tt.h, policy, 40, 14, tt.drift, tt.slow...)
		t.Logf("%s: seen in %d of 40, after %.1f sessions", tt.name, seen, mean)
		if seen < 40 || mean > tt.most {
			t.Errorf("%s: seen in %d of 40 after %.1f sessions", tt.name, seen, mean)
		}
	}
}

// Unchanged code does not creep, whatever the hosts.
func TestCreepOfNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		h     history
		prior float64
	}{
		{"one host", history{kernels: 7, sessionSD: 0.002, runSD: 0.0015, runs: 5}, 0.005},
		{"any host", history{kernels: 7, hosts: 100, hostSD: 0.005, sessionSD: 0.001, runSD: 0.0015, runs: 5}, 0.005},
		{"two hosts", history{kernels: 7, hosts: 2, hostSD: 0.008, sessionSD: 0.001, runSD: 0.0015, runs: 3}, 0.005},
		{"one kind of host", history{kernels: 7, hosts: 100, hostSD: 0.001, sessionSD: 0.001, runSD: 0.002, runs: 3}, 0.002},
	} {
		policy := thresholds.Default()
		policy.Threshold, policy.SessionSD = 0.01, tt.prior
		r := rand.New(rand.NewPCG(13, 17))
		const series = 1000
		anchor, sums := 0, 0
		for range series {
			said := crept(tt.h.sessions(r, 3+r.IntN(9), 0), policy)
			if said["crept"].Key != "" {
				anchor++
			}
			if said["creeping"].Key != "" {
				sums++
			}
		}
		t.Logf("%s: of %d unchanged series the anchor calls %d, the CUSUM %d", tt.name, series, anchor, sums)
		if anchor+sums > 0 {
			t.Errorf("%s: of %d unchanged series the anchor calls %d, the CUSUM %d", tt.name, series, anchor, sums)
		}
	}
}

// What is said, and when nothing is.
func TestCreepSays(t *testing.T) {
	policy := thresholds.Default()
	h := history{kernels: 5, sessionSD: 1e-5, runSD: 0.001, runs: 5}
	series := func(n int, drift float64, slow ...int) []measure.Session {
		return h.sessions(rand.New(rand.NewPCG(1, 2)), n, drift, slow...)
	}
	s := series(7, 0.0075, 1, 3)
	x, ok := crept(s, policy)["crept"]
	if !ok {
		t.Fatal("nothing crept")
	}
	change, _ := x.Args["change"].(gate.Number)
	low, _ := x.Args["low"].(gate.Number)
	high, _ := x.Args["high"].(gate.Number)
	if x.Args["since"] != "2026-03-01" || x.Args["commit"] != "commit0" || x.Args["sessions"] != gate.Number(6) || x.Args["limit"] != gate.Number(0.03) ||
		math.Abs(float64(change)-0.0459) > 0.002 || !(low > 0.02 && low < change && change < high && high < 0.07) ||
		len(x.Args["also"].([]string)) != 1 {
		t.Errorf("%v", x.Args)
	}

	jump := append(series(6, 0), series(7, 0.01, 1)[6])
	sameHour := slices.Clone(s[:3])
	for i := range sameHour {
		sameHour[i].Start = noon.Add(time.Duration(i) * time.Minute)
	}
	ignored, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nkernel = \"k*\"\nseverity = \"ignore\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		s      []measure.Session
		policy *thresholds.Policy
	}{
		{"one session", []measure.Session{s[0], s[6]}, policy},
		{"no session", s[6:], policy},
		{"unchanged", series(9, 0), policy},
		{"faster and faster", series(9, -0.009, 0, 1), policy},
		{"a step of the head alone", jump, policy},
		{"recorded again within the hour", sameHour, policy},
		{"ignored", s, ignored},
	} {
		if said := crept(tt.s, tt.policy); len(said) > 0 {
			t.Errorf("%s: %v", tt.name, said)
		}
	}
	other := slices.Clone(s)
	other[6].GPU = "NVIDIA H100"
	if said := crept(other, policy); len(said) > 0 {
		t.Errorf("another GPU: %v", said)
	}
	if said := crept(append(slices.Clone(s[:3]), other[6], s[4], s[5], s[6]), policy); len(said) != 1 {
		t.Errorf("a session of another GPU among the others: %v", said)
	}
}
