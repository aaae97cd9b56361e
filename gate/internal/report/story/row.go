package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Row is a finding, printed. A text is "" where there is nothing to say.
type Row struct {
	F     result.Finding
	At    int // index of the finding in the report
	Class Class

	Subject  string // the kernel, range or workload in short
	FullName string // where it differs from the subject
	Geometry string // grid and block
	Metric   string
	Values   string // "21.20 → 22.26 µs", or one value where a side has none
	Change   string // "+4.87 %"
	Interval string // "+4.61 … +5.13 %"
	Limit    string // for a cell: "3 %, ≥ 70 %"
	Allowed  string // the limit in words: "limit 3 %, at least 70 % (nsgate.toml:12)"
	Share    string // of the GPU time; "" for the workload and its outputs
	Match    string // how base and head were matched, "" for an exact match
	Reason   string
	Evidence []string
	facts    []result.Remark // of the evidence, as data
	// Parts are the kernels of a replacement, removed ones first. Told marks the rows of these kernels, which formats
	// for people leave out.
	Parts []Row
	Told  bool
	some  bool // in some runs: its time is that of the runs with it, and no summand of their typical sum
	Part  bool // of a cause that another row names
}

func newRow(f result.Finding) Row {
	r := Row{
		F: f, Class: classOf(f), Subject: Subject(f.Scope, f.Title()), Metric: Metric(f.Metric), Values: Values(f),
		Interval: interval(f.Change, f.Low, f.High), Limit: strings.Join(limits(f, "", "≥ ", "≤ "), ", "),
		FullName: measure.Either(f.Name != f.Kernel, Clean(f.Name), ""), Change: f.Change.Given(Changed(f.Change)),
		Match: match(f), Reason: Trimmed(f.Reason), Allowed: allowed(f),
	}
	if !f.Summed() {
		r.Geometry = geometry(f.Grid, f.Block)
	}
	if m, known := measure.MetricByName(f.Metric); known && m.Exact && m.Raw() == "" {
		r.Interval = "" // it is counted
	}
	whole := []measure.Scope{measure.ScopeWorkload, measure.ScopeOutput, measure.ScopeBenchmark, measure.ScopeSection}
	if f.Share > 0 && f.Share.Known() && !slices.Contains(whole, f.Scope) {
		r.Share = Share(f.Share)
	}
	for i, e := range f.Evidence {
		fact := result.Remark{}
		if i < len(f.Facts) {
			fact = f.Facts[i]
		}
		if result.Is[reason.Names](fact) && (f.Replaces() || f.Summed()) {
			continue // see [tell]
		}
		r.Evidence, r.facts = append(r.Evidence, Clean(e)), append(r.facts, fact)
	}
	return r
}

func geometry(grid, block string) string {
	return result.Given(grid+block, Clean(grid+"/"+block))
}

// allowed prints the limits of a finding and the rule that they are from.
func allowed(f result.Finding) string {
	words := limits(f, "limit ", "at least ", "at most ")
	if f.Limit.Known() && (f.Outcome == result.New || f.Outcome == result.Gone) {
		words = words[1:] // nothing changed by more
	}
	text := strings.Join(words, ", ")
	return text + measure.Either(text != "" && f.Rule != "" && f.Rule != "default", " ("+Clean(f.Rule)+")", "")
}

// tell moves the rows of removed kernels and of their replacements into the row that judges both together.
func tell(rows []Row) {
	for i := range rows {
		story := &rows[i]
		if !story.F.Replaces() || story.F.Match == "place" || story.Class == Differing {
			continue
		}
		in := map[string]string{"role": story.F.Role}[story.F.Match]
		name := map[string]string{"name": story.F.Kernel}[story.F.Match]
		gone := func(x result.Remark) bool {
			r, is := result.As[reason.Replaced](x)
			return is && r.Range == in && r.Name == name
		}
		fresh := func(x result.Remark) bool {
			r, is := result.As[reason.Replaces](x)
			return is && r.Range == in && r.Name == name
		}
		for _, part := range []func(result.Remark) bool{gone, fresh} {
			for j := range rows {
				if r := &rows[j]; !r.Told && part(r.F.Why()) {
					r.Told = true
					story.Parts = append(story.Parts, *r)
				}
			}
		}
		story.addUp()
	}
}

