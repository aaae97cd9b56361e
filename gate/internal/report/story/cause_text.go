package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Lead is the row that names the cause: a time of its class, else the first row; of a rank the step, or its own row.
func (c *Cause) Lead() Row {
	if c.Rank {
		if step := Group(c.Rows).of(measure.StepTime.Name); step != nil {
			return *step
		}
		if i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.F.Scope == measure.ScopeDevice }); i >= 0 {
			return c.Rows[i]
		}
	}
	// Of the workload the mean step and the run are other views of its step.
	metrics := measure.Either(c.Rows[0].F.Subject() == measure.Workload, []string{measure.StepTime.Name},
		[]string{measure.Time.Name, measure.Total.Name, measure.CopyTime.Name})
	for _, metric := range metrics {
		r := measure.First(c.Rows, func(r *Row) bool { return r.Class == c.Class && r.F.Metric == metric })
		if r != nil {
			return *r
		}
	}
	return c.Rows[0]
}

// tell sets the texts of a cause.
func (v *Story) tell(c *Cause) {
	r, shown := c.Lead(), v.effect
	headed := shown != nil && shown.F.Subject() == r.F.Subject() && shown.F.Metric == r.F.Metric
	switch {
	case c.Rank:
		if v.Ranks != nil {
			c.Why = v.Ranks.Told
		}
		c.Short = c.Subject + measure.Either(v.Report.Ranks.Straggler.Late, " is late", " is slower")
	case c.idle != nil:
		every := measure.Either(v.Fall.Mean, "a step on average", "in every step")
		c.Why, c.Short = []string{waits(*c.idle, every, UnitOf(v.Report.Head),
			Group(c.Rows).of(measure.SyncCalls.Name))}, "the GPU waits for the CPU"
	case len(c.totals) > 0:
		c.Why, c.Short = moreLaunches(c, UnitOf(v.Report.Head))
	case len(r.Parts) > 0:
		c.Why, c.Short = replaced(r, UnitOf(v.Report.Head))
	default:
		c.added = v.added(r)
		c.Why, c.Short = []string{v.slower(c, r, headed)},
			Elide(r.Subject, 40)+" "+cmp.Or(r.Change, string(r.F.Outcome))
		if n := Group(c.Rows).of(measure.Launches.Name); n != nil && n.F.Subject() == r.F.Subject() &&
			r.F.Scope == measure.ScopeKernel && r.F.Metric != measure.Time.Name {
			c.Short = Elide(r.Subject, 40) + " " + n.Values + " launches"
		}
	}
	elsewhere := result.Is[reason.StepPart] // in the waterfall
	if c.idle != nil {                      // the calls are told
		elsewhere = func(x result.Remark) bool { return !result.Is[reason.ChangedLines](x) }
	}
	c.Why = append(c.Why, Group(slices.Concat(c.Rows, c.added)).evidence(elsewhere)...)
	c.Why = append(c.Why, c.bounds()...)
	if c.Class == Failing {
		c.Why = append(c.Why, r.modes()...)
	}
	if x := Group(c.Rows).Cause(); x != nil {
		c.Why = append(c.Why, Because(x))
	}
	if c.Class == Failing || c.Class == Warned {
		c.Do = v.do(c)
	}
	c.Why = slices.DeleteFunc(c.Why, Blank)
}

// bounds are the broken bounds of a cause beside that of the row that names it: "launches 6 → 26 (at most 5)".
func (c *Cause) bounds() []string {
	others := measure.Where(c.Rows, func(r Row) bool { return r.F.Fails() && r.F.Bounded() && r.At != c.Lead().At })
	texts := measure.Map(others, func(r Row) string { return r.quantity() + " " + r.Values + " (" + r.Allowed + ")" })
	return beginning(texts, 3, "")
}

// modes are the sentences on runs that fall on two levels.
func (r *Row) modes() []string {
	levels := measure.Where(r.F.Also, func(x result.Remark) bool { return x.Key == result.KeyTwoLevels })
	return measure.Map(levels, func(x result.Remark) string { return Trimmed(x.Sentence) })
}

