package decide

import (
	"github.com/nsgate/nsgate/gate/internal/result"
)

// outcomes holds the rank of every outcome in a report, the lowest first, and its counter. Regressions and undecided comparisons that
// cannot fail the gate rank one higher.
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
