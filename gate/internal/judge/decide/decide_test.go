package decide_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/read/ncu"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// counted is a session of pages of ncu, one a run.
func counted(t *testing.T, pages ...string) []model.Session {
	t.Helper()
	var runs []*counters.Profile
	for _, page := range pages {
		f, err := os.Open("../../../../testdata/ncu/" + page)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := ncu.Read(f, page)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, p)
	}
	s, err := ncu.Session(runs...)
	if err != nil {
		t.Fatal(err)
	}
	return []model.Session{s}
}

// without leaves a kernel out.
func without(sessions []model.Session, kernel string) []model.Session {
	s := sessions[0]
	s.Series = slices.DeleteFunc(slices.Clone(s.Series),
		func(x model.Series) bool { return x.Subject.Short() == kernel })
	return []model.Session{s}
}

// Counters of Nsight Compute are certain with one launch; its measured metrics need runs. A gate without a metric that
// the policy names does not pass.
func TestCounters(t *testing.T) {
	const base, slower, spill = "base.raw.csv", "softmax_1.10.raw.csv", "spill.raw.csv"
	three := func(page string) []model.Session { return counted(t, page, page, page) }
	for _, tt := range []struct {
		name       string
		policy     string
		base, head []model.Session
		verdict    result.Verdict
		reason     string
	}{
		{"the same", "", three(base), three(base), result.Pass, "6 comparisons, none slower than its limit allows"},
		{"slower", "", three(base), three(slower), result.Fail, "softmax ncu time +"},
		{"one run decides no time", "", counted(t, base), counted(t, base), result.NoVerdict,
			"the ncu time of reduce cannot be judged: a side has one run"},
		{"but what is counted", "[[rule]]\nmetric = \"ncu_time\"\nseverity = \"ignore\"\n[[rule]]\nmetric = " +
			"\"instructions\"\nmax = \"0%\"\n", counted(t, base), counted(t, slower), result.Fail,
			"softmax instructions +"},
		{"nothing may grow", "[[rule]]\nmetric = \"registers\"\nmax = \"0%\"\n", three(base), three(slower),
			result.Fail, "softmax"},
		{"nothing has grown", "[[rule]]\nmetric = \"registers\"\nmax = \"0%\"\n", three(base), counted(t, base, base),
			result.Pass, "12 comparisons"},
		{"bounds kept", "[[rule]]\nmetric = \"local_loads\"\nat_most = \"0\"\n", three(base), three(base), result.Pass,
			"12 comparisons, none slower than its limit allows"},
		{"bounds broken by a kernel that is new", "[[rule]]\nmetric = \"local_loads\"\nat_most = \"0\"\n",
			counted(t, base), counted(t, spill), result.Fail, "sgemm_spill local loads 20,971,520"},
		{"bounds broken by both sides",
			"[[rule]]\nkernel = \"saxpy\"\nmetric = \"dram_throughput\"\nat_least = \"99%\"\n", three(base),
			three(base), result.Fail, "saxpy dram throughput"},
		{"only warned of",
			"[[rule]]\nkernel = \"saxpy\"\nmetric = \"dram_throughput\"\nat_least = \"99%\"\nseverity = \"warn\"\n",
			three(base), three(base), result.Pass, "7 comparisons, none fails"},
		{"a kernel that was not profiled", "", three(base), without(three(base), "saxpy"), result.NoVerdict,
			"no launch of saxpy was profiled in the head"},
		{"a metric that nobody has", "[[rule]]\nmetric = \"spills\"\nat_most = \"0\"\n",
			unmetered(three(base), "spills"), unmetered(three(base), "spills"),
			result.NoVerdict, "no kernel that nsgate.toml:1 limits has spilling instructions"},
		{"a metric that nobody has, only warned of",
			"[[rule]]\nmetric = \"spills\"\nmax = \"0%\"\nseverity = \"warn\"\n",
			unmetered(three(base), "spills"), unmetered(three(base), "spills"), result.Pass, "12 comparisons"},
		{"a metric that one kernel lacks on both sides", "[[rule]]\nmetric = \"local_loads\"\nat_most = \"0\"\n",
			unmeteredOf(three(base), "local_loads", "saxpy"), unmeteredOf(three(base), "local_loads", "saxpy"),
			result.Pass, "nothing is slower for certain; undecided: local loads of saxpy"},
		{"a kernel without a duration", "", three(base), unmeteredOf(three(base), "ncu_time", "saxpy"),
			result.NoVerdict, "the ncu time of saxpy cannot be judged: the head has no ncu time"},
		{"counters without a duration", "", unmetered(three(base), "ncu_time"), unmetered(three(base), "ncu_time"),
			result.NoVerdict, "the counters of single launches hold no duration, and no rule limits one of them"},
		{"a metric that only the base has", "[[rule]]\nmetric = \"sm_throughput\"\nmax = \"5%\"\n", three(base),
			unmetered(three(base), "sm_throughput"), result.NoVerdict,
			"no kernel that nsgate.toml:1 limits has sm throughput"},
		{"a metric that only the head has", "[[rule]]\nmetric = \"sm_throughput\"\nmax = \"5%\"\n",
			unmetered(three(base), "sm_throughput"), three(base),
			result.Pass, "nothing is slower for certain; undecided among others: sm throughput of sgemm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			policy, err := thresholds.Parse("nsgate.toml", []byte(tt.policy))
			if err != nil {
				t.Fatal(err)
			}
			r := evaluate(tt.base, tt.head, policy)
			if r.Verdict != tt.verdict || !strings.HasPrefix(strings.TrimPrefix(r.Reason, "slower: "), tt.reason) {
				t.Errorf("%s: %s\nwant %s: %s", r.Verdict, r.Reason, tt.verdict, tt.reason)
			}
		})
	}
}

