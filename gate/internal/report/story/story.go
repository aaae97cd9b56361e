// Package story decides the contents of a report: rows sorted and folded into causes, the headline, tables, warnings
// and next steps. Numbers are printed and names bounded, without format or colour. Formats print it.
package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Story is a report in the form that every format prints: comparisons as rows and as causes, with numbers printed. No
// text is escaped for a format yet. A number is bound to its unit with [NB].
type Story struct {
	Report       *result.Report
	Word, Reason string // the verdict
	Tone         Tone
	Gate         result.Gate
	Workload     string   // "default" where it has no name
	Stated       string   // the headline behind the verdict: the workload and the largest effect, or the reason
	Lead, Rest   string   // the headline without verdict and workload; what it leaves out of the reason
	Each         []*Story // one a workload; the story itself where the report is on one
	Rows         []Row    // the comparisons, worst first
	Causes       []Cause  // of a slower program: failing ones first, then by cost
	Open         []Cause  // undecided comparisons that could fail the gate
	Gains        []Cause  // of a faster program, by what they save
	Counts       result.Counts
	Fall         *Fall  // parts of the step's change, nil where they are unknown
	Ranks        *Ranks // ranks of the head, nil for a single one
	Warnings     []string
	Next         []string
	Facts        []Fact // hardware, runs, pairing, detectable changes
	Commands     []Fact // that reproduce or accept
	Options
	effect *Row // that the headline is about, nil for none
	headed *Row // whose numbers the headline of a gate without a verdict has, nil for none
}

// Headline is the first line: the verdict, the workload and the largest effect, or the reason.
func (v *Story) Headline() string { return v.Word + v.Stated }

// Options says how a report is rendered. The zero value is plain text, 100 columns wide.
type Options struct {
	Width    int  // columns of text, at least 40; 0 means 100
	Color    bool // text: SGR colours, which never carry a meaning alone
	ASCII    bool // text: no other characters
	Verbose  bool // text: every finding, and full names
	Quiet    bool // text: the verdict only
	MaxBytes int  // Markdown: size that is never exceeded; 0 means 60 kB
	// ShowAll is the flag of the complete text, "--verbose"; "" for none.
	ShowAll string
	// Ways are commands that show more of the report, each behind its label.
	Ways [][2]string
	// Reproduce replaces the report's own command, which lacks its secrets; "" keeps it.
	Reproduce string
	// Locate finds the definition of a finding's kernel in the repository; nil for none.
	Locate Locator
	// Source is the repository's address on the CI host, for links.
	Source codehost.Source
	// Version is the version of this nsgate.
	Version string
}

type Fact struct{ Label, Text string }

