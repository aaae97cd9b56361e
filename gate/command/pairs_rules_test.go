//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Bounds of a metric by its unit: one that every measured value exceeds or meets, and one that none does.
var (
	lowest  = map[string]string{"ns": "1ns", "B": "1B", "B/s": "1B/s", "Hz": "1Hz", "%": "0.001%", "FLOP/s": "1"}
	highest = map[string]string{"ns": "1000000s", "B": "1000000GiB", "B/s": "1000000GB/s", "Hz": "1000000GHz",
		"%": "100000%"}
)

func bound(of map[string]string, unit, other string) string {
	if text, ok := of[unit]; ok {
		return text
	}
	return other
}

// ruleRow is a rule on recordings: a selector, a metric, a key.
type ruleRow struct {
	pairSubject
	selector string
	metric   measure.Metric
	key      string
}

// text is a policy file with the rule. Each value of a key is one that what is measured does not keep to.
func (r ruleRow) text() string {
	text := "[[rule]]\n"
	if r.selector != "none" {
		name := "*"
		if r.selector == "section" {
			name = "warm-up"
		}
		text += fmt.Sprintf("%s = %q\n", r.selector, name)
	}
	value := map[string]string{"max": "0%", "floor": bound(highest, r.metric.Unit, "1000000000000"),
		"at_most": bound(lowest, r.metric.Unit, "0"), "at_least": bound(highest, r.metric.Unit, "1000000000000"),
		"drift": "0.1%", "severity": "warn"}[r.key]
	return text + fmt.Sprintf("metric = %q\n%s = %q\n", r.metric.Name, r.key, value)
}

// TestPairsOfRules judges recordings by a rule for every pair of a selector, a metric, a key and a subject. The rule is
// refused, or changes the report or its warnings; and a bound that a listed value does not keep to fails the gate.
func TestPairsOfRules(t *testing.T) {
	wantPairs(t)
	inputs, err := pairInputs()
	if err != nil {
		t.Fatal(err)
	}
	var subjects []pairSubject
	for _, s := range pairSubjects {
		if strings.Contains(s.modes, "compare") && !slices.Contains([]string{"copies", "boards"}, s.name) {
			subjects = append(subjects, s)
		}
	}
	selectors := []string{"none", "kernel", "range", "device", "copy", "output", "benchmark", "section"}
	keys := []string{"at_most", "at_least", "max", "floor", "drift", "severity"}
	metrics := measure.Metrics()
	for _, m := range rawWorse {
		metric, _ := measure.MetricByName("ncu:" + m.name)
		metrics = append(metrics, metric)
	}
	parameters := []parameter{{"metric", make([]string, len(metrics))}, {"key", keys}, {"selector", selectors},
		{"subject", make([]string, len(subjects))}}
	rows := covering(parameters, func([]int) bool { return true })
	if !allPairs() {
		rows = rows[:ruleSample]
	}
	found := &violations{}
	l := newLab(t, found, "rules")
	without := map[string]string{}
	listed := map[string][][2]string{} // scopes and metrics
	for _, s := range subjects {
		for _, side := range []string{s.base, s.slow} {
			l.copied(filepath.Join(inputs, side), side)
		}
		l.write("p.toml", "# no rule\n")
		a := l.nsgate(".", nil, "compare", "--policy", "p.toml", s.base, s.slow, "--verbose", "--report",
			"json=judged.json")
		without[s.name] = ruleless(l.read("judged.json")) + a.said()
		var j judgement
		l.must(json.Unmarshal([]byte(l.read("judged.json")), &j))
		for _, f := range j.Findings {
			if pair := [2]string{string(f.Scope), f.Metric}; !slices.Contains(listed[s.name], pair) {
				listed[s.name] = append(listed[s.name], pair)
			}
		}
	}
	var tried []ruleRow
	for _, row := range rows {
		tried = append(tried, ruleRow{subjects[row[3]], selectors[row[2]], metrics[row[0]], keys[row[1]]})
	}
	for i, s := range subjects { // and each metric that is listed with each key
		for k, pair := range listed[s.name] {
			for n, key := range keys {
				if m, ok := measure.MetricByName(pair[1]); ok && slices.Contains(selectors, pair[0]) && (allPairs() ||
					(i+5*k+7*n)%41 == 0) {
					tried = append(tried, ruleRow{s, pair[0], m, key})
				}
			}
		}
	}
	start := len(l.lines)
	for _, r := range tried {
		l.lines = l.lines[:start]
		l.header = fmt.Sprintf("%s | %s | %s | %s", r.name, r.selector, r.metric.Name, r.key)
		l.write("p.toml", r.text())
		a := l.nsgate(".", nil, "compare", "--policy", "p.toml", r.base, r.slow, "--verbose", "--report",
			"json=judged.json", "--report", "openmetrics=judged.prom")
		if never := formatRules["openmetrics"].never; settled(a.code) && never.MatchString(l.read("judged.prom")) {
			l.violation(a, 1, "names of openmetrics", "%s", never.FindString(l.read("judged.prom")))
		}
		if !settled(a.code) {
			continue
		}
		text := l.read("judged.json")
		r.holdKey(l, a, ruleless(text)+a.said(), slices.Contains(listed[r.name], [2]string{r.selector, r.metric.Name}))
		if got := ruleless(text) + a.said(); got == without[r.name] && r.owed(listed[r.name]) {
			l.violation(a, 5, fmt.Sprintf("rule %s, %s on %s", r.selector, r.key, r.name),
				"a rule changes nothing, exit %d:\n%s", a.code, r.text())
		}
		r.holdBound(l, a, text)
	}
	t.Logf("%d rows", len(tried))
	found.report(t)
}

// ruleSample is the rows of a usual test.
const ruleSample = 8

