package model

import (
	"errors"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Outline is the summary of a trace that the choice of the step and of the runs needs. Times are in ns.
type Outline struct {
	Span       Interval // from the first launch to the last
	Devices    []int32  // that of the first launch first
	Launches   int
	Busy       int64  // kernel time
	Hash       uint64 // of all launches
	Candidates []Candidate
}

// Candidate is a range that a run repeats.
type Candidate struct {
	Name   string
	Covers float64 // share of the kernel time
	Count  int
	First  int64 // start of the first occurrence
}

// Digest is what the reduction of a job needs of one rank, in place of launches, copies, ranges and calls: the samples
// of the rank by itself, and what other ranks change in them.
type Digest struct {
	Outline
	End  int64 // of the last launch or copy
	Step string
	// Compute is the kernel time of each step in ns, without collectives.
	Compute []float64
	// Their Range is an index into Paths: the names of the ranges around them.
	Collectives Collectives
	Channels    []Channel
	Paths       [][]string
	// Skips are the warm-ups in steps that Samples has samples for, rising.
	Skips   []int
	Samples []byte // gob in gzip
}

// check gives the first error that makes a digest unfit to be reduced. The reduction checks its samples.
func (d *Digest) check(t *Trace) error {
	moves, ok := d.Collectives.Unpack()
	n := len(d.Compute)
	unfit := func(m Collective) bool {
		return !lasts(0, m.Own) || !refers(m.Kernel, len(t.Kernels), 0) || !refers(m.Step, n, -1) ||
			!refers(m.Channel, len(d.Channels), 0) || !refers(m.Range, len(d.Paths), 0) ||
			!refers(int32(m.Section), len(measure.Sections), 0)
	}
	switch {
	case len(t.Launches)+len(t.Copies)+len(t.Ranges)+len(t.Captures)+len(t.Callers)+t.Calls.Len() > 0, t.Sampling != nil:
		return errors.New("its digest")
	case d.Launches < 1 || d.Busy < 0 || len(d.Devices) == 0 || len(d.Devices) > mostDevices,
		len(t.Kernels) > MostSubjects, !lasts(d.Span.Start, d.Span.End), !lasts(d.Span.Start, d.End):
		return errors.New("the number of its launches, devices or kernels")
	case n == 0 || slices.ContainsFunc(d.Compute, func(ns float64) bool { return !(ns >= 0 && ns < math.MaxInt64) }):
		return errors.New("a step")
	case !ok || slices.ContainsFunc(moves, unfit):
		return errors.New("a collective")
	case !slices.IsSorted(d.Skips) || len(d.Skips) > 0 && (d.Skips[0] < 0 || d.Skips[len(d.Skips)-1] >= n):
		return errors.New("a warm-up")
	}
	return nil
}
