package story

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Said are lines behind a label, such as "Why".
type Said struct {
	Label string
	Lines []string
	Tone  Tone
	Apart bool // an empty line goes before it
}

// The most causes and differences that are listed without --verbose.
const maxCauses, maxDifferences = 8, 20

// Below are the texts under the headline of a gate that passes or gives no verdict: the rest of the reason, and both
// sides.
func (v *Story) Below() (rest, sides string) {
	switch {
	case !v.Judged():
		return v.Rest, ""
	case v.Tone == Good:
		return v.Rest, Join("; ", withoutVendor(v.Sides()), Wrapped("detects ", Detects(v.Report.Detects), ""))
	}
	return "", ""
}

// Says are the labelled lines below the headline, and those below the waterfall and the warnings.
func (v *Story) Says() (first, last []Said) {
	next := Said{Label: "Next", Lines: v.Next}
	switch {
	case !v.Judged():
		if v.Report.ReasonKey == result.KeyUndecided {
			next.Label = "Settle"
		}
		why := Said{Label: "Why"}
		if v.headed != nil && v.headed.F.Subject() != measure.Workload { // parts of a step stand below
			why.Lines = v.headed.Evidence
		}
		first = []Said{why, next, {Label: "Also", Lines: v.suspects(), Apart: true}}
	case v.Report.Verdict == result.Fail:
		why := Said{Label: "Why", Lines: []string{v.Reason}, Apart: true}
		where, also := Said{Label: "Where"}, Said{Label: "Also"}
		do := Said{Label: "Do", Lines: []string{insight.Do(insight.Failure{Report: v.Report})}}
		if len(v.Causes) > 0 {
			most := measure.Either(v.Verbose, len(v.Causes), maxCauses)
			why.Lines, where.Lines = v.Causes[0].Why, v.Whereabouts(&v.Causes[0])
			do.Lines = Nonempty(v.Causes[0].Do)
			also.Lines = v.also(slices.DeleteFunc(slices.Clone(v.Causes[1:]),
				func(c Cause) bool { return c.Class != Failing }), most)
		}
		next.Apart = true
		first, last = []Said{why, where, do, also, v.Besides()}, []Said{next}
	case v.Report.Undecided:
		first = append(v.warned(), Said{Label: "Open", Lines: []string{v.undecided()}},
			Said{Label: "Settle", Lines: v.Next}, v.increased())
	default:
		first = v.warned()
		if text := v.Largest(); text != "" {
			first = append(first, Said{Label: "Largest", Lines: []string{text}})
		}
		for _, x := range v.Report.Remarks {
			if x.Key == result.KeyBaseNotNeeded {
				first = append(first, Said{Label: "Base", Lines: []string{Trimmed(x.Sentence)}})
			}
		}
		first = append(first, v.increased(), Said{Label: "Faster", Lines: v.some(v.gains()), Tone: Good})
		last = []Said{next}
	}
	if v.Report.Verdict != result.Fail {
		first = append(first, v.Besides())
	}
	return append(first, v.Omitted()), last
}

// warned are the causes that are slower without failing a gate that passes.
func (v *Story) warned() (said []Said) {
	for _, c := range v.Causes {
		if c.Class == Warned {
			line := Join(", ", c.Why[0], c.Lead().Reason)
			said = append(said, Said{Label: "Slower", Lines: []string{line}, Tone: Doubtful})
		}
	}
	return said
}

// Omitted are the numbers and rows of files that were not judged, by reason, and those that only some runs have.
func (v *Story) Omitted() Said {
	said := Said{Label: "Omitted", Tone: Minor}
	for _, x := range v.Report.Remarks {
		if result.Is[reason.SomeRuns](x) {
			said.Lines = append(said.Lines, Trimmed(x.Sentence))
		}
		if r, is := result.As[reason.Omitted](x); is {
			names := measure.Map(r.Names, func(name string) string { return Bind(Elide(Clean(name), 60)) })
			if !v.Verbose {
				names = beginning(names, 5, Wrapped(" (", v.ShowAll, ")"))
			}
			said.Lines = append(said.Lines, Clean(r.Why)+": "+strings.Join(names, ", "))
		}
	}
	return said
}

// some cuts a list to three texts, and says where the others are.
func (v *Story) some(list []string) []string {
	return beginning(list, 3, Wrapped(" (", v.ShowAll, ")"))
}

// also are causes beside the first, a line each.
func (v *Story) also(list []Cause, most int) []string {
	var lines []string
	for _, c := range list {
		r := c.Lead()
		text := v.effectLine(&r, math.MaxInt, false)
		if len(c.Why) > 0 && (c.Rank || c.idle != nil || len(r.Parts) > 0 || len(c.totals) > 0) {
			text = c.Why[0]
		}
		if at := c.Places(); len(at) > 0 {
			text += ", " + at[0]
		} else if r.F.Role != "" && len(r.Parts) == 0 {
			text += ", in range " + Clean(r.F.Role)
		}
		lines = append(lines, Join("; ", append([]string{text}, c.bounds()...)...))
	}
	return beginning(lines, most, "")
}

