package model

// Pack keeps the launches, copies and ranges of a trace in about a third of the memory, as columns of differences. They
// are nil in a packed trace: [Trace.Unpacked] has them. Recordings of hundreds of processes are held so.
func (t *Trace) Pack() {
	if t.Packed != nil {
		return
	}
	c := columns{writes: true}
	c.lists(t)
	t.Packed = append([]byte{}, c.bytes...)
	t.Launches, t.Copies, t.Ranges = nil, nil, nil
}

// Unpacked is the trace with its launches, copies and ranges: itself if it is not packed. It has none of them where
// the bytes are not those that [Trace.Pack] wrote.
func (t *Trace) Unpacked() *Trace {
	if t.Packed == nil {
		return t
	}
	out := *t
	out.Packed = nil
	c := columns{bytes: t.Packed}
	if c.lists(&out); c.broken || len(c.bytes) > 0 {
		out.Launches, out.Copies, out.Ranges = nil, nil, nil
	}
	return &out
}

func (c *columns) lists(t *Trace) {
	rows(c, &t.Launches)
	l := t.Launches
	times(c, l, func(x *Launch) *int64 { return &x.Start }, func(x *Launch) *int64 { return &x.End })
	column(c, l, true, func(x *Launch) *int64 { return &x.API })
	column(c, l, false, func(x *Launch) *int32 { return &x.Kernel })
	column(c, l, true, func(x *Launch) *int32 { return &x.Range })
	column(c, l, false, func(x *Launch) *int32 { return &x.Device })
	column(c, l, false, func(x *Launch) *int32 { return &x.Stream })
	column(c, l, false, func(x *Launch) *int32 { return &x.Thread })
	nodes := c.of(len(l))
	for i := range l {
		if nodes[i] = 0; l[i].Node {
			nodes[i] = 1
		}
	}
	c.numbers(nodes)
	for i := range l {
		l[i].Node = l[i].Node || nodes[i] != 0
	}

	rows(c, &t.Copies)
	x := t.Copies
	times(c, x, func(x *Copy) *int64 { return &x.Start }, func(x *Copy) *int64 { return &x.End })
	column(c, x, true, func(x *Copy) *int64 { return &x.API })
	column(c, x, false, func(x *Copy) *int64 { return &x.Bytes })
	column(c, x, true, func(x *Copy) *int32 { return &x.Range })
	column(c, x, false, func(x *Copy) *int32 { return &x.Device })
	column(c, x, false, func(x *Copy) *int32 { return &x.Stream })
	column(c, x, false, func(x *Copy) *int32 { return &x.Thread })
	column(c, x, false, func(x *Copy) *CopyKind { return &x.Kind })
	column(c, x, false, func(x *Copy) *MemoryKind { return &x.Source })
	column(c, x, false, func(x *Copy) *MemoryKind { return &x.Target })

	rows(c, &t.Ranges)
	r := t.Ranges
	times(c, r, func(x *Range) *int64 { return &x.Start }, func(x *Range) *int64 { return &x.End })
	column(c, r, false, func(x *Range) *int32 { return &x.Name })
	column(c, r, true, func(x *Range) *int32 { return &x.Parent })
	column(c, r, false, func(x *Range) *int32 { return &x.Thread })
}
