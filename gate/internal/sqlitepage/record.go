package sqlitepage

import (
	"encoding/binary"
	"math"
	"slices"
)

// decode reads the rows of some leaves, the last of which lie behind the first in the file by less than a window.
func (s *scan) decode(r *Rows, leaves []leaf) (err error) {
	r.Numbers, r.Kinds, r.Values, r.bytes, r.overflowed = r.Numbers[:0], r.Kinds[:0], r.Values[:0], r.bytes[:0], 0
	first, last := leaves[0].page, leaves[0].page
	for _, x := range leaves {
		last = max(last, x.page)
	}
	if r.local, err = s.file.read(r.local, first, int(last-first)+1); err != nil {
		return err
	}
	for _, x := range leaves {
		p, err := s.file.page(x.page, r.local[int(x.page-first)*s.file.pageSize:][:s.file.pageSize])
		if err != nil {
			return err
		}
		if p.kind != leafPage {
			return malformed(x.page, "it holds no rows where rows should be")
		}
		if err := s.rows(r, &p, x); err != nil {
			return err
		}
	}
	return nil
}

// rows reads the rows of a page.
func (s *scan) rows(r *Rows, p *page, x leaf) error {
	sum, after := 0, x.after
	room := len(r.Kinds) + p.cells*s.columns
	r.Kinds, r.Values = slices.Grow(r.Kinds, room-len(r.Kinds)), slices.Grow(r.Values, room-len(r.Values))
	for i := range p.cells {
		at, err := p.cell(i)
		if err != nil {
			return err
		}
		size, n := varint(p.data[at:])
		number, m := varint(p.data[at+n:])
		if n == 0 || m == 0 || size > 1<<31-1 {
			return malformed(p.number, "cell %d is cut off", i)
		}
		row := int64(number)
		if row <= after && (i > 0 || after != math.MinInt64) || row > x.last {
			return malformed(p.number, "row %d is out of order", row)
		}
		after = row
		begin := at + n + m
		local := s.file.local(int(size))
		end := begin + local
		if local < int(size) {
			end += 4
		}
		if end > len(p.data) {
			return malformed(p.number, "row %d does not fit", row)
		}
		sum += max(4, end-at)
		r.Numbers = append(r.Numbers, row)
		payload := p.data[begin : begin+local]
		if local < int(size) {
			payload, err = s.file.long(r, payload, int(size), binary.BigEndian.Uint32(p.data[begin+local:]))
			if err != nil {
				return err
			}
		}
		if err := s.record(r, payload); err != "" {
			return malformed(p.number, "row %d: %s", row, err)
		}
	}
	return p.full(sum)
}

// local is how many bytes of a record lie in its cell; the rest is in pages of its own (section 1.6 of the format).
func (f *File) local(size int) int {
	most, least := f.usable-35, (f.usable-12)*32/255-23
	if size <= most {
		return size
	}
	if n := least + (size-least)%(f.usable-4); n <= most {
		return n
	}
	return least
}

// long puts together a record of which a part lies in other pages, from the given one on.
func (f *File) long(r *Rows, local []byte, size int, next uint32) ([]byte, error) {
	r.whole = append(r.whole[:0], local...)
	var buffer []byte
	for len(r.whole) < size {
		if r.overflowed++; r.overflowed > f.pages {
			return nil, malformed(next, "pages of long texts repeat")
		}
		var err error
		if buffer, err = f.read(buffer, next, 1); err != nil {
			return nil, err
		}
		next = binary.BigEndian.Uint32(buffer)
		r.whole = append(r.whole, buffer[4:min(f.usable, 4+size-len(r.whole))]...)
	}
	return r.whole, nil
}

// sizes are the bytes of a value by its serial type, for those of one byte below 12.
var sizes = [12]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}

// record reads the columns of a record that were asked for; what is wrong with it, "" for nothing.
func (s *scan) record(r *Rows, b []byte) string {
	length, at := varint(b)
	if at == 0 || length > uint64(len(b)) || length < uint64(at) {
		return "its header is cut off"
	}
	head, body := b[at:length], b[length:]
	to := len(r.Kinds)
	r.Kinds, r.Values = r.Kinds[:to+s.columns], r.Values[:to+s.columns]
	kinds, values := r.Kinds[to:], r.Values[to:]
	clear(kinds) // columns may be absent at the end of a record: they were added to the table later
	clear(values)
	at = 0
	column := 0
	for i := 0; i < len(head); {
		serial := uint64(head[i])
		if i++; serial >= 0x80 {
			long, n := varint(head[i-1:])
			if n == 0 {
				return "its header is cut off"
			}
			serial = long
			i += n - 1
		}
		size := 0
		switch {
		case serial < 10:
			size = sizes[serial]
		case serial < 12:
			return "a value of a kind that is not in use"
		case serial > 1<<32:
			return "a text that does not fit"
		default:
			size = int(serial-12) / 2
		}
		if size > len(body)-at {
			return "a value that does not fit"
		}
		if column < len(s.want) {
			switch i := s.want[column]; {
			case i < 0:
			case 1 <= serial && serial <= 6 && len(body)-at >= 8:
				kinds[i], values[i] = Integer, int64(binary.BigEndian.Uint64(body[at:]))>>(64-8*size) // the shift keeps the sign
			default:
				kinds[i], values[i] = r.value(serial, body[at:at+size])
			}
		}
		at += size
		column++
	}
	if at != len(body) {
		return "its values do not fill it"
	}
	return ""
}

// value reads a value of a serial type.
func (r *Rows) value(serial uint64, b []byte) (Kind, int64) {
	switch serial {
	case 0:
		return Null, 0
	case 1:
		return Integer, int64(int8(b[0]))
	case 2:
		return Integer, int64(int16(binary.BigEndian.Uint16(b)))
	case 3:
		return Integer, int64(int8(b[0]))<<16 | int64(b[1])<<8 | int64(b[2])
	case 4:
		return Integer, int64(int32(binary.BigEndian.Uint32(b)))
	case 5:
		return Integer, int64(int16(binary.BigEndian.Uint16(b)))<<32 | int64(binary.BigEndian.Uint32(b[2:]))
	case 6:
		return Integer, int64(binary.BigEndian.Uint64(b))
	case 7:
		return Real, int64(binary.BigEndian.Uint64(b))
	case 8:
		return Integer, 0
	case 9:
		return Integer, 1
	}
	kind := Blob
	if serial%2 == 1 {
		kind = Text
	}
	b = b[:min(len(b), mostText)]
	at := len(r.bytes)
	r.bytes = append(r.bytes, b...)
	return kind, int64(at)<<32 | int64(len(b))
}
