package app

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

var (
	numberLine = input.Pattern(`^([A-Za-z][A-Za-z0-9 _/().-]{0,47}?)[ \t]*: *(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)` +
		`(?: *([A-Za-zµ%][A-Za-z0-9µ%/]{0,15}))?$`)
	digits = input.Pattern(`\d+`)
	whole  = input.Pattern(`^\d+$`)
	unitIn = input.Pattern(`[A-Za-zµ/%]+`)
)

// suggest finds lines "name: number unit" that each of the runs printed once; better is Neither where the unit does not
// tell it. Whole numbers without a unit that are the same in all runs are settings of the program, not outputs.
func suggest(runs []string) (out []measure.Output) {
	const maxSuggested = 6
	if len(runs) < 2 {
		return nil
	}
	values := make([]map[string][]string, len(runs)) // of each run, the numbers of each shape
	for i, run := range runs {
		values[i] = map[string][]string{}
		for _, m := range numberLines(run) {
			values[i][shape(m)] = append(values[i][shape(m)], m[2])
		}
	}
	for _, m := range numberLines(runs[0]) {
		setting := m[3] == "" && whole().MatchString(m[2])
		once := !slices.ContainsFunc(values, func(of map[string][]string) bool { return len(of[shape(m)]) != 1 })
		varies := slices.ContainsFunc(values, func(of map[string][]string) bool {
			return !slices.Contains(of[shape(m)], m[2])
		})
		if once && (varies || !setting) && len(out) < maxSuggested {
			out = append(out, measure.Output{Name: strings.TrimSpace(m[1] + " " + m[3]), Better: better(m[1], m[3]),
				Pattern: "^" + regexp.QuoteMeta(m[1]) + `[ \t]*: *([0-9.eE+-]+)`})
		}
	}
	return out
}

func numberLines(printed string) (matches [][]string) {
	for line := range strings.FieldsFuncSeq(printed, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if m := numberLine().FindStringSubmatch(line); m != nil {
			matches = append(matches, m)
		}
	}
	return matches
}

// shape is a line without its numbers: lines of one shape in a run are those of a loop.
func shape(m []string) string { return digits().ReplaceAllString(m[1], "0") + ":" + m[3] }

// better is the direction of a unit, that of the line or the last one in its name.
func better(name, unit string) measure.Direction {
	words := unitIn().FindAllString(name, -1)
	if unit == "" {
		unit = words[len(words)-1]
	}
	_, base, known := measure.BaseUnit(unit)
	switch {
	case base == measure.Time.Unit:
		return measure.Lower
	case known && strings.HasSuffix(base, "/s"):
		return measure.Higher
	}
	return measure.Neither
}
