package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// MaxHeadline is how many columns the first line of a report has at most.
const MaxHeadline = 80

// largest is the row of the headline: a broken condition, else the largest effect on the program, output before step
// before GPU time, else the most expensive cause; nil without a comparison.
func (v *Story) largest() *Row {
	classes := []Class{Failing, Warned}
	switch {
	case v.Report.Verdict == result.Fail:
		if at := slices.IndexFunc(v.Rows, func(r Row) bool { return r.F.Condition() }); at >= 0 {
			return &v.Rows[at]
		}
		classes = []Class{Failing}
	case v.Report.Undecided:
		classes = []Class{Open, Failing}
	case v.Report.Verdict == result.Pass:
		classes = []Class{Warned, Faster, Within, Harmless, Same}
		r := v.program(Faster)
		if r != nil && r.F.Metric != measure.GPUTime.Name { // which pays for a part that got worse
			return r
		}
		if r == nil && v.program(Warned) == nil {
			r = v.fastest()
			if r != nil {
				return r
			}
		}
	}
	for _, c := range classes {
		if r := v.program(c); r != nil {
			return r
		}
		if c == Failing || c == Open {
			for _, list := range [][]Cause{v.Causes, v.Open} {
				if len(list) > 0 && list[0].Class == c {
					r := list[0].Lead()
					return &r
				}
			}
		}
	}
	return nil
}

// fastest is the row of the kernel whose improvement saves most, nil for none.
func (v *Story) fastest() (most *Row) {
	saved := func(r *Row) float64 { return -float64(r.F.Change) * float64(r.F.Share) }
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Class == Faster && r.F.Scope == measure.ScopeKernel && r.F.Unit == NS &&
			(most == nil || saved(r) > saved(most)) {
			most = r
		}
	}
	return most
}

// program is the row of the whole program in a class: that of an output, the step or the GPU time; nil for none.
func (v *Story) program(c Class) *Row {
	for _, is := range []func(f result.Finding) bool{
		func(f result.Finding) bool { return f.Scope == measure.ScopeOutput },
		func(f result.Finding) bool { return f.Metric == measure.StepTime.Name },
		func(f result.Finding) bool { return f.Metric == measure.GPUTime.Name },
	} {
		var worst *Row
		for i := range v.Rows {
			r := &v.Rows[i]
			if (r.F.Scope == measure.ScopeOutput || r.F.Subject() == measure.Workload) && r.Class == c &&
				r.F.Base.Known() && is(r.F) &&
				(worst == nil || math.Abs(float64(r.F.Change)) > math.Abs(float64(worst.F.Change))) {
				worst = r
			}
		}
		if worst != nil {
			return worst
		}
	}
	return nil
}

// headlines sets the first line, in at most [MaxHeadline] columns, and the rest of the reason.
func (v *Story) headlines() {
	start, r := NB+" ", v.effect
	if !v.Judged() {
		r = v.doubted()
		v.headed = r
		if r != nil {
			v.Rest = v.Reason
		}
	}
	start += measure.Either(r != nil || v.Workload != "default", Bind(Elide(v.Workload, 30))+NB+" ", "")
	room := MaxHeadline - Columns(v.Word+start)
	if r != nil {
		v.Lead = v.effectLine(r, room, true)
	} else {
		v.Lead, v.Rest = clauses(v.Reason, room)
		if v.Rest != "" && v.Report.Verdict == result.NoVerdict {
			v.Lead += v.moved(room - Columns(v.Lead) - 1)
		}
	}
	v.Stated, v.Lead = start+v.Lead, Flat(v.Lead)
	if v.Several() {
		v.Rest = ""
	}
}

// doubted is the row of the comparison that a gate without a verdict is undecided about, nil where it has another
// reason.
func (v *Story) doubted() *Row {
	at, ok := v.Report.ReasonArgs["finding"].(result.Number)
	key := v.Report.ReasonKey
	if !ok || key != string(model.Doubted) && key != result.KeyUndecided || !(at >= 0) || int(at) >= len(v.Rows) {
		return nil
	}
	return &v.Rows[int(at)]
}