// factsOf are the facts that are known.
func factsOf(list ...Fact) []Fact {
	var out []Fact
	for _, f := range list {
		f.Text = Trimmed(f.Text)
		if f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// Tell decides the contents of a report.
func Tell(r *result.Report, o Options) *Story {
	accepting := "To accept " + measure.Either(r.Verdict == result.Pass, "the faster values", "as the new baseline")
	v := &Story{
		Report: r, Workload: cmp.Or(Elide(Trimmed(r.Workload), 100), "default"),
		Ranks: NewRanks(r.Ranks), Warnings: Nonempty(r.Warnings...), Next: Nonempty(r.Next...),
		Facts:    facts(r, o.Verbose),
		Commands: factsOf(Fact{"To reproduce", cmp.Or(o.Reproduce, r.Reproduce)}, Fact{accepting, r.Accept}),
		Options:  o,
	}
	v.Rows = make([]Row, 0, len(r.Findings))
	for i, f := range r.Findings {
		row := newRow(f)
		row.At = i
		if f.Unit == measure.Launches.Unit && (fractional(f.Base) || fractional(f.Head)) {
			row.Metric += measure.Either(v.Ranks != nil, ", mean of ranks", ", mean")
		}
		v.Rows = append(v.Rows, row)
	}
	tell(v.Rows)
	v.Fall = newFall(r, o.Verbose)
	v.Causes, v.Open, v.Gains = v.causes(Failing, Warned, Increased), v.causes(Open), v.causes(Faster)
	v.count()
	v.verdict()
	v.effect = v.largest()
	headed, others := parted(v.Causes, func(c Cause) bool { return c.Class == Failing && c.has(v.effect) })
	v.Causes = append(headed, others...)
	for _, list := range [][]Cause{v.Causes, v.Open, v.Gains} {
		for i := range list {
			v.tell(&list[i])
		}
	}
	v.headlines()
	v.settle()
	v.Each = measure.Map(r.Workloads, func(w *result.Report) *Story { return Tell(w, o) })
	for _, w := range v.Each {
		v.Counts.Add(w.Counts)
	}
	if v.Each == nil {
		v.Each = []*Story{v}
	}
	return v
}

// fractional reports whether a count is a mean.
func fractional(n result.Number) bool {
	const least = 0.0005
	return n.Known() && math.Abs(float64(n)-math.Round(float64(n))) > least*math.Max(math.Abs(float64(n)), 1)
}

// UnitOf is the unit that times of a side are given for.
func UnitOf(s result.Side) string {
	return measure.Either(s.Step != "", "step", "run")
}

func (v *Story) Several() bool { return len(v.Report.Workloads) > 0 }

// verdict sets word, reason and tone. Without a reason in the report it counts findings.
func (v *Story) verdict() {
	r := v.Report
	v.Gate = r.Gated()
	v.Tone = map[result.Does]Tone{result.Fails: Bad, result.NoAnswer: Doubtful, result.Warns: Doubtful,
		result.Passes: Good}[v.Gate.Does]
	switch {
	// failing workloads are accepted, others were not judged
	case r.Verdict == result.Fail && v.Gate.Does == result.NoAnswer:
		v.Word = "NO VERDICT"
	case r.Verdict == result.Fail:
		v.Word, v.Reason = "FAIL", measure.Count(v.Counts.Slower, "cause")+" of a slower program"
	case r.Verdict == result.Pass && r.Undecided:
		v.Word, v.Reason = "PASS, UNDECIDED", measure.Count(v.Counts.Undecided, "cause")+" undecided"
	case r.Verdict == result.Pass:
		v.Word, v.Reason = "PASS", measure.Count(len(r.Findings), "comparison")
	default:
		v.Word, v.Reason = "NO VERDICT", "the measurement cannot be judged"
	}
	v.Reason = cmp.Or(Trimmed(r.Reason), v.Reason)
	if v.Gate.Way != result.Interrupted || r.Verdict == result.Pass {
		v.Word += wayWords[v.Gate.Way]
	}
}

// wayWords follow the verdict of a gate that does something else.
var wayWords = map[result.Way]string{result.InShadow: ", IN SHADOW", result.Accepted: ", ACCEPTED",
	result.FirstPasses: ", PASSES", result.NotMeasured: ", PASSES", result.FirstFails: ", FAILS",
	result.Interrupted: ", INTERRUPTED"}

func (v *Story) Icon() string {
	return [...]string{Good: "✅", Doubtful: "⚠️", Bad: "❌"}[v.Tone]
}

func (v *Story) Judged() bool { return v.Verdict() != result.NoVerdict }

// Verdict is that of the report, no verdict where it has an unknown one.
func (v *Story) Verdict() result.Verdict {
	r := v.Report.Verdict
	return measure.Either(r == result.Pass || r == result.Fail, r, result.NoVerdict)
}

// Of gives the rows of some classes, one class after the other.
func (v *Story) Of(classes ...Class) []Row {
	var rows []Row
	for _, c := range classes {
		for i := range v.Rows { // rows are large
			if v.Rows[i].Class == c {
				rows = append(rows, v.Rows[i])
			}
		}
	}
	return rows
}

// Number is the row of a metric of the workload, nil for none.
func (v *Story) Number(metric string) *Row {
	return measure.First(v.Rows, func(r *Row) bool { return r.F.Metric == metric && r.F.Subject() == measure.Workload })
}

// Untold leaves out the rows that are parts of another row.
func Untold(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Told })
}

// Place is the file and line where the kernel of a finding is launched or defined; "" where they are unknown.
func (v *Story) Place(f result.Finding) (file string, line int) {
	if o := f.Origin; o.Known() {
		return Clean(o.File), max(o.Line, 1)
	}
	if v.Locate != nil {
		if file, line, ok := v.Locate(f); ok {
			return Clean(file), max(line, 1)
		}
	}
	return "", 0
}

