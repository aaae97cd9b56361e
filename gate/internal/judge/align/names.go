package align

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
)

// Alike gives the sessions of one side with rows named as the other side names them: tests of JUnit with their suite
// where several suites there have a test of that name, and rows of one load with the settings in which loads differ.
func Alike(sessions, other []model.Session) []model.Session {
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
		load := inLoads(&out[i], other)
		own := slices.Clone(out[i].Series)
		for j := range own {
			x := &own[j]
			full := bench.InSuite(x.Role, x.Subject.Name)
			switch {
			case x.Subject.Scope != measure.ScopeBenchmark:
			case load != "":
				x.Subject.Name = load + x.Subject.Name
			case x.Role != "" && names[full] && !names[x.Subject.Name]:
				x.Subject.Name, x.Role = full, ""
			}
		}
		out[i].Series = own
		out[i].SortSeries()
	}
	return out
}

// inLoads is what the names of rows of a session begin with on a side whose loads differ in settings that are one here,
// "" for other sessions. It takes these settings from the session, and names others by load where that side does.
func inLoads(s *model.Session, other []model.Session) (load string) {
	own := model.ParseSettings(s.Mode)
	for i := range other {
		for j := 0; j < len(other[i].Series) && load == ""; j++ {
			for _, word := range strings.Fields(other[i].Series[j].Subject.Name) {
				name, _, _ := strings.Cut(word, "=")
				if own[name] == "" || model.ParseSettings(other[i].Mode)[name] != "" {
					break
				}
				load += name + "=" + own[name] + " "
			}
		}
	}
	if load == "" {
		return ""
	}
	rest := model.Settings{}
	for name, value := range own {
		of := func(o model.Session) bool { return strings.Contains(o.Mode, "/"+name+"=") }
		switch {
		case strings.Contains(" "+load, " "+name+"="):
		case slices.ContainsFunc(other, of):
			rest[strings.ReplaceAll(strings.TrimSpace(load), " ", ",")+"/"+name] = value
		default:
			rest[name] = value
		}
	}
	s.Mode = rest.String()
	return load
}
