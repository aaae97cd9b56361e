package ncu

import (
	"github.com/nsgate/nsgate/gate/measure"
)

// Profile is the content of one file of ncu output.
type Profile struct {
	// Source is the name of the file, for messages only.
	Source string
	// GPU is the model, "" on a page that does not give it (details, or the raw page of few metrics).
	GPU string
	// Devices is the number of GPUs that launched the kernels.
	Devices int
	// Records are the profiled launches in the order of the file.
	Records []Record
	// Cells counts the cells of metrics that were read.
	Cells int
	// Warnings are doubts that do not forbid a judgement: launches that ncu could not profile.
	Warnings []string
}

// Record is one profiled launch.
type Record struct {
	Subject measure.Subject
	// Line is the first line of the launch in the file, 0 if it was not read from a file.
	Line int
	// Metrics are the values by the name of the metric, each in the metric's unit.
	Metrics map[string]float64
	// Evidence are the values of [Evidence], which explain a change and are in no session.
	Evidence map[string]float64
	// Raw are the cells by the name of the ncu metric, of those that metrics and evidence come from. The others, over two
	// thousand with --set full, are read and checked, and not kept.
	Raw map[string]Value
}

// Value is one cell.
type Value struct {
	// Number is NaN if the cell is not a number.
	Number float64
	// Unit is ncu's base unit: "ns", "byte", "hz", "byte/s"; Number is converted to it.
	Unit string
	// Step is the smallest difference that the cell can show, in Unit: 8.19 Kbyte has a step of 10 byte.
	Step float64
	// Text is the cell as written.
	Text string
	Line int
}

// Find gives the launches of a subject. ncu and nsys write names differently: if none has the full name, it gives
// those of the same short name and geometry, and if there are none either, those of the same short name.
func (p *Profile) Find(s measure.Subject) []Record {
	for _, same := range []func(measure.Subject) bool{
		func(o measure.Subject) bool { return o == s },
		func(o measure.Subject) bool { return o.Short() == s.Short() && o.Geometry() == s.Geometry() },
		func(o measure.Subject) bool { return o.Short() == s.Short() },
	} {
		var found []Record
		for _, r := range p.Records {
			if same(r.Subject) {
				found = append(found, r)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}
