// Package why says why a kernel got slower: from the throughput metrics of its launches in base and head it draws a short
// cause with the numbers, by the rules in rules.go, and says where the kernel stands on the roofline. It is pure.
package why

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/ncu"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Cause is the explanation of a slower kernel by its metrics. Its text holds numbers and words of this package only, no text of a
// profile.
type Cause struct {
	// Summary is one to three sentences.
	Summary string
	// Reasons are the rules that apply, the likeliest cause first; none where no rule explains the change.
	Reasons []Reason
	// Base and Head say what limits the kernel.
	Base Position
	Head Position
	// Changes are the metrics that both sides have, in the order of measure.Throughput, then those of ncu.Evidence.
	Changes []result.CauseMetric
	// Unknown are the metrics without which a rule could not be tried.
	Unknown []string
}

// Reason is a rule that applies.
type Reason struct {
	Rule  string
	Text  string
	Guide result.Guide
}

// String is the summary.
func (c Cause) String() string { return c.Summary }

// Explain compares the medians over the launches of a kernel in base and head.
func Explain(base, head []ncu.Record) Cause {
	p := pair{typical(base), typical(head)}
	c := Cause{Reasons: []Reason{}, Changes: []result.CauseMetric{}, Base: position(p.base), Head: position(p.head)}
	for _, m := range shown {
		if p.known(m) {
			c.Changes = append(c.Changes, result.CauseMetric{Name: m.Name, Unit: m.Unit, Base: result.Number(p.base.get(m)), Head: result.Number(p.head.get(m))})
		}
	}
	for _, r := range rules {
		missing := p.missing(r.needs)
		for _, m := range missing {
			if !slices.Contains(c.Unknown, m) {
				c.Unknown = append(c.Unknown, m)
			}
		}
		if len(missing) > 0 || r.last && len(c.Reasons) > 0 {
			continue
		}
		if text := r.speak(p); text != "" {
			c.Reasons = append(c.Reasons, Reason{r.name, text, r.guide})
		}
	}
	c.Summary = c.summary(p)
	return c
}

// shown are the metrics of [Cause.Changes].
var shown = slices.Concat(measure.Throughput, []measure.Metric{model.Registers, model.StaticShared, model.DynamicShared}, ncu.Evidence)

// Stand describes the launches of a kernel without a base: what limits it, its place on the roofline, and what limits its occupancy.
// The bases of the changes are NaN.
func Stand(head []ncu.Record) Cause {
	s := typical(head)
	c := Cause{Reasons: []Reason{}, Changes: []result.CauseMetric{}, Head: position(s)}
	for _, m := range shown {
		if v := s.get(m); !math.IsNaN(v) {
			c.Changes = append(c.Changes, result.CauseMetric{Name: m.Name, Unit: m.Unit, Base: result.Unknown, Head: result.Number(v)})
		}
	}
	var parts []string
	if where := c.Head.String(); where != "" {
		parts = append(parts, capital(where)+".")
	}
	if occupancy := s.get(model.TheoreticalOccupancy); !math.IsNaN(occupancy) {
		text := "Theoretical occupancy " + amount(occupancy, "%")
		if limit := s.limit(); occupancy < 100 && strings.HasPrefix(limit, "limited") {
			text += ", " + limit
		}
		parts = append(parts, text+".")
	}
	if c.Summary = strings.Join(parts, " "); c.Summary == "" {
		c.Summary = "ncu gives no metric that says what limits the kernel."
	}
	return c
}

func (c *Cause) summary(p pair) string {
	if len(c.Changes) == 0 {
		return "ncu gives no metric that both sides have."
	}
	var s []string
	if !p.slower() {
		s = append(s, "Under ncu, which runs launches one by one on cold caches, the kernel is not slower ("+p.show(model.NcuTime)+").")
	}
	if len(c.Reasons) > 0 {
		texts := make([]string, len(c.Reasons))
		for i, r := range c.Reasons {
			texts[i] = r.Text
		}
		s = append(s, capital(strings.Join(texts, "; "))+".")
	} else {
		s = append(s, c.silence(p))
	}
	if where := standing(c.Base, c.Head); where != "" {
		s = append(s, where)
	}
	return strings.Join(s, " ")
}

// silence says that no rule explains the change, and names the metrics that are equal.
func (c *Cause) silence(p pair) string {
	var same []string
	for _, m := range []measure.Metric{
		model.Instructions, model.DRAMBytes, model.Registers, model.TheoreticalOccupancy, model.SMClock,
	} {
		if p.known(m) && p.same(m, 0.02) {
			same = append(same, label(m))
		}
	}
	text := "No rule explains the change"
	if len(same) > 0 {
		text += ": " + strings.Join(same, ", ") + " did not change"
	}
	if grid, changed := strings.CutPrefix(p.grid(), "grid "); changed {
		text += "; the grid has " + grid
	}
	if len(c.Unknown) > 0 {
		text += fmt.Sprintf(" (not known: %s)", labels(c.Unknown))
	}
	return text + "."
}