// slower says how a kernel or number changed and where it runs; headed leaves out the numbers of the headline.
func (v *Story) slower(c *Cause, r Row, headed bool) string {
	of := ""
	switch r.F.Metric {
	case measure.Time.Name:
		of = " a launch"
	case measure.Total.Name, measure.CopyTime.Name:
		of = " a " + UnitOf(v.Report.Head)
	}
	if headed {
		if parts := v.partsOf(c, r); parts != "" {
			return parts
		}
	}
	text := r.changeText(of, headed && c.Class != Warned) // a warning goes on with its limit
	if text == noneChanged && !slices.ContainsFunc(v.Rows, func(x Row) bool {
		return x.F.Scope == measure.ScopeKernel && x.F.Change.Known()
	}) {
		text = "Whole runs were compared, not their kernels"
	}
	for _, x := range c.Rows {
		if x.F.Subject() == r.F.Subject() && r.F.Subject() != measure.Workload &&
			(x.Class == Increased || x.F.Metric == measure.Launches.Name) && !x.F.Bounded() {
			text += ", " + x.Metric + " " + x.Values
		}
	}
	return text + Wrapped(", in range ", Clean(r.F.Role), "") +
		measure.Either(r.Share != "" && r.F.Scope == measure.ScopeKernel, ", "+r.Share+" of GPU time", "")
}

// partsOf says which parts of a longer step or GPU time take longer, "" where none is known to.
func (v *Story) partsOf(c *Cause, r Row) string {
	per := " a " + UnitOf(v.Report.Head)
	if parts := v.Fall.longer(); len(parts) > 0 && ofStep(r) {
		what := measure.Either(len(parts) == 1, "One part of a step takes", "Several parts of a step take")
		return what + " longer: " + strings.Join(beginning(parts, 3, ""), ", ")
	}
	if len(c.added) > 0 {
		c.counted = true
		return c.taken(per)
	}
	if x := v.undecidedPart(r); x != nil {
		return x.changeText(per, true) + Wrapped(", ", x.Share, " of GPU time") + "; alone it is undecided"
	}
	return ""
}

// taken is how long the new kernels of a cause take, the longest by name; of is " a run" or " a step" behind the sum.
func (c *Cause) taken(of string) string {
	names := measure.Map(c.added, func(x Row) string { return Elide(x.Subject, 60) + " " + x.Time() })
	if len(names) == 1 {
		return "A new kernel takes time: " + names[0] + of
	}
	sum := measure.Sum(c.added, func(x Row) result.Number { return x.F.Head })
	return Count(len(names), "new kernel") + " take " + Quantity(sum, c.added[0].F.Unit) + of + ": " +
		strings.Join(beginning(names, 3, ""), ", ")
}

// added are the new kernels of a longer GPU time, or of a step that is longer with it, none where they are less than
// half of what the GPU time grew by.
func (v *Story) added(of Row) (out []Row) {
	if of.F.Scope != measure.ScopeWorkload || of.F.Name != "" || of.F.Metric != measure.GPUTime.Name && !ofStep(of) {
		return nil
	}
	whole := v.Number(measure.GPUTime.Name)
	if whole == nil || whole.F.Outcome != result.Slower {
		return nil
	}
	sum := result.Number(0)
	for _, r := range v.Of(New) {
		if r.F.Scope == measure.ScopeKernel && r.F.Metric == measure.Total.Name {
			out, sum = append(out, r), sum+r.F.Head
		}
	}
	if 2*sum < whole.F.Head-whole.F.Base {
		return nil
	}
	measure.Sort(out, func(a, b Row) int { return cmp.Compare(b.F.Head, a.F.Head) })
	return out
}

