package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// family is one metric family of the OpenMetrics text format 1.0.
type family struct {
	unit, help string
	samples    map[string]string // value by label set
}

// openMetrics writes the head's values in the text format of OpenMetrics 1.0, in seconds, bytes and counts. GitLab
// compares such values as text, so they are rounded to the width of the change's interval.
func openMetrics(v *story.Story) (string, error) {
	families := make(map[string]family)
	for _, w := range v.Each {
		measured(w, families)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		fmt.Fprintf(&b, "# TYPE %s gauge\n", name)
		if f.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", name, f.unit)
		}
		fmt.Fprintf(&b, "# HELP %s %s\n", name, label(f.help))
		for _, set := range slices.Sorted(maps.Keys(f.samples)) {
			fmt.Fprintf(&b, "%s%s %s\n", name, set, f.samples[set])
		}
	}
	return b.String() + "# EOF\n", nil
}

func measured(v *story.Story, families map[string]family) {
	add := func(name, unit, help, value string, set ...string) {
		name += measure.Either(unit != "" && !strings.HasSuffix(name, "_"+unit), "_"+unit, "")
		if families[name].samples == nil {
			families[name] = family{unit, help, make(map[string]string)}
		}
		labels := labels(append([]string{"workload", v.Workload}, set...))
		if f := families[name]; f.samples[labels] == "" {
			f.samples[labels] = value
		}
	}
	counts := v.Counts
	add("nsgate_pass", "", "1 where the gate passed, 0 where it failed or gave no verdict.",
		measure.Either(v.Gate.Code == 0, "1", "0"))
	add("nsgate_slower", "", "Causes that fail the gate.", strconv.Itoa(counts.Slower))
	add("nsgate_faster", "", "Causes of a faster program.", strconv.Itoa(counts.Faster))
	add("nsgate_undecided", "", "Causes that are undecided and could fail the gate.", strconv.Itoa(counts.Undecided))
	for _, r := range v.Rows {
		f := r.F
		if !f.Head.Known() || f.SumsListed() {
			continue
		}
		scale, unit := measure.Either(f.Unit == story.NS, 1e9, 1.0), unitWord(f.Unit)
		var set []string
		s := f.Subject()
		switch {
		case s.Scope == measure.ScopeKernel:
			id := s.ID()
			set = []string{"kernel", r.Subject, "geometry", r.Geometry, "id", id[strings.LastIndexByte(id, '#')+1:]}
		case s.Scope != measure.ScopeWorkload:
			set = []string{story.Word(string(s.Scope)), s.Name}
		case s.Name != "":
			set = []string{"copy", s.Name}
		}
		add("nsgate_"+story.Word(f.Metric), unit, "Head of the comparison: "+r.Metric+".", signal(f, scale), set...)
	}
	if w := v.Report.Waterfall; w != nil {
		for _, p := range w.Parts {
			f := result.Finding{Unit: story.NS, Base: 1, Head: p.Head, Low: p.Low, High: p.High}
			if p.Head.Known() {
				set := []string{"class", p.Class}
				if p.Where != "" {
					set = append(set, "where", p.Where)
				}
				add("nsgate_step_part", "seconds", "Parts of the head's step, by cause.", signal(f, 1e9), set...)
			}
		}
	}
}

// unitWord is a unit as a name ends in it: letters, digits and single underscores between them; "" for a number of
// things.
func unitWord(unit string) string {
	if known, ok := map[string]string{story.NS: "seconds", "B": "bytes", "count": ""}[unit]; ok {
		return known
	}
	words := strings.Split(story.Word(strings.ReplaceAll(unit, "%", " percent ")), "_")
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "_")
}

// signal prints the head's value, divided by scale, to the decimal place of half the interval's width, in four to six
// digits.
func signal(f result.Finding, scale float64) string {
	v := float64(f.Head)
	half := math.Abs(float64(f.High-f.Low)) / 2 * math.Abs(float64(f.Base))
	switch {
	case v == 0, v == math.Trunc(v) && (f.Unit == "count" || f.Unit == "B"):
		return strconv.FormatFloat(v/scale, 'g', -1, 64)
	case !(half > 0) || math.IsInf(half, 0):
		return strconv.FormatFloat(v/scale, 'g', 4, 64)
	}
	digits := math.Floor(math.Log10(math.Abs(v))) - math.Ceil(math.Log10(half)) + 1
	return strconv.FormatFloat(v/scale, 'g', int(min(max(digits, 4), 6)), 64)
}

// labels makes a label set of alternating names and values.
func labels(pairs []string) string {
	var set []string
	for i := 0; i+1 < len(pairs); i += 2 {
		set = append(set, fmt.Sprintf(`%s="%s"`, pairs[i], label(story.Elide(story.Clean(pairs[i+1]), 150))))
	}
	return "{" + strings.Join(set, ",") + "}"
}
