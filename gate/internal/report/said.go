package report

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// said are lines behind a label, such as "Why".
type said struct {
	Label string
	Lines []string
	Tone  tone
	Apart bool // an empty line goes before it
}

// The most causes and differences that are listed without --verbose.
const maxCauses, maxDifferences = 8, 20

// below are the texts under the headline of a gate that passes or gives no verdict: the rest of the reason, and both sides.
func (v *view) below() (rest, sides string) {
	switch {
	case !v.judged():
		return v.unsaid(), ""
	case v.Tone == good:
		return v.unsaid(), join("; ", strings.TrimPrefix(v.sides(), "NVIDIA"+nb), wrapped("detects ", detects(v.Report.Detects), ""))
	}
	return "", ""
}

// says are the labelled lines below the headline, and those below the waterfall and the warnings.
func (v *view) says() (first, last []said) {
	next := said{Label: "Next", Lines: v.Next}
	switch {
	case !v.judged():
		first = []said{next, {Label: "Also", Lines: v.suspects(), Apart: true}}
	case v.Report.Verdict == result.Fail:
		why := said{Label: "Why", Lines: []string{v.Reason}, Apart: true}
		where, also := said{Label: "Where"}, said{Label: "Also"}
		if len(v.Causes) > 0 {
			most := maxCauses
			if v.Verbose {
				most = len(v.Causes)
			}
			why.Lines, where.Lines = v.Causes[0].Why, v.Causes[0].places()
			also.Lines = v.also(slices.DeleteFunc(slices.Clone(v.Causes[1:]), func(c cause) bool { return c.Class != failing }), most)
		}
		next.Apart = true
		first, last = []said{why, where, also, {Label: "Besides", Lines: v.besides(), Tone: minor}}, []said{next}
	case v.Report.Undecided:
		why, next := v.undecided()
		first = []said{{Label: "Open", Lines: []string{why}}, {Label: "Settle", Lines: []string{next}}, v.increased()}
	default:
		for _, c := range v.Causes {
			if c.Class == warned {
				first = append(first, said{Label: "Slower", Lines: []string{join(", ", c.Why[0], c.lead().Reason)}, Tone: doubtful})
			}
		}
		var gains []string
		for _, g := range groups(untold(v.of(improved))) {
			gains = append(gains, g[0].Subject+" "+g[0].Metric+" "+g[0].Values+" ("+g[0].Change+")")
		}
		first = append(first, v.increased(), said{Label: "Faster", Lines: v.some(gains), Tone: good})
		last = []said{next}
	}
	return first, last
}

// some cuts a list to three texts, and says where the others are.
func (v *view) some(list []string) []string { return beginning(list, 3, wrapped(" (", v.ShowAll, ")")) }

// also are causes beside the first, a line each.
func (v *view) also(list []cause, most int) []string {
	var lines []string
	for _, c := range list {
		r := c.lead()
		text := v.effectLine(&r, math.MaxInt, false)
		if len(c.Why) > 0 && (c.rank || c.idle != nil || len(r.Parts) > 0 || len(c.totals) > 0) {
			text = c.Why[0]
		}
		if at := c.places(); len(at) > 0 {
			text += ", " + at[0]
		} else if r.F.Role != "" && len(r.Parts) == 0 {
			text += ", in range " + Clean(r.F.Role)
		}
		lines = append(lines, text)
	}
	return beginning(lines, most, "")
}

// suspects are the causes that a gate without a verdict would name, but for undecided ones under 1 %.
func (v *view) suspects() []string {
	if slices.ContainsFunc(v.Rows, func(r row) bool { return r.Class == differing }) {
		return nil
	}
	return v.also(slices.DeleteFunc(slices.Concat(v.Causes, v.Open), func(c cause) bool {
		change := c.lead().F.Change
		return c.Class == open && change.Known() && math.Abs(float64(change)) < 0.01
	}), maxCauses)
}

