package thresholds

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// Resolved is the policy for one workload: what judges. Only [Policy.For] makes one, and reading a saved report.
type Resolved struct {
	top
	// Several is the number of workloads of the file where it has others, whose subjects rules may be about, else 0.
	Several int `json:"several,omitempty"`
	// Outputs are the kinds of outputs that the file gives, by name.
	Outputs map[string]measure.OutputKind `json:"outputs,omitempty"`
	of      Workload                      // its settings in the file, the zero value for none
}

// top is embedded under a name of this package, so that no other can make a [Resolved] of a whole policy.
type top = Policy

// For is the policy for one workload: its own threshold, if it has one, is the limit of times. Others have what stands
// at the top.
func (p *Policy) For(workload string) *Resolved {
	r := &Resolved{top: *p}
	if len(p.Workloads) > 1 {
		r.Several = len(p.Workloads)
	}
	r.Places = maps.Clone(p.Places)
	for _, w := range p.Workloads {
		for _, o := range w.Outputs {
			if o.Measures != "" && (w.Name == workload || workload == "") {
				if r.Outputs == nil {
					r.Outputs = map[string]measure.OutputKind{}
				}
				r.Outputs[o.Name] = o.Measures
			}
		}
	}
	w, ok := p.Workload(workload)
	if !ok {
		return r
	}
	r.of = *w
	if w.Threshold != nil {
		if r.Places == nil {
			r.Places = Places{}
		}
		r.Threshold, r.Places["threshold"] = *w.Threshold, cmp.Or(w.Places["threshold"], w.Where)
	}
	return r
}

// OutputKind is what an output of this name is a measure of: what the file says, else what its name says.
func (r *Resolved) OutputKind(name string, m measure.Metric) measure.OutputKind {
	return cmp.Or(r.Outputs[name], measure.Output{Name: name, Better: m.Better}.Kind())
}

// In is the policy for sessions with these categories of NVTX ranges, by name: a copy where there are any.
func (r *Resolved) In(categories map[string]string) *Resolved {
	if len(categories) == 0 {
		return r
	}
	c := *r
	c.Categories = categories
	return &c
}

// Equal reports whether both hold the same.
func (r *Resolved) Equal(o *Resolved) bool { return reflect.DeepEqual(r, o) }

// Check gives the error of a policy that was read from a report and that no file can say.
func (r *Resolved) Check() error {
	shares := []*float64{&r.Cost, &r.SessionSD, &r.Threshold, &r.StepThreshold, &r.WarmupThreshold, &r.OutsideThreshold}
	severities := []string{r.Undecided}
	for i := range r.Rules {
		x := &r.Rules[i]
		shares, severities = append(shares, x.Max, x.Drift), append(severities, cmp.Or(string(x.Severity), "fail"))
	}
	known := []string{"warn", "fail", string(Ignore)}
	switch {
	case !(r.Alpha > 0 && r.Alpha < 0.5), r.MaxAge < 0, r.Undecided == string(Ignore),
		len(r.Rules)+len(r.Ratios) > maxTables,
		slices.ContainsFunc(shares, func(v *float64) bool { return v != nil && !(*v >= 0 && *v < 10) }),
		slices.ContainsFunc(severities, func(s string) bool { return !slices.Contains(known, s) }):
		return errors.New("its policy has a value that no policy file can have")
	}
	return nil
}

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
