package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// cause is one reason for what changed, with all findings that it explains: a kernel with its time, its total time and its count, the
// range around it and the program that it makes slower; a kind of copies; a rank; idle time.
type cause struct {
	Class   class
	Rows    []row  // the one that the cause is named by first
	Subject string // "saxpy", "rank 1", "GPU idle: waiting for the CPU"
	Short   string // what happened, in a few words: "saxpy +4.8 %"
	Why     []string
	Cost    result.Number // by how much it makes a step longer, in ns
	idle    *fallRow      // of idle time
	rank    bool
}

// causes folds the rows of some classes into causes, those that fail the gate first, then those that cost most.
func (v *view) causes(of ...class) []cause {
	var list []cause
	var program []row
	for _, g := range groups(untold(v.of(of...))) {
		if g[0].F.Scope == measure.ScopeOutput || g[0].F.Subject() == measure.Workload {
			program = append(program, g...)
			continue
		}
		c := cause{Class: g[0].Class, Rows: g, Subject: g[0].Subject, Cost: unknown}
		for i := range g {
			if cost := g[i].cost(); cost.Known() {
				c.Cost = cost
				break
			}
		}
		list = append(list, c)
	}
	list = v.foldRanks(list, &program)
	list = foldSections(foldDevices(foldRanges(list)))
	if step := group(program).of(measure.StepTime.Name); step != nil {
		if c, ok := v.idle(*step, program); ok {
			list = append(list, c)
		}
	}
	worst(list)
	list = foldProgram(list, program, v.Fall)
	worst(list)
	return list
}

// worst sorts causes: those of the worse class first, then those that cost most.
func worst(list []cause) {
	size := func(c cause) float64 {
		if !c.Cost.Known() {
			return 0
		}
		return math.Abs(float64(c.Cost))
	}
	slices.SortStableFunc(list, func(a, b cause) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(size(b), size(a)))
	})
}

// take moves the rows of a cause into another.
func (c *cause) take(rows ...row) {
	c.Rows = append(c.Rows, rows...)
	for i := range rows {
		c.Class = min(c.Class, rows[i].Class)
	}
}

// foldRanks makes one cause of a rank that is slower or late: what is judged of ranks, their balance, and the kernels and ranges in which
// it is the slowest.
func (v *view) foldRanks(list []cause, program *[]row) []cause {
	if v.Report.Ranks == nil || v.Report.Ranks.Straggler == nil {
		return list
	}
	s := v.Report.Ranks.Straggler
	c := cause{Class: unchanged, Subject: Clean(s.Rank), Cost: s.Waited, rank: true}
	*program = slices.DeleteFunc(*program, func(r row) bool {
		if r.F.Metric == model.Imbalance.Name {
			c.take(r)
			return true
		}
		return false
	})
	kernel := func(f result.Finding) bool {
		return slices.ContainsFunc(s.Kernels, func(k result.StragglerKernel) bool { return k.Name == f.Name })
	}
	devices := slices.ContainsFunc(list, func(x cause) bool { return x.Rows[0].F.Scope == measure.ScopeDevice })
	if !devices && len(c.Rows) == 0 && (!s.Late || group(*program).of(measure.StepTime.Name) == nil) {
		return list
	}
	list = slices.DeleteFunc(list, func(x cause) bool {
		f := x.Rows[0].F
		if f.Scope == measure.ScopeDevice || f.Scope == measure.ScopeKernel && kernel(f) || f.Scope == measure.ScopeRange && f.Name == s.Range {
			c.take(x.Rows...)
			return true
		}
		return false
	})
	if len(c.Rows) == 0 { // it is late, and nothing but the step shows it
		step := group(*program).of(measure.StepTime.Name)
		c.take(*step)
		*program = slices.DeleteFunc(*program, func(r row) bool { return r.F.Metric == measure.StepTime.Name })
	}
	return append(list, c)
}

