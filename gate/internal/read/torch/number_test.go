package torch

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		text     string
		shift    int
		want     int64
		fraction bool
		ok       bool
	}{
		{"0", 3, 0, false, true},
		{"1718000000000000.123", 3, 1718000000000000123, true, true},
		{"1718000000000000", 3, 1718000000000000000, false, true},
		{"4369596252494.570", 3, 4369596252494570, true, true},
		{"4369596252494.57", 3, 4369596252494570, true, true},
		{"1.0004", 3, 1000, true, true},
		{"1.0005", 3, 1001, true, true},
		{"-1.0005", 3, -1001, true, true},
		{`"12.5"`, 3, 12500, true, true},
		{"1.5e3", 3, 1500000, true, true},
		{"15E-1", 3, 1500, false, true},
		{"1e-9", 3, 0, false, true},
		{"0e90", 3, 0, false, true},
		{"239.338", 6, 239338000, true, true},
		{"00012", 0, 12, false, true},
		{".5", 0, 0, true, false}, // which JSON does not know
		{"5.", 0, 0, true, false},
		{"4611686018427387899", 0, 4611686018427387899, false, true},
		{"4611686018427387900", 0, 0, false, false},
		{"9000000000000000", 3, 0, false, false},
		{"1e30", 3, 0, false, false},
		{"1e999999999999", 3, 0, false, false},
		{"", 3, 0, false, false},
		{".", 3, 0, true, false},
		{`""`, 3, 0, false, false},
		{"null", 3, 0, false, false},
		{"1,5", 3, 0, false, false},
		{"1.5.5", 3, 0, true, false},
		{"0x10", 3, 0, false, false},
		{"--1", 3, 0, false, false},
		{"1.2345x", 0, 0, true, false},
	} {
		got, fraction, ok := decimal([]byte(c.text), math.Pow10(c.shift))
		if ok != c.ok || ok && (got != c.want || fraction != c.fraction) {
			t.Errorf("decimal(%s, %d) = %d, %v, %v, want %d, %v, %v", c.text, c.shift, got, fraction, ok, c.want,
				c.fraction, c.ok)
		}
	}
}

// decimal agrees with arithmetic without rounding.
func TestDecimalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(0, 1<<60/1000).Draw(t, "whole")
		decimals := rapid.StringMatching(`[0-9]{1,6}`).Draw(t, "decimals")
		text := fmt.Sprintf("%d.%s", whole, decimals)
		got, _, ok := decimal([]byte(text), microsecond)
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		exact, _ := new(big.Rat).SetString(text)
		off := new(big.Rat).Sub(new(big.Rat).Mul(exact, big.NewRat(1000, 1)), big.NewRat(got, 1))
		if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("decimal(%s) = %d ns", text, got)
		}
	})
}
