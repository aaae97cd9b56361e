package sqlitepage

import (
	"encoding/binary"
	"math"
	"slices"
)

// layout is the places of the wanted columns in records of one header.
type layout struct {
	head    string
	size    int // of the values, in bytes
	kinds   []Kind
	values  []int64 // of those that take no bytes
	numbers []number
	reals   []int // columns whose numbers are real, in the form of integers as well
	texts   []text
}

// number is a number in a record: in the eight bytes from word on, with other bits to its left and right.
type number struct {
	column, word int
	left, right  uint8
}

type text struct{ column, at, size int }

// decoder reads records. Those of a table have few headers.
type decoder struct {
	*scan
	layouts map[string]*layout // by header without its length
	recent  [4]*layout         // the last ones taken from there, to find most without a map
	seat    int
}

// layout gives the layout of a header, or its error.
func (d *decoder) layout(head []byte) (l *layout, wrong string) {
	for _, l := range d.recent {
		if l != nil && l.head == string(head) {
			return l, ""
		}
	}
	l = d.layouts[string(head)]
	if l == nil {
		const most = 64
		if len(d.layouts) == most {
			clear(d.layouts)
		}
		l = &layout{head: string(head)}
		wrong = l.read(head, d.want, d.columns)
		if wrong != "" {
			return nil, wrong
		}
		d.layouts[l.head] = l
	}
	d.seat = (d.seat + 1) % len(d.recent)
	d.recent[d.seat] = l
	return l, ""
}

// widths are the bytes of a value by its serial type, for those of one byte below 12.
var widths = [12]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}

// read takes a header apart. Want is by the place in a record, of so many columns that are wanted.
func (l *layout) read(head []byte, want []field, columns int) (wrong string) {
	kinds, values := make([]Kind, columns), make([]int64, columns)
	place := 0
	for i := 0; i < len(head); place++ {
		if place == len(want) {
			return "it has more values than its table has columns"
		}
		serial, n := varint(head[i:])
		i += n
		width := 0
		switch {
		case n == 0:
			return "its header is cut off"
		case serial < 10:
			width = widths[serial]
		case serial < 12:
			return "a value of a kind that is not in use"
		case serial > 1<<32:
			return "a text that does not fit"
		default:
			width = int(serial-12) / 2
		}
		at := l.size
		l.size += width
		to := want[place].to
		if to < 0 {
			continue
		}
		if want[place].real && serial > 0 && serial < 10 {
			l.reals = append(l.reals, to)
		}
		switch {
		case serial == 0:
		case serial < 8:
			kinds[to] = Integer
			if serial == 7 {
				kinds[to] = Real
			}
			l.numbers = append(l.numbers, number{column: to, word: at, right: uint8(64 - 8*width)})
		case serial < 10:
			kinds[to], values[to] = Integer, int64(serial-8)
		default:
			kinds[to] = Blob
			if serial%2 == 1 {
				kinds[to] = Text
			}
			l.texts = append(l.texts, text{to, at, min(width, mostText)})
		}
	}
	for i := range l.numbers { // the last ones have fewer than eight bytes from their first one on
		n := &l.numbers[i]
		word := max(0, min(n.word, l.size-8))
		n.left, n.word = uint8(8*(n.word-word)), word
	}
	l.kinds, l.values = kinds, values
	for _, absent := range want[place:] { // the column was added to the table later
		if absent.to >= 0 && absent.filled {
			return "it has no value in a column with a default value, which is not read"
		}
	}
	return ""
}

// Kind is the type of a cell.
type Kind uint8

// The kinds of SQLite.
const (
	Null Kind = iota
	Integer
	Real
	Text
	Blob
)

// Rows are some rows of a table, in the order of their numbers.
type Rows struct {
	Numbers []int64
	// Kinds and Values hold the columns that were asked for, row by row. The value of an integer is the integer, of a
	// real number its bits; text and bytes have theirs in Bytes.
	Kinds  []Kind
	Values []int64
	bytes  []byte

	local, whole []byte // buffers
	overflowed   uint32 // pages read for it
}

// Bytes is the text or the bytes of a cell by its index, until the rows are read anew.
func (r *Rows) Bytes(i int) []byte {
	at, n := r.Values[i]>>32, r.Values[i]&0xffffffff
	return r.bytes[at : at+n]
}

// mostText is how much of a text is read, in bytes.
const mostText = 64 << 10

type scan struct {
	file    *File
	leaves  []leaf
	want    []field // by place in a record
	columns int     // that were asked for
	number  int     // the index among these of the column that is the row's number, -1 for none
}

// field is the wanted value at a place in a record.
type field struct {
	to           int // the index among the wanted columns, -1 for none
	real, filled bool
}

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