// owed reports whether the rule has to change the report that there is without it: it is for a kind of subject that the
// recording has, and asks for a limit or for something else of a metric that is listed.
func (r ruleRow) owed(listed [][2]string) bool {
	harness := strings.Contains(r.pairSubject.selector, "benchmark")
	counters := strings.HasPrefix(r.pairSubject.metric, "ncu:")
	switch r.selector {
	case "none", "range", "copy", "device", "section":
		if harness || counters {
			return false
		}
	case "kernel":
		if harness {
			return false
		}
	case "benchmark":
		if !harness {
			return false
		}
	case "output":
		return false
	}
	kind := func(pair [2]string) bool {
		return pair[0] == r.selector || r.selector == "copy" && pair[1] == "copy_time"
	}
	if r.selector != "none" && !slices.ContainsFunc(listed, kind) {
		return false // the recording has no subject of the kind
	}
	limit := r.key == "at_most" || r.key == "at_least" || r.key == "max"
	return limit || r.key != "severity" && slices.Contains(listed, [2]string{r.selector, r.metric.Name})
}

// drifting are the kinds of subjects and their metrics that are followed over sessions.
var drifting = []string{"kernel time", "kernel ncu_time", "workload gpu_time"}

// holdKey: on a metric that is listed a key does what a rule without it does not, but for the place that it names.
// Drift is measured over sessions: it is for metrics that have a drift, and refused for others.
func (r ruleRow) holdKey(l *lab, a answer, got string, listed bool) {
	if r.key == "drift" {
		if of := r.selector + " " + r.metric.Name; listed && !slices.Contains(drifting, of) {
			l.violation(a, 5, "drift of a "+r.selector, "drift of %s is not measured, and the rule is taken:\n%s", of,
				r.text())
		}
		return
	}
	if !listed {
		return
	}
	neutral := regexp.MustCompile(`(?m)^`+r.key+` = .*$`).ReplaceAllString(r.text(), `severity = "fail"`)
	l.write("p.toml", neutral)
	b := l.nsgate(".", nil, "compare", "--policy", "p.toml", r.base, r.slow, "--verbose", "--report",
		"json=judged.json")
	if settled(b.code) && ruleless(l.read("judged.json"))+b.said() == got {
		l.violation(b, 5, fmt.Sprintf("key %s of %s %s", r.key, r.selector, r.metric.Name),
			"%s changes nothing beside\n%s", r.text(), neutral)
	}
}

// ruleless is a report's JSON without the policy that held, which has every rule.
func ruleless(text string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return text
	}
	for _, name := range []string{"policy", "settings", "reproduce", "limits"} {
		delete(fields, name)
	}
	out, _ := json.Marshal(fields)
	return string(out)
}

// holdBound: a value in the report that a bound of the policy does not allow fails the gate.
func (r ruleRow) holdBound(l *lab, a answer, text string) {
	if r.key != "at_most" && r.key != "at_least" {
		return
	}
	var report struct {
		Findings result.Findings `json:"subjects"`
	}
	json.Unmarshal([]byte(text), &report)
	for _, f := range report.Findings {
		if f.Metric != r.metric.Name || !f.Head.Known() || !regexp.MustCompile(`p\.toml`).MatchString(f.Rule) {
			continue
		}
		if broken := r.key == "at_least" || f.Head > 1; broken && a.code == 0 {
			l.violation(a, 4, "bound of "+r.metric.Name, "%s %s of %s: %g passes %s:\n%s", f.Outcome, f.Metric,
				f.Kernel, f.Head, r.key, r.text())
		}
	}
}

// TestPairsOfDirections judges every raw metric of ncu whose direction is known, and every recording, in both
// directions of a change.
func TestPairsOfDirections(t *testing.T) {
	wantPairs(t)
	inputs, err := pairInputs()
	if err != nil {
		t.Fatal(err)
	}
	found := &violations{}
	l := newLab(t, found, "directions")
	for _, side := range []string{"ncu-base", "ncu-slow"} {
		l.copied(filepath.Join(inputs, side), side)
	}
	start := len(l.lines)
	for _, m := range rawWorse {
		l.lines = l.lines[:start]
		l.write("p.toml", fmt.Sprintf("[[rule]]\nmetric = \"ncu:%s\"\nmax = \"5%%\"\n", m.name))
		worse := l.nsgate(".", nil, "compare", "--policy", "p.toml", "ncu-base", "ncu-slow")
		better := l.nsgate(".", nil, "compare", "--policy", "p.toml", "ncu-slow", "ncu-base")
		if worse.code == 0 || better.code == 1 {
			l.violation(better, 4, "direction of "+m.name, "%g to %g: exit %d, and back: exit %d\n%s", m.value, m.less,
				worse.code, better.code, first(3, worse.out))
		}
		if (worse.code == 2) != (better.code == 2) {
			l.violation(better, 5, "refusal of "+m.name, "exit %d and %d", worse.code, better.code)
		}
	}
	l.lines = l.lines[:start]
	for _, s := range pairSubjects {
		if !strings.Contains(s.modes, "compare") || s.byRule || s.name == "copies" || s.name == "boards" {
			continue // counts and copies get worse in one metric and better in another, and hosts differ
		}
		l.copied(filepath.Join(inputs, s.base), "base")
		l.copied(filepath.Join(inputs, s.slow), "head")
		worse, better := l.nsgate(".", nil, "compare", "base", "head"), l.nsgate(".", nil, "compare", "head", "base")
		if worse.code == 0 || better.code == 1 {
			l.violation(better, 4, "direction of "+s.name, "a worse program: exit %d, and back: exit %d\n%s",
				worse.code, better.code, first(3, worse.out))
		}
	}
	found.report(t)
}
