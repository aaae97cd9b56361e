package nsysstats

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]form{
		"0": plain, "00": plain, "7": plain, "0.5": plain, "482.333": plain, "1e+06": plain, "1.5E3": plain, "9223372036854775799": plain,
		"1,234,567": grouped, "1,234.5": grouped, "482,333": unclear, "0,000": comma, "0,57": comma, "1234,5": comma, "1.234,5": comma,
		"1.234.567": comma, "-1": negative, "-0.5": negative, "": noNumber, "-": noNumber, ".5": noNumber, "5.": noNumber, "1,23,456": noNumber,
		"nan": noNumber, "inf": noNumber, "0x10": noNumber, "1_000": noNumber, " 5": noNumber, "5 ms": noNumber, "1e999": noNumber, "１": noNumber,
		"9223372036854775807": noNumber, "99999999999999999999": noNumber, "0.0000000000000000001": noNumber, "12345678,9": comma, "0,123": comma,
	} {
		if _, got := parse(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if n, _ := parse("1,234,567.80"); n != (number{123456780, 2}) {
		t.Errorf("%+v", n)
	}
}

// A number in a unit is rounded to the nearest of the base unit, exactly.
func TestUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits, places := rapid.Int64Range(0, 1<<52).Draw(t, "digits"), rapid.IntRange(0, 12).Draw(t, "places")
		u := unit{ten: rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "unit")}
		text := fmt.Sprintf("%0*d", places+1, digits)
		if places > 0 {
			text = text[:len(text)-places] + "." + text[len(text)-places:]
		}
		n, form := parse(text)
		if form != plain {
			t.Fatalf("%q is no number", text)
		}
		exact := new(big.Rat)
		exact.SetString(text)
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(u.ten)), nil)))
		want, _ := new(big.Int).SetString(exact.FloatString(0), 10) // rounds half away from zero
		got, ok := n.int(u)
		if !want.IsInt64() {
			if ok {
				t.Fatalf("%s fits as %d", text, got)
			}
			return
		}
		if !ok || got != want.Int64() {
			t.Fatalf("%s × 10^%d = %d, %v; want %d", text, u.ten, got, ok, want)
		}
	})
	if n, ok := (number{12345, 3}).int(unit{kibi: 1}); !ok || n != 12641 {
		t.Errorf("12.345 KiB = %d", n)
	}
}

// The bytes found behind rounded ones are the bytes, or none.
func TestExactBytes(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(0, 1<<34).Draw(t, "bytes")
		ns := rapid.Int64Range(1, 3_000_000_000).Draw(t, "ns")
		rate := float64(bytes) * float64(1_000_000_000/ns) / 1e6 // as nsys prints it since 2022
		if rapid.Bool().Draw(t, "in 2021") {
			rate = float64(bytes) * 1000 / float64(ns)
		}
		r, form := parse(fmt.Sprintf("%.3f", rate))
		m, _ := parse(fmt.Sprintf("%.3f", float64(bytes)/1e6))
		mb := unit{ten: 6}
		if form != plain {
			t.Skip("a rate without end")
		}
		got, ok := exact(m.float(mb), m.step(mb), ns, r.float(mb), r.step(mb))
		if ok && got != bytes {
			t.Fatalf("%d B in %d ns: %d", bytes, ns, got)
		}
		if ok {
			found++
		}
		if !ok && bytes > 0 && ns < 500_000 && 1_000_000_000%ns == 0 {
			t.Fatalf("%d B in %d ns: not found", bytes, ns)
		}
	})
	if found == 0 {
		t.Error("no bytes were found at all")
	}
}

// Cells survive either way of quoting.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("a,\"\n µ1")), 0, 8, -1), 2, 6).Draw(t, "cells")
		var raw [][]byte
		for _, c := range cells {
			raw = append(raw, []byte(c))
		}
		row := encode(raw)
		n, ok, open := strict(row)
		if !ok || open || n != len(cells) {
			t.Fatalf("%q: %d cells, %v, %v", row, n, ok, open)
		}
		r := csv.NewReader(bytes.NewReader(append(row, '\n')))
		got, err := r.Read()
		if err != nil || !slices.Equal(got, cells) {
			t.Fatalf("%q: %q, %v", row, got, err)
		}
		// As nsys writes it, which is clear where no cell holds a quote before a comma, or at either end.
		var parts []string
		for _, c := range cells {
			if strings.Contains(c, "\",") || strings.HasPrefix(c, "\"") {
				t.Skip("unclear")
			}
			if strings.Contains(c, ",") {
				c = "\"" + c + "\""
			}
			parts = append(parts, c)
		}
		loosely, open := loose([]byte(strings.Join(parts, ",")))
		var texts []string
		for _, c := range loosely {
			texts = append(texts, string(c))
		}
		if open || !slices.Equal(texts, cells) {
			t.Fatalf("%q: %q, %v", parts, texts, open)
		}
	})
}
