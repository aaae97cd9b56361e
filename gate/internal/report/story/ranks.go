package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const (
	// RankRows is the most ranks that are listed one by one; of more, the ones that compute longest.
	RankRows = 10
	// stripWidth is the most bars of a strip; of more ranks, each bar is the longest of several.
	stripWidth = 64
	// stripFrom is the least difference between ranks, relative to the shortest, for bars of different heights.
	stripFrom = 0.01
)

// Ranks are the printed ranks of a job.
type Ranks struct {
	Told  []string // about the straggler
	About []Fact   // least, median and most of all ranks, with a strip of bars
	Table *Table   // the ranks one by one

	Strips []string // About, a line each
}

// NewRanks prints ranks; nil for none.
func NewRanks(r *result.Ranks) *Ranks {
	if r == nil || len(r.Ranks) == 0 {
		return nil
	}
	x := &Ranks{Told: Sentences(r.Remarks)}
	for _, of := range []struct {
		label string
		value func(result.Rank) result.Number
	}{
		{"compute", func(k result.Rank) result.Number { return k.Compute }},
		{"step", func(k result.Rank) result.Number { return k.Step }},
		{"wait", func(k result.Rank) result.Number { return k.Wait }},
	} {
		if text := spread(r.Ranks, of.value); text != "" {
			x.About, x.Strips = append(x.About, Fact{of.label, text}), append(x.Strips, Pad(of.label, 7)+NB+" "+text)
		}
	}
	x.Table = &Table{Columns: []Column{{Least: 8, Name: true}, {Title: "compute", Right: true},
		{Title: "baseline", Right: true, Rank: 4, Optional: true},
		{Title: "step", Right: true, Rank: 3, Optional: true}, {Title: "waits", Right: true, Rank: 1, Optional: true},
		{Title: "others wait", Right: true, Rank: 2, Optional: true},
		{Title: "exposed", Right: true, Rank: 5, Optional: true},
		{Title: "hidden", Right: true, Rank: 6, Optional: true}}}
	shown := slices.Clone(r.Ranks)
	if len(shown) > RankRows {
		measure.Sort(shown, func(a, b result.Rank) int { return cmp.Compare(b.Compute, a.Compute) })
		shown = shown[:RankRows]
		x.Table.About = fmt.Sprintf("the %d that compute longest, of %d", len(shown), len(r.Ranks))
	}
	for _, k := range shown {
		x.Table.Add(Elide(Clean(k.Name), 20), CellOf(k.Compute, NS), CellOf(k.Base, NS), CellOf(k.Step, NS),
			CellOf(k.Wait, NS), CellOf(k.Caused, NS), CellOf(k.Exposed, NS), CellOf(k.Hidden, NS))
	}
	return x
}

// spread prints the least, the median and the most of a value over ranks, and a strip of bars.
func spread(list []result.Rank, value func(result.Rank) result.Number) string {
	known := slices.DeleteFunc(slices.Clone(list), func(k result.Rank) bool { return !value(k).Known() })
	if len(known) < 2 {
		return ""
	}
	bars := strip(known, value)
	measure.Sort(known, func(a, b result.Rank) int { return cmp.Compare(value(a), value(b)) })
	n := len(known)
	end := func(k result.Rank) string {
		return Quantity(value(k), NS) + " " + Bind(Elide(Clean(k.Name), 20))
	}
	median := "median " + Quantity((value(known[(n-1)/2])+value(known[n/2]))/2, NS) + " … "
	return end(known[0]) + " … " + measure.Either(n > 2, median, "") + end(known[n-1]) + " " + NB + bars
}

// strip draws a value over the ranks, in their order, as bars from the least to the most.
func strip(list []result.Rank, value func(result.Rank) result.Number) string {
	width := min(len(list), stripWidth)
	high := make([]float64, width)
	least, most := math.Inf(1), 0.0
	for i, k := range list {
		v := float64(value(k))
		at := i * width / len(list)
		high[at] = max(high[at], v)
		least, most = min(least, v), max(most, v)
	}
	runes := []rune(sparkBars)
	var b strings.Builder
	for _, v := range high {
		at := 0
		if most-least > stripFrom*least {
			at = int((v-least)/(most-least)*float64(len(runes)-1) + 0.5)
		}
		b.WriteRune(runes[at])
	}
	return b.String()
}