// addUp gives parts the times that add up to those of their sum. Parts that only some runs have do not.
func (r *Row) addUp() {
	// unlike is the most that the times of parts differ from their sum, as both are averages over runs.
	const unlike = 0.02
	var sums [2]result.Number
	for _, x := range r.Parts {
		sums[0], sums[1] = sums[0]+x.F.Base.Or(0), sums[1]+x.F.Head.Or(0)
	}
	base, head := r.F.Base/sums[0], r.F.Head/sums[1]
	for i := range r.Parts {
		x := &r.Parts[i]
		by := measure.Either(x.Gone(), base, head)
		x.some = !(math.Abs(float64(by-1)) <= unlike)
		if !x.some {
			x.F.Base, x.F.Head = x.F.Base*by, x.F.Head*by
		}
	}
}

// Time is the time of a kernel that only one side has.
func (r Row) Time() string {
	time := measure.Either(r.Gone(), r.F.Base, r.F.Head)
	return Quantity(time, r.F.Unit) + measure.Either(r.some, Bind(" in some runs"), "")
}

// Gone reports whether only the baseline has the kernel.
func (r Row) Gone() bool { return r.F.Outcome == result.Gone }

func (r Row) Tone() Tone { return Classes[r.Class].tone }

// Result is the outcome in the words of the JSON; the reason of a comparison that was not judged.
func (r Row) Result() string {
	switch word := cmp.Or(Trimmed(string(r.F.Outcome)), string(result.Undecided)); {
	case r.F.NotJudged():
		return cmp.Or(r.Reason, "not judged")
	case r.Class == Increased:
		return word + ", an increased count"
	default:
		return word
	}
}

// About is the range, the share of GPU time and the geometry of the subject.
func (r Row) About() string {
	return Join(" · ", Wrapped("in ", r.Role(), ""), Wrapped("", r.Share, NB+"of GPU time"), r.Geometry)
}

// Role is the path of ranges that the kernel is launched in.
func (r Row) Role() string { return Elide(Clean(r.F.Role), MaxName) }

// Place is the source line that launches the kernel or makes the CUDA call: "train.py:73 in forward".
func (r Row) Place() string {
	o := r.F.Origin
	if o == nil {
		return ""
	}
	at := Join(" ", result.Given(o.File, fmt.Sprintf("%s:%d", Clean(o.File), o.Line)),
		Wrapped("in ", Clean(o.Function), ""))
	at += Wrapped(", which calls ", Clean(o.Call), "") + Wrapped(" (", Elide(Clean(o.Operation), MaxName), ")")
	if o.Share.Known() && o.Share < 0.9995 {
		of := measure.Either(r.F.Unit == measure.SyncCalls.Unit, "its calls", "the time in it")
		at += " (" + Share(o.Share) + " of " + measure.Either(o.Call == "", "its launches", of) + ")"
	}
	return at
}

// Title names a finding in at most 100 columns: "saxpy: time +4.87 %".
func (r Row) Title() string {
	what := cmp.Or(r.Change, string(r.F.Outcome))
	return Clean(Elide(r.Subject, 60) + ": " + Elide(r.Metric, 24) + " " + Elide(what, 16))
}

func (r Row) Delta() string {
	return r.Change + measure.Either(r.Change != "" && r.Interval != "", ", interval"+NB+r.Interval, "")
}

// Describe is a finding's numbers: "21.20 → 22.26 µs (+5.00 %, interval +4.60 … +5.20 %), limit 3 %".
func (r Row) Describe() string {
	return unbind(Join(", ", r.Values+Wrapped(" (", r.Delta(), ")"), r.Allowed))
}

func (r Row) Runs() string { return spark(r.F.BaseRuns, r.F.HeadRuns, r.F.Limit) }

