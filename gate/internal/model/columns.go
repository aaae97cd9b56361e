package model

import (
	"encoding/binary"
	"math/bits"
)

// columns writes lists to bytes, or reads them from bytes: column by column, and of each column the lowest bytes of all
// rows first, which compress well. Bytes that it did not write may be anything: broken is set, and the rest is zero.
type columns struct {
	bytes  []byte
	writes bool
	broken bool
	least  int // bytes of a row in the next column
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

// numbers is a column of n numbers.
func (c *columns) numbers(n int, get func(i int) int64, set func(i int, v int64)) {
	if c.broken || n == 0 {
		return
	}
	if c.writes {
		all := uint64(0)
		for i := range n {
			v := get(i)
			all |= uint64(v)<<1 ^ uint64(v>>63)
		}
		width := max(c.least, (bits.Len64(all)+7)/8)
		c.bytes = append(c.bytes, byte(width))
		at := len(c.bytes)
		c.bytes = append(c.bytes, make([]byte, width*n)...)
		for i := range n {
			v := get(i)
			for x, k := uint64(v)<<1^uint64(v>>63), at+i; x > 0; x, k = x>>8, k+n {
				c.bytes[k] = byte(x)
			}
		}
		c.least = 0
		return
	}
	if c.broken = len(c.bytes) == 0 || c.bytes[0] > 8 || len(c.bytes)-1 < int(c.bytes[0])*n; c.broken {
		return
	}
	width, from := int(c.bytes[0]), c.bytes[1:]
	c.bytes = from[width*n:]
	for i := range n {
		x := uint64(0)
		for k := range width {
			x |= uint64(from[k*n+i]) << (8 * k)
		}
		set(i, int64(x>>1)^-int64(x&1))
	}
}

// column is a field of all rows; changing is one as its difference from that of the row before.
func column[R any, T ~int8 | ~int32 | ~int64](c *columns, list []R, changing bool, field func(*R) *T) {
	before := func(i int) (v int64) {
		if changing && i > 0 {
			v = int64(*field(&list[i-1]))
		}
		return v
	}
	c.numbers(len(list), func(i int) int64 { return int64(*field(&list[i])) - before(i) },
		func(i int, v int64) { *field(&list[i]) = T(before(i) + v) })
}

// times is the length of every row, and its start after the end of the row before.
func times[R any](c *columns, list []R, start, end func(*R) *int64) {
	before := func(i int) (v int64) {
		if i > 0 {
			v = *end(&list[i-1])
		}
		return v
	}
	c.numbers(len(list), func(i int) int64 { return *end(&list[i]) - *start(&list[i]) },
		func(i int, v int64) { *end(&list[i]) = v })
	c.numbers(len(list), func(i int) int64 { return *start(&list[i]) - before(i) }, func(i int, v int64) {
		*start(&list[i]) = before(i) + v
		*end(&list[i]) += *start(&list[i])
	})
}
