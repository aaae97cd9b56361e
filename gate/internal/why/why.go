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
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// Cause is what the metrics say about a kernel that got slower. Its text is made of numbers and of words of this package:
// it repeats nothing from a profile.
type Cause struct {
	// Summary is the whole in one to three sentences.
	Summary string
	// Reasons are the rules that speak, the likeliest cause first. None means that no rule explains the change.
	Reasons []Reason
	// Base and Head say what limits the kernel.
	Base Position
	Head Position
	// Changes are the metrics that both sides have, in the order of measure.Throughput, then those of ncu.Evidence.
	Changes []Change
	// Unknown are the metrics without which a rule could not be tried.
	Unknown []string
}

// Reason is one rule that speaks.
type Reason struct {
	Rule  string
	Text  string
	Guide string // the section of NVIDIA's documentation that explains it
	Link  string // and its address
}

// Change is one metric, the medians over the launches of each side.
type Change struct {
	Metric string
	Unit   string
	Base   float64
	Head   float64
}

// String is the summary.
func (c Cause) String() string { return c.Summary }

// sample is the metrics of one side.
type sample struct {
	metrics map[string]float64
	grid    float64 // blocks, 0 where unknown
}

// typical takes the medians over launches.
func typical(records []ncu.Record) sample {
	values := map[string][]float64{}
	var grids []float64
	for _, r := range records {
		for _, from := range []map[string]float64{r.Metrics, r.Evidence} {
			for name, v := range from {
				values[name] = append(values[name], v)
			}
		}
		g := r.Subject.Grid
		grids = append(grids, float64(g.X)*float64(g.Y)*float64(g.Z))
	}
	s := sample{metrics: map[string]float64{}}
	if len(grids) > 0 {
		s.grid = stats.Median(grids)
	}
	for name, v := range values {
		s.metrics[name] = stats.Median(v)
	}
	return s
}

// get is the value of a metric, NaN where it is unknown.
func (s sample) get(m measure.Metric) float64 {
	if v, ok := s.metrics[m.Name]; ok {
		return v
	}
	return math.NaN()
}

// operations are the floating-point and tensor operations, NaN where not every kind was counted.
func (s sample) operations() float64 { return s.flops() + s.get(model.TensorOps) }

// flops are the floating-point operations outside the tensor cores, NaN where not every precision was counted.
func (s sample) flops() float64 {
	return s.get(model.FP64) + s.get(model.FP32) + s.get(model.FP16)
}

// Explain compares the launches of a kernel in base and head. Either may be more than one; medians are compared.
func Explain(base, head []ncu.Record) Cause {
	p := pair{typical(base), typical(head)}
	c := Cause{Reasons: []Reason{}, Changes: []Change{}, Base: position(p.base), Head: position(p.head)}
	for _, m := range shown {
		if p.known(m) {
			c.Changes = append(c.Changes, Change{m.Name, m.Unit, p.base.get(m), p.head.get(m)})
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
			c.Reasons = append(c.Reasons, Reason{r.name, text, r.guide.title, r.guide.address})
		}
	}
	c.Summary = c.summary(p)
	return c
}

// shown are the metrics of [Cause.Changes].
var shown = slices.Concat(measure.Throughput, []measure.Metric{model.Registers, model.StaticShared, model.DynamicShared}, ncu.Evidence)

// Stand says where the launches of a kernel stand where there is no base to compare them with: what limits it, its
// place on the roofline, and what limits its occupancy. The bases of the changes are NaN.
func Stand(head []ncu.Record) Cause {
	s := typical(head)
	c := Cause{Reasons: []Reason{}, Changes: []Change{}, Head: position(s)}
	for _, m := range shown {
		if v := s.get(m); !math.IsNaN(v) {
			c.Changes = append(c.Changes, Change{m.Name, m.Unit, math.NaN(), v})
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

// summary puts the cause into words.
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

// silence says that nothing explains the change, and what was looked at.
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

// The least growth of the time under ncu that counts as slower: relative, and two of the 32 ns in which GPUs count time.
const (
	least      = 0.01
	leastTicks = 64
)

// pair is both sides.
type pair struct{ base, head sample }

func (p pair) known(m measure.Metric) bool { return len(p.missing([]measure.Metric{m})) == 0 }

func (p pair) missing(needs []measure.Metric) []string {
	var out []string
	for _, m := range needs {
		if math.IsNaN(p.base.get(m)) || math.IsNaN(p.head.get(m)) {
			out = append(out, m.Name)
		}
	}
	return out
}

// ratio is head over base: 1 where both are zero, infinite where only the base is.
func (p pair) ratio(m measure.Metric) float64 { return ratio(p.base.get(m), p.head.get(m)) }

func ratio(base, head float64) float64 {
	if base == 0 && head == 0 {
		return 1
	}
	return head / base
}

// by is how much the metric grew, in its unit.
func (p pair) by(m measure.Metric) float64 { return p.head.get(m) - p.base.get(m) }

// slower reports whether the kernel is slower under ncu, or may be where its time is unknown.
func (p pair) slower() bool {
	return !p.known(model.NcuTime) || p.ratio(model.NcuTime) >= 1+least && p.by(model.NcuTime) > leastTicks
}

// same reports whether the ratio is 1 within a tolerance.
func (p pair) same(m measure.Metric, tolerance float64) bool {
	return math.Abs(p.ratio(m)-1) <= tolerance
}

// show prints a metric's change: "75.7 µs → 82.4 µs, +8.9 %".
func (p pair) show(m measure.Metric) string {
	s, b, h := p.arrow(m, m.Unit), p.base.get(m), p.head.get(m)
	if r := ratio(b, h); m.Unit != "%" && b > 0 && r != 1 {
		s += ", " + times(r)
	}
	return s
}

// told is the metric's name and change, without the ratio.
func (p pair) told(m measure.Metric) string {
	unit := m.Unit
	if unit == "FLOP" { // which the name says
		unit = "count"
	}
	return label(m) + " " + p.arrow(m, unit)
}

// arrow is the metric's change in a unit.
func (p pair) arrow(m measure.Metric, unit string) string {
	return arrow(p.base.get(m), p.head.get(m), unit)
}

// grown is [pair.told] with the ratio where there is one.
func (p pair) grown(m measure.Metric) string {
	if r := p.ratio(m); p.base.get(m) > 0 {
		return p.told(m) + " (" + times(r) + ")"
	}
	return p.told(m)
}
