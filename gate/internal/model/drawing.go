package model

import "github.com/nsgate/nsgate/gate/internal/measure"

// Drawing is the content of pictures of a measurement beside its samples: one step, and the distribution of the
// launches of some kernels. Nothing is judged by it. Times are whole ns.
type Drawing struct {
	// Subjects are the subjects of the numbers below, each once: kernels, kinds of copies, ranges, causes of idle time.
	Subjects []measure.Subject `json:"subjects"`
	// Step is the step nearest the median of all that count, nil if there are no steps or the recording is incomplete.
	Step     *DrawnStep      `json:"step,omitempty"`
	Launches []DrawnLaunches `json:"launches,omitempty"`
}

// DrawnStep is one step on one device.
type DrawnStep struct {
	Rank   string `json:"rank,omitempty"` // "rank 1" of a job, "" of a single process
	Run    int    `json:"run"`            // from 1
	Step   int    `json:"step"`           // from 1, warm-up included
	Steps  int    `json:"steps"`
	Device int32  `json:"device"`
	Length int64  `json:"length"`
	// Operations are sorted by start; of very many the shortest are left out, so many.
	Operations []DrawnSpan `json:"operations"`
	Left       int         `json:"left,omitempty"`
	Idle       []DrawnSpan `json:"idle,omitempty"`
	// Ranges are the times of NVTX ranges on the GPU, each behind the range around it, and marks, which have no length.
	Ranges []DrawnSpan `json:"ranges,omitempty"`
}

// DrawnSpan is a span of a step: the index of its subject, its start in the step, its length, and the depth of a range,
// or what kind of time else (0 computes, 1 communicates, 2 copies, 3 is idle).
type DrawnSpan [4]int64

// Subject, Start, Length and Level are the four numbers.
func (s DrawnSpan) Subject() int  { return int(s[0]) }
func (s DrawnSpan) Start() int64  { return s[1] }
func (s DrawnSpan) Length() int64 { return s[2] }
func (s DrawnSpan) Level() int    { return int(s[3]) }

// DrawnLaunches is the distribution of the launches of a kernel.
type DrawnLaunches struct {
	Subject int `json:"subject"`
	// Quantiles of all launches of all runs that count, evenly spaced from the shortest to the longest.
	Quantiles []int64 `json:"quantiles"`
	Count     int     `json:"count"`
}
