package model

import "encoding/binary"

// Pack keeps the launches, copies and ranges of a trace in about a fifth of the memory, as differences from one to the
// next. They are nil in a packed trace: [Trace.Unpacked] has them. Recordings of hundreds of processes are held so.
func (t *Trace) Pack() {
	if t.Packed != nil {
		return
	}
	p := packer{}
	p.put(int64(len(t.Launches)), int64(len(t.Copies)), int64(len(t.Ranges)))
	var at place
	for _, l := range t.Launches {
		p.time(l.Start)
		p.put(l.End-l.Start, l.Start-l.API, int64(l.Kernel))
		p.near(l.Range)
		p.place(&at, place{l.Device, l.Stream, l.Thread, l.Node})
	}
	p.last, p.index, at = 0, 0, place{}
	for _, x := range t.Copies {
		p.time(x.Start)
		p.put(x.End-x.Start, x.Start-x.API, x.Bytes, int64(x.Kind), int64(x.Source), int64(x.Target))
		p.near(x.Range)
		p.place(&at, place{x.Device, x.Stream, x.Thread, false})
	}
	p.last = 0
	for i, r := range t.Ranges {
		p.time(r.Start)
		p.put(r.End-r.Start, int64(r.Name), int64(i)-int64(r.Parent), int64(r.Thread))
	}
	t.Packed = append([]byte{}, p.out...)
	t.Launches, t.Copies, t.Ranges = nil, nil, nil
}

// Unpacked is the trace with its launches, copies and ranges: itself if it is not packed.
func (t *Trace) Unpacked() *Trace {
	if t.Packed == nil {
		return t
	}
	out := *t
	out.Packed = nil
	u := unpacker{in: t.Packed}
	out.Launches, out.Copies = make([]Launch, u.get()), make([]Copy, u.get())
	out.Ranges = make([]Range, u.get())
	var at place
	for i := range out.Launches {
		l := &out.Launches[i]
		l.Start = u.time()
		l.End, l.API, l.Kernel, l.Range = l.Start+u.get(), l.Start-u.get(), int32(u.get()), u.near()
		u.place(&at)
		l.Device, l.Stream, l.Thread, l.Node = at.device, at.stream, at.thread, at.node
	}
	u.last, u.index, at = 0, 0, place{}
	for i := range out.Copies {
		x := &out.Copies[i]
		x.Start = u.time()
		x.End, x.API, x.Bytes = x.Start+u.get(), x.Start-u.get(), u.get()
		x.Kind, x.Source, x.Target = CopyKind(u.get()), MemoryKind(u.get()), MemoryKind(u.get())
		x.Range = u.near()
		u.place(&at)
		x.Device, x.Stream, x.Thread = at.device, at.stream, at.thread
	}
	u.last = 0
	for i := range out.Ranges {
		r := &out.Ranges[i]
		r.Start = u.time()
		r.End, r.Name, r.Parent, r.Thread = r.Start+u.get(), int32(u.get()), int32(int64(i)-u.get()), int32(u.get())
	}
	return &out
}

// place is device, stream and thread of a launch or copy, most often those of the one before.
type place struct {
	device, stream, thread int32
	node                   bool
}

type packer struct {
	out   []byte
	last  int64 // start
	index int32 // of a range
}

func (p *packer) put(values ...int64) {
	for _, v := range values {
		p.out = binary.AppendVarint(p.out, v)
	}
}

func (p *packer) time(at int64) {
	p.put(at - p.last)
	p.last = at
}

func (p *packer) near(index int32) {
	p.put(int64(index) - int64(p.index))
	p.index = index
}

func (p *packer) place(at *place, to place) {
	if *at == to {
		p.put(0)
		return
	}
	node := int64(1)
	if to.node {
		node = 2
	}
	p.put(node, int64(to.device), int64(to.stream), int64(to.thread))
	*at = to
}

// unpacker reads what a packer wrote; the bytes never come from a file.
type unpacker struct {
	in    []byte
	last  int64
	index int32
}

func (u *unpacker) get() int64 {
	v, n := binary.Varint(u.in)
	u.in = u.in[n:]
	return v
}

func (u *unpacker) time() int64 {
	u.last += u.get()
	return u.last
}

func (u *unpacker) near() int32 {
	u.index += int32(u.get())
	return u.index
}

func (u *unpacker) place(at *place) {
	if node := u.get(); node != 0 {
		*at = place{int32(u.get()), int32(u.get()), int32(u.get()), node == 2}
	}
}
