package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// row is a finding, printed. A text is "" where there is nothing to say.
type row struct {
	F     result.Finding
	Class class

	Subject  string // the kernel, range or workload in short
	FullName string // where it is another
	Geometry string // grid and block
	Metric   string
	Values   string // "21.20 µs → 22.26 µs", or the one side that there is
	Change   string // "+4.87 %"
	Interval string // "+4.61 … +5.13 %"
	Limit    string // what is allowed, for a cell: "3 %, ≥ 70 %"
	Allowed  string // the same as words: "limit 3 %, at least 70 % (nsgate.toml:12)"
	Share    string // of the GPU time; "" for the workload and its outputs
	Runs     string // a bar for each
	Match    string // how base and head were put together where that is not plain
	Reason   string
	Evidence []string
	Cause    string // why a kernel got slower
	// Parts are the kernels of a replacement: those that are gone, then those that took their place. Told is true for these
	// rows themselves, which formats for people leave out elsewhere.
	Parts []row
	Told  bool
	Adds  string // what a replacement adds: "+856.4 µs a step"
}

// comparisons are the columns of a table of all rows, and cells those of one.
var comparisons = []column{
	{title: "outcome"}, {title: "name", least: 20}, {title: "geometry", rank: 5}, {title: "metric"}, {title: "before", rank: 1, right: true},
	{title: "after", rank: 1, right: true}, {title: "change", right: true}, {title: "interval", rank: 2, right: true},
	{title: "limit", rank: 4, right: true}, {title: "share", rank: 3, right: true},
}

func (r row) cells() []string {
	cells := []string{
		string(r.F.Outcome), r.Subject, r.Geometry, Elide(r.Metric, 16), quantity(r.F.Base, r.F.Unit), quantity(r.F.Head, r.F.Unit),
		cmp.Or(r.Change, measure.Unknown), r.Interval, cmp.Or(r.Limit, measure.Unknown), share(r.F.Share),
	}
	for i := range cells {
		if comparisons[i].least == 0 {
			cells[i] = Elide(cells[i], 30)
		}
	}
	return cells
}

// differences are the columns of a table of what differs and was not judged, and difference the cells of a row.
var differences = []column{
	{title: "name", least: 20}, {title: "geometry", rank: 3, optional: true}, {title: "metric"}, {title: "before", right: true},
	{title: "after", right: true}, {title: "change", right: true}, {title: "share", rank: 1, right: true},
}

func (r row) difference() []string {
	return []string{Elide(r.Subject, 60), r.Geometry, r.Metric, quantity(r.F.Base, r.F.Unit), quantity(r.F.Head, r.F.Unit),
		cmp.Or(r.Change, measure.Unknown), r.Share}
}

// unfollowed leaves out total times of kernels that say no more than the time of a launch, of which there are as many as before.
func unfollowed(rows []row) []row {
	timed, recounted := map[measure.Subject]bool{}, map[measure.Subject]bool{}
	for i := range rows {
		switch f := &rows[i].F; f.Metric {
		case measure.Time.Name:
			timed[f.Subject()] = true
		case measure.Launches.Name:
			recounted[f.Subject()] = true
		}
	}
	return slices.DeleteFunc(rows, func(r row) bool {
		if r.F.Metric != measure.Total.Name {
			return false
		}
		s := r.F.Subject()
		return timed[s] && !recounted[s]
	})
}

func (r row) Tone() tone { return classes[r.Class].tone }

// Result is what came of the comparison; of one that was not judged, why.
func (r row) Result() string {
	if r.F.NotJudged() {
		return cmp.Or(r.Reason, classes[r.Class].result)
	}
	return classes[r.Class].result
}

