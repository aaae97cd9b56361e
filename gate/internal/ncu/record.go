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

	index map[alike][]int // of Records, made by the first Find
}

// alike is what [Profile.Find] looks launches up by: the subject itself, or its short name, with its geometry or
// without.
type alike struct {
	subject         measure.Subject
	short, geometry string
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
// those of the same short name and geometry, and if there are none either, those of the same short name. Records stay
// as they are from the first call on.
func (p *Profile) Find(s measure.Subject) (found []Record) {
	keys := func(s measure.Subject) [3]alike {
		return [...]alike{{subject: s}, {short: s.Short(), geometry: "of " + s.Geometry()}, {short: s.Short()}}
	}
	if p.index == nil {
		p.index = map[alike][]int{}
		for i := range p.Records {
			for _, key := range keys(p.Records[i].Subject) {
				p.index[key] = append(p.index[key], i)
			}
		}
	}
	for _, key := range keys(s) {
		for _, i := range p.index[key] {
			found = append(found, p.Records[i])
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}
