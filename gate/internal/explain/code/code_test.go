package code

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestExplainByCode wants registers that changed once, as a launch attribute or of the code.
func TestExplainByCode(t *testing.T) {
	attribute := result.Say(reason.Attribute{Metric: "registers", Unit: "per thread", Base: 32, Head: 64})
	for _, tt := range []struct {
		facts []result.Remark
		want  []string
	}{
		{nil, []string{"code changed (sm_90): registers 32 → 64, spills 0 → 128 B"}},
		{[]result.Remark{attribute}, []string{"registers 32 → 64", "code changed (sm_90): spills 0 → 128 B"}},
	} {
		f := result.Finding{Scope: measure.ScopeKernel, Name: "saxpy(int)", Metric: measure.Time.Name, Unit: "ns",
			Outcome: result.Slower}
		f.State(tt.facts...)
		of := func(registers, spills int, hash string) devicecode.Kernel {
			return devicecode.Kernel{Arch: "sm_90", Name: "saxpy(int)", Registers: registers, SpillStores: spills,
				Hash: hash}
		}
		d := &result.Report{Findings: []result.Finding{f}, HeadSessions: []model.Session{{}},
			Code: &result.Code{Comparison: devicecode.Comparison{Changed: []devicecode.Change{{Base: of(32, 0, "a"),
				Head: of(64, 128, "b")}}}}}
		facts, _ := Explain(d, nil)
		if got := append(f.Evidence, facts[0].Sentence); !slices.Equal(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestSameCode wants the note on the same code, with SM clocks, at the right findings.
func TestSameCode(t *testing.T) {
	const plain = "same code: the input, a clock, memory, the driver or a neighbour makes the difference"
	kernel := func(hash string, registers int) devicecode.Kernel {
		return devicecode.Kernel{Arch: "sm_90", Name: "_Z5saxpymfPKfPf", Hash: hash, Registers: registers,
			SpillStores: 8 * (registers - 12)}
	}
	for _, tt := range []struct {
		name        string
		head        devicecode.Kernel
		base, clock int // MHz
		finding     result.Finding
		facts       []string
		warned      bool
	}{
		{"slower", kernel("a", 12), 1980, 1980, result.Finding{Outcome: result.Slower, Change: 0.1}, []string{plain},
			false},
		{"lower clock", kernel("a", 12), 1980, 1200, result.Finding{Outcome: result.Slower, Change: 0.1},
			[]string{"same code: the SM clock was 1980 MHz in the baseline and 1200 MHz in the head"}, false},
		{"slower at a higher clock", kernel("a", 12), 1200, 1980, result.Finding{Outcome: result.Slower, Change: 0.1},
			[]string{plain}, false},
		{"faster at a higher clock", kernel("a", 12), 1200, 1980, result.Finding{Outcome: result.Faster, Change: -0.1},
			[]string{"same code: the SM clock was 1200 MHz in the baseline and 1980 MHz in the head"}, false},
		{"clock unknown", kernel("a", 12), 1980, 0, result.Finding{Outcome: result.Slower, Change: 0.1},
			[]string{plain}, false},
		{"with all kernels", kernel("a", 12), 1980, 1980,
			result.Finding{Outcome: result.Undecided, ReasonKey: "with-all", Change: 0.1}, []string{plain}, true},
		{"another launch", kernel("a", 12), 1980, 1980,
			result.Finding{Outcome: result.Slower, Match: "geometry", Change: 0.1}, nil, false},
		{"undecided", kernel("a", 12), 1980, 1980, result.Finding{Outcome: result.Undecided, Change: 0.1}, nil, false},
		{"other code", kernel("b", 13), 1980, 1200, result.Finding{Outcome: result.Slower, Change: 0.1},
			[]string{"code changed (sm_90): registers 12 → 13, spills 0 → 8 B"}, false},
		{"all kernels, other code", kernel("b", 13), 1980, 1200,
			result.Finding{Outcome: result.Undecided, ReasonKey: "with-all", Change: 0.1},
			[]string{"code changed (sm_90): registers 12 → 13, spills 0 → 8 B"}, false},
	} {
		f := tt.finding
		f.Scope, f.Unit, f.Name = measure.ScopeKernel, measure.Time.Unit,
			"saxpy(unsigned long, float, const float *, float *)"
		session := func(mhz int, k devicecode.Kernel) []model.Session {
			s := model.Session{Code: []devicecode.Kernel{k}}
			s.ClockMHz = mhz
			return []model.Session{s}
		}
		base, head := session(tt.base, kernel("a", 12)), session(tt.clock, tt.head)
		d := &result.Report{Verdict: result.Pass, HeadSessions: head, Findings: []result.Finding{f},
			Code: &result.Code{Comparison: *devicecode.Compare(base[0].Code, head[0].Code)}}
		facts, doubts := Explain(d, base)
		var got []string
		if fact, ok := facts[0]; ok {
			got = []string{fact.Sentence}
		}
		if !slices.Equal(got, tt.facts) || (len(doubts) > 0) != tt.warned {
			t.Errorf("%s: %q and %q, want %q, warned %v", tt.name, got, doubts, tt.facts, tt.warned)
		}
	}
}

// The name of a kernel by nsys is that of its symbol, and no other's.
func TestSpelled(t *testing.T) {
	for _, names := range [][2]string{
		{"void filter<(int)9>(const float *, float *, int)", "_Z6filterILi9EEvPKfPfi"},
		{"void k<(bool)1, (unsigned int)4, (int)-1>(float)", "_Z1kILb1ELj4ELin1EEvf"},
		{"void k<(bool)0, (unsigned long)4>(T1 *)", "void k<false, 4ul>(float*)"},
		{"void sum<__half, unsigned long>(T1 *, T2)", "_Z3sumI6__halfmEvPT_T0_"},
		{"saxpy(float, const float *, float *)", "_Z5saxpyfPKfPf"},
		{"void run<Mode::fast>(T1)", "void run<Mode::fast>(int)"},
		{"void run<(Mode)2>(T1)", "_Z3runIL4Mode2EEvi"},
	} {
		if nsys, symbol := spelled(names[0]), spelled(names[1]); nsys != symbol {
			t.Errorf("%s is %s, %s is %s", names[0], nsys, names[1], symbol)
		}
	}
	for _, names := range [][2]string{
		{"void filter<(int)9>(float *)", "_Z6filterILi3EEvPKfPfi"}, {"saxpy(float)", "_Z5saxpyd"},
		{"void sum<float>(T1)", "void sum<double>(double)"},
	} {
		if spelled(names[0]) == spelled(names[1]) {
			t.Errorf("%s is %s", names[0], names[1])
		}
	}
}
