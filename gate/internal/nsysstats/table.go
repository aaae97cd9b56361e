package nsysstats

import (
	"encoding/csv"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// table is one table and what was read of it.
type table struct {
	*header
	*lines
	from   int // line of the header
	rows   int
	open   bool // the last row has no line end
	digest maphash.Hash
	cells  []string // of the row, to be used again
	row    row
	// unclear is the first number of which the table does not say whether its comma separates thousands, until english.
	unclear error
	english bool
	step    float64 // what its durations or totals are rounded to, in ns

	traced *traced // of gpuTrace
	sums   []sum   // of the summaries
	spans  []span  // of projTrace
}

func (t *table) place() string { return place(t.file, t.from) }

// row is one row. The first error of a cell stays, and every further cell is zero.
type row struct {
	*table
	line  int
	text  string
	cells []string
	err   error
}

// refuse notes the first thing that is wrong with the row.
func (r *row) refuse(kind model.Kind, next, format string, args ...any) {
	if r.err == nil {
		r.err = model.Refuse(kind, next, "%s:%d: %s", r.file, r.line, fmt.Sprintf(format, args...))
	}
}

// seed is that of all digests, which are compared with each other alone.
var seed = maphash.MakeSeed()

// each reads the rows one by one. The cells are valid until the next row.
func (t *table) each(do func(*row)) error {
	t.digest.SetSeed(seed)
	for {
		r, err := t.next()
		switch {
		case err != nil:
			return err
		case r == nil && t.unclear != nil && !t.english:
			return t.unclear
		case r == nil:
			return nil
		}
		t.rows++
		_, _ = t.digest.WriteString(r.text)
		_ = t.digest.WriteByte('\n')
		if do(r); r.err != nil {
			return r.err
		}
	}
}

// next is the next row, nil where the table ends.
func (t *table) next() (*row, error) {
	for blank := false; ; {
		line, err := t.lines.next()
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.file, err)
		}
		at := t.line
		broken := func(kind model.Kind, next, format string, args ...any) (*row, error) {
			return nil, model.Refuse(kind, next, "%s:%d: %s", t.file, at, fmt.Sprintf(format, args...))
		}
		if strings.TrimSpace(line) == "" {
			blank = true
			continue
		}
		if len(line) >= cells.LongestLine-2 {
			return broken(model.TooLarge, again, "the line is longer than any row of nsys")
		}
		if c := line[0]; c < '0' || c > '9' {
			if _, another := recognise(line); another {
				t.again()
				return nil, nil
			}
		}
		found, open := split(t.cells[:0], line, len(t.columns))
		for more := 0; open; more++ { // a quoted cell holds line ends
			next, err := t.lines.next()
			switch {
			case err == io.EOF:
				return broken(model.Truncated, again, "the last row ends inside quotes: the file is cut")
			case err != nil:
				return nil, fmt.Errorf("%s: %w", t.file, err)
			case more == 100 || len(line) > cells.LongestLine:
				return broken(model.BadTable, again, "a cell begins with a quote and does not end")
			}
			line += "\n" + next
			found, open = split(found[:0], line, len(t.columns))
		}
		t.open, t.cells = t.last, found
		switch {
		case len(found) == len(t.columns):
			t.row = row{table: t, line: at, text: line, cells: found}
			return &t.row, nil
		case around.MatchString(line) || blank && !someNumber(line):
			t.again()
			return nil, nil
		case t.last:
			return broken(model.Truncated, again, "the last row has %d cells, the header %d: the file is cut", len(found), len(t.columns))
		case len(found) > len(t.columns):
			return broken(model.BadTable, fromReport, "the row has %d cells, the header %d: a name with commas has lost its quotes, or the table is mixed with other output", len(found), len(t.columns))
		}
		return broken(model.BadTable, fromReport, "the row has %d cells, the header %d: the table is cut, mixed with other output, or holds a name with a line break", len(found), len(t.columns))
	}
}

// someNumber reports whether a line has several cells and a number in one, so that it may be a piece of a row.
func someNumber(line string) bool {
	found, _ := split(nil, line, 0)
	return len(found) > 1 && slices.ContainsFunc(found, func(cell string) bool {
		_, form := cells.Parse(cell)
		return form != cells.NoNumber
	})
}