// besides counts the other comparisons that need a look.
func (v *view) besides() []string {
	var list []string
	for _, x := range []struct {
		class class
		what  string
	}{{warned, "slower without failing the gate"}, {open, "undecided"}, {improved, "improved"}, {added, "added"}, {removed, "removed"}} {
		n := len(groups(untold(v.of(x.class))))
		if x.class == warned {
			n = len(slices.DeleteFunc(slices.Clone(v.Causes), func(c cause) bool { return c.Class != warned }))
		}
		if n > 0 {
			list = append(list, bind(fmt.Sprintf("%d %s", n, x.what)))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []string{strings.Join(list, ", ") + wrapped(nb+"(", bind(v.ShowAll), ")")}
}

// increased are the counts that increased.
func (v *view) increased() said {
	var list []string
	for _, c := range v.Causes {
		if x := c.lead(); c.Class == increased {
			list = append(list, join(", ", slices.Concat([]string{strings.TrimPrefix(x.Subject+" ", "workload ") + x.Metric + " " + x.Values + " a " + unitOf(v.Report.Head)}, group(c.Rows).evidence())...))
		}
	}
	return said{Label: "New", Lines: v.some(list), Tone: doubtful}
}

// undecided says why a gate is undecided, and what would decide it.
func (v *view) undecided() (why, next string) {
	runs, why := 0, v.Reason
	n, shown := 0, v.effect()
	for _, c := range v.Open {
		for _, r := range c.Rows {
			if r.Class != open {
				continue
			}
			headed := shown != nil && r.F.Subject() == shown.F.Subject() && r.F.Metric == shown.F.Metric
			if r.Reason != "" && (n == 0 || headed) { // the line above has its numbers
				why = r.Reason
			}
			n++
			runs = max(runs, r.F.MoreRuns())
		}
	}
	if n > 1 {
		why += "; " + count(n-1, "more comparison")
	}
	next = cmp.Or(strings.Join(v.Next, "; "), v.settle(runs), "measure the base build beside the head")
	return strings.TrimSuffix(why, ": "+next), next
}

// limited are the flags that a number of runs replaces.
var limited = regexp.MustCompile(` --(runs|budget)[ =]\S+`)

// settle is the command that takes this number of runs, "" for none.
func (v *view) settle(runs int) string {
	const check = "nsgate check"
	command, ok := strings.CutPrefix(trimmed(v.Report.Reproduce), check)
	if !ok || runs == 0 || v.Runs == "" {
		return ""
	}
	return fmt.Sprintf("%s %s %d%s", check, v.Runs, runs, limited.ReplaceAllString(command, ""))
}

// falls reports whether the waterfall belongs to the first lines.
func (v *view) falls() bool {
	switch {
	case v.Report.Verdict == result.Fail:
		return true
	case !v.judged():
		return v.Fall != nil && len(v.Fall.Rows) > 0
	}
	return v.Tone == good && v.Fall != nil && v.Fall.Certain && math.Abs(float64(v.Fall.Head/v.Fall.Base-1)) >= 0.01
}

// whole prints the step, the GPU time and how many kernels changed: "GPU time 398.0 → 398.1 µs; 6 kernels, none changed".
func (v *view) whole() string {
	times := strings.Join(v.programTimes(), ", ")
	kernels, other := map[measure.Subject]bool{}, map[measure.Subject]bool{}
	for _, r := range v.Rows {
		if r.F.Scope != measure.ScopeKernel || r.Told {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(r.Parts), row.Gone)
		if len(of) == 0 {
			of = []row{r}
		}
		for _, x := range of {
			kernels[x.F.Subject()] = true
			if !slices.Contains([]class{unchanged, harmless, same}, r.Class) {
				other[x.F.Subject()] = true
			}
		}
	}
	if times == "" || len(kernels) == 0 || !v.judged() {
		return times
	}
	changed := "none changed"
	if n := len(other); n > 0 {
		changed = fmt.Sprintf("%d changed", n)
	}
	return times + "; " + count(len(kernels), "kernel") + ", " + bind(changed)
}

// programTimes are the step and the GPU time, without the one that the headline is about.
func (v *view) programTimes() (texts []string) {
	shown := v.effect()
	if !v.judged() {
		shown = nil // the headline holds the reason instead
	}
	step, sum := "step", "GPU time"
	if unitOf(v.Report.Head) == "run" { // the step is what repeats in it
		sum = "GPU time of the run"
	}
	if v.Fall != nil && v.Fall.Mean {
		step = "typical step"
	}
	for _, x := range []struct{ metric, name string }{{measure.StepTime.Name, step}, {measure.GPUTime.Name, sum}} {
		r := v.number(x.metric)
		if r == nil || !r.F.Base.Known() || shown != nil && shown.F.Metric == x.metric && shown.F.Subject() == measure.Workload {
			continue
		}
		text := bind(x.name) + nb + r.Values
		if r.F.Change.Known() && math.Abs(float64(r.F.Change)) >= 0.001 {
			text += nb + "(" + r.Change + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

// behind are GPU, runs and their bars, of a gate that fails or is undecided.
func (v *view) behind() string {
	if !v.judged() || v.Tone == good {
		return ""
	}
	tail := v.sides()
	if r := v.effect(); r != nil && r.runs() != "" {
		tail += nb + nb + r.runs()
	}
	return tail
}

// differences is the table of comparisons that differ and were not judged, and what is said of them.
func (v *view) differences() (t *table, said []string) {
	rows := untold(v.of(differing))
	if v.Verbose {
		rows = unfollowed(rows)
	} else {
		rows = notable(rows)
	}
	t = differences(rows)
	if len(rows) == 0 {
		return t, nil
	}
	if !v.Verbose {
		t.most(maxDifferences, func(left int) string { return fmt.Sprintf("%d more", left) + wrapped(" (", v.ShowAll, ")") })
	}
	t.Title = "Differences, " + rows[0].Reason
	if unitOf(v.Report.Head) == "run" && v.number(measure.StepTime.Name) != nil {
		t.Title += "; steps are what repeats, all else is of the run"
	}
	for _, g := range groups(rows) {
		if told := strings.Join(nonempty(append([]string{g[0].Match}, g.evidence()...)...), "; "); told != "" {
			said = append(said, bind(Elide(g[0].Subject, 40))+": "+told)
		}
	}
	return t, said
}

// whys are comparisons that were not judged and have a cause that counters give: each with its numbers, then the cause.
func (v *view) whys() (list []fact) {
	if v.judged() {
		return nil
	}
	for _, g := range groups(untold(v.of(differing, open, harmless, added, removed, unchanged, same))) {
		small := math.Abs(float64(g[0].F.Change)) < 0.03
		if c := g.cause(); c != nil && (len(c.Reasons) > 0 || !small) {
			list = append(list, fact{g[0].Subject + nb + " " + g[0].Metric + nb + g[0].Values + wrapped(" (", g[0].Change, ")"), because(c)})
		}
	}
	return list
}

// changed are the subjects that changed, the worst first.
func (v *view) changed() []group {
	rows := untold(v.of(failing, warned, open, increased, improved, added, removed))
	for _, r := range v.of(harmless, unchanged, same) {
		if len(r.Parts) > 0 { // which no other table names
			rows = append(rows, r)
		}
	}
	return groups(rows)
}

// further are the commands that follow a failed gate.
func (v *view) further() []fact {
	if v.Report.Verdict != result.Fail {
		return nil
	}
	list := factsOf(fact{"Intended?", v.Report.Accept})
	for _, x := range v.Ways {
		list = append(list, fact{x[0], x[1]})
	}
	return list
}

// slowRank reports whether a slow or late rank fails the gate.
func (v *view) slowRank() bool {
	return v.Report.Verdict == result.Fail && len(v.Causes) > 0 && v.Causes[0].rank
}
