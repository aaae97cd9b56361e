package torch

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestNanoseconds(t *testing.T) {
	for _, c := range []struct {
		text     string
		want     int64
		fraction bool
		ok       bool
	}{
		{"0", 0, false, true},
		{"1718000000000000.123", 1718000000000000123, true, true},
		{"1718000000000000", 1718000000000000000, false, true},
		{"4369596252494.570", 4369596252494570, true, true},
		{"4369596252494.57", 4369596252494570, true, true},
		{"1.0004", 1000, true, true},
		{"1.0005", 1001, true, true},
		{"-1.0005", -1001, true, true},
		{`"12.5"`, 12500, true, true},
		{"1.5e3", 1500000, true, true},
		{"15E-1", 1500, false, true},
		{"1e-9", 0, false, true},
		{"0e90", 0, false, true},
		{"00012", 12000, false, true},
		{".5", 0, true, false}, // which JSON does not know
		{"5.", 0, true, false},
		{"4611686018427387.899", 4611686018427387899, true, true},
		{"4611686018427387.9", 0, true, false},
		{"9000000000000000", 0, false, false},
		{"1e30", 0, false, false},
		{"1e999999999999", 0, false, false},
		{"", 0, false, false},
		{".", 0, true, false},
		{`""`, 0, false, false},
		{"null", 0, false, false},
		{"1,5", 0, false, false},
		{"1.5.5", 0, true, false},
		{"0x10", 0, false, false},
		{"--1", 0, false, false},
		{"1.2345x", 0, true, false},
	} {
		got, fraction, ok := nanoseconds([]byte(c.text))
		if ok != c.ok || ok && (got != c.want || fraction != c.fraction) {
			t.Errorf("nanoseconds(%s) = %d, %v, %v, want %d, %v, %v", c.text, got, fraction, ok, c.want, c.fraction,
				c.ok)
		}
	}
}

// The number of nanoseconds agrees with arithmetic without rounding.
func TestNanosecondsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(0, 1<<60/1000).Draw(t, "whole")
		decimals := rapid.StringMatching(`[0-9]{1,6}`).Draw(t, "decimals")
		text := fmt.Sprintf("%d.%s", whole, decimals)
		got, _, ok := nanoseconds([]byte(text))
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		exact, _ := new(big.Rat).SetString(text)
		off := new(big.Rat).Sub(new(big.Rat).Mul(exact, big.NewRat(1000, 1)), big.NewRat(got, 1))
		if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("nanoseconds(%s) = %d ns", text, got)
		}
	})
}
