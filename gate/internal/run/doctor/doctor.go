// Package doctor holds the observations of an examination of this machine.
package doctor

import "github.com/nsgate/nsgate/gate/internal/model"

// Mark is the meaning of an observation.
type Mark string

// The three marks: well, worth knowing, and in the way of measuring.
const (
	Good Mark = "good"
	Note Mark = "note"
	Bad  Mark = "bad"
)

// Observation is one thing that was looked at.
type Observation struct {
	Mark   Mark   `json:"mark"`
	What   string `json:"what"`   // "driver", "GPU 0 clock"
	Detail string `json:"detail"` // how it is, and what to do about it
	// Do are commands for a shell that do it, in this order.
	Do []string `json:"do,omitempty"`
	// Kind is the refusal of a measurement in this state, "" for none.
	Kind model.Kind `json:"-"`
}

// Observations are those of an examination, in the order in which they are printed.
type Observations []Observation

// Add appends an observation, with the commands that mend it.
func (o *Observations) Add(mark Mark, what, detail string, do ...string) {
	*o = append(*o, Observation{Mark: mark, What: what, Detail: detail, Do: do})
}