// gains are the causes of a faster program, a line each.
func (v *Story) gains() (lines []string) {
	for _, c := range v.Gains {
		r := c.Lead()
		text := r.Subject + " " + r.Metric + " " + r.Values + Wrapped(" (", r.Change, ")")
		if c.idle != nil {
			text = c.Why[0]
		}
		lines = append(lines, text)
	}
	return lines
}

// suspects are the causes that a gate without a verdict would name, but for undecided ones under 1 %, the numbers of
// the headline, and rows that moved together: the reason counts them.
func (v *Story) suspects() []string {
	if slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Class == Differing }) {
		return nil
	}
	return v.also(slices.DeleteFunc(slices.Concat(v.Causes, v.Open), func(c Cause) bool {
		lead := c.Lead()
		if v.headed != nil && lead.At == v.headed.At && c.idle == nil && !c.Rank {
			return true
		}
		return c.Class == Open && (lead.F.Change.Known() && math.Abs(float64(lead.F.Change)) < 0.01 ||
			lead.F.ReasonKey == result.Say(reason.RowsTogether{}).Key)
	}), maxCauses)
}

// Besides counts the other comparisons that need a look, and names what is new or gone and not in the first cause. Of a
// gate that does not fail the others stand in lines of their own.
func (v *Story) Besides() Said {
	var counts, named []string
	for _, x := range []struct {
		n     int
		what  string
		class Class
	}{{v.Counts.Warned, "slower without failing the gate", Warned}, {v.Counts.Undecided, "undecided", Open},
		{v.Counts.Faster, "faster", Faster}, {v.Counts.New, "new", New}, {v.Counts.Gone, "gone", Gone}} {
		told, untold := parted(Groups(Untold(v.Of(x.class))), v.toldNew)
		text := Bind(fmt.Sprintf("%d %s", x.n-len(told), x.what))
		switch {
		case x.n <= len(told):
		case x.class == New || x.class == Gone:
			names := measure.Map(untold, func(g Group) string { return Bind(Elide(g[0].Subject, 40)) })
			named = append(named, text+": "+strings.Join(beginning(names, 3, ""), ", "))
		case v.Report.Verdict == result.Fail:
			counts = append(counts, text)
		}
	}
	said := Said{Label: "Besides", Tone: Minor}
	if text := Join("; ", append([]string{strings.Join(counts, ", ")}, named...)...); text != "" {
		said.Lines = []string{text + Wrapped(NB+"(", Bind(v.ShowAll), ")")}
	}
	return said
}

// toldNew reports whether the first cause of a failure counts a new kernel.
func (v *Story) toldNew(g Group) bool {
	return v.Report.Verdict == result.Fail && len(v.Causes) > 0 && v.Causes[0].counted &&
		slices.ContainsFunc(v.Causes[0].added, func(r Row) bool { return r.F.Subject() == g[0].F.Subject() })
}

// increased are the counts that increased.
func (v *Story) increased() Said {
	var list []string
	for _, c := range v.Causes {
		if x := c.Lead(); c.Class == Increased {
			list = append(list, Join(", ", slices.Concat([]string{x.quantity() + " " + x.Values + " a " +
				UnitOf(v.Report.Head)}, Group(c.Rows).evidence(nothing))...))
		}
	}
	return Said{Label: "New", Lines: v.some(list), Tone: Doubtful}
}

// undecided says why a gate is undecided.
func (v *Story) undecided() string {
	why, n, shown := v.Reason, 0, v.effect
	for _, c := range v.Open {
		for _, r := range c.Rows {
			if r.Class != Open {
				continue
			}
			headed := shown != nil && r.F.Subject() == shown.F.Subject() && r.F.Metric == shown.F.Metric
			if r.Reason != "" && (n == 0 || headed) { // the line above has its numbers
				why = r.Reason
			}
			n++
		}
	}
	return withoutStep(why + measure.Either(n > 1, "; "+Count(n-1, "more comparison"), ""))
}

// Falls reports whether the waterfall belongs to the first lines.
func (v *Story) Falls() bool {
	switch {
	case v.Report.Verdict == result.Fail:
		return true
	case !v.Judged():
		return v.Fall != nil && len(v.Fall.Rows) > 0
	}
	return v.Tone == Good && v.Fall != nil && v.Fall.Certain && math.Abs(float64(v.Fall.Head/v.Fall.Base-1)) >= 0.01
}

