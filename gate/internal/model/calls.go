package model

import (
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Call is one call of the CUDA API.
type Call struct {
	Start, End int64
	Name       int32 // index into Trace.CallNames
	// Thread numbers the threads of the process from 0.
	Thread int32
}

// version ends the names of some functions of CUDA: cudaLaunchKernel_v7000, cudaGetDeviceProperties_v2.
var version = input.Pattern(`_v[0-9]+$`)

// Unversioned is the name of a function of CUDA without its version.
func Unversioned(name string) string { return version().ReplaceAllString(name, "") }

// inside reports whether a call lies inside another one of its thread, as a call of the driver lies inside that of the
// runtime. A call without a length that begins where another ends follows it.
func (c *Call) inside(o *Call) bool {
	return o.Start <= c.Start && c.End <= o.End && (c.Start < o.End || c.Start == o.Start)
}

// Calls are the CUDA calls of a process except those inside another call of their thread: sorted by thread, then by
// start. They are stored as differences from one to the next, about six bytes each. The zero value is empty.
type Calls struct {
	threads []callList // by number
	names   []int32    // the final number of each name, nil for no change
}

type callList struct {
	blocks []callBlock
	free   []byte // room for the bytes of the next calls
	n      int    // calls in blocks
	start  int64  // of the last of them
	end    int64
	name   int32
	names  []int32 // of all, in the order of their first calls
	known  []bool  // by name: it is among these
	last   Call    // the next one, which may hold others inside
	open   bool    // there is a last one
	late   []Call  // calls that came out of order
}

// callBlock is some calls that follow each other.
type callBlock struct {
	before int64 // the end of the call before the first one
	name   int32 // of the call before, -1 for none
	bytes  []byte
}

const (
	callsOfBlock = 64
	longestCall  = 2*binary.MaxVarintLen64 + binary.MaxVarintLen32 // bytes
)

// Add adds a call of a thread, numbered from 0. Calls in the order of their starts, an inner one next to its outer one,
// are the cheapest. [Calls.Settle] must follow the last one.
func (c *Calls) Add(x Call) {
	for len(c.threads) <= int(x.Thread) {
		c.threads = append(c.threads, callList{})
	}
	c.threads[x.Thread].add(x)
}

func (l *callList) add(x Call) {
	last := &l.last
	switch {
	case !l.open:
		l.last, l.open = x, true
	case x.inside(last):
	case x.Start > last.Start:
		l.put(last)
		*last = x
	case last.inside(&x) && (l.n == 0 || x.Start > l.start):
		*last = x
	default:
		l.late = append(l.late, x)
	}
}

func (l *callList) put(x *Call) {
	if l.n%callsOfBlock == 0 {
		before := callBlock{before: l.end, name: -1}
		if l.n > 0 {
			before.name = l.name
		}
		const most = 1 << 16
		if cap(l.free) < callsOfBlock*longestCall {
			l.free = make([]byte, 0, max(callsOfBlock*longestCall, min(most, 4*l.n)))
		}
		before.bytes = l.free[:0]
		if len(l.blocks) == cap(l.blocks) {
			// fewer bytes are left behind than where append grows it
			l.blocks = slices.Grow(l.blocks, max(1, len(l.blocks)))
		}
		l.blocks = append(l.blocks, before)
	}
	b := &l.blocks[len(l.blocks)-1]
	b.bytes = binary.AppendVarint(b.bytes, x.Start-l.end)
	b.bytes = binary.AppendUvarint(b.bytes, uint64(x.End-x.Start))
	b.bytes = binary.AppendUvarint(b.bytes, uint64(uint32(x.Name)))
	l.n, l.start, l.end, l.name = l.n+1, x.Start, x.End, x.Name
	for len(l.known) <= int(x.Name) {
		l.known = append(l.known, false)
	}
	if !l.known[x.Name] {
		l.known[x.Name] = true
		l.names = append(l.names, x.Name)
	}
	if l.n%callsOfBlock == 0 {
		n := len(b.bytes)
		l.free, b.bytes = b.bytes[n:], b.bytes[:n:n]
	}
}

// Settle ends the adding of calls. Unless it is nil, rename gives the final number of a name: it is called once for
// each name, in the order of their first calls.
func (c *Calls) Settle(rename func(name int32) int32) {
	for i := range c.threads {
		l := &c.threads[i]
		l.settle()
		for _, name := range l.names {
			for rename != nil && len(c.names) <= int(name) {
				c.names = append(c.names, -1)
			}
			if rename != nil && c.names[name] < 0 {
				c.names[name] = rename(name)
			}
		}
		l.names, l.known, l.free = nil, nil, nil
	}
}

// settle brings the calls that came out of order to their places.
func (l *callList) settle() {
	if l.open {
		l.put(&l.last)
		l.open = false
	}
	late := l.late
	l.late = nil
	if len(late) == 0 {
		return
	}
	// Of those that begin together the longest comes first: the others are inside it.
	order := func(a, b *Call) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), -cmp.Compare(a.End, b.End), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(late, func(a, b Call) int { return order(&a, &b) })
	var merged callList
	at := l.begin(0, nil)
	for at.Next(); at.OK || len(late) > 0; {
		if len(late) == 0 || at.OK && order(&at.Call, &late[0]) <= 0 {
			merged.add(at.Call)
			at.Next()
			continue
		}
		merged.add(late[0])
		late = late[1:]
	}
	*l = merged
	l.settle()
}

