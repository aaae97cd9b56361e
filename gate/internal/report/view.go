package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// A view is a report in the form that every format prints: comparisons as rows and as causes, with numbers printed and texts
// cleaned. No text is escaped for a format yet. A number is bound to its unit with [nb].
type view struct {
	Report       *result.Report
	Word, Reason string // the verdict
	Tone         tone
	Workload     string  // "default" where it has no name
	each         []*view // one a workload; the view itself where the report is on one
	Rows         []row   // the comparisons, worst first
	Causes       []cause // of a slower program: failing ones first, then by cost
	Open         []cause // undecided comparisons that could fail the gate
	Fall         *fall   // parts of the step's change, nil where they are unknown
	Ranks        *ranks  // ranks of the head, nil for a single one
	Warnings     []string
	Next         []string
	Facts        []fact // hardware, runs, pairing, what is detected
	Commands     []fact // that reproduce or accept
	Options
}

// Options says how a report is rendered. The zero value is plain text, 100 columns wide.
type Options struct {
	Width    int  // columns of text, at least 40; 0 means 100
	Color    bool // text: SGR colours, which never carry a meaning alone
	ASCII    bool // text: no other characters
	Verbose  bool // text: every finding, and full names
	Quiet    bool // text: the verdict only
	MaxBytes int  // Markdown: size that is never exceeded; 0 means 60 kB
	// ShowAll is the flag under which text leaves nothing out, "--verbose"; "" for none.
	ShowAll string
	// Ways are commands that show more of the report, each behind its label. Runs is the flag for the number of runs.
	Ways [][2]string
	Runs string
	// Reproduce replaces the report's own command, from which secrets are removed; "" keeps it.
	Reproduce string
	// Locate finds the definition of a finding's kernel in the repository; nil for none.
	Locate Locator
	// Source is the repository's address on the CI host, for links.
	Source Source
	// Version is that of this nsgate.
	Version string
}

type fact struct{ Label, Text string }

// factsOf are the facts that are known.
func factsOf(list ...fact) []fact {
	var out []fact
	for _, f := range list {
		if f.Text = trimmed(f.Text); f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// tone is the meaning that a format shows by a colour, an icon or a CSS class.
type tone int

const (
	plain tone = iota
	good
	doubtful
	bad
	minor // matters less
)

// class groups findings by what they mean to a reader, in the order of sections.
type class int

const (
	failing class = iota
	warned
	open
	increased
	differing
	improved
	added
	removed
	harmless
	same
	unchanged
)

// classification is the outcome and the words of a class.
type classification struct {
	outcome result.Outcome // of its findings; "" where [classOf] decides by more than the outcome
	mark    string         // before a result that matters
	result  string         // of a finding
	tone    tone
}

var classes = [...]classification{
	failing:   {result.Regressed, "❌", "regressed", bad},
	warned:    {result.Regressed, "⚠️", "slower", doubtful},
	open:      {"", "⚠️", "undecided", doubtful},
	increased: {result.Grew, "⚠️", "increased", doubtful},
	differing: {"", "", "not judged", plain},
	improved:  {result.Improved, "✅", "improved", good},
	added:     {result.Added, "", "added", plain},
	removed:   {result.Removed, "", "removed", plain},
	harmless:  {result.Inconclusive, "⚠️", "undecided", plain},
	same:      {"", "", "not judged", plain},
	unchanged: {result.Unchanged, "", "unchanged", plain},
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
	return harmless // unknown outcome
}

func newView(r *result.Report, o Options) *view {
	v := &view{
		Report: r, Workload: cmp.Or(Elide(strings.TrimSpace(Clean(r.Workload)), 100), "default"),
		Ranks: newRanks(r.Ranks), Warnings: nonempty(r.Warnings...), Next: nonempty(r.Next...), Facts: facts(r, o.Verbose),
		Commands: factsOf(fact{"To reproduce", cmp.Or(o.Reproduce, r.Reproduce)}, fact{"To accept as the new baseline", r.Accept}),
		Options:  o,
	}
	v.Rows = make([]row, 0, len(r.Findings))
	for _, f := range r.Findings {
		v.Rows = append(v.Rows, newRow(f))
	}
	tell(v.Rows)
	v.Fall = newFall(r)
	v.Causes, v.Open = v.causes(failing, warned, increased), v.causes(open)
	v.verdict()
	shown := v.effect()
	for _, list := range [][]cause{v.Causes, v.Open} {
		for i := range list {
			v.tell(&list[i], shown)
		}
	}
	for _, w := range r.Workloads {
		v.each = append(v.each, newView(w, o))
	}
	if v.each == nil {
		v.each = []*view{v}
	}
	return v
}

// unitOf is the unit that times of a side are given for.
func unitOf(s result.Side) string {
	if s.Step != "" {
		return "step"
	}
	return "run"
}

func (v *view) several() bool { return len(v.Report.Workloads) > 0 }

// verdict sets word, reason and tone. Without a reason in the report it counts findings.
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

func (v *view) Icon() string { return [...]string{good: "✅", doubtful: "⚠️", bad: "❌"}[v.Tone] }

func (v *view) judged() bool {
	return v.Report.Verdict == result.Pass || v.Report.Verdict == result.Fail
}

// of gives the rows of some classes, one class after the other.
func (v *view) of(classes ...class) []row {
	var rows []row
	for _, c := range classes {
		for i := range v.Rows { // rows are large
			if v.Rows[i].Class == c {
				rows = append(rows, v.Rows[i])
			}
		}
	}
	return rows
}

// number is the row of a metric of the workload, nil for none.
func (v *view) number(metric string) *row {
	return group(v.Rows).find(func(r *row) bool { return r.F.Metric == metric && r.F.Subject() == measure.Workload })
}

// untold leaves out the rows that are parts of another row.
func untold(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Told })
}