// Whole prints the step, the GPU time and how many kernels changed: "GPU time 398.0 → 398.1 µs; 6 kernels, none
// changed".
func (v *Story) Whole() string {
	times := strings.Join(v.programTimes(), ", ")
	kernels, other := map[measure.Subject]bool{}, map[measure.Subject]bool{}
	for _, r := range v.Rows {
		if r.F.Scope != measure.ScopeKernel || r.Told {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(r.Parts), Row.Gone)
		if len(of) == 0 {
			of = []Row{r}
		}
		for _, x := range of {
			kernels[x.F.Subject()] = true
			held := r.F.Bounded() && !(r.F.Low > 0 || r.F.High < 0) // a bound is broken, without a certain change
			if !held && !slices.Contains([]Class{Within, Harmless, Same}, r.Class) {
				other[x.F.Subject()] = true
			}
		}
	}
	if times == "" || len(kernels) == 0 || !v.Judged() {
		return times
	}
	changed := measure.Either(len(other) > 0, fmt.Sprintf("%d changed", len(other)), "none changed")
	return times + "; " + Count(len(kernels), "kernel") + ", " + Bind(changed)
}

// programTimes are the step and the GPU time, without the one that the headline is about.
func (v *Story) programTimes() (texts []string) {
	shown := measure.Either(v.Judged(), v.effect, v.headed) // or the headline holds the reason
	step := measure.Either(v.Fall != nil && v.Fall.Mean, "typical step", "step")
	sum := "GPU time" + measure.Either(UnitOf(v.Report.Head) == "run", " of the run", "") // which repeats the step
	for _, x := range []struct{ metric, name string }{{measure.StepTime.Name, step}, {measure.GPUTime.Name, sum}} {
		r := v.Number(x.metric)
		if r == nil || !r.F.Base.Known() || shown != nil && shown.F.Metric == x.metric &&
			shown.F.Subject() == measure.Workload {
			continue
		}
		changed := r.F.Change.Known() && math.Abs(float64(r.F.Change)) >= 0.001
		texts = append(texts, Bind(x.name)+NB+r.Values+measure.Either(changed, NB+"("+r.Change+")", ""))
	}
	return texts
}

// Behind are GPU, runs and their bars, of a gate that fails or is undecided.
func (v *Story) Behind() string {
	if !v.Judged() || v.Tone == Good {
		return ""
	}
	tail := v.Sides()
	if v.effect != nil && v.effect.Runs() != "" {
		tail += NB + NB + v.effect.Runs()
	}
	return tail
}

// Differences is the table of comparisons that differ and were not judged, with notes on them.
func (v *Story) Differences() (t *Table, said []string) {
	rows := Untold(v.Of(Differing))
	rows = measure.Either(v.Verbose, unfollowed, Notable)(rows)
	t = differences(rows)
	if len(rows) == 0 {
		return t, nil
	}
	if !v.Verbose {
		t.Most(maxDifferences, func(left int) string {
			return fmt.Sprintf("%d more", left) + Wrapped(" (", v.ShowAll, ")")
		})
	}
	t.Title = "Differences, " + rows[0].Reason +
		measure.Either(UnitOf(v.Report.Head) == "run" && v.Number(measure.StepTime.Name) != nil,
			"; steps are what repeats, all else is of the run", "")
	for _, g := range Groups(rows) {
		if told := strings.Join(Nonempty(append([]string{g[0].Match}, g.evidence(nothing)...)...), "; "); told != "" {
			said = append(said, Bind(Elide(g[0].Subject, 40))+": "+told)
		}
	}
	return t, said
}

// Whys are comparisons that were not judged and have a cause that counters give: each with its numbers, then the cause.
func (v *Story) Whys() (list []Fact) {
	if v.Judged() {
		return nil
	}
	for _, g := range Groups(Untold(v.Of(Differing, Open, Harmless, New, Gone, Within, Same))) {
		small := math.Abs(float64(g[0].F.Change)) < 0.03
		if c := g.Cause(); c != nil && (len(c.Reasons) > 0 || !small) {
			list = append(list, Fact{g[0].Subject + NB + " " + g[0].Metric + NB + g[0].Values +
				Wrapped(" (", g[0].Change, ")"), Because(c)})
		}
	}
	return list
}

// Changed are the subjects that changed, the worst first.
func (v *Story) Changed() []Group {
	rows := Untold(v.Of(Failing, Warned, Open, Increased, Faster, New, Gone))
	parted := func(r Row) bool { return len(r.Parts) > 0 } // which no other table names
	return Groups(append(rows, measure.Where(v.Of(Harmless, Within, Same), parted)...))
}

// Further are the commands that follow a failed gate, or take the faster values of workloads that pass.
func (v *Story) Further() (list []Fact) {
	switch v.Report.Verdict {
	case result.Pass:
		for _, w := range v.Each {
			list = append(list, factsOf(Fact{"Accept", w.Report.Accept})...)
		}
		return list
	case result.NoVerdict:
		return nil
	}
	ways := measure.Map(v.Ways, func(x [2]string) Fact { return Fact{x[0], x[1]} })
	return append(factsOf(Fact{"Intended?", v.Report.Accept}), ways...)
}

// SlowRank reports whether a slow or late rank fails the gate.
func (v *Story) SlowRank() bool {
	return v.Report.Verdict == result.Fail && len(v.Causes) > 0 && v.Causes[0].Rank
}
