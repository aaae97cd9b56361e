package decide_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// year is 50 accepted changes of one kernel of seven, a day apart, each slower by drift. first is the number of the
// first change detected against the anchor, 0 for none.
func (h past) year(r *rand.Rand, drift float64, policy *thresholds.Policy) (first int) {
	const changes = 50
	s := h.sessions(r, changes+1, drift, 0)
	for i := 1; i < len(s); i++ {
		s[i].Accepted = i < changes
		s[i].Series = slices.Clone(s[i].Series)
	}
	for i := 2; i <= changes; i++ {
		head := s[i : i+1]
		base := s[max(0, i-1):i] // what was accepted last is in effect
		drifts, _ := decide.Drift(base, s[:i], head, policy.For(""))
		for _, x := range drifts {
			if x.Key == "drifted" || x.Key == "over-drift" {
				return i
			}
		}
	}
	return 0
}

// years are programs, how far their hosts differ, and how much they drift with each of 50 changes.
var years = []struct {
	name  string
	of    past
	drift float64
}{
	{"one host, unchanged", past{kernels: 7, sessionSD: 0.002, runSD: 0.0015, runs: 5}, 0},
	{"one host, +0.1 % a change", past{kernels: 7, sessionSD: 0.002, runSD: 0.0015, runs: 5}, 0.001},
	{"one host, +0.9 % a change", past{kernels: 7, sessionSD: 0.002, runSD: 0.0015, runs: 5}, 0.009},
	{"six hosts, unchanged", past{kernels: 7, sessionSD: 0.002, hosts: 6, hostSD: 0.005, runSD: 0.0015, runs: 5}, 0},
	{"six hosts, +0.1 % a change", past{kernels: 7, sessionSD: 0.002, hosts: 6, hostSD: 0.005, runSD: 0.0015, runs: 5},
		0.001},
	{"six hosts, +0.9 % a change", past{kernels: 7, sessionSD: 0.002, hosts: 6, hostSD: 0.005, runSD: 0.0015, runs: 5},
		0.009},
}

// over counts the years of n with a detected drift, and averages the number of its first detected change.
func over(n int, of past, drift float64) (seen int, mean float64) {
	policy := thresholds.Default()
	policy.Threshold = 0.01
	r := rand.New(rand.NewPCG(19, 23))
	for range n {
		if first := of.year(r, drift, policy); first > 0 {
			seen++
			mean += float64(first)
		}
	}
	return seen, mean / float64(max(seen, 1))
}

// In a year of accepted changes that pass one by one, their sum is detected, and a difference between hosts is not.
func TestDriftYear(t *testing.T) {
	t.Parallel()
	for _, y := range years {
		if y.drift == 0.001 {
			continue // the benchmark takes its time
		}
		seen, mean := over(1, y.of, y.drift)
		if want := map[bool]int{true: 1}[y.drift > 0]; seen != want || mean > 12 {
			t.Errorf("%s: seen in %d of 1 years, by change %.0f", y.name, seen, mean)
		}
	}
}

// BenchmarkDriftYear prints the number of years with a detected drift, and its first detected change.
func BenchmarkDriftYear(b *testing.B) {
	for _, y := range years {
		b.Run(y.name, func(b *testing.B) {
			for b.Loop() {
				seen, mean := over(40, y.of, y.drift)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(seen), "of-40-years")
				b.ReportMetric(mean, "change")
			}
		})
	}
}

// A rule on drift fails a gate, however small the steps; a single accepted step that makes most of the change is no
// drift.
func TestDriftRule(t *testing.T) {
	t.Parallel()
	h := past{kernels: 5, sessionSD: 1e-5, runSD: 0.001, runs: 5}
	s := h.sessions(rand.New(rand.NewPCG(1, 2)), 6, 0)
	for i := range s {
		if i >= 2 {
			s[i] = slowed(s[i], 1.06)
		}
		s[i].Accepted = i > 0 && i < 5
	}
	head, trail, base := s[5:], s[:5], s[4:5]
	if said, idle := decide.Drift(base, trail, head, thresholds.Default().For("")); len(said)+len(idle) > 0 {
		t.Errorf("one accepted step: %v %v", said, idle)
	}
	policy, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nkernel = \"k*\"\ndrift = \"5%\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	in := decide.Input{Baseline: base, Head: head, Since: trail, Policy: policy.For("")}
	r := insight.Judge(in).Shown(nil)
	if r.Verdict != result.Fail || r.ReasonKey != "over-drift" || !r.OverDrift() ||
		r.ReasonArgs["accepted"] != result.Number(4) {
		t.Errorf("%s %s %v", r.Verdict, r.ReasonKey, r.ReasonArgs)
	}
	wide, _ := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nkernel = \"k*\"\ndrift = \"8%\"\n"))
	in.Policy = wide.For("")
	r = insight.Judge(in).Shown(nil)
	if r.Verdict != result.Pass || len(r.Doubts) > 0 {
		t.Errorf("%s %v", r.Verdict, r.Doubts)
	}
	// A rule on drift that too few sessions can judge is named, once.
	var none []model.Session
	for _, of := range [][]model.Session{none, base} {
		said, idle := decide.Drift(of, none, head, policy.For(""))
		if len(said) > 0 || len(idle) != 1 || idle[0].Key != "rule-idle" {
			t.Errorf("%d sessions: %v %v", len(of), said, idle)
		}
	}
	in.Since = nil
	says := func(r *result.Report) bool {
		return slices.ContainsFunc(r.Remarks, func(x result.Remark) bool { return x.Key == "rule-idle" })
	}
	r = insight.Judge(in).Shown(nil)
	if !says(r) || len(r.Warnings) > 0 {
		t.Errorf("one session: %v %v", r.Notes, r.Warnings)
	}
	in.Policy = thresholds.Default().For("")
	if says(insight.Judge(in).Shown(nil)) {
		t.Error("drift is named without a rule on it")
	}
}

// A head that is refused because its only run is an outlier as a whole stays without a verdict, whatever drift says.
func TestDriftDoesNotOutrankARefusal(t *testing.T) {
	year := program{kernels: quiet().kernels, sd: 0.001, runs: 5, step: "step"}
	var s []model.Session
	for i := range 4 {
		p := year
		p.host, p.start, p.seed = "a", noon.AddDate(0, 0, 7*i), uint64(i+1)
		s = append(s, p.session())
	}
	head := slowed(s[3], 1.1)
	head = calibrate.Subset(&head, []int{0})
	policy, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nkernel = \"*\"\nmax = \"3%\"\ndrift = \"5%\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	head.Start = head.Start.AddDate(0, 0, 7)
	r := insight.Judge(decide.Input{Baseline: s[2:3], Head: []model.Session{head}, Since: s[:3],
		Policy: policy.For("")}).Shown(nil)
	if r.Verdict != result.NoVerdict || r.ReasonKey != "single-run-outlier" {
		t.Errorf("%s, %s: want no verdict for an outlier run", r.Verdict, r.ReasonKey)
	}
	if !r.OverDrift() {
		t.Errorf("drift is not said beside the refusal: %v", r.Doubts)
	}
}
