package thresholds

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// Loosened is a key by which a policy lets more pass than another.
type Loosened struct {
	Key string
	Of  string // "the policy", "workload app", or the subject and metric of a limit
	// Was and Is are the values of both; Set is where the former was set and Where the latter, "" for defaults.
	Was, Is, Set, Where string
}

// slack is how much a key lets pass, in any unit that grows, and its value in words.
type slack struct {
	key   string
	grows float64
	text  string
}

func percent(key string, v float64) slack { return slack{key, v, measure.Percent(v)} }

// choice is the slack of a word among those that a key may have, the strictest first.
func choice[T ~string](key string, v T, words ...T) slack {
	return slack{key, float64(slices.Index(words, v)), string(v)}
}

// least is the slack of a number of what is measured: less of it lets more pass.
func least(key string, n int) slack { return slack{key, -float64(n), strconv.Itoa(n)} }

// slacks are those of the keys of a workload and its policy. No other key has a value that lets more pass.
func (r *Resolved) slacks() []slack {
	host := func(s measure.Subject) float64 { return r.initial(s, measure.StepTime).Max }
	days, profile := r.MaxAge.Hours()/24, "never"
	if r.of.Profiled() {
		profile = "always"
	}
	return []slack{
		percent("threshold", r.Threshold), percent("step_threshold", host(measure.Workload)),
		percent("warmup_threshold", host(measure.Warmup)), percent("outside_threshold", host(measure.Between)),
		{"alpha", -r.Alpha, measure.Percent(r.Alpha)}, percent("cost", r.Cost), percent("session_sd", r.SessionSD),
		choice("same_host", strconv.FormatBool(!r.OtherHost), "true", "false"),
		choice("undecided", r.Undecided, "fail", "warn"),
		choice("shadow", strconv.FormatBool(r.Shadow), "false", "true"),
		{"max_age", cmp.Or(days, math.Inf(1)), fmt.Sprintf("%gd", days)},
		choice("skip_unchanged", strconv.FormatBool(r.of.SkipUnchanged), "false", "true"),
		choice("profile", profile, "always", "never"),
		least("runs", cmp.Or(r.of.Runs.Most, 5)), least("output", len(r.of.Outputs)),
		least("results", len(r.of.ResultFiles())), least("code", len(r.of.Code)),
		least("ratio", len(r.Ratios)),
	}
}

// slacks are those of a limit of a metric; what is ignored is not limited at all.
func (l Limit) slacks(m measure.Metric) []slack {
	severity := choice("severity", l.Severity, Fail, Warn, Ignore)
	if l.Severity == Ignore {
		return []slack{severity}
	}
	bound := func(key string, v *float64, none float64, text func(float64) string) slack {
		if v == nil || math.IsInf(*v, 0) {
			return slack{key, none, "none"}
		}
		return slack{key, math.Copysign(*v, none), text(*v)}
	}
	amount := func(v float64) string { return measure.Amount{Value: v, Unit: m.Unit}.String() }
	inf := math.Inf(1)
	return []slack{severity, bound("max", &l.Max, inf, measure.Percent), bound("floor", &l.Floor, inf, amount),
		bound("at_most", l.AtMost, inf, amount), bound("at_least", l.AtLeast, -inf, amount),
		bound("drift", l.Drift, inf, measure.Percent)}
}

// loosened are the keys of which the second slack is the larger one.
func loosened(was, is []slack) (out []Loosened) {
	for i := range min(len(was), len(is)) {
		if is[i].grows > was[i].grows {
			out = append(out, Loosened{Key: is[i].key, Was: was[i].text, Is: is[i].text})
		}
	}
	return out
}

// Measured is a metric of a subject that a policy may limit.
type Measured struct {
	Subject measure.Subject
	Metric  measure.Metric
}

// Looser lists the keys by which the policy lets more pass than another did for the same workload, and the loosened
// limits of measured metrics, each with the first metric of its rule.
func (r *Resolved) Looser(was *Resolved, measured []Measured) []Loosened {
	out := slices.DeleteFunc(loosened(was.slacks(), r.slacks()), func(x Loosened) bool {
		// a default that follows the threshold
		return strings.HasSuffix(x.Key, "_threshold") && was.placeOf(x.Key) == "" && r.placeOf(x.Key) == ""
	})
	for i := range out {
		x := &out[i]
		x.Set, x.Where, x.Of = was.placeOf(x.Key), r.placeOf(x.Key), "the policy"
		if was.own(x.Key) || r.own(x.Key) {
			x.Of = "workload " + cmp.Or(r.of.Name, was.of.Name)
		}
	}
	if is, before := r.of.Rows(), was.of.Rows(); is != before {
		text := func(rows string) string { return cmp.Or(strings.Join(strings.Fields(rows), " "), "none") }
		x := Loosened{Key: "rows", Of: "workload " + cmp.Or(r.of.Name, was.of.Name), Was: text(before), Is: text(is)}
		if len(r.of.Results) > 0 {
			x.Where = cmp.Or(r.of.Results[0].Places["rows"], r.of.Results[0].Where)
		}
		out = append(out, x)
	}
	// fact is a loosened key without the metric: by the rule that sets it, or by that which went.
	fact := func(x Loosened) [4]string {
		by := x.Set
		if r.rule(x.Where) != nil {
			by = x.Where
		}
		return [4]string{x.Key, x.Was, x.Is, by}
	}
	more := map[int]int{} // metrics beside the first, by index in out
	for _, x := range measured {
		before, after := was.Limit(x.Subject, x.Metric), r.Limit(x.Subject, x.Metric)
		old, rule := was.rule(before.Rule), r.rule(after.Rule)
		if old == nil && rule == nil {
			continue
		}
		for _, l := range loosened(before.slacks(x.Metric), after.slacks(x.Metric)) {
			if l.Key == "max" && !old.limits() && !rule.limits() {
				continue // it follows a threshold, which is a key of its own
			}
			l.Set, l.Where = before.Rule, after.Rule
			at := slices.IndexFunc(out, func(o Loosened) bool { return fact(o) == fact(l) })
			more[at]++
			if at < 0 {
				l.Of = strings.TrimSpace(x.Subject.Short() + " " + x.Metric.Title())
				out = append(out, l)
			}
		}
	}
	delete(more, -1)
	for at, n := range more {
		out[at].Of += " and " + strconv.Itoa(n) + " more"
	}
	return out
}

// own reports whether a key is of the workload alone, or set by it.
func (r *Resolved) own(name string) bool {
	atTop := slices.ContainsFunc(rootKeys, func(k key[Policy]) bool { return k.name == name })
	return r.of.Name != "" && (!atTop || r.of.Places[name] != "")
}

func (r *Resolved) placeOf(key string) string { return cmp.Or(r.of.Places[key], r.Places[key]) }

// rule is the rule of a place, nil for a place of none.
func (r *Resolved) rule(where string) *Rule {
	if at := slices.IndexFunc(r.Rules, func(x Rule) bool { return x.Where == where }); at >= 0 {
		return &r.Rules[at]
	}
	return nil
}

// limits reports whether the rule sets the largest change, or replaces it by a bound.
func (r *Rule) limits() bool {
	return r != nil && (r.Max != nil || r.AtMost != nil || r.AtLeast != nil)
}