// foldRanges puts each range into the cause in it that costs most.
func foldRanges(list []cause) []cause {
	var ranges []cause
	list = slices.DeleteFunc(list, func(c cause) bool {
		is := c.Rows[0].F.Scope == measure.ScopeRange
		if is {
			ranges = append(ranges, c)
		}
		return is
	})
	worst(list)
	for _, r := range ranges {
		i := slices.IndexFunc(list, func(c cause) bool {
			return !c.rank && slices.ContainsFunc(c.Rows, func(x row) bool {
				return x.F.Scope == measure.ScopeKernel && strings.Contains("/"+x.F.Role+"/", "/"+r.Rows[0].F.Name+"/")
			})
		})
		if i < 0 {
			list = append(list, r)
			continue
		}
		list[i].take(r.Rows...)
	}
	return list
}

// foldDevices puts many slower devices into the kernel that costs most, or else into the first of them: what they have in common says
// more.
func foldDevices(list []cause) []cause {
	const many = 3
	worst(list)
	device := func(c cause) bool { return !c.rank && c.Rows[0].F.Scope == measure.ScopeDevice }
	at := slices.IndexFunc(list, func(c cause) bool { return c.Rows[0].F.Scope == measure.ScopeKernel })
	if at < 0 {
		at = slices.IndexFunc(list, device)
	}
	n := 0
	for _, c := range list {
		if device(c) {
			n++
		}
	}
	if n < many {
		return list
	}
	for i := range list {
		if i != at && device(list[i]) {
			list[at].take(list[i].Rows...)
			list[i].Rows = nil
		}
	}
	return slices.DeleteFunc(list, func(c cause) bool { return len(c.Rows) == 0 })
}

// foldSections puts what lies outside of the steps, such as the warm-up, into the first kernel that got slower: its time outside of the
// steps is that of its launches there.
func foldSections(list []cause) []cause {
	worst(list)
	kernel := slices.IndexFunc(list, func(c cause) bool { return c.Rows[0].F.Scope == measure.ScopeKernel })
	for i := range list {
		if list[i].Rows[0].F.Scope != measure.ScopeSection {
			continue
		}
		list[i].Cost = unknown // which is no part of a step
		if r := list[i].Rows[0]; kernel >= 0 && list[i].Class >= list[kernel].Class && r.F.Metric == measure.GPUTime.Name {
			list[kernel].take(list[i].Rows...)
			list[i].Rows = nil
		}
	}
	return slices.DeleteFunc(list, func(c cause) bool { return len(c.Rows) == 0 })
}

// idle is the cause of a slower step that is idle time: at least half of the change.
func (v *view) idle(step row, program []row) (cause, bool) {
	if v.Fall == nil || len(v.Fall.Rows) == 0 {
		return cause{}, false
	}
	part := v.Fall.Rows[0]
	launched := group(program).of(measure.Launches.Name) != nil && part.Class == "micro gaps" // gaps between more kernels come from these
	if idle[part.Class] == "" || launched || part.Change < (v.Fall.Head-v.Fall.Base)/2 {
		return cause{}, false
	}
	return cause{Class: step.Class, Subject: part.What, Cost: part.Change, idle: &part}, true
}

// explains is the part of a change of the whole program that causes have to come to before they explain it.
const explains = 1.0 / 3

// foldProgram puts what was judged of the whole program into the first cause, where the causes come to a good part of it; counts that
// increased go to the cause that they are part of. All else is a cause of its own.
func foldProgram(list []cause, program []row, f *fall) []cause {
	sum := result.Number(0)
	for _, c := range list {
		if c.Cost.Known() {
			sum += c.Cost
		}
	}
	slower := group(program).of(measure.StepTime.Name) != nil || group(program).of(measure.GPUTime.Name) != nil
	var own []cause
	for _, r := range program {
		at := -1
		switch {
		case r.Class == increased:
			at = slices.IndexFunc(list, func(c cause) bool { return c.counts(r.F.Metric) })
		case r.F.Scope == measure.ScopeOutput && !slower:
		case len(list) > 0 && (!r.cost().Known() || sum >= explains*r.cost()) && r.Class >= list[0].Class:
			at = 0
		case len(list) > 0 && r.cost().Known() && sum >= explains*r.cost():
			at = 0
		}
		if at < 0 {
			own = append(own, cause{Class: r.Class, Rows: []row{r}, Subject: r.Subject, Cost: r.cost()})
			continue
		}
		list[at].take(r)
	}
	list = append(list, merged(own)...)
	return slices.DeleteFunc(list, func(c cause) bool { return len(c.Rows) == 0 })
}

