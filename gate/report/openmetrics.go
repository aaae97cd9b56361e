package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// family is one metric family of the OpenMetrics text format 1.0.
type family struct {
	name, unit, help string
	samples          map[string]string // value by label set
}

// OpenMetrics writes the head's values in the text format of OpenMetrics 1.0, in seconds, bytes and counts. GitLab
// compares such values as text, so that they are rounded to what is signal: the width of the change's interval.
func OpenMetrics(w io.Writer, r *gate.Report, _ Options) error {
	families := make(map[string]*family)
	add := func(name, unit, help, labels, value string) {
		if unit != "" && !strings.HasSuffix(name, "_"+unit) {
			name += "_" + unit
		}
		f := families[name]
		if f == nil {
			f = &family{name, unit, help, make(map[string]string)}
			families[name] = f
		}
		if _, twice := f.samples[labels]; !twice {
			f.samples[labels] = value
		}
	}
	whole := labels("workload", workload(r))
	passed := 0
	if r.Verdict == gate.Pass {
		passed = 1
	}
	for _, c := range []struct {
		name, help string
		n          int
	}{
		{"nsgate_pass", "1 where the gate passed, 0 where it failed or gave no verdict.", passed},
		{"nsgate_regressed", "Regressions that fail the gate.", r.Counts.Regressed},
		{"nsgate_improved", "Improvements.", r.Counts.Improved},
		{"nsgate_undecided", "Comparisons that the data could not decide.", r.Counts.Inconclusive},
	} {
		add(c.name, "", c.help, whole, strconv.Itoa(c.n))
	}
	for _, f := range r.Findings {
		if !f.Head.Known() {
			continue
		}
		scale, unit := 1.0, word(f.Unit)
		switch f.Unit {
		case "ns":
			scale, unit = 1e9, "seconds"
		case "B":
			unit = "bytes"
		case "count", "":
			unit = ""
		}
		set := []string{"workload", workload(r)}
		s := f.Subject()
		switch {
		case s.Scope == measure.ScopeKernel:
			_, hash, _ := cutLast(s.ID(), "#")
			set = append(set, "kernel", subject(f), "geometry", geometry(f), "id", hash)
		case s.Scope == measure.ScopeRange:
			set = append(set, "range", s.Name)
		case s.Name != "":
			set = append(set, "copy", s.Name)
		}
		add("nsgate_"+word(f.Metric), unit, "Head of the comparison: "+oneLine(Metric(f))+".", labels(set...), signal(f, scale))
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
	b.WriteString("# EOF\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// signal prints the head's value, divided by scale, to the decimal place that its interval leaves certain: that of half
// the interval's width, and three digits where there is none.
func signal(f gate.Finding, scale float64) string {
	v := float64(f.Head)
	half := math.Abs(float64(f.High-f.Low)) / 2 * math.Abs(float64(f.Base))
	switch {
	case v == 0, v == math.Trunc(v) && (f.Unit == "count" || f.Unit == "B"):
		return strconv.FormatFloat(v/scale, 'g', -1, 64)
	case !(half > 0) || math.IsInf(half, 0):
		return strconv.FormatFloat(v/scale, 'g', 3, 64)
	}
	digits := math.Floor(math.Log10(math.Abs(v))) - math.Ceil(math.Log10(half)) + 1
	return strconv.FormatFloat(v/scale, 'g', int(min(max(digits, 1), 6)), 64)
}

// labels makes a label set of names and values in turn.
func labels(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, `%s%s="%s"`, cmp.Or(map[bool]string{true: ","}[i > 0], "{"), pairs[i], label(Elide(oneLine(pairs[i+1]), 150)))
	}
	return b.String() + "}"
}

// label takes the characters out of a text that readers of the format stumble over. Backslash and quote could be
// escaped, but GitLab splits a line as a shell does and takes # for a comment.
var labelCharacters = strings.NewReplacer(`\`, "∖", `"`, "”", "'", "’", "`", "‵", "#", "♯")

func label(s string) string { return labelCharacters.Replace(oneLine(s)) }

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
