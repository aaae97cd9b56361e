package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// words is the value of a flag that may be repeated, with values separated by commas or lines.
type words []string

func (w *words) Set(s string) error {
	for _, x := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '\n' }) {
		x = strings.TrimSpace(x)
		if x != "" {
			*w = append(*w, x)
		}
	}
	if len(*w) == 0 {
		return fmt.Errorf("%q names nothing", s)
	}
	return nil
}

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Type() string { return "NAME" }

// single is the value of a flag that may be given once.
type single string

// Set refuses a blank and a second value.
func (o *single) Set(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("it is empty: leave it out, or say what is meant")
	case *o != "" && string(*o) != s:
		return fmt.Errorf("%q was given before: one at a time", string(*o))
	}
	*o = single(s)
	return nil
}

func (o *single) String() string { return string(*o) }

func (o *single) Type() string { return "string" }

type word struct {
	value *string
	known []string
}

// Set refuses a word that is none of them.
func (w word) Set(s string) error {
	switch {
	case slices.Contains(w.known, s):
		*w.value = s
		return nil
	case len(w.known) == 2:
		return fmt.Errorf("%q is neither %s nor %s", s, w.known[0], w.known[1])
	}
	return fmt.Errorf("%q is none of %s", s, strings.Join(w.known, ", "))
}

func (w word) String() string { return *w.value }

func (word) Type() string { return "string" }

// meant is "did you mean --threshold? ", "" where nothing known is near.
func meant(mark, word string, known []string) string {
	near := measure.Nearest(word, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s%s? ", mark, near)
}

type runPlan struct{ thresholds.Runs }

// checkRuns are the default runs of a check. An unchanged program takes 3.0 to 4.2 on average; changes are found as
// often as with 5 (limits.md).
var checkRuns = thresholds.Runs{First: 3, Most: 5}

// Set reads "5" or "5..12".
func (p *runPlan) Set(s string) (err error) {
	p.Runs, err = thresholds.ParseRuns(s)
	return err
}

func (p *runPlan) Type() string { return "N" }

// looks are the numbers of runs to judge after: the first, one half-way if that saves a run or two, and the last.
func looks(r thresholds.Runs) []int {
	if r.Most-r.First < 4 {
		return slices.Compact([]int{r.First, r.Most})
	}
	return slices.Compact([]int{r.First, (r.First + r.Most) / 2, r.Most})
}
