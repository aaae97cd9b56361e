package nsysstats

import (
	"encoding/csv"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gocarina/gocsv"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// table is one table. It is the reader of its text: a line of the names of its columns, and its rows.
type table struct {
	*header
	*lines
	from   int    // line of the header
	rest   []byte // of the text, which is still to be given
	gap    bool   // a blank line came before
	open   bool   // the last row has no line end
	rows   int
	digest maphash.Hash
	// unclear is the refusal of the first number whose comma may separate thousands or decimals, until english.
	unclear error
	english bool
	budget  model.NameBudget
	step    float64 // what durations or totals are rounded to, in ns

	traced *traced // of gpuTrace
	sums   []sum   // of the summaries
}

func (t *table) place() string { return place(t.file, t.from) }

// seed is that of all digests, which are compared with each other alone.
var seed = maphash.MakeSeed()

// Read gives the text of the table up to the line that ends it.
func (t *table) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		line, err := t.lines.next()
		if err == io.EOF {
			return 0, err
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", t.file, err)
		}
		if strings.TrimSpace(line) == "" {
			t.gap, t.rest = true, []byte("\n")
			break
		}
		if ends, err := t.ends(line); ends {
			t.again()
			return 0, io.EOF
		} else if err != nil {
			return 0, err
		}
		_, _ = t.digest.WriteString(line)
		t.open, t.rest = t.last, append([]byte(line), '\n')
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// ends reports whether a line stands behind the table, and refuses one that is a piece of a row.
func (t *table) ends(line string) (bool, error) {
	if c := line[0]; c < '0' || c > '9' {
		if _, another := recognise(line); another || around.MatchString(line) {
			return true, nil
		}
	}
	count := strings.Count(line, ",") + 1
	switch {
	case len(line) >= cells.LongestLine-2:
		return false, model.Refuse(model.TooLarge, again, "%s: the line is longer than any row of nsys", place(t.file, t.line))
	case count >= len(t.columns) && (!t.last || strings.Count(line, `"`)%2 == 0):
		return false, nil
	case t.gap && !someNumber(line):
		return true, nil
	case t.last:
		return false, model.Refuse(model.Truncated, again, "%s: the last row is not whole: the file is cut", place(t.file, t.line))
	}
	return false, model.Refuse(model.BadTable, fromReport, "%s: the row has %d cells, the header %d: "+
		"the table is cut, mixed with other output, or holds a name with a line break", place(t.file, t.line), count, len(t.columns))
}

// someNumber reports whether a line has several cells and a number in one, so that it may be a piece of a row.
func someNumber(line string) bool {
	found := strings.Split(line, ",")
	return len(found) > 1 && slices.ContainsFunc(found, func(cell string) bool {
		_, form := cells.Parse(strings.Trim(cell, `"`))
		return form != cells.NoNumber
	})
}

// each reads the rows into values of the type of row, a pointer to a struct, one by one. Names without their quotes doubled, as nsys
// writes them, are read as they are.
func (t *table) each(row any, do func(row any, line int) error) error {
	t.digest.SetSeed(seed)
	r := csv.NewReader(io.MultiReader(strings.NewReader(strings.Join(t.columns, ",")+"\n"), t))
	r.LazyQuotes, r.ReuseRecord, r.FieldsPerRecord = true, true, len(t.columns)
	rows, err := gocsv.NewUnmarshaller(r, row)
	if err != nil {
		return fmt.Errorf("%s: %w", t.place(), err)
	}
	for {
		x, err := rows.Read()
		var syntax *csv.ParseError
		switch {
		case err == io.EOF && t.unclear != nil && !t.english:
			return t.unclear
		case err == io.EOF:
			return nil
		case errors.As(err, &syntax):
			return model.Refuse(model.BadTable, fromReport, "%s: the row has other cells than the header: "+
				"a name with commas has lost its quotes, or the table is mixed with other output", place(t.file, t.from+syntax.Line-1))
		case err != nil:
			return err
		}
		t.rows++
		line, _ := r.FieldPos(0)
		if err := do(x, t.from+line-1); err != nil {
			return err
		}
	}
}

// number is a cell that holds a number or nothing.
type number struct {
	text string
	cells.Number
	form cells.Form
}

// UnmarshalCSV parses the text of a cell. What is wrong with it is refused by [table.take], which knows the column.
func (n *number) UnmarshalCSV(text string) error {
	if text != "None" {
		n.text = text
		n.Number, n.form = cells.Parse(text)
	}
	return nil
}

// name is the text of a cell that must be one line.
type name string

// UnmarshalCSV keeps the text, or nothing of one that holds a line break.
func (n *name) UnmarshalCSV(text string) error {
	if !strings.Contains(text, "\n") {
		*n = name(text)
	}
	return nil
}

// take gives the value of a cell in ns or bytes, at most so large, -1 where the table has no such column.
func (t *table) take(line int, column string, n number, most int64) (int64, error) {
	if !t.has(column) {
		return -1, nil
	}
	refuse := func(kind model.Kind, next, what string) (int64, error) {
		return 0, model.Refuse(kind, next, "%s: column %s: %s %s", place(t.file, line), measure.Quote(t.titles[column]), measure.Quote(n.text), what)
	}
	value, fits := n.Int(t.factor[column])
	switch {
	case n.text == "":
		return 0, model.Refuse(model.BadValue, again, "%s: column %s: the cell is empty", place(t.file, line), measure.Quote(t.titles[column]))
	case n.form == cells.Foreign:
		return refuse(model.BadValue, withC, "is written with a decimal comma or with points between thousands")
	case n.form == cells.NoNumber:
		return refuse(model.BadValue, again, "is no number")
	case n.Digits < 0:
		return refuse(model.BadValue, again, "is negative")
	case !fits || value > most:
		return refuse(model.BadValue, again, "is more than can be")
	case n.form == cells.Thousands:
		t.english = true
	case n.form == cells.ThreeAfterComma && t.unclear == nil:
		_, t.unclear = refuse(model.BadValue, withC, "is ambiguous: its comma may separate thousands or decimals")
	}
	return value, nil
}

// count gives a cell that must hold a whole number.
func (t *table) count(line int, column string, n number, most int64) (int64, error) {
	value, err := t.take(line, column, n, most)
	if err == nil && value >= 0 && float64(value) != n.Float(1) {
		err = model.Refuse(model.BadValue, again, "%s: column %s: %s is no whole number", place(t.file, line), measure.Quote(t.titles[column]),
			measure.Quote(n.text))
	}
	return value, err
}

// fine refuses a table whose times are rounded to more than many a kernel lasts.
func (t *table) fine(what string) error {
	if t.step > coarsest {
		return model.Refuse(model.ZeroLength, nanosecond, "%s: the %s are rounded to %.0f ns", t.place(), what, t.step)
	}
	return nil
}

// The most that a cell may hold: a duration of eleven days as in package nsys, a time since 1970, a size, a number of launches.
const (
	longest = 1e15
	latest  = math.MaxInt64 / 2
	largest = 1 << 60
	busiest = 1 << 36
)

// coarsest is what times may be rounded to, in ns: --timeunit msec rounds to 100, sec to 100,000.
const coarsest = 1000
