package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// A view is a report as every format shows it: rows sorted into sections, numbers printed, texts cleaned. Nothing is
// escaped yet for a target; number and unit are bound with [nb].
type view struct {
	Report       *result.Report
	Word, Reason string // the verdict
	Tone         tone
	Workload     string  // "default" where it has no name
	each         []*view // of a report on several workloads those on each, else the view itself
	Rows         []row   // in the report's order, worst first
	Fall         *fall   // where the change of the step comes from, nil where that is not known
	Ranks        *ranks  // of the head's jobs, nil where there are not several
	Warnings     []string
	Next         []string
	Facts        []fact // about what was compared
	Commands     []fact // that go on from here
	locate       Locator
	showAll      string // see [Options]
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

// class is what a finding means to a reader; sections are in this order.
type class int

const (
	failing class = iota
	warned
	open
	differing
	grew
	improved
	added
	removed
	harmless
	same
	unchanged
)

// lookAt is the part of the findings that a reader has to look at.
const lookAt = "Look at"

// classification is what is said of a class.
type classification struct {
	outcome result.Outcome // of its findings, unless another class takes them; "" where only others are left to it
	title   string
	part    string // of the report, in formats that show all
	result  string // of a finding, with a mark where it matters
	tone    tone
	most    int // subjects that text shows unless it shows all; 0 to count them only
}

var classes = [...]classification{
	failing:   {result.Regressed, "Regressed", lookAt, "❌ regressed", bad, 20},
	warned:    {result.Regressed, "Slower, without failing the gate", lookAt, "⚠️ slower", doubtful, 5},
	open:      {"", "Undecided", lookAt, "⚠️ undecided", doubtful, 5},
	grew:      {result.Grew, "Grew", "Grew", "⚠️ grew", doubtful, 10},
	differing: {"", "Differences", lookAt, "not judged", plain, 40},
	improved:  {result.Improved, "Improved", "Improved", "✅ improved", good, 5},
	added:     {result.Added, "Added", "Added and removed", "added", plain, 10},
	removed:   {result.Removed, "Removed", "Added and removed", "removed", plain, 10},
	harmless:  {result.Inconclusive, "Undecided that cannot fail the gate", "Undecided that cannot fail the gate", "⚠️ undecided", plain, 0},
	same:      {"", "Without a difference", "Without a difference", "not judged", plain, 0},
	unchanged: {result.Unchanged, "Unchanged", "Unchanged", "unchanged", plain, 0},
}

func classOf(f result.Finding) class {
	switch {
	case f.NotJudged() && f.Base == f.Head:
		return same
	case f.NotJudged():
		return differing
	case f.Outcome == result.Regressed && !f.Gates:
		return warned
	case f.Undecided && f.Outcome != result.Regressed:
		return open
	}
	for c, x := range classes {
		if x.outcome == f.Outcome {
			return class(c)
		}
	}
	return harmless // an outcome that nobody knows
}

// section is a part of the rows under its title.
type section struct {
	Title string
	Rows  []row
}

func newView(r *result.Report, o Options) *view {
	v := &view{
		Report: r, Workload: cmp.Or(Elide(strings.TrimSpace(Line(r.Workload)), 100), "default"),
		Ranks: newRanks(r.Ranks), Warnings: nonempty(r.Warnings...), Next: nonempty(r.Next...), Facts: facts(r, o.Verbose), locate: o.Locate, showAll: o.ShowAll,
	}
	for _, c := range []fact{{"To reproduce", cmp.Or(o.Reproduce, r.Reproduce)}, {"To accept as the new baseline", r.Accept}} {
		if c.Text = trimmed(c.Text); c.Text != "" {
			v.Commands = append(v.Commands, c)
		}
	}
	v.Rows = make([]row, 0, len(r.Findings))
	for _, f := range r.Findings {
		v.Rows = append(v.Rows, newRow(f))
	}
	per := "run"
	if r.Head.Step != "" {
		per = "step"
	}
	tell(v.Rows, per)
	if v.Fall = newFall(r.Waterfall); v.Fall != nil && v.differs() {
		v.Fall.Tells = true
	}
	v.verdict()
	v.each = []*view{v}
	if len(r.Workloads) > 0 {
		v.each = nil
	}
	for _, w := range r.Workloads {
		v.each = append(v.each, newView(w, o))
	}
	return v
}

// several reports whether the view is of a report on several workloads.
func (v *view) several() bool { return len(v.Report.Workloads) > 0 }

// verdict makes the sentence from the counts where the report has none.
func (v *view) verdict() {
	r := v.Report
	switch {
	case r.Verdict == result.Fail:
		v.Word, v.Reason, v.Tone = "FAIL", measure.Count(r.Counts.Regressed, "regression"), bad
	case r.Verdict == result.Pass && r.Undecided:
		v.Word, v.Reason, v.Tone = "PASS, UNDECIDED", measure.Count(r.Counts.Inconclusive, "comparison")+" undecided", doubtful
	case r.Verdict == result.Pass:
		v.Word, v.Reason, v.Tone = "PASS", measure.Count(len(r.Findings), "comparison"), good
	default:
		v.Word, v.Reason, v.Tone = "NO VERDICT", "the measurement cannot be judged", doubtful
	}
	v.Reason = cmp.Or(trimmed(r.Reason), v.Reason)
}

// Icon marks the verdict.
func (v *view) Icon() string { return [...]string{good: "✅", doubtful: "⚠️", bad: "❌"}[v.Tone] }

// judged reports whether there is a verdict at all.
func (v *view) judged() bool {
	return v.Report.Verdict == result.Pass || v.Report.Verdict == result.Fail
}

// differs reports whether there are differences that nobody judged.
func (v *view) differs() bool { return len(v.of(differing)) > 0 }

// of gives the rows of some classes, one class after the other.
func (v *view) of(classes ...class) []row {
	n := 0
	for i := range v.Rows {
		if slices.Contains(classes, v.Rows[i].Class) {
			n++
		}
	}
	rows := make([]row, 0, n)
	for _, c := range classes {
		for i := range v.Rows { // rows are large
			if v.Rows[i].Class == c {
				rows = append(rows, v.Rows[i])
			}
		}
	}
	return rows
}

// untold leaves out what is told in another row.
func untold(rows []row) []row {
	out := make([]row, 0, len(rows))
	for i := range rows {
		if !rows[i].Told {
			out = append(out, rows[i])
		}
	}
	return out
}

// Sections splits the rows for formats that show all. Only the first, which is [lookAt], may be empty.
func (v *view) Sections() []section {
	var out []section
	for c, x := range classes {
		if last := len(out) - 1; last < 0 || out[last].Title != x.part {
			out = append(out, section{Title: x.part})
		}
		s := &out[len(out)-1]
		s.Rows = append(s.Rows, untold(v.of(class(c)))...)
	}
	return append(out[:1], slices.DeleteFunc(out[1:], func(s section) bool { return len(s.Rows) == 0 })...)
}

// place is where in the repository what a finding is about is called, or else written down; "" where that is unknown.
func (v *view) place(f result.Finding) (file string, line int) {
	if o := f.Origin; o != nil && o.File != "" {
		return Line(o.File), max(o.Line, 1)
	}
	if v.locate != nil {
		if file, line, ok := v.locate(v.Report, f); ok {
			return Line(file), max(line, 1)
		}
	}
	return "", 0
}

// kept is the place of a finding, or else the baseline's directory; "" where there is no baseline.
func (v *view) kept(f result.Finding) (file string, line int) {
	if file, line = v.place(f); file == "" && v.Report.Baseline != "" {
		return Line(v.Report.Baseline), 1
	}
	return file, line
}

// facts describes both sides: hardware, runs, warm-up, pairing and what such data can see; verbose also what is not known
// of them.
func facts(r *result.Report, verbose bool) []fact {
	var out []fact
	add := func(label, text string) {
		if text = trimmed(text); text != "" {
			out = append(out, fact{label, text})
		}
	}
	if n := len(r.Workloads); n > 0 {
		if r.Alpha > 0 {
			add("gate", fmt.Sprintf("at most %s false alarms in all, shared out among %d workloads", percent(r.Alpha), n))
		}
		for _, note := range r.Notes {
			add("course", note)
		}
		return out
	}
	add("workload", r.Workload)
	base, head := machine(r.Base.Environment), machine(r.Head.Environment)
	if base == head || base == "" {
		add("GPU", head)
	} else {
		add("base GPU", base)
		add("head GPU", head)
	}
	if r.Base.Runs > 0 || r.Head.Runs > 0 {
		base := side(r.Base)
		if r.Measured != nil {
			base = "none yet"
		}
		add("base", base)
		add("head", side(r.Head))
	}
	judged := !slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.NotJudged() })
	if r.Base.Runs > 0 && r.Head.Runs > 0 && judged { // else there are no intervals
		add("pairing", pairing(r, verbose))
	}
	if s := sees(r); s != "" {
		if r.Family > 0 && r.Alpha > 0 {
			s += fmt.Sprintf("; at most %s false alarms a gate, over %s with a spread", percent(r.Alpha), measure.Count(r.Family, "comparison"))
		}
		add("sees", s)
	}
	for _, u := range r.Utilization {
		add("GPU use", utilization(u, r.Head.Step))
	}
	kept := r.Baseline
	if at := r.Base.Environment.Start; kept != "" && !at.IsZero() && !r.Paired {
		kept += ", newest session of " + at.UTC().Format("2006-01-02")
	}
	add("baseline", kept)
	for _, note := range r.Notes {
		add("course", note)
	}
	return out
}

