package result

import "github.com/nsgate/nsgate/thresholds"

// Basis is what a judgement depends on beside the sessions of the head: with them and the files of the baseline it can
// be repeated.
type Basis struct {
	// Policy is the one that held, with the keys that flags and variables set.
	Policy *thresholds.Resolved `json:"policy,omitempty"`
	// Against is "baseline", "local" for a local one, whose place is not kept, or "build" for a base build that was
	// measured beside the head; "" for other recordings.
	Against string `json:"against,omitempty"`
	// Root is the directory of all baselines, as Baseline of the report is one of them; Files are the names of those
	// that the baseline held, and Anchor is that from which drift was measured, "" for the oldest.
	Root   string   `json:"root,omitempty"`
	Files  []string `json:"files,omitempty"`
	Anchor string   `json:"anchor,omitempty"`
	// Kernels are the short names of those that are judged, none for all.
	Kernels []string `json:"kernels,omitempty"`
	// Looks are the numbers of runs after which to judge, and Look counts those that were taken.
	Looks []int `json:"looks,omitempty"`
	Look  int   `json:"look,omitempty"`
}
