package recorded

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// Kernels are those among subjects.
func Kernels(subjects []measure.Subject) []measure.Subject {
	return slices.DeleteFunc(slices.Clone(subjects), func(s measure.Subject) bool { return s.Scope != measure.ScopeKernel })
}

// Names are the short names of subjects, each once.
func Names(subjects []measure.Subject) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range subjects {
		if n := s.Short(); !seen[n] {
			out, seen[n] = append(out, n), true
		}
	}
	return out
}

// Classes are the classes of hardware of some sessions, each once.
func Classes(sessions []model.Session) []string {
	var out []string
	for i := range sessions {
		out = append(out, sessions[i].Class())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
