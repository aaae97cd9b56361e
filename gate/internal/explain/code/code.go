// Package code judges the device code of two builds, and tells findings whether the code of their kernel changed.
package code

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// codeMetrics are the numbers of device code that a rule may limit.
var codeMetrics = []struct {
	metric measure.Metric
	of     func(devicecode.Kernel) int
}{
	{measure.Registers, func(k devicecode.Kernel) int { return k.Registers }},
	{measure.StaticShared, func(k devicecode.Kernel) int { return k.Shared }},
	{measure.StackBytes, func(k devicecode.Kernel) int { return k.Stack }},
	{measure.SpillBytes, func(k devicecode.Kernel) int { return k.SpillStores }},
	{measure.ConstantBytes, func(k devicecode.Kernel) int { return k.Constant }},
	{measure.CodeBytes, func(k devicecode.Kernel) int { return k.Code }},
}

// limitedCode lists the values of a kernel beyond their limits; base is nil for a kernel that the baseline lacks,
// which only at_most and at_least limit.
func limitedCode(base *devicecode.Kernel, head devicecode.Kernel, policy *thresholds.Resolved,
) (out []result.CodeLimit) {
	subject := measure.Subject{Scope: measure.ScopeKernel, Name: measure.NormalizeName(head.Name)}
	for _, m := range codeMetrics {
		limit := policy.Limit(subject, m.metric)
		if limit.Severity == thresholds.Ignore {
			continue
		}
		x := result.CodeLimit{Arch: head.Arch, Name: head.Name, Kernel: subject.Short(), Metric: m.metric.Name,
			Base: result.Unknown, Head: result.Number(m.of(head)), Rule: limit.Rule,
			Fails: limit.Severity == thresholds.Fail}
		beyond := !limit.Keeps(float64(x.Head))
		if base != nil {
			x.Base = result.Number(m.of(*base))
			grown := float64(x.Head - x.Base)
			beyond = beyond || grown > limit.Floor && grown > limit.Max*float64(x.Base)
		}
		if x.Head < 0 { // a stack that recursion leaves open
			beyond = base == nil || x.Base >= 0
		}
		if beyond && !math.IsNaN(float64(x.Head)) {
			out = append(out, x)
		}
	}
	return out
}

// Recorded is the device code of the newest session that has some.
func Recorded(sessions []model.Session) []devicecode.Kernel {
	for i := len(sessions) - 1; i >= 0; i-- {
		if sessions[i].Code != nil {
			return sessions[i].Code
		}
	}
	return nil
}

// Compare compares device code where both sides have some, and returns why it fails the gate. Limits of changes hold
// for changed kernels, bounds for all of the head, also where the baseline has no code.
func Compare(baseline, heads []model.Session, policy *thresholds.Resolved) (c *result.Code, failed *result.Remark) {
	base, head := Recorded(baseline), Recorded(heads)
	if head == nil {
		return nil, nil
	}
	c = &result.Code{Comparison: *devicecode.Compare(measure.Either(base == nil, head, base), head)}
	was := map[devicecode.Kernel]*devicecode.Kernel{}
	for i, x := range c.Changed {
		was[x.Head] = &c.Changed[i].Base
	}
	for _, k := range c.Added {
		was[k] = nil
	}
	for _, k := range slices.SortedFunc(slices.Values(head), devicecode.Kernel.Compare) {
		before, differs := was[k]
		c.Limited = append(c.Limited, limitedCode(measure.Either(differs, before, &k), k, policy)...)
	}
	if i := failing(c); i >= 0 {
		c.Limited[i].Base = measure.Either(base == nil, result.Unknown, c.Limited[i].Base)
		failed = new(limitOf(c.Limited[i]))
	}
	return measure.Either(base == nil, nil, c), failed
}

// failing is the index of the limit that fails the gate, -1 for none.
func failing(c *result.Code) int {
	return slices.IndexFunc(c.Limited, func(x result.CodeLimit) bool { return x.Fails })
}

func limitOf(x result.CodeLimit) result.Remark {
	return result.Say(reason.CodeLimit{Kernel: x.Kernel, Arch: x.Arch, Metric: x.Metric, Base: x.Base, Head: x.Head,
		Rule: x.Rule})
}

// Limits names what else is beyond a rule than the reason of the verdict.
func Limits(c *result.Code) (out []result.Remark) {
	for i, x := range c.Limited {
		if i != failing(c) {
			out = append(out, limitOf(x))
		}
	}
	return out
}