// pairing says how base and head were measured beside each other, and what that does to the intervals.
func pairing(r *result.Report, verbose bool) string {
	const spread = ": the spread between hosts widens the intervals"
	times := ""
	if r.Apart > 0 {
		times = ", " + ago(time.Duration(float64(r.Apart)*float64(time.Second))) + " apart"
	}
	switch {
	case r.Paired:
		return "by turns in one session: no spread between hosts in the intervals"
	case r.Batches:
		return "same GPU, one after the other" + times + ": what such batches differ by widens the intervals"
	case r.OneGPU:
		return "same GPU, different sessions" + times + ": the spread between sessions widens the intervals"
	case r.Boards == result.SameBoard:
		return "different sessions, same board" + spread
	case r.Boards == result.OtherBoard:
		return "different sessions, different boards" + spread
	case verbose && (r.Base.Environment.Class() == "" || r.Head.Environment.Class() == ""):
		return "different sessions" + spread + "; not every profile says on which board it was measured"
	}
	return "different sessions" + spread
}

// ago prints a time between two sessions: "40 s", "12 minutes", "2 days".
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f"+nb+"s", max(d.Seconds(), 1))
	case d < 2*time.Hour:
		return measure.Count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return measure.Count(int(d.Hours()), "hour")
	}
	return measure.Count(int(d.Hours()/24), "day")
}

