package nsysstats

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"

	"github.com/gocarina/gocsv"
)

// rows are the rows of one table, as the CSV reader gets them: a line of the names of the columns, then each row as RFC
// 4180 has it, until the table ends.
type rows struct {
	*scanner
	*header
	from   int    // line of the header
	line   int    // where the row that was read last begins
	count  int    // of rows
	ready  []byte // to be read
	ended  bool
	failed error
	open   bool // the last row has no line end
	digest hash.Hash
	// unclear is the first number of which the table does not say whether its comma separates thousands, until english.
	unclear error
	english bool
}

func newRows(s *scanner, h *header) *rows {
	return &rows{scanner: s, header: h, from: s.line, ready: []byte(h.names()), digest: sha256.New()}
}

// Read implements io.Reader. It gives no more than one row at a time, so that line is that of the row read last.
func (r *rows) Read(p []byte) (int, error) {
	if len(r.ready) == 0 && !r.ended {
		row, err := r.row()
		switch {
		case err != nil:
			r.ended, r.failed = true, err
			return 0, err
		case row == nil:
			r.ended = true
		default:
			r.count++
			r.digest.Write(row)
			r.digest.Write([]byte{'\n'})
			r.ready = append(append(r.ready[:0], row...), '\n')
		}
	}
	if len(r.ready) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// row is the next row, nil where the table ends.
func (r *rows) row() ([]byte, error) {
	for blank := false; ; {
		line, err := r.next()
		if err == io.EOF {
			return nil, nil
		}
		r.line = r.scanner.line
		if err == errLong {
			return nil, r.refuse(err.Error(), again)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			blank = true
			continue
		}
		if r.first(line) {
			r.again()
			return nil, nil
		}
		cells, ok, open := strict(line)
		if ok && cells == len(r.columns) {
			r.open = r.last
			return line, nil
		}
		row, cells, err := r.repair(line, cells, ok, open)
		switch {
		case err != nil:
			return nil, err
		case row != nil:
			r.open = r.last
			return row, nil
		case around.Match(line) || blank && !someNumber(line):
			r.again()
			return nil, nil
		case r.last:
			return nil, r.refuse(fmt.Sprintf("the last row has %d cells, the header %d: the file is cut", cells,
				len(r.columns)), again)
		}
		why := "the table is cut, mixed with other output, or holds a name with a line break"
		if cells > len(r.columns) {
			why = "a name with commas has lost its quotes, or the table is mixed with other output"
		}
		return nil, r.refuse(fmt.Sprintf("the row has %d cells, the header %d: %s", cells, len(r.columns), why), fromReport)
	}
}

// someNumber reports whether a line has several cells and a number in one, so that it may be a piece of a row.
func someNumber(line []byte) bool {
	cells, _ := loose(line)
	return len(cells) > 1 && slices.ContainsFunc(cells, func(cell []byte) bool {
		_, form := parse(string(cell))
		return form != noNumber
	})
}

// first reports whether a line is the header of the next table. Rows that begin with a digit are none.
func (r *rows) first(line []byte) bool {
	if c := line[0]; c >= '0' && c <= '9' {
		return false
	}
	_, ok := recognise(line)
	return ok
}

// repair makes a row of a line that is none of RFC 4180: by nsys's own way with quotes, or with the lines after it where
// a quoted cell holds line ends. Without a row it gives the number of cells.
func (r *rows) repair(line []byte, cells int, ok, open bool) ([]byte, int, error) {
	const lines = 100
	joined := bytes.Clone(line)
	for i := 0; ; i++ {
		loosely, openToo := loose(joined)
		if !openToo && len(loosely) == len(r.columns) {
			return encode(loosely), 0, nil
		}
		if ok || !open && !openToo {
			return nil, cells, nil
		}
		if i == lines || len(joined) > longestLine {
			return nil, 0, r.refuse("a cell begins with a quote and does not end", again)
		}
		more, err := r.next()
		if err == io.EOF {
			return nil, 0, r.refuse("the last row ends inside quotes: the file is cut", again)
		}
		if err == errLong {
			return nil, 0, r.refuse(err.Error(), again)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", r.file, err)
		}
		joined = append(append(joined, '\n'), more...)
		if cells, ok, open = strict(joined); ok && cells == len(r.columns) {
			return joined, 0, nil
		}
	}
}

func (r *rows) refuse(reason, next string) error { return refuse(r.file, r.line, reason, next) }

// each reads the rows into structs of strings and hands them on one by one. What a cell means is decided cell by cell
// afterwards, since gocsv by itself reads an empty cell or a missing column as zero.
func each[Row any](r *rows, do func(Row) error) error {
	reader := csv.NewReader(r)
	reader.ReuseRecord = true
	reader.FieldsPerRecord = len(r.columns)
	um, err := gocsv.NewUnmarshaller(reader, *new(Row))
	for err == nil {
		var x any
		if x, err = um.Read(); err == nil {
			err = do(x.(Row))
		}
	}
	var broken *csv.ParseError
	switch {
	case r.failed != nil:
		return r.failed
	case errors.As(err, &broken):
		return r.refuse(fmt.Sprintf("the table is broken: %v", broken.Err), again)
	case err != io.EOF:
		return err
	case r.unclear != nil && !r.english:
		return r.unclear
	}
	return nil
}

func (r *rows) cell(name, text, reason, next string) error {
	c, _ := r.find(name)
	return r.refuse(fmt.Sprintf("column %s: %s %s", quote(c.title), quote(text), reason), next)
}

// number reads a cell that must hold a number.
func (r *rows) number(name, text string) (number, error) {
	if text == "" {
		c, _ := r.find(name)
		return number{}, r.refuse(fmt.Sprintf("column %s: the cell is empty", quote(c.title)), again)
	}
	n, form := parse(text)
	switch form {
	case grouped:
		r.english = true
	case unclear:
		if r.unclear == nil {
			r.unclear = r.cell(name, text, "is ambiguous: its comma may separate thousands or decimals", withC)
		}
	case comma:
		return n, r.cell(name, text, "is written with a decimal comma or with points between thousands", withC)
	case negative:
		return n, r.cell(name, text, "is negative", again)
	case noNumber:
		return n, r.cell(name, text, "is no number", again)
	}
	return n, nil
}

// whole reads a cell that must hold a whole number.
func (r *rows) whole(name, text string, limit int64) (int64, error) {
	n, err := r.number(name, text)
	if err != nil {
		return 0, err
	}
	v, _ := n.int(unit{})
	if float64(v) != n.float(unit{}) || v > limit {
		return 0, r.cell(name, text, fmt.Sprintf("is no whole number of at most %d", limit), again)
	}
	return v, nil
}

// quantity reads a cell of a time or a size, rounded to the base unit.
func (r *rows) quantity(name, text string, u unit, limit int64) (int64, error) {
	n, err := r.number(name, text)
	if err != nil {
		return 0, err
	}
	v, ok := n.int(u)
	if !ok || v > limit {
		return 0, r.cell(name, text, "is more than can be", again)
	}
	return v, nil
}

// The most that a cell may hold: a duration of eleven days as in gate/nsys, a time since 1970, a size, a number
// of launches, that of a process.
const (
	longest = 1e15
	latest  = math.MaxInt64 / 2
	largest = 1 << 60
	busiest = 1 << 36
	highest = 1 << 50
)

// coarsest is what times may be rounded to, in ns: --timeunit msec rounds to 100, sec to 100,000.
const coarsest = 1000
