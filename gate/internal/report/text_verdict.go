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

func (p *page) failed(v *view) {
	p.b.WriteByte('\n')
	if len(v.Causes) > 0 {
		p.labelled("Why", none, v.Causes[0].Why...)
		p.labelled("Where", none, v.Causes[0].places()...)
		p.also(v, slices.DeleteFunc(slices.Clone(v.Causes[1:]), func(c cause) bool { return c.Class != failing }), p.Verbose)
	} else {
		p.labelled("Why", none, v.Reason)
	}
	p.besides(v)
	if len(v.Causes) > 0 && v.Causes[0].rank && v.Ranks != nil {
		p.b.WriteByte('\n')
		p.labelled("Ranks", none, v.Ranks.strips...)
		if len(v.Ranks.Table.Rows) == rankRows {
			p.dim(2, v.Ranks.Table.About)
			p.table(v.Ranks.Table)
		}
	}
	p.waterfall(v)
	p.notes(v)
	if len(v.Next) > 0 {
		p.b.WriteByte('\n')
		p.labelled("Next", none, v.Next...)
	}
}

// also writes further causes that fail the gate, a line each.
func (p *page) also(v *view, list []cause, all bool) {
	most := maxCauses
	if all {
		most = len(list)
	}
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
	p.labelled("Also", none, beginning(lines, most, "")...)
}

// besides counts the other comparisons that need a look.
func (p *page) besides(v *view) {
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
	if len(list) > 0 {
		p.labelled("Besides", dim, strings.Join(list, ", ")+wrapped(nb+"(", bind(v.ShowAll), ")"))
	}
}

// waterfall writes the parts of the step's change, and the times of the whole program that the headline leaves out.
func (p *page) waterfall(v *view) {
	drawn := v.Fall != nil && len(v.Fall.Rows) > 0
	if drawn {
		p.b.WriteByte('\n')
		p.line(2, 2, span{"Where the time went, per step", none})
		width := 0
		for _, r := range v.Fall.Rows {
			width = max(width, columns(r.Text))
		}
		for _, r := range v.Fall.Rows {
			what := r.What
			if r.Class == "" {
				what += wrapped(nb+"(", bind(v.ShowAll), ")")
			}
			p.line(4, 4+width+3, span{strings.Repeat(nb, width-columns(r.Text)) + r.Text + nb + nb + " ", none}, span{what, none})
		}
	}
	if whole := v.whole(); whole != "" {
		if !drawn {
			p.b.WriteByte('\n')
		}
		p.line(2, 4, span{whole, none})
	}
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

func (p *page) passed(v *view) {
	p.line(2, 2, span{v.unsaid(), none})
	p.dim(2, join("; ", strings.TrimPrefix(v.sides(), "NVIDIA"+nb), wrapped("detects ", detects(v.Report.Detects), "")))
	var gains []string
	for _, c := range v.Causes {
		if c.Class == warned {
			p.labelled("Slower", yellow, join(", ", c.Why[0], c.lead().Reason))
		}
	}
	for _, g := range groups(untold(v.of(improved))) {
		gains = append(gains, g[0].Subject+" "+g[0].Metric+" "+g[0].Values+" ("+g[0].Change+")")
	}
	p.increased(v)
	p.labelled("Faster", green, beginning(gains, 3, wrapped(" (", v.ShowAll, ")"))...)
	if v.Fall != nil && v.Fall.Certain && math.Abs(float64(v.Fall.Head/v.Fall.Base-1)) >= 0.01 {
		p.waterfall(v)
	}
	p.notes(v)
	p.labelled("Next", none, v.Next...)
}

func (p *page) increased(v *view) {
	var list []string
	for _, c := range v.Causes {
		if x := c.lead(); c.Class == increased {
			list = append(list, join(", ", slices.Concat([]string{strings.TrimPrefix(x.Subject+" ", "workload ") + x.Metric + " " + x.Values + " a " + unitOf(v.Report.Head)}, group(c.Rows).evidence())...))
		}
	}
	p.labelled("New", yellow, beginning(list, 3, wrapped(" (", v.ShowAll, ")"))...)
}

func (p *page) undecided(v *view) {
	runs, reason := 0, v.Reason
	n, shown := 0, v.effect()
	for _, c := range v.Open {
		for _, r := range c.Rows {
			if r.Class != open {
				continue
			}
			headed := shown != nil && r.F.Subject() == shown.F.Subject() && r.F.Metric == shown.F.Metric
			if r.Reason != "" && (n == 0 || headed) { // the line above has its numbers
				reason = r.Reason
			}
			n++
			runs = max(runs, r.F.MoreRuns())
		}
	}
	if n > 1 {
		reason += "; " + count(n-1, "more comparison")
	}
	next := cmp.Or(strings.Join(v.Next, "; "), v.settle(runs), "measure the base build beside the head")
	p.labelled("Open", none, strings.TrimSuffix(reason, ": "+next))
	p.labelled("Settle", none, next)
	p.increased(v)
	p.notes(v)
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

func (p *page) refused(v *view) {
	p.line(2, 2, span{v.unsaid(), none})
	p.labelled("Next", none, v.Next...)
	if len(v.Causes)+len(v.Open) > 0 && !slices.ContainsFunc(v.Rows, func(r row) bool { return r.Class == differing }) {
		p.b.WriteByte('\n')
		p.also(v, slices.DeleteFunc(slices.Concat(v.Causes, v.Open), func(c cause) bool {
			change := c.lead().F.Change
			return c.Class == open && change.Known() && math.Abs(float64(change)) < 0.01
		}), false)
	}
	if v.Fall != nil && len(v.Fall.Rows) > 0 {
		p.waterfall(v)
	}
	p.notes(v)
}

func (p *page) notes(v *view) {
	if len(v.Warnings) > 0 && (v.Report.Verdict == result.Fail || len(v.Warnings) > 1) {
		p.b.WriteByte('\n')
	}
	for _, t := range v.Warnings {
		p.line(2, 4, span{"! ", yellow}, span{t, none})
	}
}
