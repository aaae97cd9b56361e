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

// Unpacked is the trace with its launches, copies and ranges: itself if it is not packed.
func (t *Trace) Unpacked() *Trace {
	if t.Packed == nil {
		return t
	}
	out := *t
	out.Packed = nil
	(&columns{bytes: t.Packed}).lists(&out)
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
	c.numbers(len(l), func(i int) (node int64) {
		if l[i].Node {
			node = 1
		}
		return node
	}, func(i int, v int64) { l[i].Node = v != 0 })

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