// utilization prints how a range, or the steps, used the GPU: "forward: SM active 68.4 → 70.1 %, tensor active 25.5 → 31.0 %".
func utilization(u result.Utilization, step string) string {
	var parts []string
	for _, m := range u.Metrics {
		change := share(m.Head / 100)
		if m.Base.Known() {
			change = strings.TrimSuffix(share(m.Base/100), nb+"%") + bind(" → ") + change
		}
		parts = append(parts, metric(m.Name)+nb+change)
	}
	of := cmp.Or(u.Range, step, "all")
	return Elide(Clean(of), 40) + ": " + strings.Join(parts, ", ")
}

// machine prints GPU, board, driver, CUDA and profiler of an environment, "" for none.
func machine(e model.Environment) string {
	var parts []string
	gpu := e.GPU
	if e.GPUs > 1 && gpu != "" {
		gpu = fmt.Sprintf("%d × %s", e.GPUs, gpu)
	}
	for _, p := range []fact{{"", gpu}, {"board ", e.Board}, {"driver ", e.Driver}, {"CUDA ", e.CUDA}, {"", e.Tool}} {
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
func side(s result.Side) string {
	if s.Runs == 0 {
		return "nothing that can be used"
	}
	parts := []string{measure.Count(s.Runs, "run")}
	if s.Unprofiled > 0 {
		parts[0] += fmt.Sprintf(" and %d untraced", s.Unprofiled)
	}
	if s.Sessions > 0 {
		parts[0] += " in " + measure.Count(s.Sessions, "session")
	}
	if s.Step != "" {
		parts = append(parts, fmt.Sprintf("per step %q", Clean(s.Step)))
	} else if s.Repeats > 0 {
		parts = append(parts, fmt.Sprintf("steps told by kernels, which repeat %s", measure.Count(int(s.Repeats), "time")))
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
		parts = append(parts, "commit "+Elide(Clean(s.Commit), 24))
	}
	return strings.Join(parts, ", ")
}

// sees is what change a report would show, "" where that is not known.
func sees(r *result.Report) string {
	var mdes []result.Number
	for _, f := range r.Findings {
		if f.MDE.Known() && f.MDE > 0 {
			mdes = append(mdes, f.MDE)
		}
	}
	if slices.Sort(mdes); len(mdes) == 0 {
		return ""
	}
	return "a change of " + percent(mdes[len(mdes)/2]) + " in 80 % of cases (median MDE)"
}