// moved is a space and the change of a refusal's finding, or else the largest change of the program or of a kernel. It
// has at most room columns, and is "" where nothing changed by 1 %.
func (v *Story) moved(room int) string {
	about, named := v.Report.ReasonArgs["finding"].(result.Number)
	var most *Row
	for i := range v.Rows {
		r := &v.Rows[i]
		switch by := math.Abs(float64(r.F.Change)); {
		case named && i != int(about), !r.F.Base.Known() || !r.F.Head.Known() || !(by >= 0.01):
		case named || r.outweighs(most):
			most = r
		}
	}
	if most == nil {
		return ""
	}
	change := roughly(most.F.Change)
	text := pair(most.F.Base, most.F.Head, most.F.Unit, 4) + NB + " " + change
	forms := []string{text, change} // the reason has the name
	if !named {
		name := most.effectName()
		forms = []string{Bind(Elide(name, 40)) + " " + text, Bind(Elide(name, 20)) + " " + text,
			Bind(Elide(name, 20)) + " " + change}
	}
	for i, form := range forms {
		if Columns(form) <= room {
			if i < len(forms)-1 { // the last form leaves the values out
				v.headed = most
			}
			return " " + form
		}
	}
	return ""
}

// outweighs reports whether a row tells more of the program than another, which may be nil: the largest change of an
// output, the step or the GPU time before the first kernel's time.
func (r *Row) outweighs(other *Row) bool {
	switch whole := r.F.Scope == measure.ScopeOutput || r.F.Subject() == measure.Workload &&
		(r.F.Metric == measure.StepTime.Name || r.F.Metric == measure.GPUTime.Name); {
	case whole:
		return other == nil || other.F.Scope == measure.ScopeKernel ||
			math.Abs(float64(r.F.Change)) > math.Abs(float64(other.F.Change))
	case r.F.Scope == measure.ScopeKernel:
		return other == nil && slices.Contains([]string{measure.Total.Name, measure.Time.Name, measure.ReplayTime.Name},
			r.F.Metric)
	}
	return false
}

// Told is the largest effect on the program in at most room columns, or else the whole reason.
func (v *Story) Told(room int) string {
	if r := v.effect; r != nil && v.Judged() {
		return v.effectLine(r, room, true)
	}
	return v.Reason
}

// effectLine prints a row in at most room columns, with as much of the interval, the limit and, if why is set, the
// cause as there is room for: "step 571 → 830 µs +45 % (+42 … +49 %, limit 5 %)".
func (v *Story) effectLine(r *Row, room int, why bool) string {
	name := r.effectName()
	base, head := r.F.Base, r.F.Head
	by := math.Abs(float64(r.F.Change))
	digits := measure.Either(by >= 0.1 && by < 10, 3, 4) // above, the change is a factor of four digits
	both := base.Known() && head.Known() && r.Class != New && r.Class != Gone
	values := measure.Either(both, pair(base, head, r.F.Unit, digits), r.Values)
	for _, wide := range []int{30, 16, 8} {
		if text := v.against(r, Bind(Elide(name, wide))); text != "" && Columns(text) <= room {
			return text
		}
	}
	forms := v.effectForms(r, why)
	for _, wide := range []int{60, 30, 16} {
		for _, f := range forms {
			text := Bind(Elide(name, wide)) + " " + values + Wrapped(NB+" ", roughly(r.F.Change), "")
			text += Wrapped(" (", f[0], ")") + Wrapped(": ", f[1], "")
			if Columns(text) <= room {
				return text
			}
		}
	}
	return Elide(Bind(Elide(name, 16))+" "+values, max(room, 8))
}

// against says of a replayed kernel that all profiled kernels together moved the other way, with the sum of a launch
// of each; "" where they did not.
func (v *Story) against(r *Row, name string) string {
	if r.F.Metric != measure.ReplayTime.Name || r.F.Scope != measure.ScopeKernel {
		return ""
	}
	base, head, kernels := 0.0, 0.0, 0
	for i := range v.Rows {
		f := &v.Rows[i].F
		if f.Metric == measure.ReplayTime.Name && f.Scope == measure.ScopeKernel && f.Base.Known() && f.Head.Known() {
			base, head, kernels = base+float64(f.Base), head+float64(f.Head), kernels+1
		}
	}
	change := head/base - 1
	if !(change*float64(r.F.Change) < 0) {
		return ""
	}
	return fmt.Sprintf("%s %s, but all %d kernels %s%s %s", name, roughly(r.F.Change), kernels,
		pair(result.Number(base), result.Number(head), NS, 3), NB, roughly(result.Number(change)))
}

