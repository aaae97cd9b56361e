package sqlitepage

import (
	"encoding/binary"
	"math"
	"slices"
)

// decode reads the rows of some leaves, all within less than a window of the file behind the first.
func (d *decoder) decode(r *Rows, leaves []leaf) (err error) {
	r.Numbers, r.Kinds, r.Values, r.bytes, r.overflowed = r.Numbers[:0], r.Kinds[:0], r.Values[:0], r.bytes[:0], 0
	first, last := leaves[0].page, leaves[0].page
	for _, x := range leaves {
		last = max(last, x.page)
	}
	if r.local, err = d.file.read(r.local, first, int(last-first)+1); err != nil {
		return err
	}
	for _, x := range leaves {
		p, err := d.file.page(x.page, r.local[int(x.page-first)*d.file.pageSize:][:d.file.pageSize])
		if err != nil {
			return err
		}
		if p.kind != leafPage {
			return malformed(x.page, "it holds no rows where rows should be")
		}
		if err := d.rows(r, &p, x); err != nil {
			return err
		}
	}
	return nil
}

// mostRecord is the size in bytes of the largest row that is read. Those of profilers are much smaller.
const mostRecord = 64 << 20

func (d *decoder) rows(r *Rows, p *page, x leaf) error {
	sum, after := 0, x.after
	room := len(r.Kinds) + p.cells*d.columns
	r.Kinds, r.Values = slices.Grow(r.Kinds, room-len(r.Kinds)), slices.Grow(r.Values, room-len(r.Values))
	for i := range p.cells {
		at, err := p.cell(i)
		if err != nil {
			return err
		}
		size, n := varint(p.data[at:])
		number, m := varint(p.data[at+n:])
		if n == 0 || m == 0 || size > mostRecord {
			return malformed(p.number, "cell %d is cut off, or larger than %d bytes", i, mostRecord)
		}
		row := int64(number)
		if row <= after && (i > 0 || after != math.MinInt64) || row > x.last {
			return malformed(p.number, "row %d is out of order", row)
		}
		after = row
		begin := at + n + m
		local := d.file.local(int(size))
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
			payload, err = d.file.long(r, payload, int(size), binary.BigEndian.Uint32(p.data[begin+local:]))
			if err != nil {
				return err
			}
		}
		if err := d.record(r, payload); err != "" {
			return malformed(p.number, "row %d: %s", row, err)
		}
		if d.number >= 0 {
			at := len(r.Values) - d.columns + d.number
			r.Kinds[at], r.Values[at] = Integer, row
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

// long reads a record that continues on other pages, from the given one on.
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

// record reads the wanted columns of a record and gives its error, "" for none.
func (d *decoder) record(r *Rows, b []byte) string {
	length, at := varint(b)
	if at == 0 || length > uint64(len(b)) || length < uint64(at) {
		return "its header is cut off"
	}
	body := b[length:]
	l, wrong := d.layout(b[at:length])
	switch {
	case wrong != "":
		return wrong
	case l.size > len(body):
		return "a value that does not fit"
	case l.size < len(body):
		return "its values do not fill it"
	}
	to := len(r.Values)
	r.Kinds, r.Values = append(r.Kinds, l.kinds...), append(r.Values, l.values...)
	values := r.Values[to:]
	var padded [8]byte
	if len(body) < len(padded) {
		copy(padded[:], body)
		body = padded[:]
	}
	for _, n := range l.numbers {
		values[n.column] = int64(binary.BigEndian.Uint64(body[n.word:])<<n.left) >> n.right // keeps the sign
	}
	for _, c := range l.reals {
		if kind := &r.Kinds[to+c]; *kind == Integer {
			*kind, values[c] = Real, int64(math.Float64bits(float64(values[c])))
		} else if math.IsNaN(math.Float64frombits(uint64(values[c]))) {
			*kind = Null // as SQLite takes it
		}
	}
	for _, t := range l.texts {
		values[t.column] = int64(len(r.bytes))<<32 | int64(t.size)
		r.bytes = append(r.bytes, body[t.at:t.at+t.size]...)
	}
	return ""
}
