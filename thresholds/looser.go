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

// slack is a key of a policy: how much that lets pass by it, in any unit that grows, and the value in words.
type slack struct {
	key  string
	of   func(*Resolved) float64
	text func(float64) string
}

// slacks are the keys of a workload and its policy by which one may let more pass than another. What else a file says
// (base, build, the program and how it runs) has no looser value.
var slacks = []slack{
	{"threshold", func(r *Resolved) float64 { return r.Threshold }, measure.Percent},
	{"step_threshold", func(r *Resolved) float64 { return r.initial(measure.Workload, measure.StepTime).Max }, measure.Percent},
	{"warmup_threshold", func(r *Resolved) float64 { return r.initial(measure.Warmup, measure.StepTime).Max }, measure.Percent},
	{"outside_threshold", func(r *Resolved) float64 { return r.initial(measure.Between, measure.StepTime).Max }, measure.Percent},
	{"alpha", func(r *Resolved) float64 { return -r.Alpha }, func(v float64) string { return measure.Percent(-v) }},
	{"cost", func(r *Resolved) float64 { return r.Cost }, measure.Percent},
	{"session_sd", func(r *Resolved) float64 { return r.SessionSD }, measure.Percent},
	{"undecided", func(r *Resolved) float64 { return rank(r.Undecided, "fail", "warn") }, words("fail", "warn")},
	{"shadow", func(r *Resolved) float64 { return rank(r.Shadow, false, true) }, words("false", "true")},
	{"max_age", func(r *Resolved) float64 { return cmp.Or(r.MaxAge.Hours()/24, math.Inf(1)) },
		func(v float64) string { return fmt.Sprintf("%gd", v) }},
	{"skip_unchanged", func(r *Resolved) float64 { return rank(r.of.SkipUnchanged, false, true) }, words("false", "true")},
	{"profile", func(r *Resolved) float64 { return rank(r.of.Profiled(), true, false) }, words("always", "never")},
	{"runs", func(r *Resolved) float64 { return -float64(cmp.Or(r.of.Runs.Most, 5)) }, count},
	{"output", func(r *Resolved) float64 { return -float64(len(r.of.Outputs)) }, count},
	{"results", func(r *Resolved) float64 { return -float64(len(r.of.ResultFiles())) }, count},
	{"code", func(r *Resolved) float64 { return -float64(len(r.of.Code)) }, count},
}

// count is a number of what is measured, of which less lets more pass.
func count(v float64) string { return fmt.Sprint(-v) }

// rank is the place of a value among some, from the strictest.
func rank[T comparable](v T, of ...T) float64 { return float64(slices.Index(of, v)) }

// words are values by their rank.
func words(of ...string) func(float64) string {
	return func(v float64) string { return of[max(0, min(int(v), len(of)-1))] }
}

// Measured is a metric of a subject that a policy may limit.
type Measured struct {
	Subject measure.Subject
	Metric  measure.Metric
}

// Looser lists the keys by which the policy lets more pass than another did for the same workload, and the limits of
// what was measured that rules loosen, each with the first metric that it is about.
func (r *Resolved) Looser(was *Resolved, measured []Measured) (out []Loosened) {
	for _, k := range slacks {
		before, after := k.of(was), k.of(r)
		if !(after > before) {
			continue
		}
		set, where, of := was.placeOf(k.key), r.placeOf(k.key), "the policy"
		if was.own(k.key) || r.own(k.key) {
			of = "workload " + cmp.Or(r.of.Name, was.of.Name)
		}
		out = append(out, Loosened{k.key, of, k.text(before), k.text(after), set, where})
	}
	more := map[int]int{} // metrics beside the first, by index in out
	for _, x := range measured {
		before, after := was.Limit(x.Subject, x.Metric), r.Limit(x.Subject, x.Metric)
		if !was.ruled(before) && !r.ruled(after) {
			continue
		}
		for _, l := range before.looser(after, x.Metric) {
			l.Of = strings.TrimSpace(x.Subject.Short() + " " + x.Metric.Title())
			at := slices.IndexFunc(out, func(o Loosened) bool { return o.Key == l.Key && o.Where == l.Where && o.Was == l.Was && o.Is == l.Is })
			if at < 0 {
				out = append(out, l)
			} else {
				more[at]++
			}
		}
	}
	for at, n := range more {
		out[at].Of += " and " + strconv.Itoa(n) + " more"
	}
	return out
}

// own reports whether a key is of the workload alone, or set by it.
func (r *Resolved) own(key string) bool {
	root := slices.ContainsFunc(rootKeys, func(k key_) bool { return k.name == key })
	return r.of.Name != "" && (!root || r.of.Places[key] != "")
}

type key_ = key[Policy]

// placeOf is where a key was set, "" for its default.
func (r *Resolved) placeOf(key string) string { return cmp.Or(r.of.Places[key], r.Places[key]) }

// ruled reports whether a limit comes from a rule.
func (r *Resolved) ruled(l Limit) bool {
	return slices.ContainsFunc(r.Rules, func(x Rule) bool { return x.Where == l.Rule })
}

// looser are the parts of a limit that another loosens.
func (l Limit) looser(o Limit, m measure.Metric) (out []Loosened) {
	bound := func(v *float64, none float64) float64 {
		if v == nil {
			return none
		}
		return *v
	}
	amount := func(v float64) string {
		if math.IsInf(v, 0) {
			return "none"
		}
		return measure.Amount{Value: math.Abs(v), Unit: m.Unit}.String()
	}
	share := func(v float64) string {
		if math.IsInf(v, 0) {
			return "none"
		}
		return measure.Percent(v)
	}
	inf, severities := math.Inf(1), []Severity{Fail, Warn, Ignore}
	for _, x := range []struct {
		key     string
		was, is float64
		text    func(float64) string
	}{
		{"severity", rank(l.Severity, severities...), rank(o.Severity, severities...), words("fail", "warn", "ignore")},
		{"max", l.Max, o.Max, share},
		{"floor", l.Floor, o.Floor, amount},
		{"at_most", bound(l.AtMost, inf), bound(o.AtMost, inf), amount},
		{"at_least", -bound(l.AtLeast, -inf), -bound(o.AtLeast, -inf), amount},
		{"drift", bound(l.Drift, inf), bound(o.Drift, inf), share},
	} {
		if x.is > x.was && l.Severity != Ignore && (o.Severity != Ignore || x.key == "severity") {
			out = append(out, Loosened{Key: x.key, Was: x.text(x.was), Is: x.text(x.is), Set: l.Rule, Where: o.Rule})
		}
	}
	return out
}
