package model

import "cmp"

// Operation is where a kernel comes from that a compiler named, as XLA names loop_add_fusion_2: the number in its name
// is that of one build. Several operations have one kernel's name where several programs of a run use it: that of the
// largest program comes first.
type Operation struct {
	Kernel   string `json:"kernel"`         // short name
	Path     string `json:"path"`           // of the operation in the program: "jit(step)/jvp()/add"
	File     string `json:"file,omitempty"` // relative to the repository, "" where the place is not known
	Line     int    `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
	Parts    string `json:"parts,omitempty"` // what is fused into it, by name in order: "add exp mul tanh"
	Was      string `json:"-"`               // the name in the baseline, where Kernel is that of the head
}

// Compare orders operations by their places.
func (x Operation) Compare(y Operation) int {
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Function, y.Function))
}

// MostOperations bounds the operations of a session.
const MostOperations = 10_000
