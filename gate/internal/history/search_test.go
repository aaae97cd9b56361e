package history

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// search reads a line whose commits change the number by these factors, with some noise; commits that cannot be read
// are negative.
func search(factors []float64, noise float64, draw func() float64) (s *Search, reads int) {
	level, at := 1., make([]float64, len(factors)+1)
	for i, f := range factors {
		level *= math.Abs(f)
		at[i+1] = level - 1
	}
	read := func(i int) Reading {
		return around(at[i]+noise*draw(), 2*noise)
	}
	s = NewSearch(len(factors), read(len(factors)))
	for i, ok := s.Next(); ok; i, ok = s.Next() {
		if factors[i-1] < 0 {
			s.Skipped[i] = true
			continue
		}
		reads++
		s.Readings[i] = new(read(i))
	}
	return s, reads
}

func steady() float64 { return 0 }

// The commits that change the number are found, whatever else lies on the line.
func TestSearch(t *testing.T) {
	line := func(n int, at map[int]float64) []float64 {
		out := slices.Repeat([]float64{1}, n)
		for i, f := range at {
			out[i-1] = f
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		factors []float64
		want    [][2]int
		reads   int // at most
	}{
		{"one of 24", line(24, map[int]float64{9: 1.03}), [][2]int{{9, 9}}, 5},
		{"the first", line(24, map[int]float64{1: 1.03}), [][2]int{{1, 1}}, 5},
		{"the last", line(24, map[int]float64{24: 1.03}), [][2]int{{24, 24}}, 5},
		{"only one", line(1, map[int]float64{1: 1.03}), [][2]int{{1, 1}}, 0},
		{"two share it", line(24, map[int]float64{5: 1.03, 17: 1.02}), [][2]int{{5, 5}, {17, 17}}, 9},
		{"one beside a small one", line(24, map[int]float64{5: 1.003, 17: 1.03}), [][2]int{{17, 17}}, 5},
		{"one faster between", line(24, map[int]float64{5: 1.05, 11: 0.98, 20: 1.03}), [][2]int{{5, 5}, {20, 20}}, 12},
		{"beside one that does not build", line(24, map[int]float64{12: -1, 13: 1.03}), [][2]int{{12, 13}}, 6},
		{"does not build itself", line(24, map[int]float64{12: -1.03}), [][2]int{{12, 13}}, 6},
		{"spread evenly", slices.Repeat([]float64{1.002}, 24), nil, 8},
		{"faster", line(24, map[int]float64{9: 0.9}), [][2]int{{9, 9}}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, reads := search(tt.factors, 0.0005, steady)
			var got [][2]int
			for _, x := range s.Found() {
				got = append(got, [2]int{x.First, x.Last})
			}
			if !slices.Equal(got, tt.want) || reads > tt.reads {
				t.Errorf("found %v in %d readings, want %v in %d", got, reads, tt.want, tt.reads)
			}
		})
	}
}

// A commit is read beside both ends: what both say counts by its noise, and what they do not agree on is open.
func TestBetween(t *testing.T) {
	whole := around(0.04, 0.002)
	for _, tt := range []struct {
		name      string
		good, bad *Reading
		want      float64
		clear     bool
		nearer    string
	}{
		{"the good end", at(0, 0.002), at(1/1.04-1, 0.002), 0, true, "good"},
		{"the bad end", at(0.04, 0.002), at(0, 0.002), 0.04, true, "bad"},
		{"half the way", at(0.02, 0.002), at(1.02/1.04-1, 0.002), 0.02, true, ""},
		{"neither is clear by itself, both are", at(0, 0.01), at(1/1.04-1, 0.01), 0, true, "good"},
		{"too noisy", at(0, 0.04), at(1/1.04-1, 0.04), 0, false, ""},
		{"they do not agree", at(0.04, 0.002), at(1/1.04-1, 0.002), 0.027, false, ""},
		{"the steadier one counts", at(0.02, 0.03), at(1/1.04-1, 0.0001), 0, true, "good"},
		{"not in the bad end", at(0, 0.002), nil, 0, true, "good"},
		{"not in the good end", nil, at(0, 0.002), 0.04, true, "bad"},
		{"in neither", nil, nil, 0, false, ""},
		{"no noise at all", at(0.04, 0), at(0, 0), 0.04, true, "bad"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, clear := Between(tt.good, tt.bad, whole)
			if math.Abs(float64(got.Change)-tt.want) > 0.0015 || clear != tt.clear {
				t.Errorf("%+v, clear %v; want %v, %v", got, clear, tt.want, tt.clear)
			}
			if nearer := got.Nearer(whole); clear && nearer != tt.nearer {
				t.Errorf("nearer to %q, want %q", nearer, tt.nearer)
			}
		})
	}
}

func at(x, noise float64) *Reading { return new(around(x, noise)) }

// Whatever two readings of a commit are: together they are no noisier than either, and lie between them.
func TestBetweenProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := around(rapid.Float64Range(-0.5, 1).Draw(t, "whole"), 0)
		good := at(rapid.Float64Range(-0.5, 1).Draw(t, "good"), rapid.Float64Range(0, 0.2).Draw(t, "noise"))
		bad := at(rapid.Float64Range(-0.5, 1).Draw(t, "bad"), rapid.Float64Range(0, 0.2).Draw(t, "noise of the bad"))
		got, _ := Between(good, bad, whole)
		other := bad.fromGood(whole)
		if got.noise() > math.Min(good.noise(), other.noise())+1e-8 {
			t.Fatalf("%v is noisier than %v or %v", got, *good, other)
		}
		if got.Change < min(good.Change, other.Change)-1e-9 || got.Change > max(good.Change, other.Change)+1e-9 {
			t.Fatalf("%v does not lie between %v and %v", got, *good, other)
		}
	})
}

// Every search ends, reads no commit twice, and of a single step that is clear of the noise finds the commit.
func TestSearchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "commits")
		factors := slices.Repeat([]float64{1}, n)
		culprit := rapid.IntRange(1, n).Draw(t, "culprit")
		factors[culprit-1] = rapid.SampledFrom([]float64{1.01, 1.05, 1.3, 0.9}).Draw(t, "factor")
		for range rapid.IntRange(0, 5).Draw(t, "broken") {
			i := rapid.IntRange(1, n).Draw(t, "which")
			factors[i-1] = -math.Abs(factors[i-1])
		}
		s, reads := search(factors, 0.0003, func() float64 { return rapid.Float64Range(-1, 1).Draw(t, "noise") })
		found := s.Found()
		if len(found) != 1 || culprit < found[0].First || culprit > found[0].Last {
			t.Fatalf("found %v, want %d", found, culprit)
		}
		for i := found[0].First; i < found[0].Last; i++ {
			if factors[i-1] > 0 {
				t.Fatalf("found %v, and %d was not read", found, i)
			}
		}
		if most := 1 + int(math.Log2(float64(n))) + 5; reads > most {
			t.Fatalf("%d readings of %d commits", reads, n)
		}
	})
}
