package recorded

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// WholeRun is the wall time or GPU time of a typical run, 0 where it is not known.
func (s *Index) WholeRun(m measure.Metric) float64 {
	sum := 0.0
	for _, section := range measure.Sections {
		if v := s.Typical(section, m.Name); !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

// ShareOfRun is the part of the run that a section takes.
func (s *Index) ShareOfRun(section measure.Subject, m measure.Metric) float64 {
	part, whole := s.Typical(section, m.Name), s.WholeRun(m)
	if math.IsNaN(part) || !(whole > 0) {
		return 0
	}
	return math.Min(part/whole, 1)
}

// Exposed is the part of a step that copies of a kind take while no kernel runs, in ns; NaN where steps are not attributed.
func (s *Index) Exposed(copies measure.Subject) float64 {
	of := func(x measure.Subject) bool { return s.HasMetric(x, model.Owned.Name) }
	switch {
	case of(copies):
		return s.Typical(copies, model.Owned.Name)
	case slices.ContainsFunc(s.Subjects(), of):
		return 0
	}
	return math.NaN()
}
