package trace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// minSteps is the fewest occurrences that make a range a step.
const minSteps = 5

// occurrences are the outermost occurrences of a range, one after the other.
func (c *cut) occurrences(name int32) []model.Interval {
	var out []model.Interval
	for _, r := range c.Ranges {
		if r.Name != name || len(out) > 0 && r.Start < out[len(out)-1].End {
			continue
		}
		if len(c.Trace.Captures) > 0 && len(c.launches) < len(c.Launches) && !within(c.Captures, r.Start) {
			continue
		}
		out = append(out, model.Interval{Start: r.Start, End: r.End})
	}
	return out
}

// coverage is the share of the kernel time launched since a time that was launched within the intervals.
func (c *cut) coverage(spans []model.Interval, since int64) float64 {
	var in, all int64
	within := finder{spans: spans}
	for _, l := range c.launches {
		if l.API < since {
			continue
		}
		all += l.End - l.Start
		if within.find(l.API) >= 0 {
			in += l.End - l.Start
		}
	}
	if all == 0 {
		return 0
	}
	return float64(in) / float64(all)
}

// candidate is a range that may be the step.
type candidate struct {
	name   string
	spans  []model.Interval // of one run
	covers float64          // share of the kernel time; of several runs, in the one where it covers least
	count  int
	first  int64 // start of the first occurrence, summed over runs
	runs   int
}

// candidates are the ranges that a run repeats, or the one that is wanted. Their shares are of one span, from the first occurrence of
// any of them: a short loop at the end of a run does not cover all of it.
func (c *cut) candidates(want string) (out []candidate) {
	if want == NoStep {
		return nil
	}
	since := int64(0)
	for i, name := range c.RangeNames {
		if want != "" && name != want {
			continue
		}
		spans := c.occurrences(int32(i))
		if len(spans) < minSteps && want == "" || len(spans) == 0 {
			continue
		}
		if len(out) == 0 || spans[0].Start < since {
			since = spans[0].Start
		}
		out = append(out, candidate{name: name, spans: spans, count: len(spans), first: spans[0].Start, runs: 1})
	}
	for i := range out {
		out[i].covers, out[i].spans = c.coverage(out[i].spans, since), nil
	}
	return out
}

// chooseStep finds the range that every run repeats: the one that covers most of the kernel time, of equals the
// outermost, which is the one with the fewest occurrences or else the first to start. A name that the caller gives
// must be there.
func chooseStep(cuts []*cut, want string) (string, error) {
	if want == NoStep {
		return "", nil
	}
	const enough, equal = 0.5, 0.02
	var found []candidate
	at := map[string]int{}
	for _, c := range cuts {
		for _, x := range c.seen.candidates {
			i, ok := at[x.name]
			if !ok {
				at[x.name] = len(found)
				found = append(found, x)
				continue
			}
			f := &found[i]
			f.covers, f.count, f.first, f.runs = min(f.covers, x.covers), max(f.count, x.count), f.first+x.first, f.runs+1
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
		most = max(most, x.covers)
	}
	found = slices.DeleteFunc(found, func(x candidate) bool { return x.covers < enough || x.covers < most-equal })
	if len(found) == 0 {
		return "", nil
	}
	return slices.MinFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.first, b.first), cmp.Compare(a.name, b.name))
	}).name, nil
}

// meant names the range that a step may have been meant for, else those that every run has.
func meant(want string, cuts []*cut) string {
	const most = 8
	var names []string
	for i, name := range cuts[0].RangeNames {
		if len(cuts[0].occurrences(int32(i))) > 0 && !slices.ContainsFunc(cuts, func(c *cut) bool { return !slices.Contains(c.RangeNames, name) }) {
			names = append(names, name)
		}
	}
	near := thresholds.Nearest(want, names)
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