// merged makes one cause of what nothing explains of the whole program.
func merged(own []cause) []cause {
	var out []cause
	for _, c := range own {
		i := slices.IndexFunc(out, func(x cause) bool {
			return x.Class == c.Class && c.Class != increased && x.Rows[0].F.Scope == measure.ScopeWorkload && c.Rows[0].F.Scope == measure.ScopeWorkload
		})
		if i < 0 {
			out = append(out, c)
			continue
		}
		out[i].take(c.Rows...)
	}
	return out
}

// counts reports whether an increased count of the whole program is that of the cause.
func (c *cause) counts(metric string) bool {
	f := measure.Subject{}
	if len(c.Rows) > 0 {
		f = c.Rows[0].F.Subject()
	}
	switch metric {
	case measure.SyncCalls.Name:
		return c.idle != nil
	case measure.Launches.Name, measure.SmallKernels.Name:
		return f.Scope == measure.ScopeKernel && group(c.Rows).of(measure.Launches.Name) != nil || c.rank
	case measure.PageableBytes.Name:
		return f.Scope == measure.ScopeWorkload && f.Name != ""
	}
	return c.rank
}

// lead is the row that the cause is named by: a failing time before all else.
func (c *cause) lead() row {
	for _, metric := range []string{measure.Time.Name, measure.Total.Name, measure.CopyTime.Name} {
		for _, r := range c.Rows {
			if r.Class == c.Class && r.F.Metric == metric {
				return r
			}
		}
	}
	return c.Rows[0]
}

