package thresholds

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/measure"
)

// subjectOf is a subject of each kind that a rule can select, with the selector for it.
var subjectOf = map[measure.Scope]measure.Subject{
	measure.ScopeKernel:    {Scope: measure.ScopeKernel, Name: "x"},
	measure.ScopeRange:     {Scope: measure.ScopeRange, Name: "x"},
	measure.ScopeDevice:    {Scope: measure.ScopeDevice, Name: "x"},
	measure.ScopeCopy:      {Scope: measure.ScopeWorkload, Name: "x"},
	measure.ScopeOutput:    {Scope: measure.ScopeOutput, Name: "x"},
	measure.ScopeBenchmark: {Scope: measure.ScopeBenchmark, Name: "x"},
	measure.ScopeSection:   {Scope: measure.ScopeSection, Name: "x"}, measure.ScopeWorkload: measure.Workload,
}

// TestEveryCell tries each key of a rule on each metric of each kind of subjects: it changes the limit that is judged,
// or is refused with its place. A pair that does not exist is refused, and names the metrics of the kind.
func TestEveryCell(t *testing.T) {
	raw, _ := measure.MetricByName("ncu:lts__t_sectors.sum")
	tried, refused := 0, 0
	for kind, subject := range subjectOf {
		for _, m := range append(measure.Metrics(), raw) {
			for _, key := range []string{"max", "floor", "at_most", "at_least", "drift", "severity", "better"} {
				value := map[string]string{"max": "77%", "drift": "7%", "severity": "warn", "better": "lower"}[key]
				if value == "" {
					value = example(m)
				}
				text := fmt.Sprintf("[[rule]]\nmetric = %q\n%s = %q\n", m.Name, key, value)
				if kind != measure.ScopeWorkload {
					text += string(kind) + " = \"x\"\n"
				}
				if (m.Name == "value" || m.Raw() != "") && m.Better == measure.Neither && key != "better" &&
					!strings.HasPrefix(key, "at_") {
					text += "better = \"lower\"\n"
				}
				p, err := Parse("x.toml", []byte(text))
				tried++
				if err != nil {
					refused++
					place := (*measure.PlaceError)(nil)
					pair := m.Of(kind) || kind == measure.ScopeWorkload && !m.Of(measure.ScopeSection) &&
						len(m.Kinds()) > 0
					acts := key != "drift" || m.Drifts(kind)
					acts = acts && (key != "better" || m.Better != measure.Higher)
					if pair && acts || !errors.As(err, &place) || place.Line == 0 {
						t.Errorf("%s %s %s: %v", kind, m.Name, key, err)
					}
					continue
				}
				got, had := p.Limit(subject, m), Default().Limit(subject, m)
				got.Rule = had.Rule
				if m.Of(kind) && same(got, had) && (key != "better" || m.Better == measure.Neither) {
					t.Errorf("%s %s: %s changes nothing and is not refused", kind, m.Name, key)
				}
				titled := kind == measure.ScopeBenchmark && (m.Name == "time" || m.Name == "rate")
				if kind != measure.ScopeWorkload && !m.Of(kind) && !titled {
					t.Errorf("%s has no %s, and a rule for it is taken", kind, m.Name)
				}
			}
		}
	}
	if tried < 5000 || refused < 3000 {
		t.Errorf("%d cells, %d refused", tried, refused)
	}
}

func same(a, b Limit) bool {
	text := func(l Limit) string {
		s := fmt.Sprint(l.Max, l.Floor, l.Severity, l.Better)
		for _, v := range []*float64{l.AtMost, l.AtLeast, l.Drift} {
			if v != nil {
				s += fmt.Sprint(" ", *v)
			} else {
				s += " -"
			}
		}
		return s
	}
	return text(a) == text(b)
}

// TestTitles takes each title that reports print as the name of its metric.
func TestTitles(t *testing.T) {
	for kind, subject := range subjectOf {
		seen := map[string]string{}
		for _, m := range measure.MetricsOf(kind) {
			title := strings.ToLower(m.Title())
			if other, twice := seen[title]; twice && kind != measure.ScopeOutput {
				t.Errorf("%s: %s and %s have one title", kind, m.Name, other)
			}
			seen[title] = m.Name
			r := Rule{Metric: Glob(m.Title()), Severity: Warn, Where: "x"}
			p := Policy{Rules: []Rule{r}}
			if kind == measure.ScopeSection {
				p.Rules[0].Section = "*"
			}
			if got := p.Limit(subject, m); got.Rule != "x" {
				t.Errorf("%s: a rule for %q is not for %s", kind, m.Title(), m.Name)
			}
		}
	}
}

