package gate

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// bound judges the value of the head itself where the policy limits that. It is broken for certain where every run
// says so: one run of what is counted, two of what is measured.
func (e *engine) bound(c *comparison) {
	if !c.limit.Bounded() {
		return
	}
	f := &c.finding
	f.AtMost, f.AtLeast = bounds(c.limit)
	wanted, broken, all := wanted(c.limit, c.metric), 0, 0
	for _, session := range c.head {
		for _, v := range session {
			if math.IsNaN(v) {
				continue
			}
			if all++; !c.limit.Keeps(v) {
				broken++
			}
		}
	}
	switch {
	case all == 0:
		f.Outcome, f.Undecided = Inconclusive, f.Gates
		f.Reason = "the head has no " + label(f.Metric) + ", of which the policy wants " + wanted
	case broken == 0 && math.IsInf(c.limit.Max, 1):
		f.Outcome, f.Undecided, f.Reason = Unchanged, false, "the policy wants "+wanted
	case broken == 0:
	case broken == all && (c.metric.Exact || all >= minRuns):
		f.Outcome, f.Undecided = Regressed, false
		f.Reason = fmt.Sprintf("%s where the policy wants %s", amount(float64(f.Head), c.metric), wanted)
		if !f.Gates {
			f.Reason += "; the policy only warns of it (" + f.Rule + ")"
		}
	default:
		f.Outcome, f.Undecided = Inconclusive, f.Gates
		f.Reason = fmt.Sprintf("%s break the bound: the policy wants %s", of(broken, all, "run"), wanted)
		if all < minRuns {
			f.Reason = fmt.Sprintf("%s where the policy wants %s, in one run only; two would settle it", amount(float64(f.Head), c.metric), wanted)
		}
	}
}

// concludeOneSided judges a metric that one side lacks: by its bounds where the head has it, else not at all, which is
// no pass.
func (e *engine) concludeOneSided(c *comparison) {
	f := &c.finding
	if c.limit.Bounded() {
		e.bound(c)
		return
	}
	f.Outcome, f.Undecided = Inconclusive, f.Gates
	if math.IsNaN(typical(c.base)) && math.IsNaN(typical(c.head)) {
		f.Reason = "neither side has " + label(f.Metric) + ", which the policy limits"
		return
	}
	side, other := "head", "base"
	if math.IsNaN(typical(c.base)) {
		side, other = other, side
	}
	f.Reason = fmt.Sprintf("the %s has no %s and the %s has: measure both with the same metrics", side, label(f.Metric), other)
}

func bounds(l thresholds.Limit) (atMost, atLeast *Number) {
	if l.AtMost != nil {
		atMost = new(Number(*l.AtMost))
	}
	if l.AtLeast != nil {
		atLeast = new(Number(*l.AtLeast))
	}
	return atMost, atLeast
}

// wanted prints the bounds: "at least 70 %".
func wanted(l thresholds.Limit, m measure.Metric) string {
	switch {
	case l.AtLeast == nil:
		return "at most " + amount(*l.AtMost, m)
	case l.AtMost == nil:
		return "at least " + amount(*l.AtLeast, m)
	}
	return "between " + amount(*l.AtLeast, m) + " and " + amount(*l.AtMost, m)
}

// amount prints a value in the metric's unit, with a prefix where that has one; counts in full.
func amount(v float64, m measure.Metric) string {
	switch m.Unit {
	case "count":
		return strconv.FormatFloat(v, 'f', -1, 64)
	case "ns":
		return time.Duration(v).Round(time.Nanosecond).String()
	case "B", "B/s", "Hz":
		for _, p := range []struct {
			name string
			size float64
		}{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
			if v >= p.size {
				return number(v/p.size) + " " + p.name + m.Unit
			}
		}
	}
	return number(v) + " " + m.Unit
}

// broken reports whether the head's typical value breaks the bounds of a finding.
func (f *Finding) broken() bool {
	return f.AtMost != nil && f.Head > *f.AtMost || f.AtLeast != nil && f.Head < *f.AtLeast
}

func of(part, all int, what string) string { return fmt.Sprintf("%d of %s", part, count(all, what)) }

// unmeasured refuses a head in which no kernel has a metric that a rule names for it: the policy's word is not judged,
// and that is no pass. The metrics of Nsight Compute are not expected of another profiler; a note says where they are judged.
func unmeasured(head []measure.Session, policy *thresholds.Policy) (notes []string, err error) {
	s := newSide(head, measure.Total)
	for _, rule := range policy.Rules {
		m, full := measure.MetricByName(string(rule.Metric))
		if !full || m.Judged() || rule.Severity == thresholds.Ignore {
			continue
		}
		of, has := 0, 0
		for subject := range s.known {
			if subject.Scope == measure.ScopeKernel && policy.Limit(subject, m).Rule == rule.Where {
				of++
				if s.hasMetric(subject, m.Name) {
					has++
				}
			}
		}
		switch {
		case of == 0 || has > 0:
		case byLaunch(head):
			return nil, Reasons.Refuse("metric-missing", label(m.Name), rule.Where)
		case m.Better != measure.Neither:
			notes = append(notes, fmt.Sprintf("%s limits %s, which only Nsight Compute measures: nsgate check --profiler ncu judges it",
				rule.Where, label(m.Name)))
		}
	}
	return notes, nil
}

// unseen is why a gate over a few launches of each kernel cannot pass, "" where it can: a kernel of the base that was not
// profiled in the head was not judged, and one run a side decides nothing that is measured.
func (r *Report) unseen() (reason, next string) {
	if r.Head.Environment.Profiler() != "ncu" {
		return "", ""
	}
	for _, f := range r.Findings {
		switch {
		case f.Outcome == Removed && f.Scope == measure.ScopeKernel:
			return "ncu profiled no launch of " + f.Kernel + " in the head, which the base has",
				"profile what took its place too, with --kernel; if it is gone on purpose, record the baseline anew"
		case f.Undecided && f.Metric == measure.NcuTime.Name && f.Base.Known() != f.Head.Known():
			return fmt.Sprintf("the ncu time of %s cannot be judged: %s", f.Kernel, f.Reason), "profile again; see what ncu says of this kernel"
		case f.Undecided && min(r.Base.Runs, r.Head.Runs) < minRuns:
			return fmt.Sprintf("the %s of %s cannot be judged: %s", label(f.Metric), f.Kernel, f.Reason),
				"measure at least 2 runs a side, or judge what is counted only: a rule with severity = \"ignore\" for the rest"
		}
	}
	return "", ""
}
