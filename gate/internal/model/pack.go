package model

import "encoding/binary"

// Pack keeps the launches, copies and ranges of a trace in about a fifth of the memory, as differences from one to the
// next. They are nil in a packed trace: [Trace.Unpacked] has them. Recordings of hundreds of processes are held so.
func (t *Trace) Pack() {
	if t.Packed != nil {
		return
	}
	p := packer{writes: true}
	p.lists(t)
	t.Packed = append([]byte{}, p.bytes...)
	t.Launches, t.Copies, t.Ranges = nil, nil, nil
}

// Unpacked is the trace with its launches, copies and ranges: itself if it is not packed.
func (t *Trace) Unpacked() *Trace {
	if t.Packed == nil {
		return t
	}
	out := *t
	out.Packed = nil
	(&packer{bytes: t.Packed}).lists(&out)
	return &out
}

// packer writes the lists of a trace to bytes, or reads them from bytes. These never come from a file.
type packer struct {
	bytes  []byte
	writes bool
	start  int64 // of the operation or range before
	rng    int32 // of the operation before
	at     place // likewise
}

// place is device, stream and thread of a launch or copy, most often those of the one before.
type place struct {
	device, stream, thread int32
	node                   bool
}

func (p *packer) lists(t *Trace) {
	length(p, &t.Launches)
	length(p, &t.Copies)
	length(p, &t.Ranges)
	for i := range t.Launches {
		l := &t.Launches[i]
		p.times(&l.Start, &l.End)
		number(p, &l.API, l.Start)
		number(p, &l.Kernel, 0)
		p.where(&l.Range, &l.Device, &l.Stream, &l.Thread, &l.Node)
	}
	for i := range t.Copies {
		x := &t.Copies[i]
		p.times(&x.Start, &x.End)
		number(p, &x.API, x.Start)
		number(p, &x.Bytes, 0)
		number(p, &x.Kind, 0)
		number(p, &x.Source, 0)
		number(p, &x.Target, 0)
		p.where(&x.Range, &x.Device, &x.Stream, &x.Thread, new(bool))
	}
	for i := range t.Ranges {
		r := &t.Ranges[i]
		p.times(&r.Start, &r.End)
		number(p, &r.Name, 0)
		number(p, &r.Parent, int32(i))
		number(p, &r.Thread, 0)
	}
}

// number is v as its difference from a number that writing and reading know.
func number[T ~int8 | ~int32 | ~int64](p *packer, v *T, from T) {
	if p.writes {
		p.bytes = binary.AppendVarint(p.bytes, int64(*v)-int64(from))
		return
	}
	difference, n := binary.Varint(p.bytes)
	p.bytes = p.bytes[n:]
	*v = T(int64(from) + difference)
}

func length[T any](p *packer, list *[]T) {
	n := int64(len(*list))
	number(p, &n, 0)
	if !p.writes {
		*list = make([]T, n)
	}
}

func (p *packer) times(start, end *int64) {
	number(p, start, p.start)
	number(p, end, *start)
	p.start = *start
}

func (p *packer) where(rng, device, stream, thread *int32, node *bool) {
	number(p, rng, p.rng)
	p.rng = *rng
	here := place{*device, *stream, *thread, *node}
	kind := int8(1) // 0 for the place before, 2 for another one with a node of a graph
	switch {
	case here == p.at:
		kind = 0
	case here.node:
		kind = 2
	}
	if number(p, &kind, 0); kind > 0 {
		number(p, &here.device, 0)
		number(p, &here.stream, 0)
		number(p, &here.thread, 0)
		p.at = place{here.device, here.stream, here.thread, kind == 2}
	}
	*device, *stream, *thread, *node = p.at.device, p.at.stream, p.at.thread, p.at.node
}