// Alone is the reason of the verdict on device code alone.
func Alone(c *result.Code, baseline []model.Session) *result.Remark {
	changed := reason.CodeChanged{CodeCounts: counts(c)}
	if notes := notes(c, baseline); len(notes) > 0 {
		changed.Most = notes[0].Sentence
	}
	return new(result.Say(changed))
}

// counts are the numbers of kernels with changed, added, removed and same code.
func counts(c *result.Code) reason.CodeCounts {
	return reason.CodeCounts{Changed: len(c.Changed), Added: len(c.Added), Removed: len(c.Removed), Same: c.Same}
}

// Notes names the kernels whose code differs, beside a measurement after how many do.
func Notes(c *result.Code, baseline []model.Session, alone bool) []result.Remark {
	if alone {
		return notes(c, baseline)
	}
	if c.Equal() {
		return nil
	}
	return append([]result.Remark{result.Say(reason.CodeDiffers{CodeCounts: counts(c)})}, notes(c, baseline)...)
}

// notes names them: those that spill more or take more registers first, then new and removed ones.
func notes(c *result.Code, baseline []model.Session) (out []result.Remark) {
	const mostCodeNotes = 8 // the number of kernels with other device code that a report names
	launched := launches(c, baseline)
	changed := slices.Clone(c.Changed)
	measure.Sort(changed, func(a, b devicecode.Change) int {
		return cmp.Or(cmp.Compare(b.Head.SpillStores-b.Base.SpillStores, a.Head.SpillStores-a.Base.SpillStores),
			cmp.Compare(b.Head.Registers-b.Base.Registers, a.Head.Registers-a.Base.Registers))
	})
	say := func(k devicecode.Kernel, what string) {
		out = append(out, result.Say(reason.CodeOfKernel{Kernel: measure.ShortName(measure.NormalizeName(k.Name)),
			Arch: k.Arch, What: what}))
	}
	for _, x := range changed {
		say(x.Head, codeDifference(x, launched))
	}
	for _, k := range c.Added {
		say(k, "new")
	}
	for _, k := range c.Removed {
		say(k, "removed")
	}
	if more := len(out) - mostCodeNotes; more > 0 {
		out = append(out[:mostCodeNotes], result.Say(reason.CodeOfMore{Kernels: more}))
	}
	return out
}

// Of is the change of the code of a kernel, by its name in a profile.
func Of(c *result.Code, name string) (change devicecode.Change, changed bool) {
	i := slices.IndexFunc(c.Changed, func(x devicecode.Change) bool { return spelled(x.Head.Name) == spelled(name) })
	if i < 0 {
		return change, false
	}
	return c.Changed[i], true
}

// Explain tells findings on kernels whose time changed whether the code did: the same code got slower by its input, a
// clock, memory, the driver or a neighbour. It returns facts by finding, and the doubt that all kernels moved together
// and their code is the same.
func Explain(d *result.Report, baseline []model.Session) (facts map[int]result.Remark, doubts []result.Remark) {
	changed := map[string]devicecode.Change{}
	for _, c := range d.Code.Changed {
		changed[spelled(c.Head.Name)] = c
	}
	same := map[string]bool{}
	for _, k := range Recorded(d.HeadSessions) {
		same[spelled(k.Name)] = true
	}
	facts = map[int]result.Remark{}
	together, of, launched := 0, 0, launches(d.Code, baseline)
	for i := range d.Findings {
		f := &d.Findings[i]
		withAll := f.ReasonKey == result.KeyWithAll
		if f.Scope != measure.ScopeKernel || f.Unit != measure.Time.Unit || !withAll && f.Outcome != result.Slower &&
			f.Outcome != result.Faster {
			continue
		}
		if withAll {
			of++
		}
		c, differs := changed[spelled(f.Name)]
		switch {
		case differs:
			facts[i] = result.Say(reason.CodeChangedHere{Arch: c.Head.Arch,
				What: codeDifference(c, launched, f.Facts...)})
		case same[spelled(f.Name)] && f.Match != "geometry": // else the launch is another one
			facts[i] = result.Say(sameCode(baseline, d.HeadSessions, float64(f.Change)))
			if withAll {
				together++
			}
		}
	}
	doubts = result.SayIf(of > 0 && together == of, sameCode(baseline, d.HeadSessions, 1))
	said, key := doubts != nil, result.Say(reason.SameCode{}).Key
	for _, x := range facts {
		said = said || d.Verdict == result.Fail && x.Key == key
	}
	// A step that waits for a neighbour has no kernel that is slower.
	say := d.Verdict != result.Pass && d.Code.Equal() && !said
	return facts, append(doubts, result.SayIf(say, reason.SameCodeOfAll{Kernels: d.Code.Same})...)
}

