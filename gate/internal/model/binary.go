package model

import (
	"encoding/binary"
	"errors"
	"math"
)

var errCalls = errors.New("calls of a trace end before their number")

// MarshalBinary is the calls of each thread, for another process of nsgate.
func (c Calls) MarshalBinary() ([]byte, error) {
	out := columns{writes: true}
	out.bytes = binary.AppendUvarint(nil, uint64(len(c.threads)))
	for i := range c.threads {
		part := make([]Call, 0, min(callsOfPart, c.threads[i].n))
		for at := c.From(int32(i), math.MinInt64); ; at.Next() {
			if at.OK {
				part = append(part, at.Call)
			}
			if !at.OK || len(part) == callsOfPart {
				out.calls(&part)
				part = part[:0]
			}
			if !at.OK {
				break
			}
		}
	}
	return out.bytes, nil
}

// callsOfPart is how many calls are written together; fewer are the last ones of their thread.
const callsOfPart = 1 << 16

func (c *columns) calls(part *[]Call) {
	rows(c, part)
	times(c, *part, func(x *Call) *int64 { return &x.Start }, func(x *Call) *int64 { return &x.End })
	column(c, *part, false, func(x *Call) *int32 { return &x.Name })
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (c *Calls) UnmarshalBinary(data []byte) error {
	*c = Calls{}
	threads, size := binary.Uvarint(data)
	in := columns{bytes: data[max(size, 0):], broken: size <= 0 || threads > uint64(len(data))}
	for i := 0; i < int(threads) && !in.broken; i++ {
		c.threads = append(c.threads, callList{})
		for n := callsOfPart; n == callsOfPart && !in.broken; {
			var part []Call
			in.calls(&part)
			for _, x := range part {
				if x.Thread = int32(i); x.End < x.Start || x.Name < 0 {
					return errCalls
				}
				c.Add(x)
			}
			n = len(part)
		}
	}
	if in.broken || len(in.bytes) > 0 {
		return errCalls
	}
	c.Settle(nil)
	return nil
}
