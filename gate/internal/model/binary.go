package model

import (
	"encoding/binary"
	"errors"
	"math"
)

var errCalls = errors.New("calls of a trace end before their number")

// numbers reads the numbers in bytes, which may be anything: broken is set where one is cut off.
type numbers struct {
	bytes  []byte
	broken bool
}

func (n *numbers) next() int64 {
	if len(n.bytes) > 0 && n.bytes[0] < 0x80 {
		x := int64(n.bytes[0])
		n.bytes = n.bytes[1:]
		return x>>1 ^ -(x & 1)
	}
	x, size := binary.Varint(n.bytes)
	if size <= 0 {
		n.broken, n.bytes = true, nil
		return 0
	}
	n.bytes = n.bytes[size:]
	return x
}

// length is the number of rows that follow, each of at least so many bytes: a short file makes no long list.
func (n *numbers) length(least int) int {
	rows := n.next()
	n.broken = n.broken || rows < 0 || rows > int64(len(n.bytes)/least)
	if n.broken {
		return 0
	}
	return int(rows)
}

// whole reports whether all numbers were read, and no byte is left.
func (n *numbers) whole() bool { return !n.broken && len(n.bytes) == 0 }

// MarshalBinary is the calls of each thread, for another process of nsgate.
func (c Calls) MarshalBinary() ([]byte, error) {
	out := binary.AppendVarint(nil, int64(len(c.threads)))
	for i := range c.threads {
		out = binary.AppendVarint(out, int64(c.threads[i].n))
		end := int64(0)
		for at := c.From(int32(i), math.MinInt64); at.OK; at.Next() {
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
	in := numbers{bytes: data}
	for i := range in.length(1) {
		c.threads = append(c.threads, callList{})
		end := int64(0)
		for range in.length(3) {
			x := Call{Start: end + in.next(), Thread: int32(i)}
			x.End, x.Name = x.Start+in.next(), int32(in.next())
			end = x.End
			if x.End < x.Start || x.Name < 0 {
				return errCalls
			}
			c.Add(x)
		}
	}
	if !in.whole() {
		return errCalls
	}
	c.Settle(nil)
	return nil
}
