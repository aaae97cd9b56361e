package model

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDoubts(t *testing.T) {
	a := Trace{Source: "/x/a.sqlite", Warnings: []string{"3 launches were lost", "the clock is doubtful"}}
	b := Trace{Source: "/x/b.sqlite", Warnings: []string{"5 launches were lost"}}
	if got := Doubts([]Trace{a, b}); !slices.Equal(got,
		[]string{"a.sqlite: 3 launches were lost (and so in 1 more)", "a.sqlite: the clock is doubtful"}) {
		t.Errorf("%q", got)
	}
	if got := Doubts([]Trace{b}); !slices.Equal(got, b.Warnings) {
		t.Errorf("%q", got)
	}
}

func TestTick(t *testing.T) {
	for _, c := range []struct {
		name     string
		n        int
		duration func(i int) int64
		within   int64
		want     float64
	}{
		{"too few", 19, func(i int) int64 { return 1024 * int64(i+1) }, 1, 0},
		{"1024 ns", 25, func(i int) int64 { return 1024*int64(i+1) + int64(i%2) }, 1, 1024},
		{"1 µs", 25, func(i int) int64 { return 1000 * int64(i+1) }, 1, 1000},
		{"64 ns", 40, func(i int) int64 { return 64*int64(i+1) - int64(i%2) }, 1, 64},
		{"32 ns", 2000, func(i int) int64 { return 32 * int64(i+20) }, 1, 32},
		{"rounded to 2 ns", 40, func(i int) int64 { return 256*int64(i+1) + int64(i%5) - 2 }, 2, 256},
		{"rounded to 2 ns, and nobody says so", 40, func(i int) int64 { return 256*int64(i+1) + int64(i%5) - 2 }, 1, 0},
		{"every ns", 2000, func(i int) int64 { return 777 + int64(i) }, 1, 0},
		{"one duration", 5000, func(int) int64 { return 1024 }, 1, 0},
		{"no duration", 5000, func(int) int64 { return 0 }, 1, 0},
		{"very many", 1 << 20, func(i int) int64 { return 128 * int64(i%1000+1) }, 1, 128},
		{"none", 0, nil, 1, 0},
	} {
		launches := make([]Launch, c.n)
		for i := range launches {
			launches[i].End = c.duration(i)
		}
		if got := Tick(launches, c.within); got != c.want {
			t.Errorf("%s: tick %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMergeKernels(t *testing.T) {
	kernel := func(raw string, registers int64) KernelInfo {
		subject, err := new(KernelNames).Subject("file", raw)
		if err != nil {
			t.Fatal(err)
		}
		return KernelInfo{Subject: subject, Raw: raw, Registers: registers}
	}
	a, b, c := kernel("f[abi:v1](int)", 16), kernel("g()", 24), kernel("f[abi:v2](int)", 32)
	for _, tt := range []struct {
		launches []int
		want     KernelInfo // of the two that are one subject
	}{{[]int{1, 1, 2}, c}, {[]int{2, 1, 1}, a}, {[]int{1, 9, 1}, a}} {
		merged, to := MergeKernels([]KernelInfo{a, b, c}, tt.launches)
		if !slices.Equal(merged, []KernelInfo{tt.want, b}) || !slices.Equal(to, []int32{0, 1, 0}) {
			t.Errorf("%v launches: %+v %v", tt.launches, merged, to)
		}
	}
	if nameless := kernel(" \t", 0).Subject; nameless.Name != "(unnamed kernel)" {
		t.Errorf("a kernel without a name is %+v", nameless)
	}
}

func TestUnion(t *testing.T) {
	got := Union([]Interval{{Start: 5, End: 9}, {Start: 0, End: 3}, {Start: 2, End: 4}, {Start: 6, End: 7}})
	if diff := cmp.Diff([]Interval{{Start: 0, End: 4}, {Start: 5, End: 9}}, got); diff != "" {
		t.Error(diff)
	}
}