// tell puts a cause into words; shown is the row that the headline is about.
func (v *view) tell(c *cause, shown *row) {
	r := c.lead()
	headed := shown != nil && shown.F.Subject() == r.F.Subject() && shown.F.Metric == r.F.Metric
	switch {
	case c.rank:
		if v.Ranks != nil {
			c.Why = v.Ranks.Told
		}
		c.Short = c.Subject + " is slower"
		if v.Report.Ranks.Straggler.Late {
			c.Short = c.Subject + " is late"
		}
	case c.idle != nil:
		c.Why, c.Short = []string{waits(*c.idle, v.per(), group(c.Rows).of(measure.SyncCalls.Name))}, "the GPU waits for the CPU"
	case len(r.Parts) > 0:
		c.Why, c.Short = replaced(r, v.per())
	default:
		c.Why, c.Short = []string{v.slower(c, r, headed)}, Elide(r.Subject, 40)+" "+cmp.Or(r.Change, string(r.F.Outcome))
		if n := group(c.Rows).of(measure.Launches.Name); n != nil && r.F.Scope == measure.ScopeKernel && r.F.Metric != measure.Time.Name {
			c.Short = Elide(r.Subject, 40) + " " + n.Values + " launches"
		}
	}
	for _, e := range group(c.Rows).evidence() {
		if c.idle == nil && !strings.HasPrefix(e, "mostly ") { // the waterfall says it
			c.Why = append(c.Why, e)
		}
	}
	for _, x := range c.Rows {
		if x.F.Cause != nil && trimmed(x.F.Cause.Summary) != "" {
			why := trimmed(x.F.Cause.Summary)
			if note := trimmed(x.F.Cause.Note); note != "" {
				why += " (" + note + ")"
			}
			c.Why = append(c.Why, why)
			break
		}
	}
	c.Why = slices.DeleteFunc(c.Why, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// slower says how something changed, and where it runs; headed leaves out the numbers that the headline says.
func (v *view) slower(c *cause, r row, headed bool) string {
	of := ""
	switch r.F.Metric {
	case measure.Time.Name:
		of = " a launch"
	case measure.Total.Name, measure.CopyTime.Name:
		of = " a " + v.per()
	}
	text := r.changeText(of, headed)
	for _, x := range c.Rows {
		if x.F.Subject() == r.F.Subject() && r.F.Subject() != measure.Workload && (x.Class == increased || x.F.Metric == measure.Launches.Name) {
			text += ", " + x.Metric + " " + x.Values
		}
	}
	if role := Clean(r.F.Role); role != "" {
		text += ", in range " + role
	}
	if r.Share != "" && r.F.Scope == measure.ScopeKernel {
		text += ", " + r.Share + " of GPU time"
	}
	return text
}

// changeText says how a row changed; of is " a launch" or " a step" behind a time. headed leaves out the numbers that the headline says.
func (r row) changeText(of string, headed bool) string {
	name := Elide(r.Subject, 60)
	if r.F.Subject() == measure.Workload {
		name = r.Metric
	} else if of == "" {
		name += " " + r.Metric
	}
	base, head := judged(r.F)
	switch {
	case headed && of != "" && base.Known() && head > base:
		return name + " takes " + quantity(head-base, r.F.Unit) + " longer" + of
	case headed && r.F.Scope == measure.ScopeOutput:
		return "No kernel, copy or step got slower with " + name + ": what did lies outside of the profiled steps, or the profiler hides it"
	case headed && of == "" && r.F.Subject() == measure.Workload:
		return "No kernel, copy or cause of idle time changed enough to explain it"
	}
	return name + ": " + r.Values + of + wrapped(", ", r.Change, "") + wrapped(" (", join(", ", r.Interval, r.Allowed), ")")
}

// replaced says which kernels took the place of which.
func replaced(r row, per string) (why []string, short string) {
	var gone, fresh []string
	var times [2][]string
	for _, x := range r.Parts {
		name := Elide(x.Subject, 60)
		if x.F.Outcome == result.Removed {
			gone, times[0] = append(gone, name), append(times[0], name+" "+quantity(x.F.Base, x.F.Unit))
		} else {
			fresh, times[1] = append(fresh, name), append(times[1], name+" "+quantity(x.F.Head, x.F.Unit))
		}
	}
	few := func(names []string, and string) string {
		if len(names) > 2 {
			return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
		}
		return strings.Join(names, and)
	}
	verb, verbs := "takes", "replaces"
	if len(fresh) > 1 {
		verb, verbs = "take", "replace"
	}
	why = []string{fmt.Sprintf("%s %s the place of %s in range %s: %s a %s, %s (%s)", few(fresh, " and "), verb, few(gone, " and "), cmp.Or(Clean(r.F.Role), per), r.Values, per,
		r.Change, join(", ", r.Interval, r.Allowed))}
	if len(r.Parts) > 2 {
		const most = 3
		for i, list := range times {
			if len(list) > most {
				times[i] = append(list[:most:most], fmt.Sprintf("%d more", len(list)-most))
			}
		}
		why = append(why, "gone: "+strings.Join(times[0], ", ")+"; new: "+strings.Join(times[1], ", "))
	}
	brief := func(names []string) string {
		if len(names) == 1 {
			return Elide(names[0], 28)
		}
		return count(len(names), "kernel")
	}
	return why, brief(fresh) + " " + verbs + " " + brief(gone)
}

// waits says for what the GPU waits; calls is the count of synchronising calls, nil where that did not increase.
func waits(part fallRow, per string, calls *row) string {
	more := quantity(part.Change, ns) + " "
	if part.Base > part.Head/10 {
		more += "longer "
	}
	_, where, _ := strings.Cut(part.What, ", ")
	text := ""
	switch part.Class {
	case "launch-starved":
		text = "The GPU waits " + more + "in every " + per + " for the CPU"
	case "blocking":
		text = "The host waits for the GPU and then issues late: the GPU is idle " + more + "in every " + per
	case "dependency-stalled":
		text = "Issued work waits " + more + "in every " + per + " for an event or another stream"
	case "micro gaps":
		text = "Gaps between operations take " + more + "in every " + per
	default:
		text = "The GPU is idle " + more + "in every " + per
	}
	text = join(", ", text, where)
	if calls == nil {
		return text
	}
	told := calls.Values + " a " + per
	for _, e := range calls.Evidence {
		call, numbers, _ := strings.Cut(e, " ")
		if counts, in, ok := strings.Cut(numbers, ", in "); ok {
			e, numbers = call+" "+counts+" a "+per+", in range "+in, counts+" a "+per+", in range "+in
		}
		if told = e; strings.HasSuffix(text, call) {
			told = numbers
			break
		}
	}
	return text + " (" + told + ")"
}

// places are where in the program the kernels of a cause are launched, or where the CUDA calls are made.
func (c *cause) places() []string {
	var out []string
	for _, r := range c.Rows {
		if at := r.place(); at != "" && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}
