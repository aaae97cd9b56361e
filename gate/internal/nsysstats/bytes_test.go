package nsysstats

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/cells"
)

// Cells survive either way of quoting.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("a,\"\n µ1")), 0, 8, -1), 2, 6).Draw(t, "cells")
		// As nsys writes it, which is clear where no cell holds a quote before a comma, or at either end, and none that begins with a
		// comma, which then stands behind its quote, is among others with quotes.
		quotes := slices.ContainsFunc(want, func(c string) bool { return strings.Contains(c, "\"") })
		var parts []string
		for _, c := range want {
			if strings.Contains(c, "\",") || strings.HasPrefix(c, "\"") || strings.HasSuffix(c, "\"") || strings.Contains(c, "\"\"") || quotes && strings.HasPrefix(c, ",") {
				t.Skip("unclear")
			}
			if strings.Contains(c, ",") {
				c = "\"" + c + "\""
			}
			parts = append(parts, c)
		}
		if got, open := split(nil, strings.Join(parts, ","), len(want)); open || !slices.Equal(got, want) {
			t.Fatalf("%q: %q, %v", parts, got, open)
		}
		// As RFC 4180 has it.
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		_ = w.Write(want)
		w.Flush()
		if got, open := split(nil, strings.TrimSuffix(b.String(), "\n"), len(want)); open || !slices.Equal(got, want) {
			t.Fatalf("%q: %q, %v", b.String(), got, open)
		}
	})
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
		r, form := cells.Parse(fmt.Sprintf("%.3f", rate))
		m, _ := cells.Parse(fmt.Sprintf("%.3f", float64(bytes)/1e6))
		if form == cells.NoNumber {
			t.Skip("a rate without end")
		}
		got, ok := exact(m.Float(1e6), m.Step(1e6), ns, r.Float(1e6), r.Step(1e6))
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
