package why

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Explanations are for a slower launch, not for more launches or for a replaced kernel.
func TestSlower(t *testing.T) {
	finding := func(name, metric, match string, change func(*result.Finding)) result.Finding {
		f := result.Finding{Kernel: name, Name: name, Scope: measure.ScopeKernel, Metric: metric, Unit: "ns",
			Match: match, Outcome: result.Slower, Gates: true, Severity: "fail", Role: "role of " + name}
		if change != nil {
			change(&f)
		}
		return f
	}
	added := func(f *result.Finding) { f.Outcome = result.New }
	findings := []result.Finding{
		finding("", "gpu_time", "exact", func(f *result.Finding) { f.Scope = measure.ScopeWorkload }),
		finding("launched more", "total", "exact", nil),
		finding("both", "total", "exact", nil),
		finding("both", "time", "exact", nil),
		finding("ncclDevKernel", "time", "exact", nil),
		finding("combine", "time", "exact",
			func(f *result.Finding) { f.Name = "void deep_ep::intranode::combine<8>(int)" }),
		finding("replaced", "total", "role", func(f *result.Finding) { f.BaseNames = []string{"old"} }),
		finding("replaced", "total", "role", added),
		finding("split", "total", "role", func(f *result.Finding) { f.BaseNames = []string{"old"} }),
		finding("split", "total", "role", added),
		finding("split", "total", "role", added),
		finding("merged", "total", "role", func(f *result.Finding) { f.BaseNames = []string{"a", "b"} }),
		finding("improved", "time", "exact", func(f *result.Finding) { f.Outcome = result.Faster }),
		finding("warned", "time", "exact", func(f *result.Finding) { f.Gates, f.Severity = false, "warn" }),
	}
	for _, tt := range []struct {
		all  bool
		want []string
	}{{false, []string{"both time", "replaced total"}},
		{true, []string{"both time", "replaced total", "warned time"}}} {
		var got []string
		for _, f := range Slower(findings, tt.all, Dearest) {
			got = append(got, findings[f].Kernel+" "+findings[f].Metric)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("all = %v: %q, want %q", tt.all, got, tt.want)
		}
	}
}

// Kernels that their names do not tell apart explain nothing.
func TestAttachAmbiguous(t *testing.T) {
	kernel := func(name string) counters.Kernel {
		return counters.Kernel{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: name},
			Values: map[string][]float64{"registers": {32, 32}}}
	}
	one := &counters.Profile{Kernels: []counters.Kernel{kernel("f<int>(int)")}}
	two := &counters.Profile{Kernels: []counters.Kernel{kernel("f<int>(int)"), kernel("f<float>(int)")}}
	for _, tt := range []struct {
		base, head *counters.Profile
		want       string
	}{
		{one, two, "2 kernels of this short name were profiled in the head, which"},
		{two, one, "2 kernels of this short name were profiled in the base, which"},
		{one, one, "No rule explains the change"},
		{nil, one, "nothing to compare with"},
		{one, &counters.Profile{}, "No launch of this kernel was profiled in the head"},
	} {
		f := &result.Finding{Name: "void f<(int)1>(int)", Scope: measure.ScopeKernel, Match: "exact"}
		if got := cause(f, tt.base, tt.head, Alone); !strings.Contains(got.Summary+" "+got.Note, tt.want) {
			t.Errorf("got %+v, want %q", got, tt.want)
		}
	}
}

func TestSlowestRow(t *testing.T) {
	row := func(metric measure.Metric, low, high float64) result.Finding {
		return result.Finding{Scope: measure.ScopeBenchmark, Metric: metric.Name, Outcome: result.Slower, Gates: true,
			Low: result.Number(low), High: result.Number(high)}
	}
	warned := row(measure.Duration, 0.9, 1)
	faster, kernel := warned, warned
	warned.Gates, faster.Outcome, kernel.Scope = false, result.Faster, measure.ScopeKernel
	slower := row(measure.Duration, 0.2, 0.3)
	others := []result.Finding{warned, faster, kernel, row(measure.Memory, 0.9, 1)}
	for _, tt := range []struct {
		findings []result.Finding
		all      bool
		want     int
		ok       bool
	}{
		{others, false, 0, false},
		{others, true, 0, true},
		{append(slices.Clone(others), row(measure.Duration, math.NaN(), math.NaN())), false, 4, true},
		{append(slices.Clone(others), row(measure.Duration, 0.1, 0.9), slower), false, 5, true},
		{append(slices.Clone(others), slower, row(measure.ItemRate, -0.5, -0.18)), false, 5, true},
	} {
		if got, ok := SlowestRow(tt.findings, tt.all); got != tt.want || ok != tt.ok {
			t.Errorf("%d %t, want %d %t", got, ok, tt.want, tt.ok)
		}
	}
}
