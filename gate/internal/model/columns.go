package model

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// columns writes lists to bytes, or reads them from bytes: column by column, and of each column the lowest bytes of all
// rows first, which compress well. Bytes that it did not write may be anything: broken is set then.
type columns struct {
	bytes  []byte
	writes bool
	broken bool
	least  int     // bytes of a row in the next column
	room   []int64 // for the numbers of a column
}

// leastOfRow is the least number of bytes of a row: a short file makes no long list.
const leastOfRow = 4

// rows is the number of rows of a list.
func rows[R any](c *columns, list *[]R) {
	c.least = leastOfRow
	if c.writes {
		c.bytes = binary.AppendUvarint(c.bytes, uint64(len(*list)))
		return
	}
	n, size := binary.Uvarint(c.bytes)
	if *list = nil; size <= 0 || n > uint64(len(c.bytes)-size)/leastOfRow {
		c.broken = true
	}
	if !c.broken {
		c.bytes, *list = c.bytes[size:], make([]R, n)
	}
}

// of is room for the numbers of a column of n rows.
func (c *columns) of(n int) []int64 {
	c.room = slices.Grow(c.room[:0], n)[:n]
	return c.room
}

// numbers writes the numbers of a column, or reads them into the list. It reports whether some may differ from 0.
func (c *columns) numbers(v []int64) (some bool) {
	n := len(v)
	if n == 0 {
		return false
	}
	if c.writes {
		all := int64(0)
		for i, x := range v {
			v[i] = x<<1 ^ x>>63
			all |= v[i]
		}
		width := max(c.least, (bits.Len64(uint64(all))+7)/8)
		c.bytes, c.least = append(c.bytes, byte(width)), 0
		for k := range width {
			at := len(c.bytes)
			c.bytes = slices.Grow(c.bytes, n)[:at+n]
			for i, x := range v {
				c.bytes[at+i] = byte(uint64(x) >> (8 * k))
			}
		}
		return true
	}
	clear(v)
	if c.broken = c.broken || len(c.bytes) == 0 || c.bytes[0] > 8 || len(c.bytes)-1 < int(c.bytes[0])*n; c.broken {
		return false
	}
	width := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	for k := range width {
		for i, b := range c.bytes[:n] {
			v[i] |= int64(b) << (8 * k)
		}
		c.bytes = c.bytes[n:]
	}
	for i, x := range v {
		v[i] = int64(uint64(x)>>1) ^ -(x & 1)
	}
	return width > 0
}

// column is a field of all rows; changing is one as its difference from that of the row before.
func column[R any, T ~int8 | ~int32 | ~int64](c *columns, list []R, changing bool, field func(*R) *T) {
	v, before := c.of(len(list)), int64(0)
	if c.writes {
		for i := range list {
			x := int64(*field(&list[i]))
			if v[i] = x - before; changing {
				before = x
			}
		}
		c.numbers(v)
		return
	}
	if !c.numbers(v) {
		return // the fields are 0
	}
	for i := range list {
		x := before + v[i]
		if *field(&list[i]) = T(x); changing {
			before = x
		}
	}
}

// times is the length of every row, and its start after the end of the row before.
func times[R any](c *columns, list []R, start, end func(*R) *int64) {
	v, before := c.of(len(list)), int64(0)
	if c.writes {
		for i := range list {
			v[i] = *end(&list[i]) - *start(&list[i])
		}
		c.numbers(v)
		for i := range list {
			v[i], before = *start(&list[i])-before, *end(&list[i])
		}
		c.numbers(v)
		return
	}
	c.numbers(v)
	for i := range list {
		*end(&list[i]) = v[i]
	}
	c.numbers(v)
	for i := range list {
		*start(&list[i]) = before + v[i]
		*end(&list[i]) += *start(&list[i])
		before = *end(&list[i])
	}
}