// split takes a row apart that should have so many cells; it is open where it ends inside quotes. nsys puts a cell between
// quotes where it holds a comma, and leaves quotes inside it as they are: ":a, "b"",PushPop. Others who print these tables
// double them, as RFC 4180 has it, which counts where it gives the right number of cells. The cells are appended to found.
func split(found []string, line string, want int) (_ []string, open bool) {
	first, clear := len(found), true
	for at := 0; at <= len(line); {
		end := at
		if end < len(line) && line[end] == '"' {
			at++
			for end = at; end < len(line) && (line[end] != '"' || end+1 < len(line) && line[end+1] != ','); end++ {
				clear = clear && line[end] != '"'
			}
			if end == len(line) {
				open = true
				break
			}
			found = append(found, line[at:end])
			at = end + 2
			continue
		}
		for ; end < len(line) && line[end] != ','; end++ {
			clear = clear && line[end] != '"'
		}
		found = append(found, line[at:end])
		at = end + 1
	}
	if want == 0 || clear && !open && len(found)-first == want {
		return found, open
	}
	r := csv.NewReader(strings.NewReader(line))
	if strict, err := r.Read(); err == nil && len(strict) == want && r.InputOffset() == int64(len(line)) {
		return append(found[:first], strict...), false
	}
	return found, open
}

// cell is the text of a column, "" where there is no such column.
func (r *row) cell(c *column) string {
	if c == nil {
		return ""
	}
	return r.cells[c.place]
}

// wrong refuses the row for a cell.
func (r *row) wrong(kind model.Kind, next string, c *column, format string, args ...any) {
	r.refuse(kind, next, "column %s: %s %s", measure.Quote(c.title), measure.Quote(r.cell(c)), fmt.Sprintf(format, args...))
}

// number reads a cell that must hold a number.
func (r *row) number(c *column) cells.Number {
	text := r.cell(c)
	n, form := cells.Parse(text)
	switch {
	case text == "":
		r.refuse(model.BadValue, again, "column %s: the cell is empty", measure.Quote(c.title))
	case form == cells.Foreign:
		r.wrong(model.BadNumber, withC, c, "is written with a decimal comma or with points between thousands")
	case form == cells.NoNumber:
		r.wrong(model.BadValue, again, c, "is no number")
	case n.Digits < 0:
		r.wrong(model.BadValue, again, c, "is negative")
	case form == cells.Thousands:
		r.english = true
	case form == cells.ThreeAfterComma && r.unclear == nil:
		bare := row{table: r.table, line: r.line, cells: r.cells}
		bare.wrong(model.BadNumber, withC, c, "is ambiguous: its comma may separate thousands or decimals")
		r.unclear = bare.err
	}
	if r.err != nil {
		return cells.Number{}
	}
	return n
}

// whole reads a cell that must hold a whole number.
func (r *row) whole(c *column, most int64) int64 {
	n := r.number(c)
	v, _ := n.Int(1)
	if float64(v) != n.Float(1) || v > most {
		r.wrong(model.BadValue, again, c, "is no whole number of at most %d", most)
	}
	return v
}

// quantity reads a cell of a time or a size in ns or bytes, rounded to whole ones, and what the table rounds it to.
func (r *row) quantity(c *column, most int64) (value int64, step float64) {
	n := r.number(c)
	v, ok := n.Int(c.factor)
	if !ok || v > most {
		what := "is more than can be"
		if most == longest {
			what = "is longer than any launch"
		}
		r.wrong(model.BadValue, again, c, "%s", what)
	}
	return v, n.Step(c.factor)
}

// extents reads the grid or block in one cell: " 896    1    1".
func (r *row) extents(c *column) (d measure.Dim3) {
	parts := strings.Fields(r.cell(c))
	if len(parts) != 3 {
		r.wrong(model.BadValue, again, c, "is no extent of a grid or block")
		return d
	}
	for i, to := range []*uint32{&d.X, &d.Y, &d.Z} {
		n, form := cells.Parse(parts[i])
		if form != cells.Whole || n.Digits > math.MaxUint32 {
			r.wrong(model.BadValue, again, c, "is no extent of a grid or block")
		}
		*to = uint32(n.Digits)
	}
	return d
}

// span reads a start and a duration.
func (r *row) span(start, duration *column) model.Interval {
	from, _ := r.quantity(start, latest)
	ns, step := r.quantity(duration, longest)
	r.step = max(r.step, step)
	return model.Interval{Start: from, End: from + ns}
}

// fine refuses a table whose times are rounded to more than many a kernel lasts.
func (t *table) fine(what string) error {
	if t.step > coarsest {
		return model.Refuse(model.CoarseTimes, nanosecond, "%s: the %s are rounded to %s ns", t.place(), what, fmt.Sprintf("%.0f", t.step))
	}
	return nil
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
