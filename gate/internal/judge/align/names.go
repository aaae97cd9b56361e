package align

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
)

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