// undecidedPart is the kernel that is more than half of a longer GPU time and was not decided by itself, as one of
// few launches, nil where there is none.
func (v *Story) undecidedPart(whole Row) *Row {
	if whole.F.Subject() != measure.Workload || whole.F.Metric != measure.GPUTime.Name {
		return nil
	}
	return measure.First(v.Rows, func(r *Row) bool {
		f := &r.F
		return f.Scope == measure.ScopeKernel && f.Metric == measure.Total.Name && f.Outcome == result.Undecided &&
			2*(f.Head-f.Base) > whole.F.Head-whole.F.Base
	})
}

func ofStep(r Row) bool {
	return r.F.Metric == measure.StepTime.Name || r.F.Metric == measure.MeanStep.Name
}

const noneChanged = "No kernel, copy or cause of idle time changed enough to explain it"

// changeText says how a row changed; of is " a launch" or " a step" behind a time. headed leaves out the numbers of the
// headline.
func (r Row) changeText(of string, headed bool) string {
	name, base, head := r.named(of), r.F.Base, r.F.Head
	headed = headed && (r.F.AtMost == nil || base <= *r.F.AtMost) // else no change broke the bound
	switch {
	case headed && of != "" && base.Known() && head > base:
		return name + " takes " + Quantity(head-base, r.F.Unit) + " longer" + of
	case headed && r.F.Scope == measure.ScopeOutput && r.F.OfSpeed():
		return "No kernel, copy or step got as much slower as " + Elide(r.Subject, 60) +
			": the cause lies outside of the profiled steps, or the profiler hides it"
	case headed && r.outside() != "" && base.Known() && head > base:
		return fmt.Sprintf(r.outside(), Quantity(head-base, r.F.Unit), during(r.F.Name)) + ", which no step includes"
	case headed && r.F.Metric == measure.MeanStep.Name:
		return "Some steps take longer, the typical one does not"
	case headed && of == "" && r.F.Subject() == measure.Workload && r.F.Unit == NS:
		return noneChanged
	}
	return name + ": " + r.Values + of + Wrapped(", ", r.Change, "") +
		Wrapped(" (", Join(", ", r.Interval, r.Allowed), ")")
}

// named is the row's subject with its metric, which a time of a launch or step (of) goes without.
func (r Row) named(of string) string {
	switch {
	case r.F.Subject() == measure.Workload:
		return r.Metric
	case of == "":
		return Elide(r.Subject, 60) + " " + r.Metric
	}
	return Elide(r.Subject, 60)
}

// outside is the form of a sentence on a longer time of a section outside of the steps, "" for another row.
func (r Row) outside() string {
	if r.F.Scope != measure.ScopeSection || r.F.Name == measure.Steps.Name {
		return ""
	}
	return map[string]string{measure.Elapsed.Name: "The program takes %s longer %s",
		measure.GPUTime.Name: "Kernels take %s longer %s"}[r.F.Metric]
}

// parts are the kernels of a sum that only one side has, each with its time; several geometries of a kernel are one
// part.
func (r Row) parts(gone bool) (names, timed []string) {
	of := map[string][]Row{}
	var order []string
	for _, x := range r.Parts {
		if x.Gone() != gone {
			continue
		}
		if of[x.F.Name] == nil {
			order = append(order, x.F.Name)
		}
		of[x.F.Name] = append(of[x.F.Name], x)
	}
	for _, full := range order {
		all, name, total := of[full], of[full][0].Subject, of[full][0]
		if r.F.Match == "name" {
			name = instance(name, Clean(r.F.Kernel))
		}
		name = Elide(name, 60)
		for _, x := range all[1:] {
			total.F.Base, total.F.Head = total.F.Base+x.F.Base, total.F.Head+x.F.Head
		}
		if len(all) > 1 {
			name = Elide(Clean(all[0].F.Kernel), 40) + " in " + Count(len(all), "geometry", "geometries")
		}
		names, timed = append(names, name), append(timed, name+" "+total.Time())
	}
	return names, timed
}

