// Package why says why a kernel got slower: from the throughput metrics of its launches in base and head it draws a
// short cause with the numbers, by the rules in rules.go, and says where the kernel stands on the roofline. It is pure.
package why

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// spoken is a rule that applies, with its reason.
type spoken struct {
	rule
	text string
}

// spoken are the rules that apply, the likeliest cause first, and the metrics that untried rules lack.
func (p pair) spoken() (list []spoken, unknown []string) {
	for _, r := range rules {
		missing := p.missing(r.needs)
		unknown = measure.Once(unknown, missing...)
		if len(missing) > 0 || r.last && len(list) > 0 {
			continue
		}
		if text := r.speak(p); text != "" {
			list = append(list, spoken{r, text})
		}
	}
	return list, unknown
}

// Explain compares the medians over the launches of a kernel in base and head. Its text holds numbers and words of this
// package only, no text of a profile.
func Explain(base, head counters.Kernel) *result.Cause {
	p := pair{typical(base), typical(head)}
	before, after := position(p.base), position(p.head)
	c := &result.Cause{Base: before.String(), Head: after.String(), BaseRoof: before.Roofline, HeadRoof: after.Roofline}
	for _, m := range shown {
		if p.known(m) {
			c.Metrics = append(c.Metrics, result.CauseMetric{Name: m.Name, Unit: m.Unit,
				Base: result.Number(p.base.get(m)), Head: result.Number(p.head.get(m))})
		}
	}
	list, unknown := p.spoken()
	for _, r := range list {
		c.Reasons = append(c.Reasons, r.text)
		c.Guides = measure.Once(c.Guides, r.guide)
	}
	if len(c.Metrics) == 0 {
		c.Summary = "The counters have no metric of both sides."
		return c
	}
	var s []string
	if !p.slower() {
		s = append(s,
			"Replayed, one launch at a time on cold caches, the kernel is not slower ("+p.show(measure.ReplayTime)+").")
	}
	if len(c.Reasons) > 0 {
		s = append(s, capital(strings.Join(c.Reasons, "; "))+".")
	} else {
		s = append(s, p.silence(unknown))
	}
	if where := standing(before, after); where != "" {
		s = append(s, where)
	}
	c.Summary = strings.Join(s, " ")
	return c
}

var shown = slices.Concat(measure.Throughput, []measure.Metric{measure.Registers,
	measure.StaticShared, measure.DynamicShared}, counters.Evidence)

// Bound is the limiting resource of the launches of a kernel, see [Position].
func Bound(head counters.Kernel) string { return position(typical(head)).Bound }

// Stand describes the launches of a kernel without a base: its limiting resource, its place on the roofline, and the
// limits of its occupancy. The bases of the metrics are NaN.
func Stand(head counters.Kernel) *result.Cause {
	s := typical(head)
	at := position(s)
	c := &result.Cause{Head: at.String(), HeadRoof: at.Roofline}
	for _, m := range shown {
		if v := s.get(m); !math.IsNaN(v) {
			c.Metrics = append(c.Metrics, result.CauseMetric{Name: m.Name, Unit: m.Unit, Base: result.Unknown,
				Head: result.Number(v)})
		}
	}
	var parts []string
	if c.Head != "" {
		parts = append(parts, capital(c.Head)+".")
	}
	if occupancy := s.get(measure.TheoreticalOccupancy); !math.IsNaN(occupancy) {
		text := "Theoretical occupancy " + amount(occupancy, "%")
		if limit := s.limit(); occupancy < 100 && strings.HasPrefix(limit, "limited") {
			text += ", " + limit
		}
		parts = append(parts, text+".")
	}
	c.Summary = strings.Join(parts, " ")
	if c.Summary == "" {
		c.Summary = "The counters have no metric that says what limits the kernel."
	}
	return c
}

// silence says that no rule explains the change, and names the metrics that are equal.
func (p pair) silence(unknown []string) string {
	var same []string
	for _, m := range []measure.Metric{
		measure.Instructions, measure.DRAMBytes, measure.Registers, measure.TheoreticalOccupancy, measure.SMClock,
	} {
		if p.known(m) && p.same(m, 0.02) {
			same = append(same, label(m))
		}
	}
	text := "No rule explains the change"
	if len(same) > 0 {
		text += ": " + strings.Join(same, ", ") + " did not change"
	}
	if p.slower() && p.known(measure.Instructions) && p.same(measure.Instructions, 0.005) &&
		p.known(measure.DRAMBytes) && p.same(measure.DRAMBytes, 0.02) {
		text += ": same work, slower"
	}
	if grid, changed := strings.CutPrefix(p.grid(), "grid "); changed {
		text += "; the grid has " + grid
	}
	if len(unknown) > 0 {
		text += fmt.Sprintf(" (not known: %s)", labels(unknown))
	}
	return text + "."
}

// GuideOf is the documentation of a rule.
func GuideOf(name string) result.Guide {
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == name })].guide
}