// TestCoversAll holds what covers says against what rules select: if a covers b, a applies wherever b does.
func TestCoversAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	any := func(of ...string) Glob { return Glob(of[random.IntN(len(of))]) }
	rule := func() (r Rule) {
		pattern := any("*", "x", "x*", "?", "y")
		switch random.IntN(9) {
		case 0:
			r.Kernel = pattern
		case 1:
			r.Range = pattern
		case 2:
			r.Device = pattern
		case 3:
			r.Copy = pattern
		case 4:
			r.Output = pattern
		case 5:
			r.Benchmark = pattern
		case 6:
			r.Section = pattern
		}
		r.Metric = any("", "", "*", "time", "t*", "total time", "gpu_time", "duration", "step_time", "mean_step_time",
			"launches", "registers", "ncu:a__b.sum", "copy_*", "dram_read", "rate", "elapsed_time")
		r.Severity = Severity(any("fail", "warn", "ignore"))
		return r
	}
	names := []string{"x", "xy", "y", ""}
	covered := 0
	for range 4000 {
		a, b := rule(), rule()
		if !a.covers(&b) {
			continue
		}
		covered++
		raw, _ := measure.MetricByName("ncu:a__b.sum")
		for kind, s := range subjectOf {
			for _, name := range names {
				if kind != measure.ScopeWorkload {
					s.Name = name
				}
				for _, m := range append(measure.Metrics(), raw) {
					if m.Of(s.Kind()) && applies(&b, s, m) && !applies(&a, s, m) {
						t.Fatalf("%s covers %s, which alone is for %s of %s %q", &a, &b, m.Name, kind, s.Name)
					}
				}
			}
		}
	}
	if covered < 60 {
		t.Errorf("%d pairs of rules", covered)
	}
}

func applies(r *Rule, s measure.Subject, m measure.Metric) bool {
	return r.names(s.Kind(), m) && r.Selects(s, nil)
}

// TestLooserLimits raises each limit of a rule for the time of a kernel: neither its limit nor that of the total gets
// stricter.
func TestLooserLimits(t *testing.T) {
	saxpy := subjectOf[measure.ScopeKernel]
	for key, values := range map[string][]string{"max": {"1%", "3%", "5%", "50%"}, "floor": {"1ns", "1us", "1ms"},
		"at_most": {"1us", "1ms"}} {
		last := [2]Limit{{Max: -1}, {Max: -1}}
		for _, v := range values {
			p, err := Parse("x.toml", []byte(fmt.Sprintf("[[rule]]\nkernel = \"x\"\nmetric = \"time\"\n%s = %q\n", key,
				v)))
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range []measure.Metric{measure.Time, measure.Total} {
				l := p.Limit(saxpy, m)
				if l.Max < last[i].Max || l.Floor < last[i].Floor {
					t.Errorf("%s = %s is stricter for %s: %+v, was %+v", key, v, m.Name, l, last[i])
				}
				last[i] = l
			}
			if total := last[1]; total.Max < last[0].Max || total.Floor < last[0].Floor {
				t.Errorf("%s = %s does not hold for the total: %+v", key, v, total)
			}
		}
	}
}

// TestCoversPatterns holds what a pattern is said to cover against the names that both match, and finds most that it
// does.
func TestCoversPatterns(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func(letters string, most int) string {
		text := make([]byte, random.IntN(most+1))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		return string(text)
	}
	names := make([]string, 400)
	for i := range names {
		names[i] = word("ab", 6)
	}
	covered, missed := 0, 0
	for range 4000 {
		g, o := Glob(word("ab*?", 4)), Glob(word("ab*?", 4))
		all := !slices.ContainsFunc(names, func(name string) bool { return o.Match(name) && !g.Match(name) })
		some := slices.ContainsFunc(names, o.Match)
		switch {
		case g.covers(o) && !all:
			t.Fatalf("%q covers %q, which matches more", g, o)
		case g.covers(o):
			covered++
		case all && some:
			missed++
		}
	}
	if covered < 300 || missed*10 > covered {
		t.Errorf("covered %d, missed %d", covered, missed)
	}
}