func newRow(f result.Finding) row {
	r := row{
		F: f, Class: classOf(f), Subject: subject(f.Scope, f.Title()), Metric: metric(f.Metric), Values: values(f),
		Interval: bind(measure.ChangeInterval(float64(f.Change), float64(f.Low), float64(f.High))),
		Limit:    strings.Join(limits(f, "", "≥ ", "≤ "), ", "),
		Runs:     spark(f.BaseRuns, f.HeadRuns, f.Limit), Match: match(f), Reason: trimmed(f.Reason),
	}
	if f.Name != f.Kernel {
		r.FullName = Clean(f.Name)
	}
	if f.Grid != "" || f.Block != "" {
		r.Geometry = Clean(f.Grid + "/" + f.Block)
	}
	if f.Change.Known() {
		r.Change = bind(measure.Change(float64(f.Change)))
	}
	if f.Share.Known() && f.Scope != measure.ScopeWorkload && f.Scope != measure.ScopeOutput {
		r.Share = share(f.Share)
	}
	words := limits(f, "limit ", "at least ", "at most ")
	if f.Limit.Known() && (f.Outcome == result.Added || f.Outcome == result.Removed) {
		words = words[1:] // nothing changed by more
	}
	if r.Allowed = strings.Join(words, ", "); r.Allowed != "" && f.Rule != "" && f.Rule != "default" {
		r.Allowed += " (" + Clean(f.Rule) + ")"
	}
	for i, e := range f.Evidence {
		if f.Match == "role" && i < len(f.Facts) && f.Facts[i].Key == "names" {
			continue // see [tell]
		}
		r.Evidence = append(r.Evidence, Clean(e))
	}
	if f.Origin != nil {
		r.Evidence = append(r.Evidence, origin(f))
	}
	if f.Cause != nil {
		r.Cause = trimmed(f.Cause.Summary)
		if note := trimmed(f.Cause.Note); note != "" {
			r.Cause += " (" + note + ")"
		}
	}
	return r
}

// tell puts the kernels that took the place of others, and these, into the one row that judges them together; per is what times
// are counted by.
func tell(rows []row, per string) {
	for i := range rows {
		story := &rows[i]
		if !story.F.Replaces() || story.F.Match != "role" || story.Class == differing {
			continue
		}
		if story.F.Metric == measure.Total.Name && (story.F.Head - story.F.Base).Known() {
			story.Adds = bind(signed(story.F.Head-story.F.Base) + " a " + per)
		}
		for _, key := range []string{"replaced", "replaces"} {
			for j := range rows {
				if r := &rows[j]; r.F.ReasonKey == key && r.F.Role == story.F.Role && !r.Told {
					r.Told = true
					story.Parts = append(story.Parts, *r)
				}
			}
		}
	}
}

// origin is where in the program a finding's kernel is launched, or a CUDA call made that it is about: "launched at
// train.py:73 forward (36.0 % of its launches)", "cudaStreamSynchronize called at train.py:88 step".
func origin(f result.Finding) string {
	verb, of := "launched", "its launches"
	if f.Origin.Call != "" {
		verb, of = Clean(f.Origin.Call)+" called", "the time in it"
		if f.Unit == measure.SyncCalls.Unit {
			of = "its calls"
		}
	}
	s := verb + " by " + Clean(f.Origin.Function)
	if f.Origin.File != "" {
		s = fmt.Sprintf("%s at %s:%d %s", verb, Clean(f.Origin.File), f.Origin.Line, Clean(f.Origin.Function))
	}
	if x := f.Origin.Share; x.Known() && x < 0.9995 {
		s += " (" + share(x) + " of " + of + ")"
	}
	return s
}

// Why is what there is to say beside the numbers.
func (r row) Why() []string {
	reason := r.Reason
	if r.F.NotJudged() || r.F.ReasonKey == "one-run" && r.Cause != "" { // stands in the result, or less than the cause says
		reason = ""
	}
	return nonempty(append(append([]string{r.Match, reason}, r.Evidence...), r.Cause)...)
}

// title is a finding in a few words: "saxpy: time +4.87 %". It is at most 100 columns wide.
func (r row) title() string {
	what := cmp.Or(r.Change, string(r.F.Outcome))
	return Line(Elide(r.Subject, 60) + ": " + Elide(r.Metric, 24) + " " + Elide(what, 16))
}

// delta is the relative change and its interval.
func (r row) delta() string {
	if r.Change != "" && r.Interval != "" {
		return r.Change + ", interval" + nb + r.Interval
	}
	return r.Change
}

// describe is a finding's numbers: "21.20 µs → 22.26 µs (+5.00 %, interval +4.60 … +5.20 %), limit 3 %".
func (r row) describe() string {
	s := r.Values
	if d := r.delta(); d != "" {
		s += " (" + d + ")"
	}
	if r.Allowed != "" {
		s += ", " + r.Allowed
	}
	return unbind(s)
}

