package nsys

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/sqlitepage"
)

type row struct {
	kinds   []sqlitepage.Kind // by column
	values  []int64           // of those that hold integers
	rows    *sqlitepage.Rows  // has the texts,
	first   int               // from this cell on
	table   string
	columns []string
	number  int64
	reason  string // the error of the row
	// backwards is true where the reason is a time.
	backwards bool
}

func (r *row) refuse(db *database) error {
	if r.backwards {
		return model.Refuse(model.ClockBackwards, recordAgain+"; if it happens again, update the driver and nsys",
			"%s: the clock goes backwards: %s", db.name,
			fmt.Sprintf("table %s, row %d: %s", r.table, r.number, r.reason))
	}
	return model.Refuse(model.BadValue, exportAgain, "%s: table %s, row %d: %s", db.name, r.table, r.number, r.reason)
}

func (r *row) wrong(format string, args ...any) {
	if r.reason == "" {
		r.reason = fmt.Sprintf(format, args...)
	}
}

// from takes the cells of the i-th of rows.
func (r *row) from(rows *sqlitepage.Rows, i int) {
	n := len(r.columns)
	r.rows, r.number, r.first = rows, rows.Numbers[i], i*n
	r.kinds, r.values = rows.Kinds[i*n:][:n], rows.Values[i*n:][:n]
}

// int is the integer in a column that must hold one.
func (r *row) int(column int) int64 {
	if r.kinds[column] != sqlitepage.Integer {
		r.odd(column)
	}
	return r.values[column]
}

// intOr is the integer in a column, or absent where the cell is null.
func (r *row) intOr(column int, absent int64) int64 {
	if r.kinds[column] != sqlitepage.Integer {
		return r.orNull(column, absent)
	}
	return r.values[column]
}

// orNull is absent for a null in a column that may hold one beside integers. It stands by itself so that intOr, which
// is called for nearly every cell, is inlined.
//
//go:noinline
func (r *row) orNull(column int, absent int64) int64 {
	if !r.null(column) {
		r.odd(column)
	}
	return absent
}

func (r *row) odd(column int) {
	holds := [...]string{sqlitepage.Null: "nothing", sqlitepage.Text: "text", sqlitepage.Real: "a fraction",
		sqlitepage.Blob: "bytes"}
	r.wrong("column %s holds %s, not an integer", r.columns[column], holds[r.kinds[column]])
}

func (r *row) null(column int) bool { return r.kinds[column] == sqlitepage.Null }

// text is the text in a column, "" where it is null.
func (r *row) text(column int) string { return string(r.bytes(column, nil)) }

// begins reports whether a cell holds a text that begins so, without an error for any other cell.
func (r *row) begins(column int, prefix string) bool {
	return r.kinds[column] >= sqlitepage.Text && bytes.HasPrefix(r.rows.Bytes(r.first+column), []byte(prefix))
}

// integer is the integer in a cell, without an error for a cell that holds none.
func (r *row) integer(column int) (v int64, ok bool) {
	return r.values[column], r.kinds[column] == sqlitepage.Integer
}

// bytes is the text in a column, valid until the next row. It may use the buffer.
func (r *row) bytes(column int, buffer []byte) []byte {
	switch r.kinds[column] {
	case sqlitepage.Null:
		return nil
	case sqlitepage.Integer:
		return strconv.AppendInt(buffer[:0], r.values[column], 10)
	case sqlitepage.Real:
		r.wrong("column %s holds a fraction, not text", r.columns[column])
		return nil
	}
	return r.rows.Bytes(r.first + column)
}

// span reads start and end of something that the GPU did.
func (r *row) span(start, end int) (int64, int64) {
	a, b := r.int(start), r.int(end)
	const longest = 1e15 // ns: eleven days
	switch {
	case r.reason != "":
	case a < 0:
		r.wrong("the start %d is before the recording began", a)
		r.backwards = true
	case b < a:
		r.wrong("the end %d is before the start %d", b, a)
		r.backwards = true
	case b-a > longest:
		r.wrong("from %d to %d ns is longer than any launch", a, b)
	}
	return a, b
}

func (r *row) extent(column int) uint32 {
	v := r.int(column)
	if v < 0 || v > math.MaxUint32 {
		r.wrong("column %s holds %d, no extent of a grid or block", r.columns[column], v)
	}
	return uint32(v)
}
