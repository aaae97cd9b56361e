package thresholds

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// cell is a metric of a kind of subjects: what a rule is about.
type cell struct {
	kind   measure.Scope
	metric measure.Metric
}

func (r *Rule) kinds() (kinds []measure.Scope) {
	for _, x := range r.selectors() {
		switch {
		case x.pattern != "", x.kind == measure.ScopeRange && r.Domain+r.Category != "":
			return []measure.Scope{x.kind}
		case x.kind != measure.ScopeSection || r.relaxes():
			kinds = append(kinds, x.kind)
		}
	}
	return append(kinds, measure.ScopeWorkload)
}

func (r *Rule) cells() (out []cell) {
	metrics := measure.Metrics()
	if m, ok := measure.MetricByName(string(r.Metric)); ok && m.Raw() != "" {
		metrics = []measure.Metric{m}
	}
	kinds := r.kinds()
	for _, m := range metrics {
		for _, kind := range m.Kinds() {
			if slices.Contains(kinds, kind) && r.names(kind, m) {
				out = append(out, cell{kind, m})
			}
		}
	}
	return out
}

// InFull is the metric that the rule names in full, by its name or by its title in reports.
func (r *Rule) InFull() (measure.Metric, bool) {
	named := slices.DeleteFunc(r.cells(), func(c cell) bool { return !c.metric.Is(string(r.Metric)) })
	if len(named) == 0 {
		return measure.Metric{}, false
	}
	byName := slices.IndexFunc(named, func(c cell) bool { return c.metric.Name == string(r.Metric) })
	return named[max(byName, 0)].metric, true
}

// Wants reports whether a rule names a metric that is measured by these means, so that it has to be measured.
func (p *Policy) Wants(by measure.Means) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool {
		m, full := r.InFull()
		return full && r.Severity != Ignore && m.Means() == by
	})
}

// Bounds lists the rules that bound a metric which is measured by these means.
func (p *Policy) Bounds(by measure.Means) []Rule {
	return slices.DeleteFunc(slices.Clone(p.Rules), func(r Rule) bool {
		m, full := r.InFull()
		return !full || r.Severity == Ignore || m.Means() != by || !r.Bounds()
	})
}

// OfCounters is the policy for a profiler of counters, and the places of rules on other metrics, which it lacks.
func (r *Resolved) OfCounters() (counted *Resolved, without []string) {
	c := *r
	c.Rules = slices.DeleteFunc(slices.Clone(r.Rules), func(x Rule) bool {
		m, full := x.InFull()
		lacks := full && !m.OfLaunch() && !slices.Contains(measure.Attributes, m)
		if lacks && x.Severity != Ignore {
			without = append(without, x.Where)
		}
		return lacks
	})
	return &c, without
}

// check refuses a rule about nothing that is measured, and keys that change nothing of what it is about.
func (r *Rule) check(t table) error {
	cells := r.cells()
	if len(cells) == 0 {
		return errorAt(cmp.Or(t.lineOf("metric"), t.line), "%s", r.strange())
	}
	m, full := r.InFull()
	for _, k := range []struct {
		key    string
		amount *measure.Amount
	}{{"floor", r.Floor}, {"at_most", r.AtMost}, {"at_least", r.AtLeast}} {
		if k.amount == nil {
			continue
		}
		fits := slices.ContainsFunc(cells, func(c cell) bool { return k.amount.Fits(c.metric) })
		misfits := func(c cell) bool { return !k.amount.Fits(c.metric) }
		switch {
		case !full && k.key != "floor":
			return errorAt(t.lineOf(k.key), "%s bounds one metric; name it in full with metric", k.key)
		case !full && k.amount.Unit == "" && slices.ContainsFunc(cells, misfits):
			return errorAt(t.lineOf(k.key),
				"floor: %g has no unit, and what the rule is about is measured in several; "+
					`write a time ("1us") or a size ("64KiB"), or name the metric`, k.amount.Value)
		case !fits && full:
			return errorAt(t.lineOf(k.key), `%s: the unit of %s is %s; write it like %q`, k.key, m.Name,
				cmp.Or(m.Unit, "the program's own"), example(m))
		case !fits:
			return errorAt(t.lineOf(k.key), "%s: nothing that the rule is about is measured in %s", k.key,
				k.amount.Unit)
		}
	}
	if r.AtMost != nil && r.AtLeast != nil && r.AtMost.Value < r.AtLeast.Value {
		return errorAt(t.lineOf("at_most"), "no value is at most %s and at least %s", r.AtMost, r.AtLeast)
	}
	if r.Drift != nil && !slices.ContainsFunc(cells, func(c cell) bool { return c.metric.Drifts(c.kind) }) {
		return errorAt(t.lineOf("drift"),
			"drift: changes add up for the time of kernels and the GPU time of the workload, "+
				"which the rule is not about; limit it with max or at_most, or leave drift out")
	}
	return cmp.Or(r.checkIdle(t), r.checkBetter(t, m, full))
}

