package thresholds

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxRuns is the largest number of runs that is accepted.
const MaxRuns = 1000

// Runs is the number of fresh processes a session: First, and up to Most while a comparison is undecided. Zero: unset.
type Runs struct{ First, Most int }

// FixedRuns is a fixed number of runs, the zero value for 0.
func FixedRuns(n int) Runs { return Runs{n, n} }

// ParseRuns reads "5" or "5..12".
func ParseRuns(s string) (Runs, error) {
	lo, hi, ranged := strings.Cut(s, "..")
	if !ranged {
		hi = lo
	}
	first, err := strconv.Atoi(lo)
	most, err2 := strconv.Atoi(hi)
	switch {
	case err != nil || err2 != nil:
		return Runs{}, fmt.Errorf("%q is neither a number of runs nor a range such as 5..12", s)
	case first < 1 || most > MaxRuns:
		return Runs{}, fmt.Errorf("%s is not between 1 and %d", s, MaxRuns)
	case most < first:
		return Runs{}, fmt.Errorf("%s ends before it begins", s)
	case ranged && first < 2:
		return Runs{}, errors.New("a range begins with at least 2 runs: one has no spread to judge by")
	}
	return Runs{first, most}, nil
}

// String is the form that [ParseRuns] reads, "" for zero.
func (r Runs) String() string {
	switch {
	case r.First == 0:
		return ""
	case r.First == r.Most:
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d..%d", r.First, r.Most)
}