// effectName names the quantity of a row in a headline: "step", "saxpy", "forward GPU time".
func (r *Row) effectName() string {
	switch r.F.Metric {
	case measure.StepTime.Name:
		return "step"
	case measure.GPUTime.Name:
		return measure.Either(r.F.Subject() == measure.Workload, "", r.Subject+" ") + "GPU time"
	case measure.Time.Name, measure.CopyTime.Name, measure.Total.Name:
		return r.Subject
	}
	switch {
	// the unit of its values names the metric
	case r.F.Scope == measure.ScopeOutput, r.F.Scope == measure.ScopeBenchmark:
		return r.Subject
	case r.F.Scope == measure.ScopeSection && r.F.Metric == measure.Elapsed.Name:
		return "time " + during(r.F.Name)
	}
	return r.quantity()
}

// quantity names the metric of a row: "saxpy launches", of the workload the metric alone.
func (r *Row) quantity() string {
	return measure.Either(r.Subject == Subject(measure.ScopeWorkload, ""), "", r.Subject+" ") + r.Metric
}

// during places a section of a run: "before the steps", "in the warm-up".
func during(section string) string {
	if text := map[string]string{measure.Warmup.Name: "in the warm-up", measure.Steps.Name: "in the steps",
		measure.Beside.Name: "in processes beside the run"}[section]; text != "" {
		return text
	}
	if s := (measure.Subject{Scope: measure.ScopeSection, Name: section}); s.IsLoop() {
		return "in the " + Elide(Clean(upTo(section, "#")), 48)
	}
	return Clean(section) + " the steps"
}

// effectForms are the texts in brackets and after the colon of an effect line, the longest first; with why, the latter
// is the cause.
func (v *Story) effectForms(r *Row, why bool) [][2]string {
	limit := strings.Join(limits(r.F, "limit ", "at least ", "at most "), ", ")
	interval := roughInterval(r.F)
	caused := ""
	if why && len(v.Causes) > 0 && v.Report.Verdict == result.Fail && v.Causes[0].has(r) {
		first := v.Causes[0].Rows[0].F
		own := first.Bounded() || first.Subject() == r.F.Subject() && !v.Causes[0].Rank
		caused = measure.Either(own, "", v.Causes[0].Short)
	}
	full := Join(", ", interval, limit)
	switch {
	case r.Class == Open: // the interval says how large the change may be
		return [][2]string{{full, ""}, {interval, ""}, {"", ""}}
	case caused == "" || v.Causes[0].idle != nil: // the line below says it
		return [][2]string{{full, caused}, {full, ""}, {limit, ""}, {"", ""}}
	}
	return [][2]string{{full, caused}, {limit, caused}, {"", caused}, {full, ""}, {limit, ""}, {"", ""}}
}

// decimals is how many digits after the point a change has in a headline, in per cent.
func decimals(change float64) int {
	switch a := math.Abs(change); {
	case a < 0.00995:
		return 2
	case a < 0.0995:
		return 1
	}
	return 0
}

// roughly prints a change in two digits, "" where it is not known.
func roughly(n result.Number) string {
	switch x := float64(n); {
	case !n.Known():
		return ""
	case x >= 10:
		return Changed(n)
	default:
		return rough(x, decimals(x)) + NB + "%"
	}
}

func rough(x float64, digits int) string {
	number := func(x float64) string { return strconv.FormatFloat(100*x, 'f', digits, 64) }
	switch size := number(math.Abs(x)); {
	case size == number(0):
		return "0"
	case x < 0:
		return "-" + size
	default:
		return "+" + size
	}
}

// roughInterval prints the interval of a change with the digits of the change.
func roughInterval(f result.Finding) string {
	if !f.Low.Known() || !f.High.Known() || f.Low == f.High || f.Change >= 10 || f.High >= 10 {
		return ""
	}
	d := decimals(cmp.Or(float64(f.Change), float64(f.High)))
	return rough(float64(f.Low), d) + Bind(" … ") + rough(float64(f.High), d) + NB + "%"
}

// Sides names the GPU and the runs of both sides: "H200, 5 and 3 runs".
func (v *Story) Sides() string {
	r := v.Report
	runs := ""
	switch {
	case r.Base.Runs > 0 && r.Head.Runs > 0:
		runs = fmt.Sprintf("%d and %s", r.Base.Runs, measure.Count(r.Head.Runs, "run")) +
			measure.Either(r.Base.Unprofiled > 0 || r.Head.Unprofiled > 0,
				fmt.Sprintf(" (%d and %d unprofiled)", r.Base.Unprofiled, r.Head.Unprofiled), "")
	case r.Head.Runs > 0:
		runs = measure.Count(r.Head.Runs, "run")
	}
	return Join(", ", Bind(Trimmed(gpus(r.Head.Environment))), Bind(runs))
}
