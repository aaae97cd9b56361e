package sqlitepage

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