// subject is the name by which a kernel, range, output or workload is called.
func subject(scope measure.Scope, kernel string) string {
	name := trimmed(kernel)
	switch {
	case name == "" && scope == measure.ScopeWorkload:
		return "workload"
	case name == "":
		return "(no name)"
	case scope == measure.ScopeRange:
		return "range " + name
	}
	return name
}

// metric is a metric in words: "total time".
func metric(name string) string { return Clean(measure.Metric{Name: name}.Title()) }

func quantity(n result.Number, unit string) string {
	return bind(measure.Quantity(float64(n), Clean(unit)))
}

func percent(n result.Number) string { return bind(measure.Percent(float64(n))) }

func count(n int, thing string) string { return bind(measure.Count(n, thing)) }

func share(n result.Number) string { return bind(measure.Share(float64(n))) }

func values(f result.Finding) string {
	base, head := quantity(f.Base, f.Unit), quantity(f.Head, f.Unit)
	if base == head && f.Base.Known() && f.Base != f.Head && f.Outcome != result.Unchanged {
		base, head = bind(measure.Exactly(float64(f.Base), Clean(f.Unit))), bind(measure.Exactly(float64(f.Head), Clean(f.Unit)))
	}
	switch {
	case f.Outcome == result.Added && !f.Base.Known():
		return head
	case f.Outcome == result.Removed && !f.Head.Known():
		return "was" + nb + base
	}
	return base + nb + "→" + nb + head
}

// limits prints the regression allowed and the bounds of the value, each behind its word.
func limits(f result.Finding, limit, least, most string) []string {
	var parts []string
	if f.Limit.Known() {
		parts = append(parts, bind(limit)+percent(f.Limit))
	}
	if f.AtLeast != nil {
		parts = append(parts, bind(least)+quantity(*f.AtLeast, f.Unit))
	}
	if f.AtMost != nil {
		parts = append(parts, bind(most)+quantity(*f.AtMost, f.Unit))
	}
	return parts
}

func match(f result.Finding) string {
	var names []string
	for _, n := range f.BaseNames[:min(len(f.BaseNames), 3)] {
		names = append(names, Elide(Clean(n), 60))
	}
	if more := len(f.BaseNames) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	was := ""
	if len(names) > 0 {
		was = " in place of " + strings.Join(names, ", ")
	}
	if role := Clean(f.Role); role != "" && f.Match == "role" {
		was += " in " + role
	}
	return strings.TrimSpace(map[string]string{
		"geometry": "launched with another grid or block",
		"name":     "matched by its short name",
		"stem":     "matched by its name without the code generator's number",
		"rest":     "all that is gone against all that is new",
		"role":     "matched by its role",
	}[f.Match] + was)
}

const maxSpark = 24 // runs a side that a sparkline shows

// spark draws the runs of both sides as bars on one scale, "▁▂▁▁ → ▇█▇▇"; "" where either side has fewer than two. The
// scale spans at least the limit, so that noise which nobody judges stays flat.
func spark(base, head []result.Number, limit result.Number) string {
	if min(len(known(base)), len(known(head))) < 2 {
		return ""
	}
	draw := barsFor(slices.Concat(base, head), limit)
	return draw(base) + nb + "→" + nb + draw(head)
}

// barsFor draws runs as bars on the scale of all of these, which spans at least the limit.
func barsFor(all []result.Number, limit result.Number) func([]result.Number) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range known(all) {
		low, high = min(low, float64(v)), max(high, float64(v))
	}
	span := high - low
	if limit.Known() {
		span = max(span, math.Abs(low)*float64(limit))
	}
	if span == 0 || math.IsInf(span, 0) {
		span = 1
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	return func(runs []result.Number) string {
		var b strings.Builder
		if len(runs) > maxSpark {
			b.WriteRune('…')
			runs = runs[len(runs)-maxSpark:]
		}
		for _, v := range runs {
			if !v.Known() {
				b.WriteRune('·')
				continue
			}
			i := int((float64(v) - low) / span * float64(len(bars)-1))
			b.WriteRune(bars[min(max(i, 0), len(bars)-1)])
		}
		return b.String()
	}
}