// sameCode is the reason of a change without a change of code, with the SM clocks where they moved against the time
// by 1 % or more.
func sameCode(baseline, heads []model.Session, change float64) reason.SameCode {
	base, head := smClock(baseline), smClock(heads)
	because := base > 0 && head > 0 && math.Abs(float64(head)/float64(base)-1) >= 0.01 && (head < base) == (change > 0)
	return measure.Either(because, reason.SameCode{BaseClock: base, HeadClock: head}, reason.SameCode{})
}

// smClock is the SM clock in MHz of the newest session that sampled it, 0 where none did.
func smClock(sessions []model.Session) int {
	for i := len(sessions) - 1; i >= 0; i-- {
		if mhz := sessions[i].ClockMHz; mhz > 0 {
			return mhz
		}
	}
	return 0
}

// codeDifference is the changed numbers of a kernel's code that no fact names as launch attributes: "registers 10 →
// 20, spills 0 → 128 B".
func codeDifference(c devicecode.Change, launched map[string]launch, facts ...result.Remark) string {
	var out []string
	for _, m := range codeMetrics {
		base, head := m.of(c.Base), m.of(c.Head)
		if base != head && !slices.ContainsFunc(facts, func(x result.Remark) bool {
			return x.Key == result.KeyAttribute && x.Args["metric"] == m.metric.Name
		}) {
			out = append(out, fmt.Sprintf("%s %d → %d", m.metric.Title(), base, head)+
				measure.Either(m.metric.Unit == measure.CopyBytes.Unit, " B", ""))
		}
	}
	if l, ok := launched[spelled(c.Head.Name)]; ok {
		base, before := c.Base.Occupancy(l.threads, l.dynamic)
		head, after := c.Head.Occupancy(l.threads, l.dynamic)
		if before && after && base != head {
			out = append(out, "theoretical occupancy "+measure.Number(base)+" → "+measure.Number(head)+" %")
		}
	}
	return cmp.Or(strings.Join(out, ", "), "other instructions")
}

// launch is a launch of a kernel: threads of a block and its dynamic shared memory in bytes.
type launch struct{ threads, dynamic int }

// launches are those of each kernel, by its [spelled] name, in the newest session with kernels; of several the one
// with the largest blocks. There are none where no code changed.
func launches(c *result.Code, sessions []model.Session) map[string]launch {
	out := map[string]launch{}
	for i := len(sessions) - 1; i >= 0 && len(out) == 0 && len(c.Changed) > 0; i-- {
		dynamic := map[measure.Subject]int{}
		for _, x := range sessions[i].Series {
			if known := stats.Known(x.Values); x.Metric == measure.DynamicShared && len(known) > 0 {
				dynamic[x.Subject] = int(known[0])
			}
		}
		for _, x := range sessions[i].Series {
			if x.Subject.Scope != measure.ScopeKernel || x.Metric != measure.Time {
				continue
			}
			b, name := x.Subject.Block, spelled(x.Subject.Name)
			if threads := int(b.X) * int(b.Y) * int(b.Z); threads > out[name].threads {
				out[name] = launch{threads, dynamic[x.Subject]}
			}
		}
	}
	return out
}

// cast matches the type of a literal among template arguments, literal the suffix of one.
var (
	cast    = input.Pattern(`\([A-Za-z_][\w: ]*\)(-?\d)`)
	literal = input.Pattern(`\b(\d+)(?:ull|ll|ul|u|l)\b`)
)

// spelled is a kernel's name as profilers and demanglers agree on it: without spaces and const, with literals of
// template arguments as numbers, and without the parameters and the result of a template, where profilers write T1.
func spelled(name string) string {
	name = measure.NormalizeName(name)
	if end := strings.LastIndex(name, ">("); end > 0 {
		name = literal().ReplaceAllString(cast().ReplaceAllString(name[:end+1], "$1"), "$1")
		name = strings.NewReplacer("true", "1", "false", "0").Replace(name)
	}
	return strings.NewReplacer(" ", "", "const", "").Replace(name)
}
