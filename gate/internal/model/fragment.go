package model

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"unique"

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

// Channel is a sequence of collectives: a communicator, or where the recording lacks its name, a stream, numbered in
// the order in which a rank uses its streams.
type Channel struct {
	Communicator uint64
	Stream       int32
}

// Collective is one launch of a kernel that moves data between ranks.
type Collective struct {
	Own     int64 // its time in this rank in ns
	API     int64 // as of a [Launch], 0 in a fragment
	Kernel  int32 // index into Trace.Kernels
	Step    int32 // -1 outside the steps, and where there are none
	Channel int32
	Range   int32 // innermost range of the launch, -1 for none
	Device  int32
	Section int8 // of the run without its warm-up, in a fragment
}

// Collectives are packed collectives: Own has their times, and Rest everything else, which ranks mostly have in common.
type Collectives struct {
	Rest Shared
	Own  []byte
}

// Shared is bytes that many ranks have in common: equal ones that gob decodes are in memory once.
type Shared string

// GobEncode writes the bytes.
func (s Shared) GobEncode() ([]byte, error) { return []byte(s), nil }

// GobDecode reads the bytes.
func (s *Shared) GobDecode(b []byte) error {
	*s = unique.Make(Shared(b)).Value()
	return nil
}

// fields are those of a collective that most have in common with the one before.
func (m *Collective) fields() [7]int64 {
	return [...]int64{m.API, int64(m.Kernel), int64(m.Step), int64(m.Channel), int64(m.Range), int64(m.Device),
		int64(m.Section)}
}

// PackCollectives packs collectives: of each the fields that differ from the one before, and by how much.
func PackCollectives(list []Collective) Collectives {
	rest, own := binary.AppendVarint(nil, int64(len(list))), make([]int64, len(list))
	var last Collective
	for i := range list {
		own[i] = list[i].Own
		before, changed, by := last.fields(), int64(0), []byte(nil)
		for k, x := range list[i].fields() {
			if x != before[k] {
				changed, by = changed|1<<k, binary.AppendVarint(by, x-before[k])
			}
		}
		rest, last = append(binary.AppendVarint(rest, changed), by...), list[i]
	}
	return Collectives{Shared(rest), PackTimes(own)}
}

// Unpack gives the collectives that [PackCollectives] packed; ok is false for any other bytes.
func (m Collectives) Unpack() (list []Collective, ok bool) {
	in := numbers{bytes: []byte(m.Rest)}
	n := in.length(1)
	if n > len(m.Own) { // each has a byte in both
		return nil, false
	}
	list = make([]Collective, n)
	own, ok := UnpackTimes(m.Own, n)
	var x [7]int64
	for i, ns := range own {
		changed := in.next()
		for k := 0; changed>>k > 0 && k < len(x); k++ {
			if changed>>k&1 > 0 {
				x[k] += in.next()
			}
		}
		list[i] = Collective{ns, x[0], int32(x[1]), int32(x[2]), int32(x[3]), int32(x[4]), int32(x[5]), int8(x[6])}
	}
	return list, ok && in.whole()
}

// Times are the own times in ns.
func (m Collectives) Times() []int64 {
	in := numbers{bytes: []byte(m.Rest[:min(len(m.Rest), binary.MaxVarintLen64)])}
	times, _ := UnpackTimes(m.Own, int(in.next()))
	return times
}

// PackTimes packs times in ns.
func PackTimes(times []int64) (out []byte) {
	for _, ns := range times {
		out = binary.AppendVarint(out, ns)
	}
	return out
}

// UnpackTimes gives the n times that [PackTimes] packed; ok is false for any other bytes.
func UnpackTimes(packed []byte, n int) (times []int64, ok bool) {
	in := numbers{bytes: packed}
	times = make([]int64, n)
	for i := range times {
		times[i] = in.next()
	}
	return times, in.whole()
}
