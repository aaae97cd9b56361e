package model

import (
	"encoding/binary"
	"slices"
	"unique"
)

// Channel is a sequence of collectives: a communicator, or where the recording lacks its name, a stream, numbered in
// the order in which a rank uses its streams.
type Channel struct {
	Communicator uint64
	Stream       int32
}

// Collective is one launch of a kernel that moves data between ranks.
type Collective struct {
	Own     int64 // its time in this rank in ns
	API     int64 // as of a [Launch], 0 in a digest
	Kernel  int32 // index into Trace.Kernels
	Step    int32 // -1 outside the steps, and where there are none
	Channel int32
	Range   int32 // innermost range of the launch, -1 for none
	Device  int32
	Section int8 // of the run without its warm-up, in a digest
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

// PackCollectives packs collectives.
func PackCollectives(list []Collective) Collectives {
	c, own := columns{writes: true}, make([]int64, len(list))
	for i := range list {
		own[i] = list[i].Own
	}
	c.moves(&list)
	return Collectives{Shared(c.bytes), PackTimes(own)}
}

// Unpack gives the collectives that [PackCollectives] packed; ok is false for any other bytes.
func (m Collectives) Unpack() (list []Collective, ok bool) {
	c := columns{bytes: []byte(m.Rest)}
	c.moves(&list)
	own, ok := UnpackTimes(m.Own, len(list))
	for i, ns := range own {
		list[i].Own = ns
	}
	return list, ok && !c.broken && len(c.bytes) == 0
}

// Times are the own times in ns.
func (m Collectives) Times() []int64 {
	n, _ := binary.Uvarint([]byte(m.Rest[:min(len(m.Rest), binary.MaxVarintLen64)]))
	times, _ := UnpackTimes(m.Own, int(n))
	return times
}

// PackTimes packs times in ns, into 1 to 9 bytes each.
func PackTimes(times []int64) []byte {
	c := columns{writes: true}
	c.numbers(slices.Clone(times))
	return c.bytes
}

// UnpackTimes gives the n times that [PackTimes] packed; ok is false for any other bytes.
func UnpackTimes(packed []byte, n int) (times []int64, ok bool) {
	times = make([]int64, n)
	c := columns{bytes: packed}
	c.numbers(times)
	return times, !c.broken && len(c.bytes) == 0
}

func (c *columns) moves(list *[]Collective) {
	rows(c, list)
	m := *list
	column(c, m, false, func(x *Collective) *int32 { return &x.Kernel })
	column(c, m, true, func(x *Collective) *int64 { return &x.API })
	column(c, m, true, func(x *Collective) *int32 { return &x.Step })
	column(c, m, false, func(x *Collective) *int32 { return &x.Channel })
	column(c, m, true, func(x *Collective) *int32 { return &x.Range })
	column(c, m, false, func(x *Collective) *int32 { return &x.Device })
	column(c, m, false, func(x *Collective) *int8 { return &x.Section })
}
