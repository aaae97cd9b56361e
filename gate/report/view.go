package report

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// A view is a report as every format shows it: rows sorted into sections, numbers printed, texts cleaned. Nothing is
// escaped yet for a target; number and unit are bound with [nb].
type view struct {
	Report       *gate.Report
	Word, Reason string // the verdict
	Tone         tone
	Workload     string // "default" where it has no name
	Rows         []row  // in the report's order, worst first
	Warnings     []string
	Next         []string
	Facts        []fact // about what was compared
	Commands     []fact // that go on from here
	locate       Locator
}

// fact is a text under its label.
type fact struct{ Label, Text string }

// tone is how a format marks something: by colour, icon or class.
type tone int

const (
	plain tone = iota
	good
	doubtful
	bad
)

// class is what a finding means to a reader, in the order of the report.
type class int

const (
	failing class = iota
	warned
	open
	improved
	added
	removed
	harmless
	unchanged
)

// classes is what is said of each class: the title of its section, a finding's result with a mark where it matters, and
// how many subjects text shows of it unless it shows all.
var classes = [...]struct {
	title, result string
	tone          tone
	most          int
}{
	failing:   {"Regressed", "❌ regressed", bad, 20},
	warned:    {"Slower, without failing the gate", "⚠️ slower", doubtful, 5},
	open:      {"Undecided", "⚠️ undecided", doubtful, 5},
	improved:  {"Improved", "✅ improved", good, 5},
	added:     {"Added", "added", plain, 10},
	removed:   {"Removed", "removed", plain, 10},
	harmless:  {"Undecided that cannot fail the gate", "⚠️ undecided", plain, 0},
	unchanged: {"Unchanged", "unchanged", plain, 0},
}

func classOf(f gate.Finding) class {
	switch {
	case f.Outcome == gate.Regressed && f.Gates:
		return failing
	case f.Outcome == gate.Regressed:
		return warned
	case f.Undecided:
		return open
	}
	switch f.Outcome {
	case gate.Improved:
		return improved
	case gate.Added:
		return added
	case gate.Removed:
		return removed
	case gate.Unchanged:
		return unchanged
	}
	return harmless
}

// row is a finding, printed. A text is "" where there is nothing to say.
type row struct {
	F     gate.Finding
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
	Share    string // of the GPU time; "" for the workload
	Runs     string // a bar for each
	Match    string // how base and head were put together where that is not plain
	Reason   string
	Evidence []string
	Cause    string // why a kernel got slower
}

func (r row) Result() string { return classes[r.Class].result }
func (r row) Tone() tone     { return classes[r.Class].tone }

// section is a part of the rows under its title.
type section struct {
	Title string
	Rows  []row
}

func newView(r *gate.Report, o Options) *view {
	v := &view{
		Report: r, Workload: cmp.Or(Elide(strings.TrimSpace(Line(r.Workload)), 100), "default"),
		Warnings: nonempty(r.Warnings...), Next: nonempty(r.Next...), Facts: facts(r), locate: o.Locate,
	}
	for _, c := range []fact{{"To reproduce", r.Reproduce}, {"To accept as the new baseline", r.Accept}} {
		if c.Text = trimmed(c.Text); c.Text != "" {
			v.Commands = append(v.Commands, c)
		}
	}
	for _, f := range r.Findings {
		v.Rows = append(v.Rows, newRow(f))
	}
	v.verdict()
	return v
}

// verdict makes the sentence from the counts where the report has none.
func (v *view) verdict() {
	r := v.Report
	switch {
	case r.Verdict == gate.Fail:
		v.Word, v.Reason, v.Tone = "FAIL", measure.Count(r.Counts.Regressed, "regression"), bad
	case r.Verdict == gate.Pass && r.Undecided:
		v.Word, v.Reason, v.Tone = "PASS, UNDECIDED", measure.Count(r.Counts.Inconclusive, "comparison")+" undecided", doubtful
	case r.Verdict == gate.Pass:
		v.Word, v.Reason, v.Tone = "PASS", measure.Count(len(r.Findings), "comparison"), good
	default:
		v.Word, v.Reason, v.Tone = "NO VERDICT", "the measurement cannot be judged", doubtful
	}
	v.Reason = cmp.Or(trimmed(r.Reason), v.Reason)
}

// Icon marks the verdict.
func (v *view) Icon() string { return [...]string{good: "✅", doubtful: "⚠️", bad: "❌"}[v.Tone] }

// judged reports whether there is a verdict at all.
func (v *view) judged() bool { return v.Report.Verdict == gate.Pass || v.Report.Verdict == gate.Fail }

