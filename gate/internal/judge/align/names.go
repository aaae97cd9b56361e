package align

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
)

// InLoads gives the sessions of one side with rows named as the other side names them, which has loads that differ in
// a setting where this one has one load: with that setting.
func InLoads(sessions, other []model.Session) []model.Session {
	out := slices.Clone(sessions)
	for i := range out {
		s, own := &out[i], model.ParseSettings(out[i].Mode)
		label := labelIn(own, other)
		if label == "" {
			continue
		}
		for name, value := range own {
			of := func(o model.Session) bool { return strings.Contains(o.Mode, "/"+name+"=") }
			named := slices.ContainsFunc(other, of)
			if inLabel := strings.Contains(" "+label, " "+name+"="); named || inLabel {
				delete(own, name)
			}
			if named {
				own[strings.ReplaceAll(strings.TrimSpace(label), " ", ",")+"/"+name] = value
			}
		}
		s.Mode, s.Series = own.String(), slices.Clone(s.Series)
		for j := range s.Series {
			s.Series[j].Subject.Name = label + s.Series[j].Subject.Name
		}
		s.SortSeries()
	}
	return out
}

// labelIn is what the names of rows of a load with these settings begin with on a side of several loads, "" where the
// rows of that side do not begin with names of these settings.
func labelIn(own model.Settings, other []model.Session) (label string) {
	for i := range other {
		for _, x := range other[i].Series {
			label = ""
			for _, word := range strings.Fields(x.Subject.Name) {
				name, _, _ := strings.Cut(word, "=")
				if own[name] == "" || model.ParseSettings(other[i].Mode)[name] != "" {
					break
				}
				label += name + "=" + own[name] + " "
			}
			if label == "" {
				return ""
			}
		}
	}
	return label
}

// InSuites gives the sessions of one side with the tests of JUnit named as the other side names them: with their suite
// where several suites there have a test of that name.
func InSuites(sessions, other []model.Session) []model.Session {
	names := map[string]bool{}
	for i := range other {
		for j := range other[i].Series {
			if s := other[i].Series[j].Subject; s.Scope == measure.ScopeBenchmark {
				names[s.Name] = true
			}
		}
	}
	if len(names) == 0 {
		return sessions
	}
	out := slices.Clone(sessions)
	for i := range out {
		own := slices.Clone(out[i].Series)
		for j := range own {
			x := &own[j]
			if full := bench.InSuite(x.Role, x.Subject.Name); x.Subject.Scope == measure.ScopeBenchmark &&
				x.Role != "" && names[full] && !names[x.Subject.Name] {
				x.Subject.Name, x.Role = full, ""
			}
		}
		out[i].Series = own
		out[i].SortSeries()
	}
	return out
}
