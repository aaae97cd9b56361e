package model

import (
	"encoding/binary"
	"errors"
	"math"
)

var errCalls = errors.New("calls of a trace end before their number")

// MarshalBinary is the calls of each thread as differences from one to the next, for another process of nsgate.
func (c Calls) MarshalBinary() ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(len(c.threads)))
	for i := range c.threads {
		l := &c.threads[i]
		out = binary.AppendUvarint(out, uint64(l.n))
		end := int64(0)
		at := l.begin(int32(i), c.names)
		for at.Next(); at.OK; at.Next() {
			out = binary.AppendVarint(out, at.Call.Start-end)
			out = binary.AppendVarint(out, at.Call.End-at.Call.Start)
			out = binary.AppendVarint(out, int64(at.Call.Name))
			end = at.Call.End
		}
	}
	return out, nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (c *Calls) UnmarshalBinary(data []byte) error {
	*c = Calls{}
	broken := false
	next := func() int64 {
		v, n := binary.Varint(data)
		broken = broken || n <= 0
		data = data[max(n, 0):]
		return v
	}
	length := func() int {
		v, n := binary.Uvarint(data)
		broken = broken || n <= 0 || v > math.MaxInt32
		data = data[max(n, 0):]
		return int(v)
	}
	threads := length()
	for i := 0; i < threads && !broken; i++ {
		c.threads = append(c.threads, callList{})
		end := int64(0)
		for n := length(); n > 0 && !broken; n-- {
			x := Call{Thread: int32(i)}
			x.Start = end + next()
			x.End = x.Start + next()
			x.Name = int32(next())
			broken = broken || x.End < x.Start || x.Name < 0
			if !broken {
				c.Add(x)
			}
			end = x.End
		}
	}
	if broken || len(data) > 0 {
		return errCalls
	}
	c.Settle(nil)
	return nil
}
