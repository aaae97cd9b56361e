package thresholds

import (
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/measure"
)

// TestLooser holds that every key is known to loosen or not to: its stricter and its looser value as in a file, "" if
// no value lets more pass.
func TestLooser(t *testing.T) {
	values := map[string][2]string{
		"threshold":               {`"1%"`, `"4%"`},
		"step_threshold":          {`"2%"`, `"9%"`},
		"warmup_threshold":        {`"20%"`, `"90%"`},
		"outside_threshold":       {`"20%"`, `"90%"`},
		"alpha":                   {`"2%"`, `"1%"`},
		"cost":                    {`"0.1%"`, `"1%"`},
		"session_sd":              {`"0.1%"`, `"0.4%"`},
		"same_host":               {"true", "false"},
		"undecided":               {`"fail"`, `"warn"`},
		"shadow":                  {"false", "true"},
		"max_age":                 {`"9d"`, `"90d"`},
		"base":                    {},
		"build":                   {},
		"workload.threshold":      {`"1%"`, `"4%"`},
		"workload.skip_unchanged": {"false", "true"},
		"workload.profile":        {`"always"`, `"never"`},
		"workload.runs":           {"7", "2"},
		"workload.code":           {`["a", "b"]`, `["a"]`},
		"rule.max":                {`"1%"`, `"4%"`},
		"rule.floor":              {`"1us"`, `"9us"`},
		"rule.at_most":            {`"1us"`, `"9us"`},
		"rule.at_least":           {`"9us"`, `"1us"`},
		"rule.drift":              {`"1%"`, `"4%"`},
		"rule.severity":           {`"fail"`, `"ignore"`},
	}
	for _, name := range []string{"name", "command", "launcher", "gather", "ranks", "dir", "timeout", "warmup", "step",
		"starts", "budget", "explain_time", "inputs", "throughput"} {
		values["workload."+name] = [2]string{}
	}
	saxpy := []Measured{{measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy"}, measure.Time}}
	for _, k := range Keys() {
		name := strings.TrimPrefix(k.Table+"."+k.Name, ".")
		value, known := values[name]
		switch {
		case k.Table == "rule" && (k.Type == "pattern" || !known), k.Table == "ratio",
			strings.HasPrefix(k.Table, "workload."):
			continue // a selector, or an output and the like, which are counted
		case !known:
			t.Errorf("whether %s can let more pass is not known: give it a row in slacks, and here", name)
		case value[0] == "":
			continue
		}
		resolved := func(value string) *Resolved {
			line := k.Name + " = " + value + "\n"
			w := "[[workload]]\nname = \"w\"\n"
			text := map[string]string{"": line + w, "workload": w + line,
				"rule": w + "[[rule]]\nkernel = \"saxpy\"\nmetric = \"time\"\n" + line}[k.Table]
			p, err := Parse("x.toml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return p.For("w")
		}
		strict, loose := resolved(value[0]), resolved(value[1])
		says := func(r, was *Resolved) bool {
			return slices.ContainsFunc(r.Looser(was, saxpy),
				func(x Loosened) bool { return x.Key == k.Name && x.Was != x.Is })
		}
		if !says(loose, strict) || says(strict, loose) || says(loose, loose) {
			t.Errorf("%s from %s to %s: said %v; the other way %v", name, value[0], value[1],
				loose.Looser(strict, saxpy), strict.Looser(loose, saxpy))
		}
	}
}

// A limit is loosened by the order of rules and by a rule that goes, too, and said once with the number of its metrics.
func TestLooserRules(t *testing.T) {
	a, b := "[[rule]]\nkernel = \"s*\"\nmax = \"1%\"\n", "[[rule]]\nkernel = \"saxpy\"\nmax = \"9%\"\n"
	var measured []Measured
	for _, name := range []string{"saxpy", "sgemm"} {
		measured = append(measured, Measured{measure.Subject{Scope: measure.ScopeKernel, Name: name}, measure.Time})
	}
	for text, want := range map[string]string{b + a: "saxpy time", b: "saxpy time", "": "saxpy time and 1 more",
		a: ""} {
		was, err1 := Parse("x.toml", []byte(a))
		is, err2 := Parse("x.toml", []byte(text))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		of := ""
		for _, x := range is.For("").Looser(was.For(""), measured) {
			of += x.Of
		}
		if !strings.HasPrefix(of, want) || want == "" && of != "" {
			t.Errorf("%q: %q, want %q", text, of, want)
		}
	}
}

// Each loosened fact is one line, whatever set the limits of the metrics before it.
func TestLooserOnce(t *testing.T) {
	var measured []Measured
	for _, m := range []measure.Metric{measure.Launches, measure.Time, measure.Total} {
		measured = append(measured, Measured{measure.Subject{Scope: measure.ScopeKernel, Name: "saxpy"}, m})
	}
	for _, tt := range []struct{ was, is, want string }{
		{"threshold = \"20%\"", "threshold = \"20%\"\n[[rule]]\nkernel = \"saxpy\"\nseverity = \"ignore\"",
			"severity"},
		{"", "threshold = \"20%\"\n[[rule]]\nkernel = \"saxpy\"\nseverity = \"warn\"", "threshold severity"},
		{"threshold = \"4%\"\n[[rule]]\nkernel = \"saxpy\"\nmax = \"1%\"",
			"threshold = \"4%\"\n[[rule]]\nkernel = \"saxpy\"\nmax = \"5%\"", "max"},
		{"[[rule]]\nkernel = \"saxpy\"\nmax = \"1%\"", "# none\nalpha = \"1%\"", "max"},
		{"", "[[rule]]\nkernel = \"saxpy\"\nmetric = \"launches\"\nat_most = \"9\"", "max"},
	} {
		was, err1 := Parse("x.toml", []byte(tt.was))
		is, err2 := Parse("x.toml", []byte(tt.is))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		var got []string
		for _, x := range is.For("").Looser(was.For(""), measured) {
			got = append(got, x.Key)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q to %q: %v, want %s", tt.was, tt.is, got, tt.want)
		}
	}
}

// Another filter of results may read other numbers: each change of it is named, once.
func TestLooserFilter(t *testing.T) {
	resolved := func(rows string) *Resolved {
		p, err := Parse("x.toml", []byte("[[workload]]\nname = \"w\"\n[[workload.results]]\nfiles = \"*\"\n"+rows))
		if err != nil {
			t.Fatal(err)
		}
		return p.For("w")
	}
	was := resolved("rows = '{row: \"a\", unit: \"ms\", value: .a}'\n")
	for rows, want := range map[string]int{
		"rows = '{row: \"a\", unit: \"ms\", value: .a}'\n": 0, "rows = '{row: \"a\", unit: \"ms\", value: .b}'\n": 1,
		"": 1} {
		got := resolved(rows).Looser(was, nil)
		if len(got) != want || want > 0 && (got[0].Key != "rows" || got[0].Of != "workload w") {
			t.Errorf("%q: %+v", rows, got)
		}
	}
}
