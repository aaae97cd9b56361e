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

// Fragment is the part of a session that a rank reduces itself to, in place of launches, copies, ranges and calls: its
// samples by itself for each warm-up, and what other ranks change in them.
type Fragment struct {
	Outline
	End  int64 // of the last launch or copy
	Step string
	// Compute is the kernel time of each step in ns, without collectives.
	Compute []float64
	// Their Range is an index into Paths: the names of the ranges around them.
	Collectives Collectives
	Channels    []Channel
	Paths       [][]string
	Rows        Shared // series without values, gob in gzip
	Warmups     []Warmup
}

// Warmup is the samples of a fragment without its first steps.
type Warmup struct {
	Steps    int
	Launches int    // that count
	Values   []byte // of the rows, gob in gzip; NaN for none
}

// check gives the first error that makes a fragment unfit to be merged. The reduction checks its samples.
func (f *Fragment) check(t *Trace) error {
	moves, ok := f.Collectives.Unpack()
	n := len(f.Compute)
	unfit := func(m Collective) bool {
		return !lasts(0, m.Own) || !refers(m.Kernel, len(t.Kernels), 0) || !refers(m.Step, n, -1) ||
			!refers(m.Channel, len(f.Channels), 0) || !refers(m.Range, len(f.Paths), 0) ||
			!refers(int32(m.Section), len(measure.Sections), 0)
	}
	switch {
	case len(t.Launches)+len(t.Copies)+len(t.Ranges)+len(t.Captures)+len(t.Callers)+t.Calls.Len() > 0,
		t.Sampling != nil:
		return errors.New("its fragment")
	case f.Launches < 1 || f.Busy < 0 || len(f.Devices) == 0 || len(f.Devices) > mostDevices,
		len(t.Kernels) > MostSubjects, !lasts(f.Span.Start, f.Span.End), !lasts(f.Span.Start, f.End):
		return errors.New("the number of its launches, devices or kernels")
	case n == 0 || slices.ContainsFunc(f.Compute, func(ns float64) bool { return !(ns >= 0 && ns < math.MaxInt64) }):
		return errors.New("a step")
	case !ok || slices.ContainsFunc(moves, unfit):
		return errors.New("a collective")
	case slices.ContainsFunc(f.Warmups, func(w Warmup) bool { return w.Steps < 0 || w.Steps >= n }):
		return errors.New("a warm-up")
	}
	return nil
}
