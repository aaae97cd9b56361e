package ncu

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// message is one of Protocol Buffers.
type message []byte

// field is a field of a message: a number, or bytes that hold a text or another message.
type field struct {
	id     protowire.Number
	kind   protowire.Type
	number uint64 // the bits of a fraction
	bytes  message
}

// each shows the fields of a message to f until it says no. It is false for bytes that are no message.
func (m message) each(f func(field) bool) bool {
	for len(m) > 0 {
		var x field
		var n int
		x.id, x.kind, n = protowire.ConsumeTag(m)
		if n < 0 {
			return false
		}
		m = m[n:]
		switch x.kind {
		case protowire.VarintType:
			x.number, n = protowire.ConsumeVarint(m)
		case protowire.Fixed64Type:
			x.number, n = protowire.ConsumeFixed64(m)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(m)
			x.number = uint64(v)
		case protowire.BytesType:
			x.bytes, n = protowire.ConsumeBytes(m)
		default:
			n = -1
		}
		if n < 0 {
			return false
		}
		m = m[n:]
		if !f(x) {
			return true
		}
	}
	return true
}

// find gives the first field of an id.
func (m message) find(id protowire.Number) (found field, ok bool) {
	m.each(func(x field) bool {
		if x.id == id {
			found, ok = x, true
		}
		return !ok
	})
	return found, ok
}

// number is the whole number of an id.
func (m message) number(id protowire.Number) (uint64, bool) {
	x, ok := m.find(id)
	return x.number, ok && x.kind == protowire.VarintType
}
