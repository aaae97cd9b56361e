package result

import "github.com/nsgate/nsgate/gate/internal/devicecode"

// Code is the comparison of the device code of baseline and head, without a word on time.
type Code struct {
	devicecode.Comparison
	// Limited holds the values of changed and added kernels that a rule limits and that are beyond it.
	Limited []CodeLimit `json:"limited,omitempty"`
}

// CodeLimit is a value of a kernel's code beyond what a rule allows.
type CodeLimit struct {
	Arch   string `json:"arch"`
	Name   string `json:"name"`   // mangled
	Kernel string `json:"kernel"` // short name
	Metric string `json:"metric"` // such as "spill_bytes"
	Base   Number `json:"base"`   // unknown for a kernel that the baseline lacks
	Head   Number `json:"head"`
	Rule   string `json:"rule"`  // "nsgate.toml:12"
	Fails  bool   `json:"fails"` // the gate; else it is a warning
}
