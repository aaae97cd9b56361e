package match

import (
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// TestSameOperations names kernels as KERNEL PATH:LINE:FUNCTION, and wants the names of the baseline in its order.
func TestSameOperations(t *testing.T) {
	session := func(of string) (s model.Session) {
		for i, text := range strings.Split(of, ", ") {
			kernel, rest, _ := strings.Cut(text, " ")
			at := strings.Split(rest, ":")
			s.Series = append(s.Series, model.Series{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: kernel},
				Metric: measure.Total, Values: model.Values{float64(i)}})
			if len(at) == 3 {
				s.Operations = append(s.Operations, model.Operation{Kernel: kernel, Path: at[0], File: "a.py",
					Line: len(at[1]), Function: at[2]})
			}
		}
		return s
	}
	for _, tt := range []struct{ name, base, head, want string }{
		{"renumbered", "f_1 jit/add:1:g, f_2 jit/mul:11:g", "f_2 jit/add:1:g, f_1 jit/mul:11:g", "f_2 f_1"},
		{"a fusion was added before", "f jit/add:1:g, f_1 jit/mul:11:g",
			"f jit/cos:1:h, f_1 jit/add:11:g, f_2 jit/mul:111:g", "f_1 f_2"},
		{"one was removed", "f jit/cos:1:h, f_1 jit/add:11:g", "f jit/add:1:g", "f@baseline f"},
		{"removed, and its name is used", "f jit/cos:1:h, f_1 jit/add:11:g", "f jit/add:1:g, f_2 jit/sin:11:k",
			"f@baseline f"},
		{"another operation of one name", "f jit/cos:1:h", "f jit/add:11:g", "f@baseline"},
		{"another kernel for it", "add_mul_f jit/add:1:g", "add_tanh_f jit/add:1:g", "add_tanh_f"},
		{"in order", "f jit/add:1:g, f_1 jit/add:1:g", "f_3 jit/add:1:g, f_7 jit/add:1:g", "f_3 f_7"},
		{"a function has another name", "f jit(a)/add:1:g, f_1 jit(a)/mul:11:g",
			"f jit(b)/add:1:h, f_1 jit(b)/mul:11:h", "f f_1"},
		{"one operation changed", "f jit/gelu:1:g, f_1 jit/add:11:h", "f_1 jit/tanh:1:g, f jit/add:111:h", "f_1 f"},
		{"and others of it came", "f jit/gelu:1:g, f_1 jit/add:11:h",
			"f jit/tanh:1:g, f_1 jit/exp:1:g, f_2 jit/add:11:h", "f@baseline f_2"},
		{"an operation of its kind was added before, and lines moved",
			"w jit/dot:1:g, w_add jit/add:11:g, fusion_134 jit/add:11:g, f jit/add:11:g, s jit/sub:111:g",
			"f jit/add:1:g, w jit/dot:11:g, fusion_139 jit/add:111:g, w_add jit/add:111:g, f_2 jit/add:111:g, " +
				"s jit/sub:1111:g", "w w_add fusion_139 f_2 s"},
		{"no operations in the head", "f_1 jit/add:1:g", "f_2", "f_1"},
		{"none in the baseline", "f_1", "f_1 jit/add:1:g", "f_1"},
		{"names of libraries stay", "gemm, f_1 jit/add:1:g", "gemm, f_2 jit/add:1:g", "gemm f_2"},
	} {
		base, head := session(tt.base), session(tt.head)
		out := SameOperations([]model.Session{base}, []model.Session{head})[0]
		var got []string
		for i := range base.Series { // sorted by name now
			at := slices.IndexFunc(out.Series, func(x model.Series) bool { return x.Values[0] == float64(i) })
			got = append(got, out.Series[at].Subject.Name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
	old, accepted, head := session("f_1 jit/add:1:g, f_2 jit/mul:11:g"), session("f_2 jit/add:1:g"),
		session("f_2 jit/add:1:g, f_1 jit/mul:11:g")
	accepted.Accepted = true
	if out := SameOperations([]model.Session{old, accepted}, []model.Session{head}); len(out[0].Series) != 1 ||
		out[0].Series[0].Subject.Name != "f_1" {
		t.Errorf("an accepted kernel stays in the older session: %+v", out[0].Series)
	}
}

// An added kernel whose operation is known is new, and no sum of its stem: only kernels without operations are summed.
func TestAddedOperation(t *testing.T) {
	session := func(kernels ...string) model.Session {
		s := model.Session{Runs: []model.Run{{Steady: true}, {Steady: true}}}
		for i, k := range kernels {
			name, at, known := strings.Cut(k, " ")
			of := measure.Subject{Scope: measure.ScopeKernel, Name: name}
			for _, m := range []measure.Metric{measure.Time, measure.Total, measure.Launches} {
				s.Series = append(s.Series, model.Series{Subject: of, Metric: m, Values: model.Values{10, 10}})
			}
			if known {
				s.Operations = append(s.Operations, model.Operation{Kernel: name, Path: at, File: "a.py", Line: i + 1})
			}
		}
		s.SortSeries()
		return s
	}
	pairsOf := func(base, head model.Session) (out []string) {
		both := [2][]model.Session{{base}, {head}}
		both[0] = SameOperations(both[0], both[1])
		for _, p := range Pairs(NewSides(both[0], both[1], thresholds.Default().For(""))) {
			if p.Metric == measure.Total {
				out = append(out, strings.TrimSpace(p.Subject.Name+" "+p.Match+string(p.Listed)))
			}
		}
		slices.Sort(out)
		return out
	}
	base := session("fusion_1 jit/a", "fusion_2 jit/b", "x")
	for _, c := range []struct {
		head model.Session
		want []string
	}{
		{session("fusion jit/sin", "fusion_2 jit/a", "fusion_3 jit/b", "x"),
			[]string{"fusion new", "fusion_2 exact", "fusion_3 exact", "x exact"}},
		{session("fusion_5 jit/sin", "fusion_1 jit/a", "fusion_2 jit/b", "x"),
			[]string{"fusion_1 exact", "fusion_2 exact", "fusion_5 new", "x exact"}},
		{session("fusion_9", "fusion_7", "x"), []string{"fusion_7 stem", "x exact"}},
	} {
		if got := pairsOf(base, c.head); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := pairsOf(session("fusion_1", "x"), session("fusion_2", "x")); !slices.Equal(got,
		[]string{"fusion_2 stem", "x exact"}) {
		t.Errorf("without operations %q", got)
	}
}
