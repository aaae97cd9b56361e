package model

import (
	"encoding/binary"
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
