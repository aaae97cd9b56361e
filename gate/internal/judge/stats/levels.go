package stats

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Levels splits values into two levels at their widest gap. It reports ok where the gap is more than four times as wide
// as the wider of the two groups, and each holds at least so many values: the values fall on two levels rather than
// scatter around one. low and high are the groups' means.
func Levels(x []float64, least int) (low, high float64, lows int, ok bool) {
	const apart = 4
	s := slices.Clone(x)
	slices.Sort(s)
	if len(s) < 2*least {
		return 0, 0, 0, false
	}
	at := least
	for i := least; i <= len(s)-least; i++ {
		if s[i]-s[i-1] > s[at]-s[at-1] {
			at = i
		}
	}
	gap := s[at] - s[at-1]
	width := max(s[at-1]-s[0], s[len(s)-1]-s[at])
	if !(gap > 0 && gap > apart*width) {
		return 0, 0, 0, false
	}
	return stat.Mean(s[:at], nil), stat.Mean(s[at:], nil), at, true
}