// Len is how many there are.
func (c *Calls) Len() (n int) {
	for i := range c.threads {
		n += c.threads[i].n
	}
	return n
}

// Threads is the number of threads that made calls.
func (c *Calls) Threads() int { return len(c.threads) }

// Span is from the start of the first call to the end of the last, zero for none.
func (c *Calls) Span() (span Interval) {
	for i := range c.threads {
		at := c.threads[i].begin(int32(i), c.names)
		at.Next()
		if at.OK {
			span = span.Cover(at.Call.Start, c.threads[i].end)
		}
	}
	return span
}

// All gives all of them.
func (c *Calls) All() iter.Seq[Call] {
	return func(yield func(Call) bool) {
		for i := range c.threads {
			at := c.threads[i].begin(int32(i), c.names)
			for at.Next(); at.OK; at.Next() {
				if !yield(at.Call) {
					return
				}
			}
		}
	}
}

// Equal reports whether two hold the same calls.
func (c Calls) Equal(o Calls) bool {
	return c.Len() == o.Len() && slices.Equal(slices.Collect(c.All()), slices.Collect(o.All()))
}

// CallCursor stands at a call of a thread, or behind the last one.
type CallCursor struct {
	Call Call
	OK   bool // it stands at a call
	// Before is the name of the call before, -1 for none.
	Before int32

	list  *callList
	names []int32
	block int
	data  []byte
	name  int32 // of the call as it was added
}

// From stands at the first call of a thread that ends after a time.
func (c *Calls) From(thread int32, time int64) CallCursor {
	if thread < 0 || int(thread) >= len(c.threads) {
		return CallCursor{Before: -1}
	}
	l := &c.threads[thread]
	at := l.begin(thread, c.names)
	// No call lies inside another one, so that they end in the order in which they begin.
	if n := sort.Search(len(l.blocks), func(i int) bool { return i > 0 && l.blocks[i].before > time }); n > 0 {
		at.block = n - 2
	}
	for at.Next(); at.OK && at.Call.End <= time; {
		at.Next()
	}
	return at
}

// begin stands before the first call.
func (l *callList) begin(thread int32, names []int32) CallCursor {
	return CallCursor{Call: Call{Thread: thread}, Before: -1, list: l, names: names, block: -1, name: -1}
}

// Next moves to the next call of the thread.
func (x *CallCursor) Next() {
	x.OK = x.next()
	if x.OK {
		return
	}
	if x.list != nil && x.block+1 < len(x.list.blocks) {
		x.block++
		b := &x.list.blocks[x.block]
		x.Call.End, x.name, x.data = b.before, b.name, b.bytes
		x.OK = x.next()
		return
	}
	x.Before = x.renamed(x.name)
}

func (x *CallCursor) next() bool {
	if len(x.data) == 0 {
		return false
	}
	x.Before = x.renamed(x.name)
	pause, n := uvarint(x.data)
	length, m := uvarint(x.data[n:])
	name, k := uvarint(x.data[n+m:])
	x.data = x.data[n+m+k:]
	x.Call.Start = x.Call.End + (int64(pause>>1) ^ -int64(pause&1))
	x.Call.End = x.Call.Start + int64(length)
	x.name = int32(uint32(name))
	x.Call.Name = x.renamed(x.name)
	return true
}

// uvarint is [binary.Uvarint], for numbers of few bytes.
func uvarint(b []byte) (uint64, int) {
	if b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

func (x *CallCursor) renamed(name int32) int32 {
	if name >= 0 && x.names != nil {
		return x.names[name]
	}
	return name
}

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
