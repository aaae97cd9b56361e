package trace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// chooseStep finds the range that every run repeats: the one that covers most of the kernel time, of equals the
// outermost, which is the one with the fewest occurrences or else the first to start. A name that the caller gives
// must be there.
func chooseStep(cuts []*cut, want string) (string, error) {
	if want == NoStep {
		return "", nil
	}
	const enough, equal = 0.5, 0.02
	type candidate struct {
		model.Candidate // Covers is that of the run where it covers least, First the sum over the runs
		runs            int
	}
	var found []candidate
	at := map[string]int{}
	for _, c := range cuts {
		for _, x := range c.seen.Candidates {
			i, ok := at[x.Name]
			if !ok {
				at[x.Name] = len(found)
				found = append(found, candidate{x, 1})
				continue
			}
			f := &found[i]
			f.Covers, f.Count, f.First, f.runs = min(f.Covers, x.Covers), max(f.Count, x.Count), f.First+x.First,
				f.runs+1
		}
	}
	found = slices.DeleteFunc(found, func(x candidate) bool { return x.runs < len(cuts) })
	if want != "" {
		if len(found) == 0 {
			return "", model.Refuse(model.NoStep, "name a range that every run has as the step, or none",
				"not every run has the step range %s%s", strconv.Quote(want), meant(want, cuts))
		}
		return want, nil
	}
	most := 0.0
	for _, x := range found {
		most = max(most, x.Covers)
	}
	found = slices.DeleteFunc(found, func(x candidate) bool { return x.Covers < enough || x.Covers < most-equal })
	if len(found) == 0 {
		return "", nil
	}
	return slices.MinFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Count, b.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Name, b.Name))
	}).Name, nil
}

// meant names the range that a step may have been meant for, else those that every run has.
func meant(want string, cuts []*cut) string {
	const most = 8
	var names []string
	have := map[string]int{} // cuts with a range of that name
	for _, c := range cuts {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(c.RangeNames))) {
			have[name]++
		}
	}
	occurrences := cuts[0].occurrences("")
	for i, name := range cuts[0].RangeNames {
		if len(occurrences[i]) > 0 && have[name] == len(cuts) {
			names = append(names, name)
		}
	}
	near := measure.Nearest(want, names)
	slices.Sort(names)
	switch {
	case near != "":
		return "; did you mean " + strconv.Quote(near) + "?"
	case len(names) == 0:
		return ""
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return "; they have " + strings.Join(names, ", ")
}