// place is the file and line where the kernel of a finding is launched or defined; "" where they are unknown.
func (v *view) place(f result.Finding) (file string, line int) {
	if o := f.Origin; o != nil && o.File != "" {
		return Clean(o.File), max(o.Line, 1)
	}
	if v.Locate != nil {
		if file, line, ok := v.Locate(f); ok {
			return Clean(file), max(line, 1)
		}
	}
	return "", 0
}

// facts describes both sides: hardware, runs, pairing, the smallest change that is detected. Verbose ones name unknown properties.
func facts(r *result.Report, verbose bool) []fact {
	var out []fact
	add := func(label, text string) { out = append(out, fact{label, text}) }
	withNotes := func() []fact {
		for _, note := range r.Notes {
			add("note", note)
		}
		return factsOf(out...)
	}
	if n := len(r.Workloads); n > 0 {
		if r.Alpha > 0 {
			add("gate", fmt.Sprintf("at most %s false alarms in all, shared out among %d workloads", percent(r.Alpha), n))
		}
		return withNotes()
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
	if r.Base.Runs > 0 && r.Head.Runs > 0 && judged { // intervals exist
		add("pairing", pairing(r, verbose))
	}
	add("detects", detection(r))
	for _, u := range r.Utilization {
		add("GPU use", utilization(u, r.Head.Step))
	}
	add("not judged", unjudged(r.Unjudged))
	if r.Spent != nil && r.Spent.Runs > 0 {
		add("time", r.Spent.Detail())
	}
	kept := r.Baseline
	if at := r.Base.Environment.Start; kept != "" && !at.IsZero() && !r.Paired {
		kept += ", newest session of " + at.UTC().Format("2006-01-02")
	}
	add("baseline", kept)
	return withNotes()
}

// detection is the smallest change of each kind that is detected, and the bound on false alarms beside it.
func detection(r *result.Report) string {
	s := detects(r.Detects)
	if s == "" {
		return ""
	}
	s += " (80 % power)"
	if r.Family > 0 && r.Alpha > 0 {
		s += fmt.Sprintf("; at most %s false alarms a gate, over %s", percent(r.Alpha), measure.Count(r.Family, "comparison"))
	}
	return s
}

// pairing says how base and head were measured, and how that widens the intervals.
func pairing(r *result.Report, verbose bool) string {
	const spread = ": the spread between hosts widens the intervals"
	times := ""
	if r.Apart > 0 {
		times = ", " + ago(time.Duration(float64(r.Apart)*float64(time.Second))) + " apart"
	}
	switch {
	case r.Paired:
		return "interleaved in one session: no spread between hosts in the intervals"
	case r.Batches:
		return "same GPU, back to back" + times + ": the spread between such batches widens the intervals"
	case r.OneGPU:
		return "same GPU, different sessions" + times + ": the spread between sessions widens the intervals"
	case r.Boards == result.SameBoard:
		return "different sessions, same board" + spread
	case r.Boards == result.OtherBoard:
		return "different sessions, different boards" + spread
	case verbose && (r.Base.Environment.Board == "" || r.Head.Environment.Board == ""):
		return "different sessions" + spread + "; not every profile says on which board it was measured"
	}
	return "different sessions" + spread
}

// detects prints the smallest changes that a comparison finds in 80 % of cases: "GPU time +0.4 %, kernels +0.5 … 1.1 %".
func detects(d *result.Detects) string {
	if d == nil {
		return ""
	}
	var parts []string
	for _, x := range []struct {
		name string
		mde  result.Number
	}{{"output", d.Output}, {"GPU time", d.GPUTime}, {"step", d.Step}} {
		if x.mde > 0 {
			parts = append(parts, x.name+" +"+mde(x.mde))
		}
	}
	least, most := mde(d.KernelLeast), mde(d.KernelMost)
	switch {
	case !(d.KernelLeast > 0):
	case least == most:
		parts = append(parts, "kernels +"+most)
	default:
		parts = append(parts, "kernels +"+strings.TrimSuffix(least, nb+"%")+bind(" … ")+most)
	}
	return strings.Join(parts, ", ")
}

// mde prints the smallest change that is detected, in two digits.
func mde(n result.Number) string {
	switch {
	case n >= 10:
		return "1000" + nb + "%"
	case n >= 0.1:
		return fmt.Sprintf("%.0f"+nb+"%%", 100*float64(n))
	case n >= 0.01:
		return fmt.Sprintf("%.1f"+nb+"%%", 100*float64(n))
	}
	return fmt.Sprintf("%.2f"+nb+"%%", 100*float64(n))
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
