package model

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ raw, name, short string }{
		{"saxpy(unsigned long, float, const float *, float *)", "saxpy(unsigned long, float, const float *, float *)",
			"saxpy"},
		{"_Z5saxpymfPKfPf", "saxpy(unsigned long, float, float const*, float*)", "saxpy"},
		{"void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>>(int, T2)",
			"void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>>(int, T2)",
			"vectorized_elementwise_kernel"},
		{"void at::native::(anonymous namespace)::layer_norm<float, float, (bool)0>(int, T2)",
			"void at::native::(anonymous namespace)::layer_norm<float, float, (bool)0>(int, T2)", "layer_norm"},
		{"void <unnamed>::f<int>(int)", "void (anonymous namespace)::f<int>(int)", "f"},
		{"void _GLOBAL__N__d8ceb000_21_reduce_cu_1a2b3c4d::f(int)", "void (anonymous namespace)::f(int)", "f"},
		{"f[abi:v1,cw51cXTLSUwv1sCUt9Uw0VEw0NRRQPKzLTg4gaGKFsG2oMQGEYakJSQB1PQBk0Bynm21OiwU1a0UoLGhDpQE8oxrNQE_3d](Array<float>)",
			"f(Array<float>)", "f"},
		{"triton_poi_fused_add_0", "triton_poi_fused_add_0", "triton_poi_fused_add_0"},
		{"nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN", "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN",
			"nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN"},
		{"void Functor::operator()(int)", "void Functor::operator()(int)", "operator()"},
		{"a  b\x00\n\xff", "a b\uFFFD \uFFFD", "\uFFFD"},
	} {
		if got := measure.NormalizeName(c.raw); got != c.name {
			t.Errorf("NormalizeName(%q) = %q, want %q", c.raw, got, c.name)
		}
		if got := measure.ShortName(c.name); got != c.short {
			t.Errorf("ShortName(%q) = %q, want %q", c.name, got, c.short)
		}
	}
}

func TestRangeNames(t *testing.T) {
	for raw, want := range map[string]string{
		"forward":                         "forward",
		"ProfilerStep#12":                 "ProfilerStep#",
		"step 7":                          "step #",
		"aten::mm, seq = 73, op_id = 901": "aten::mm, seq = #, op_id = #",
		"layer_3":                         "layer_3",
		"conv2d 3x3":                      "conv2d 3x3",
		" two\n lines ":                   "two lines",
	} {
		if got := measure.NormalizeRange(raw); got != want {
			t.Errorf("NormalizeRange(%q) = %q, want %q", raw, got, want)
		}
	}
}

// Whatever a profile holds, names are valid text without control characters, and normalising twice changes nothing.
func TestNameProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		for what, f := range map[string]func(string) string{"name": measure.NormalizeName,
			"range": measure.NormalizeRange} {
			name := f(raw)
			if !utf8.ValidString(name) || strings.ContainsFunc(name,
				func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Fatalf("%s of %q is %q", what, raw, name)
			}
			if again := f(name); again != name && !strings.HasPrefix(name, "_Z") {
				t.Fatalf("%s of %q is %q, then %q", what, raw, name, again)
			}
			measure.ShortName(name)
		}
	})
}

func TestDim3(t *testing.T) {
	for s, want := range map[string]measure.Dim3{"": {}, "1x2x3": {X: 1, Y: 2, Z: 3},
		"4294967295x1x1": {X: 4294967295, Y: 1, Z: 1}} {
		if got, err := measure.ParseDim3(s); err != nil || got != want {
			t.Errorf("ParseDim3(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"1", "1x2", "1x2x3x4", "01x1x1", "-1x1x1", "4294967296x1x1", "axbxc"} {
		if got, err := measure.ParseDim3(s); err == nil {
			t.Errorf("ParseDim3(%q) = %v, want an error", s, got)
		}
	}
}

func TestSubject(t *testing.T) {
	k := measure.Subject{Scope: measure.ScopeKernel, Name: "void ns::f<int>(int)", Grid: measure.Dim3{X: 4, Y: 1, Z: 1},
		Block: measure.Dim3{X: 32, Y: 1, Z: 1}}
	other := k
	other.Grid.X = 5
	if k.Short() != "f" || k.Geometry() != "4x1x1/32x1x1" || !strings.HasPrefix(k.ID(), "f#") || k.ID() == other.ID() {
		t.Errorf("short %q, geometry %q, ids %q and %q", k.Short(), k.Geometry(), k.ID(), other.ID())
	}
	if measure.Workload.Short() != "workload" || measure.Workload.Geometry() != "" ||
		measure.Workload.ID() != "workload" {
		t.Errorf("workload is %q, %q, %q", measure.Workload.Short(), measure.Workload.Geometry(), measure.Workload.ID())
	}
	if !(measure.Workload.Compare(measure.Subject{Scope: measure.ScopeRange}) < 0 && k.Compare(other) < 0 &&
		k.Compare(k) == 0) {
		t.Error("subjects are out of order")
	}
}

func TestSameSession(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	env := func(gpu string, minutes int) Environment {
		return Environment{GPUHash: HashUUID(gpu), Start: noon.Add(time.Duration(minutes) * time.Minute)}
	}
	for _, c := range []struct {
		a, b Environment
		want bool
	}{
		{env("a", 0), env("a", 60), true},
		{env("a", 60), env("a", 0), true},
		{env("a", 0), env("a", 61), false},
		{env("a", 0), env("b", 0), false},
		{env("", 0), env("", 0), false},
		{Environment{GPUHash: HashUUID("a")}, Environment{GPUHash: HashUUID("a")}, false},
	} {
		if got := SameSession(c.a, c.b); got != c.want {
			t.Errorf("SameSession(%v, %v) = %v", c.a, c.b, got)
		}
	}
	if HashUUID("b", "", "a", "a") != HashUUID("a", "b") || len(HashUUID("a")) != 8 {
		t.Error("the hash depends on order, repetition or empty identities")
	}
}
