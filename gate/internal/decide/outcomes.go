package decide

import (
	"github.com/nsgate/nsgate/gate/internal/result"
)

// outcomes is every outcome with its rank in a report, the first first, and what counts it. Ranks one higher are those of
// regressions that do not fail the gate, and of what is open and cannot.
var outcomes = map[result.Outcome]struct {
	rank  float64
	count func(*result.Counts) *int
}{
	result.Regressed:    {0, func(c *result.Counts) *int { return &c.Regressed }},
	result.Inconclusive: {2, func(c *result.Counts) *int { return &c.Inconclusive }},
	result.Grew:         {3.5, func(c *result.Counts) *int { return &c.Grew }},
	result.Improved:     {4, func(c *result.Counts) *int { return &c.Improved }},
	result.Added:        {5, func(c *result.Counts) *int { return &c.Added }},
	result.Removed:      {6, func(c *result.Counts) *int { return &c.Removed }},
	result.Unchanged:    {7, func(c *result.Counts) *int { return &c.Unchanged }},
}