// Equal counts on both sides are unchanged, however the mean of their logarithms is rounded.
func TestEqualCounts(t *testing.T) {
	policy, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nmetric = \"registers\"\nmax = \"0%\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	side := func(runs int) []model.Session {
		s := model.Session{Environment: model.Environment{Tool: "ncu"}, Runs: make([]model.Run, runs)}
		for n := range 255 {
			x := model.Series{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: fmt.Sprint("k", n)},
				Metric: measure.Registers}
			for range runs {
				x.Values = append(x.Values, float64(n+1))
			}
			s.Series = append(s.Series, x)
		}
		return []model.Session{s}
	}
	for _, runs := range [][2]int{{3, 2}, {5, 3}, {7, 6}, {1, 3}} {
		for _, f := range compareSides(side(runs[0]), side(runs[1]), policy).Findings {
			if f.Outcome != result.WithinLimit {
				t.Fatalf("%d and %d runs: registers of %s are %s: %v → %v (%v)", runs[0], runs[1], f.Kernel, f.Outcome,
					f.Base, f.Head, f.Change)
			}
		}
	}
}

// unmetered leaves a metric out.
func unmetered(sessions []model.Session, metric string) []model.Session {
	s := sessions[0]
	s.Series = slices.DeleteFunc(slices.Clone(s.Series), func(x model.Series) bool { return x.Metric.Name == metric })
	return []model.Session{s}
}

// unmeteredOf leaves a metric of one kernel out.
func unmeteredOf(sessions []model.Session, metric, kernel string) []model.Session {
	s := sessions[0]
	s.Series = slices.DeleteFunc(slices.Clone(s.Series), func(x model.Series) bool {
		return x.Metric.Name == metric && x.Subject.Short() == kernel
	})
	return []model.Session{s}
}

// A rule on counters, without a bound, does not trouble a gate of nsys: it warns where that rule is judged.
func TestCountersUnderNsys(t *testing.T) {
	policy, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nmetric = \"sm_throughput\"\nmax = \"5%\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := counted(t, "base.raw.csv", "base.raw.csv")
	for i := range s[0].Series {
		if s[0].Series[i].Metric == measure.ReplayTime {
			s[0].Series[i].Metric = measure.Total
		}
	}
	s[0].Tool = "nsys 2025.3.1"
	s = unmetered(s, "sm_throughput")
	r := evaluate(s, s, policy)
	if r.Verdict != result.Pass || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0],
		"nsgate.toml:1 limits sm throughput, which was not measured: judge it by a check of counters") {
		t.Errorf("%s %q %q", r.Verdict, r.Reason, r.Warnings)
	}
}