// facts describes both sides: hardware, runs, pairing, the smallest change that is detected. Verbose ones name unknown
// properties.
func facts(r *result.Report, verbose bool) []Fact {
	var out []Fact
	add := func(label, text string) { out = append(out, Fact{label, text}) }
	withNotes := func() []Fact {
		for _, note := range r.Notes {
			add("note", note)
		}
		return factsOf(out...)
	}
	if n := len(r.Workloads); n > 0 {
		if r.Alpha > 0 {
			add("gate", fmt.Sprintf("at most %s false alarms in all, shared out among %d workloads", Percent(r.Alpha),
				n))
		}
		return withNotes()
	}
	add("workload", r.Workload)
	base, head := machine(r.Base.Environment), machine(r.Head.Environment)
	if base == head || base == "" {
		add(hardware(r.Head.Environment), head)
	} else {
		add("base GPU", base)
		add("head GPU", head)
	}
	if r.Base.Runs+r.Base.Unprofiled+r.Head.Runs+r.Head.Unprofiled > 0 {
		add("base", measure.Either(r.Measured != nil, "none yet", side(r.Base)))
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
	at := r.Base.Environment.Start
	add("baseline", r.Baseline+measure.Either(r.Baseline != "" && !at.IsZero() && !r.Paired,
		", newest session of "+at.UTC().Format(time.DateOnly), ""))
	return withNotes()
}

// detection is the smallest change of each kind that is detected, and the bound on false alarms beside it.
func detection(r *result.Report) string {
	s := Detects(r.Detects)
	if s == "" {
		return ""
	}
	s += " (80 % power)"
	if r.Family > 0 && r.Alpha > 0 {
		s += fmt.Sprintf("; at most %s false alarms a gate, over %s", Percent(r.Alpha),
			measure.Count(r.Family, "comparison"))
	}
	return s
}

// pairing says how base and head were measured, and how that widens the intervals.
func pairing(r *result.Report, verbose bool) string {
	const spread = ": the spread between hosts widens the intervals"
	times := measure.Either(r.Apart > 0, ", "+ago(time.Duration(float64(r.Apart)*float64(time.Second)))+" apart", "")
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

// Detects prints the smallest changes that a comparison finds in 80 % of cases: "GPU time +0.4 %, kernels +0.5 … 1.1
// %".
func Detects(d *result.Detects) string {
	if d == nil {
		return ""
	}
	var parts []string
	for _, x := range []struct {
		name string
		mde  result.Number
	}{{"output", d.Output}, {"GPU time", d.GPUTime}, {"step", d.Step}} {
		if x.mde > 0 {
			parts = append(parts, x.name+" "+Detected(x.mde))
		}
	}
	switch least, most := detected(d.KernelLeast), detected(d.KernelMost); {
	case !(d.KernelLeast > 0):
	case least == most:
		parts = append(parts, "kernels "+Detected(d.KernelMost))
	default:
		parts = append(parts, "kernels +"+least+Bind(" … ")+most+NB+"%")
	}
	return strings.Join(parts, ", ")
}

// Detected prints the smallest change that is detected, in two digits: "+3.1 %".
func Detected(n result.Number) string {
	return measure.Either(n > 0, "+"+detected(n)+NB+"%", measure.Unknown)
}

// detected is the number of [Detected], in per cent.
func detected(n result.Number) string {
	digits := 2
	switch {
	case n >= 10:
		return "1000"
	case n >= 0.1:
		digits = 0
	case n >= 0.01:
		digits = 1
	}
	return strconv.FormatFloat(100*float64(n), 'f', digits, 64)
}

// utilization prints how a range, or the steps, used the GPU: "forward: SM active 68.4 → 70.1 %, tensor active 25.5 →
// 31.0 %".
func utilization(u result.Utilization, step string) string {
	var parts []string
	for _, m := range u.Metrics {
		base := m.Base.Given(measure.ScaleShare(float64(m.Base/100)).Number + Bind(" → "))
		parts = append(parts, Metric(m.Name)+NB+base+Share(m.Head/100))
	}
	of := cmp.Or(u.Range, step, "all")
	return Elide(Clean(of), 40) + ": " + strings.Join(parts, ", ")
}

// Locator finds the definition of a finding's kernel in a repository; file is relative to its root.
type Locator func(f result.Finding) (file string, line int, ok bool)

// Link is the address of a line of the head's source on the CI host, "" where that is unknown.
func (v *Story) Link(file string, line int) string {
	return v.Source.File(v.Report.Head.Commit, relative(file), line)
}