// of gives the rows of some classes, one class after the other.
func (v *view) of(classes ...class) []row {
	var rows []row
	for _, c := range classes {
		for _, r := range v.Rows {
			if r.Class == c {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// Sections splits the rows for formats that show all: first those that a reader has to look at, then what came of the
// rest. Only the first may be empty.
func (v *view) Sections() []section {
	out := []section{{"Look at", v.of(failing, warned, open)}}
	for _, s := range []section{
		{classes[improved].title, v.of(improved)}, {"Added and removed", v.of(added, removed)},
		{classes[harmless].title, v.of(harmless)}, {classes[unchanged].title, v.of(unchanged)},
	} {
		if len(s.Rows) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// place is where in the repository a finding is written down, "" where that is unknown.
func (v *view) place(f gate.Finding) (file string, line int) {
	if v.locate != nil {
		if file, line, ok := v.locate(f); ok {
			return Line(file), max(line, 1)
		}
	}
	return "", 0
}

// kept is the place of a finding, or else the baseline's samples; "" where there is no baseline.
func (v *view) kept(f gate.Finding) (file string, line int) {
	if file, line = v.place(f); file == "" && v.Report.Baseline != "" {
		return Line(path.Join(v.Report.Baseline, "samples.csv")), 1
	}
	return file, line
}

func newRow(f gate.Finding) row {
	r := row{
		F: f, Class: classOf(f), Subject: subject(f.Scope, f.Kernel), Metric: metric(f.Metric), Values: values(f),
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
	if f.Share.Known() && f.Scope != measure.ScopeWorkload {
		r.Share = share(f.Share)
	}
	words := limits(f, "limit ", "at least ", "at most ")
	if f.Limit.Known() && (f.Outcome == gate.Added || f.Outcome == gate.Removed) {
		words = words[1:] // nothing changed by more
	}
	if r.Allowed = strings.Join(words, ", "); r.Allowed != "" && f.Rule != "" && f.Rule != "default" {
		r.Allowed += " (" + Clean(f.Rule) + ")"
	}
	for _, e := range f.Evidence {
		r.Evidence = append(r.Evidence, Clean(e))
	}
	if f.Cause != nil {
		r.Cause = trimmed(f.Cause.Summary)
		if note := trimmed(f.Cause.Note); note != "" {
			r.Cause += " (" + note + ")"
		}
	}
	return r
}

// Why is what there is to say beside the numbers.
func (r row) Why() []string {
	return nonempty(append(append([]string{r.Match, r.Reason}, r.Evidence...), r.Cause)...)
}

// title is a finding in a few words: "saxpy: time +4.87 %". It is at most 100 columns wide.
func (r row) title() string {
	what := cmp.Or(r.Change, string(r.F.Outcome))
	return Line(Elide(r.Subject, 60) + ": " + Elide(r.Metric, 20) + " " + Elide(what, 16))
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

// group is the findings on one kernel, range or workload.
type group []row

// groups splits rows by what they are about, in the order of their first one.
func groups(rows []row) []group {
	type key struct {
		scope             measure.Scope
		name, grid, block string
	}
	var out []group
	index := make(map[key]int)
	for _, r := range rows {
		k := key{r.F.Scope, r.F.Name, r.F.Grid, r.F.Block}
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// evidence is the distinct facts that go with the group.
func (g group) evidence() []string {
	var out []string
	for _, r := range g {
		for _, e := range r.Evidence {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// cause is why the kernel got slower, and the same in words; nil where that is not known.
func (g group) cause() (*gate.Cause, string) {
	for _, r := range g {
		if r.F.Cause != nil {
			return r.F.Cause, r.Cause
		}
	}
	return nil, ""
}

// subject is the name by which a kernel, range or workload is called.
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
func metric(name string) string {
	switch name {
	case measure.Total.Name:
		return "total time"
	case measure.GPUTime.Name:
		return "GPU time"
	case measure.CopyBytes.Name:
		return "bytes copied"
	case measure.MemoryPeak.Name:
		return "peak memory"
	}
	return strings.ReplaceAll(Clean(name), "_", " ")
}

func quantity(n gate.Number, unit string) string {
	return bind(measure.Quantity(float64(n), Clean(unit)))
}

func percent(n gate.Number) string { return bind(measure.Percent(float64(n))) }

func count(n int, thing string) string { return bind(measure.Count(n, thing)) }

func share(n gate.Number) string { return bind(measure.Share(float64(n))) }

func values(f gate.Finding) string {
	base, head := quantity(f.Base, f.Unit), quantity(f.Head, f.Unit)
	if base == head && f.Base.Known() && f.Base != f.Head && f.Outcome != gate.Unchanged {
		base, head = bind(measure.Exactly(float64(f.Base), Clean(f.Unit))), bind(measure.Exactly(float64(f.Head), Clean(f.Unit)))
	}
	switch {
	case f.Outcome == gate.Added && !f.Base.Known():
		return head
	case f.Outcome == gate.Removed && !f.Head.Known():
		return "was" + nb + base
	}
	return base + nb + "→" + nb + head
}

// limits prints the regression allowed and the bounds of the value, each behind its word.
func limits(f gate.Finding, limit, least, most string) []string {
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

func match(f gate.Finding) string {
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
		"role":     "matched by its role",
	}[f.Match] + was)
}

// facts describes both sides: hardware, runs, warm-up, pairing and what such data can see.
func facts(r *gate.Report) []fact {
	var out []fact
	add := func(label, text string) {
		if text = trimmed(text); text != "" {
			out = append(out, fact{label, text})
		}
	}
	add("workload", r.Workload)
	base, head := machine(r.Base.Environment), machine(r.Head.Environment)
	if base == head || base == "" {
		add("GPU", head)
	} else {
		add("base GPU", base)
		add("head GPU", head)
	}
	add("base", side(r.Base))
	add("head", side(r.Head))
	if r.Base.Runs > 0 && r.Head.Runs > 0 {
		if r.Paired {
			add("pairing", "measured in one session: no spread between hosts in the intervals")
		} else {
			add("pairing", "different sessions: the spread between hosts widens the intervals")
		}
	}
	var mdes []gate.Number
	for _, f := range r.Findings {
		if f.MDE.Known() && f.MDE > 0 {
			mdes = append(mdes, f.MDE)
		}
	}
	if slices.Sort(mdes); len(mdes) > 0 {
		s := "a change of " + percent(mdes[len(mdes)/2]) + " in 80 % of cases (median MDE)"
		if r.Family > 0 && r.Alpha > 0 {
			s += fmt.Sprintf("; at most %s false alarms a gate, over %s", percent(r.Alpha), measure.Count(r.Family, "comparison"))
		}
		add("sees", s)
	}
	add("baseline", r.Baseline)
	for _, note := range r.Notes {
		add("course", note)
	}
	return out
}

// machine prints GPU, driver, CUDA and profiler of an environment, "" for none.
func machine(e measure.Environment) string {
	var parts []string
	gpu := e.GPU
	if e.GPUs > 1 && gpu != "" {
		gpu = fmt.Sprintf("%d × %s", e.GPUs, gpu)
	}
	for _, p := range []fact{{"", gpu}, {"driver ", e.Driver}, {"CUDA ", e.CUDA}, {"", e.Tool}} {
		if p.Text != "" {
			parts = append(parts, p.Label+p.Text)
		}
	}
	if e.ClockMHz > 0 {
		parts = append(parts, fmt.Sprintf("SM clock %d MHz", e.ClockMHz))
	}
	return strings.Join(parts, ", ")
}

// side prints how many runs a side has, of what, and what was taken for warm-up.
func side(s gate.Side) string {
	if s.Runs == 0 {
		return "nothing measured"
	}
	parts := []string{measure.Count(s.Runs, "run")}
	if s.Sessions > 0 {
		parts[0] += " in " + measure.Count(s.Sessions, "session")
	}
	if s.Step != "" {
		parts = append(parts, fmt.Sprintf("per step %q", Clean(s.Step)))
	}
	switch {
	case s.Skipped != "" && s.Warmup != "":
		parts = append(parts, "warm-up "+s.Warmup+": "+s.Skipped)
	case s.Skipped != "":
		parts = append(parts, s.Skipped)
	case s.Warmup != "":
		parts = append(parts, "warm-up "+s.Warmup)
	}
	if s.Commit != "" {
		parts = append(parts, "commit "+Elide(Clean(s.Commit), 12))
	}
	return strings.Join(parts, ", ")
}

const maxSpark = 24 // runs a side that a sparkline shows

// spark draws the runs of both sides as bars on one scale, "▁▂▁▁ → ▇█▇▇"; "" where either side has fewer than two. The
// scale spans at least the limit, so that noise which nobody judges stays flat.
func spark(base, head []gate.Number, limit gate.Number) string {
	low, high, n := math.Inf(1), math.Inf(-1), [2]int{}
	for side, runs := range [][]gate.Number{base, head} {
		for _, v := range runs {
			if v.Known() {
				low, high = min(low, float64(v)), max(high, float64(v))
				n[side]++
			}
		}
	}
	if min(n[0], n[1]) < 2 {
		return ""
	}
	span := high - low
	if limit.Known() {
		span = max(span, math.Abs(low)*float64(limit))
	}
	if span == 0 || math.IsInf(span, 0) {
		span = 1
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	draw := func(runs []gate.Number) string {
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
	return draw(base) + nb + "→" + nb + draw(head)
}
