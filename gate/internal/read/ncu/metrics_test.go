package ncu

import "github.com/nsgate/nsgate/gate/internal/measure"

// Number reads a cell: its number in the base unit, and that unit.
func Number(unit, text string) (number float64, base string) {
	c := cell{unit: unit, text: text, kept: true}
	v := c.read(new(language))
	return v.number, v.unit
}

// Counters lists the ncu metrics to collect for a metric, those of its first formula.
func Counters(m measure.Metric) []string {
	if raw := m.Raw(); raw != "" {
		return []string{raw}
	}
	if m == measure.TensorOps {
		return []string{"regex:" + tensor + ".*"}
	}
	for _, s := range sources() {
		if s.metric == m {
			return s.from[0].names
		}
	}
	return nil
}