// Cost is the time that the finding adds to a step, in ns; unknown for counts and sections outside of the steps.
func (r Row) Cost() result.Number {
	if r.F.Scope == measure.ScopeSection { // which lies outside of the steps
		return result.Unknown
	}
	switch r.F.Metric {
	case measure.Total.Name, measure.GPUTime.Name, measure.CopyTime.Name, measure.StepTime.Name:
		base := measure.Either(r.F.Outcome == result.New, r.F.Base.Or(0), r.F.Base)
		return measure.Either(r.Gone(), r.F.Head.Or(0), r.F.Head) - base
	}
	return result.Unknown
}

// Subject is the printed name of a kernel, range, output or workload.
func Subject(scope measure.Scope, kernel string) string {
	name := Trimmed(kernel)
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

// limits prints the largest change and the bounds of the value, each behind its word.
func limits(f result.Finding, limit, least, most string) []string {
	var parts []string
	if f.Limit.Known() {
		parts = append(parts, Bind(limit)+Percent(f.Limit))
	}
	if f.AtLeast != nil {
		parts = append(parts, Bind(least)+Quantity(*f.AtLeast, f.Unit))
	}
	if f.AtMost != nil {
		parts = append(parts, Bind(most)+Quantity(*f.AtMost, f.Unit))
	}
	return parts
}

func match(f result.Finding) string {
	if f.Summed() {
		return "summed over its geometries, between which its launches moved"
	}
	names := measure.Map(f.BaseNames, func(n string) string { return Elide(Clean(n), 60) })
	names = beginning(names, 3, "")
	was := measure.Either(f.Match == "rest", ": ", " in place of ") + strings.Join(names, ", ")
	was = measure.Either(len(names) > 0, was, "")
	if role := Clean(f.Role); role != "" && (f.Match == "place" || f.Match == "role") {
		was += " in " + role
	}
	return Trimmed(map[string]string{
		"geometry": "launched with another grid or block",
		"name":     "matched by its short name",
		"stem":     "matched by its name without the code generator's number",
		"choice":   "with the kernels that other runs launch in its place",
		"rest":     "all that is new against all that is gone",
		"place":    "matched by its geometry and range",
		"role":     "matched by its role",
	}[f.Match] + was)
}

// comparisons is the table of all rows.
func comparisons(rows []Row) *Table {
	t := &Table{Title: "All comparisons", Columns: []Column{{Title: "outcome"}, {Title: "name", Least: 20},
		{Title: "geometry", Rank: 5, Optional: true}, {Title: "metric"}, {Title: "values", Rank: 1, Right: true},
		{Title: "change", Right: true}, {Title: "interval", Rank: 2, Right: true},
		{Title: "limit", Rank: 4, Right: true}, {Title: "share", Rank: 3, Right: true, Optional: true}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, TableRow{Tone: r.Tone(),
			Cells: cells(string(r.F.Outcome), r.Subject, Elide(r.Geometry, 30), Elide(r.Metric, 16), r.Values,
				cmp.Or(r.Change, measure.Unknown), r.Interval, cmp.Or(r.Limit, measure.Unknown), r.Share)})
	}
	return t
}

// benchmarks is the table of the rows of benchmark files of a gate that passes, the worst first, at most 20; none of a
// single row.
func (v *Story) benchmarks() *Table {
	const most = 20
	t := &Table{Columns: []Column{{Title: "name", Least: 20, Name: true}, {Title: "metric", Rank: 3, Optional: true},
		{Title: "baseline → head", Right: true}, {Title: "change", Right: true},
		{Title: "interval", Rank: 2, Right: true}, {Title: "outcome", Rank: 1}}}
	rows := slices.DeleteFunc(slices.Clone(v.Rows), func(r Row) bool {
		has := func(x Row) bool { return x.F.Outcome != result.New && x.Subject == r.Subject && x.Metric == r.Metric }
		return r.F.Scope != measure.ScopeBenchmark || r.F.Outcome == result.New && slices.ContainsFunc(v.Rows, has)
	})
	if len(rows) < 2 || v.Report.Verdict != result.Pass || v.Verbose {
		return t
	}
	measure.Sort(rows, func(a, b Row) int { return cmp.Compare(b.F.Harm(), a.F.Harm()) })
	compared := 0
	for _, r := range rows {
		metric := measure.Either(r.F.Unit == NS, "", r.Metric)
		if r.Change != "" {
			compared++
		}
		t.Add(r.Subject, metric, r.Values, cmp.Or(r.Change, measure.Unknown), r.Interval, r.Result())
	}
	t.Title = fmt.Sprintf("Rows, the worst first: %d of %d compared", compared, len(rows))
	t.Most(most, func(left int) string { return fmt.Sprintf("%d more", left) })
	return t
}

// differences is the table of differing values that were not judged.
func differences(rows []Row) *Table {
	t := &Table{Columns: []Column{{Title: "name", Least: 20, Name: true}, {Title: "geometry", Rank: 3, Optional: true},
		{Title: "metric"}, {Title: "before → after", Right: true}, {Title: "change", Right: true},
		{Title: "share", Rank: 1, Right: true, Optional: true}}}
	for _, r := range rows {
		t.Add(Elide(r.Subject, 60), r.Geometry, r.Metric, r.Values, cmp.Or(r.Change, measure.Unknown), r.Share)
	}
	return t
}

// unfollowed leaves out total times of kernels whose time of a launch is listed and whose launches did not change.
func unfollowed(rows []Row) []Row {
	timed, recounted := map[measure.Subject]bool{}, map[measure.Subject]bool{}
	for i := range rows {
		switch f := &rows[i].F; f.Metric {
		case measure.Time.Name:
			timed[f.Subject()] = true
		case measure.Launches.Name:
			recounted[f.Subject()] = true
		}
	}
	return slices.DeleteFunc(rows, func(r Row) bool {
		if r.F.Metric != measure.Total.Name {
			return false
		}
		s := r.F.Subject()
		return timed[s] && !recounted[s]
	})
}

// Notable leaves out times and rates that changed by less than 1 %, which are noise as long as nothing is judged.
func Notable(rows []Row) []Row {
	const least = 0.01
	return slices.DeleteFunc(unfollowed(rows), func(r Row) bool {
		m, _ := measure.MetricByName(r.F.Metric)
		return !m.Exact && r.F.Change.Known() && math.Abs(float64(r.F.Change)) < least
	})
}

// Group are the rows on one kernel, range or workload.
type Group []Row

// Groups splits rows by subject, in the order of first rows.
func Groups(rows []Row) []Group {
	var out []Group
	index := make(map[measure.Subject]int)
	for _, r := range rows {
		s := r.F.Subject()
		i, ok := index[s]
		if !ok {
			i = len(out)
			index[s] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// evidence are the distinct facts of the rows, without those that are said elsewhere.
func (g Group) evidence(elsewhere func(result.Remark) bool) []string {
	var out model.Interned[string]
	for _, r := range g {
		for i, e := range r.Evidence {
			if !elsewhere(r.facts[i]) {
				out.Of(e)
			}
		}
	}
	return out.List
}

// nothing leaves no fact out.
func nothing(result.Remark) bool { return false }

// Said are the sentences on the subject: how base and head were matched, reasons, evidence, the place in the source.
func (g Group) Said() []string {
	out := []string{g[0].Match}
	for i, r := range g {
		switch {
		case r.F.ReasonKey == result.KeyOneRun && r.F.Cause != nil, r.Reason == "", i > 0 && r.Reason == g[0].Reason:
		case len(g) > 1:
			out = append(out, r.Metric+": "+r.Reason)
		default:
			out = append(out, r.Reason)
		}
	}
	return Nonempty(append(append(out, g.evidence(nothing)...), Wrapped("at ", g[0].Place(), ""))...)
}

// Cause is the first cause that counters gave, nil for none.
func (g Group) Cause() *result.Cause {
	if r := measure.First(g, func(r *Row) bool { return r.F.Cause != nil }); r != nil {
		return r.F.Cause
	}
	return nil
}

// Cost is that of the first row that has one.
func (g Group) Cost() result.Number {
	if r := measure.First(g, func(r *Row) bool { return r.Cost().Known() }); r != nil {
		return r.Cost()
	}
	return result.Unknown
}

// of is the row of a metric, nil for none.
func (g Group) of(metric string) *Row {
	return measure.First(g, func(r *Row) bool { return r.F.Metric == metric })
}