// checkIdle refuses keys that change nothing beside another: of what is ignored, and of changes that a bound allows.
func (r *Rule) checkIdle(t table) error {
	for _, key := range []string{"max", "floor", "at_most", "at_least", "drift", "better"} {
		switch {
		case r.Places[key] == "":
		case r.Severity == Ignore:
			return errorAt(t.lineOf(key), "%s does nothing beside severity = \"ignore\", by which nothing is judged; "+
				"leave one of them out", key)
		case r.Bounds() && r.Max == nil && (key == "floor" || key == "better"):
			return errorAt(t.lineOf(key), "%s is of changes, which a bound allows; add max, or leave %[1]s out", key)
		}
	}
	return nil
}

// checkBetter refuses a direction that contradicts the metric's own, and a metric without one that needs it: whether a
// change of it is a regression is not known.
func (r *Rule) checkBetter(t table, m measure.Metric, full bool) error {
	judges := r.Severity != Ignore && (r.Max != nil || r.AtMost == nil && r.AtLeast == nil)
	switch {
	case r.Better != measure.Neither && !full:
		return errorAt(t.lineOf("better"), "better is the direction of one metric; name it in full with metric")
	case r.Better != measure.Neither && m.Better != measure.Neither && r.Better != m.Better:
		return errorAt(t.lineOf("better"), "better: of %s %s is better; leave better out", m.Name, direction[m.Better])
	case r.Better == measure.Neither && m.Better == measure.Neither && judges && (m.Raw() != "" || m.Name == "value"):
		return errorAt(t.lineOf("metric"), "metric: whether more or less of %s is better is not known; "+
			`add better = "higher" or better = "lower"`, m.Name)
	}
	return nil
}

// strange says which metrics the subjects of a rule have, of one whose metric is none of them.
func (r *Rule) strange() string {
	kinds := r.kinds()
	if len(kinds) > 1 {
		for _, m := range measure.Metrics() {
			if r.Metric.names(m) && len(m.Kinds()) > 0 {
				kind := string(m.Kinds()[0])
				return `metric: "` + string(r.Metric) + `" is a metric of a ` + kind +
					` alone, which no rule without a selector is for; add ` + kind + ` = "…", or remove the rule`
			}
		}
	}
	var names []string
	for _, m := range measure.MetricsOf(kinds[0]) {
		name := m.Name
		if !strings.EqualFold(strings.ReplaceAll(name, "_", " "), m.Title()) {
			name += " (" + m.Title() + ")"
		}
		if !m.OfLaunch() {
			names = append(names, name)
		}
	}
	if kinds[0] == measure.ScopeKernel {
		names = append(names, "counters (nsgate help counters)")
	}
	return `metric: "` + string(r.Metric) + `" is no metric of rules for ` + string(kinds[0]) + "; write one of " +
		strings.Join(names, ", ")
}

// covers reports whether the rule is known to match all that another would.
func (r *Rule) covers(o *Rule) bool {
	mine, others := r.selectors(), o.selectors()
	all := mine == (&Rule{}).selectors()
	for i := range mine {
		all = all || mine[i].pattern != "" && others[i].pattern != "" && mine[i].pattern.covers(others[i].pattern)
	}
	within := func(mine, others Glob) bool { return mine == "" || others != "" && mine.covers(others) }
	wild := strings.ContainsAny(string(o.Metric), "*?") // it may match raw metrics, which the table lacks
	if !all || !within(r.Domain, o.Domain) || !within(r.Category, o.Category) || wild && !within(r.Metric, o.Metric) ||
		wild && r.Metric == "" {
		return false
	}
	cells := r.cells()
	return !slices.ContainsFunc(o.cells(), func(c cell) bool {
		return !slices.Contains(cells, c) && !(c.metric.Raw() != "" && r.names(c.kind, c.metric))
	})
}

func example(m measure.Metric) string {
	for _, s := range []string{"1us", "64KiB", "70%", "2TB/s", "2TFLOP/s", "1.5GHz"} {
		if a, err := measure.ParseAmount(s); err == nil && a.Fits(m) {
			return s
		}
	}
	return "3"
}