// replaced names the kernels that are gone and the ones that took their place.
func replaced(r Row, per string) (why []string, short string) {
	var times [2][]string
	var gone, fresh []string
	gone, times[0] = r.parts(true)
	fresh, times[1] = r.parts(false)
	few := func(names []string) string {
		if len(names) > 2 {
			return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
		}
		return strings.Join(names, " and ")
	}
	verb := measure.Either(len(fresh) > 1, "take", "takes")
	change := fmt.Sprintf(": %s a %s, %s (%s)", r.Values, per, r.Change, Join(", ", r.Interval, r.Allowed))
	switch r.F.Match {
	case "name":
		why = []string{fmt.Sprintf("%s: %s of this name %s the place of %d%s", Clean(r.F.Kernel),
			Count(len(fresh), "kernel"), verb, len(gone), change)}
	case "rest":
		why = []string{few(gone) + " gone, " + few(fresh) + " new" + change}
	default:
		why = []string{few(fresh) + " " + verb + " the place of " + few(gone) + " in range " +
			cmp.Or(Clean(r.F.Role), per) + change}
	}
	if len(gone)+len(fresh) > 2 {
		why = append(why, "gone: "+strings.Join(beginning(times[0], 3, ""),
			", ")+"; new: "+strings.Join(beginning(times[1], 3, ""), ", "))
	}
	brief := func(names []string) string {
		if len(names) == 1 {
			return Elide(names[0], 28)
		}
		return Count(len(names), "kernel")
	}
	if len(fresh) == 1 && len(gone) == 1 {
		return why, Elide(r.Subject, 60)
	}
	if r.F.Match == "rest" {
		return why, brief(fresh) + " new, " + brief(gone) + " gone"
	}
	return why, brief(fresh) + measure.Either(len(fresh) > 1, " replace ", " replaces ") + brief(gone)
}

// waits says why the GPU is idle, and in which steps; calls is the row of synchronising calls, nil without an increase.
func waits(part FallRow, every, per string, calls *Row) string {
	more := Quantity(result.Number(math.Abs(float64(part.Change))), NS) + " "
	if part.Change < 0 {
		more += "less "
	} else if part.Base > part.Head/10 {
		more += "longer "
	}
	form := map[string]string{
		measure.IdleLaunch:     "The GPU waits %s for the CPU",
		measure.IdleSync:       "The host waits for the GPU and then issues late: the GPU is idle %s",
		measure.IdleDependency: "Issued work waits %s for an event, another stream or another program on the GPU",
		measure.IdleGaps:       "Gaps between operations take %s",
	}[part.Class]
	text := Join(", ", fmt.Sprintf(cmp.Or(form, "The GPU is idle %s"), more+every), placed(part.Place))
	if calls == nil {
		return text
	}
	told := calls.Values + " a " + per
	for _, fact := range calls.F.Facts {
		x, ok := result.As[reason.Calls](fact)
		if !ok {
			continue
		}
		told = x.Base.Text() + " → " + x.Head.Text() + result.Given(x.Range, " a ", per)
		if x.Range != part.Place.Range || part.Place.After == "" || part.Place.Call != measure.HostCode {
			told += Wrapped(", in range ", Clean(x.Range), "")
		}
		if part.Place.Ends(x.Call) {
			break
		}
		told = Clean(x.Call) + " " + told
	}
	return text + " (" + told + ")"
}

// Places are the source lines that launch the kernels of a cause, or make its CUDA calls.
func (c *Cause) Places() (out []string) {
	at := map[result.Origin]int{}
	for _, r := range slices.Concat(c.Rows, c.added) {
		place := r.Place()
		if place == "" {
			continue
		}
		whole := *r.F.Origin
		whole.Share = 1
		i, again := at[whole]
		if !again {
			at[whole] = len(out)
			out = append(out, place)
		} else if out[i] != place { // shares of several kernels
			r.F.Origin = &whole
			out[i] = r.Place()
		}
	}
	return out
}
