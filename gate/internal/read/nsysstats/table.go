package nsysstats

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// table is one table. It is the reader of its text: a line of the names of its columns, and its rows.
type table struct {
	*header
	*lines
	from   int      // line of the header
	at     int      // line of the current row
	cells  []string // of it, until the next one
	given  []byte   // the text of a row
	rest   []byte   // of it, which is still to be given
	gap    bool     // a blank line came before
	open   bool     // the last row has no line end
	rows   int
	digest maphash.Hash
	wrong  error // the refusal of the first wrong cell of the current row
	// unclear is the refusal of the first number whose comma may separate thousands or decimals, unless english.
	unclear error
	english bool
	kernels model.KernelNames
	step    float64 // the rounding unit of durations or totals, in ns
}

// seed is the seed of all digests, which are compared within one process alone.
var seed = maphash.MakeSeed()

func place(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

func (t *table) place() string { return place(t.file, t.from) }

// check refuses a table without a column that is needed, or in an unknown unit. Sizes without a unit are in bytes, in
// the summaries until 2021 in KiB. Means without a unit are in that of their total.
func (t *table) check() error {
	if len(t.columns) < t.width {
		return model.Refuse(model.BadTable, again, "%s: a column of %s is there twice", t.place(), t.kind)
	}
	needed, sizes := []string{"total", "count", "name"}, []string(nil)
	times := []string{"total", "avg", "min", "med", "max"}
	switch t.kind {
	case other:
		return nil
	case gpuTrace:
		needed, times, sizes = []string{"start", "duration", "name"}, []string{"start", "duration"},
			[]string{"stcsmem", "dymsmem", "bytes"}
		if t.has("grdx") {
			needed = append(needed, "grdy", "grdz", "blkx", "blky", "blkz")
		}
	case memSize:
		times, sizes = nil, times
		total := t.find("total")
		total.unit = cmp.Or(total.unit, "kib")
	}
	for _, name := range needed {
		if !t.has(name) {
			return model.Refuse(model.BadTable, again, "%s: %s has no column %s", t.place(), t.kind,
				measure.Quote(name))
		}
	}
	for i, name := range slices.Concat(times, sizes) {
		c, want := t.find(name), "ns"
		if i >= len(times) {
			want = "B"
		}
		c.unit = cmp.Or(c.unit, t.find("total").unit)
		if c.at == 0 || c.unit == "" && want == "B" {
			continue
		}
		var base string
		var known bool
		if c.factor, base, known = measure.BaseUnit(c.unit); !known || base != want {
			return model.Refuse(model.BadTable, again, "%s: the column %s is in a unit that is not known", t.place(),
				measure.Quote(c.title))
		}
	}
	return nil
}

// Read gives the text of the table up to the line that ends it.
func (t *table) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		line, err := t.next()
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
			t.held = true
			return 0, io.EOF
		} else if err != nil {
			return 0, err
		}
		_, _ = t.digest.WriteString(line)
		t.given = append(append(t.given[:0], line...), '\n')
		t.open, t.rest = t.last, t.given
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// ends reports whether a line stands behind the table, and refuses one that is a piece of a row.
func (t *table) ends(line string) (bool, error) {
	if c := line[0]; c < '0' || c > '9' {
		if _, another := recognise(line); another || report().MatchString(line) {
			return true, nil
		}
	}
	count := strings.Count(line, ",") + 1
	switch {
	case len(line) >= cells.LongestLine-2:
		return false, model.Refuse(model.TooLarge, again, "%s: the line is longer than any row of nsys",
			place(t.file, t.line))
	case count >= t.width && (!t.last || strings.Count(line, `"`)%2 == 0):
		return false, nil
	case t.gap && !someNumber(line):
		return true, nil
	case t.last:
		return false, model.Refuse(model.Truncated, again, "%s: the last row is not whole: the file is cut",
			place(t.file, t.line))
	}
	return false, model.Refuse(model.BadTable, fromReport, "%s: the row has %d cells, the header %d: the table is "+
		"cut, mixed with other output, or holds a name with a line break", place(t.file, t.line), count, t.width)
}

// someNumber reports whether a line has several cells and a number in one, so that it may be a piece of a row.
func someNumber(line string) bool {
	found := strings.Split(line, ",")
	return len(found) > 1 && slices.ContainsFunc(found, func(cell string) bool {
		_, form := cells.Parse(strings.Trim(cell, `"`))
		return form != cells.NoNumber
	})
}

// each reads the rows of a table one by one. Names whose quotes are not doubled, as nsys writes them, are read as they
// are.
func (t *table) each(do func() error) (err error) {
	// coarsest is the coarsest rounding of times, in ns: --timeunit msec rounds to 100, sec to 100,000.
	const coarsest = 1000
	t.digest.SetSeed(seed)
	r := csv.NewReader(t)
	r.LazyQuotes, r.ReuseRecord, r.FieldsPerRecord = true, true, t.width
	for err == nil {
		if t.cells, err = r.Read(); err == nil {
			t.rows++
			line, _ := r.FieldPos(0)
			t.at = t.from + line
			err = do()
			if t.wrong != nil {
				return t.wrong
			}
		}
	}
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax):
		return model.Refuse(model.BadTable, fromReport, "%s: the row has other cells than the header: "+
			"a name with commas has lost its quotes, or the table is mixed with other output",
			place(t.file, t.from+syntax.Line))
	case err != io.EOF:
		return err
	case t.unclear != nil && !t.english:
		return t.unclear
	case t.rows == 0 && t.kind <= kernSum:
		return model.Refuse(model.RowsMissing, fromReport,
			"%s: %s has a header and no rows: nsys printed none of the kernels", t.place(), t.kind)
	case t.step > coarsest:
		return model.Refuse(model.ZeroLength, nanosecond, "%s: the times are rounded to %.0f ns", t.place(), t.step)
	}
	return nil
}

// number is a cell that holds a number or nothing.
type number struct {
	text string
	cells.Number
	form cells.Form
}

// text is a cell of the current row, "" where the table has no such column.
func (t *table) text(c *column) string {
	if c.at == 0 {
		return ""
	}
	return t.cells[c.at-1]
}

// number parses a cell of the current row. [table.value] refuses what is wrong with it.
func (t *table) number(c *column) (n number) {
	if text := t.text(c); text != "None" {
		n.text = text
		n.Number, n.form = cells.Parse(text)
	}
	return n
}

// The most that a cell may hold: a duration of eleven days as in package nsys, a time since 1970, a size, a number of
// launches.
const (
	longest = 1e15
	latest  = math.MaxInt64 / 2
	largest = 1 << 60
	busiest = 1 << 36
)

// value gives a cell of the current row in ns or bytes, -1 where the table has no such column. A cell without a unit
// holds a whole number. The first wrong cell of a row is refused by [each].
func (t *table) value(c *column, most int64) int64 {
	if c.at == 0 {
		return -1
	}
	n := t.number(c)
	value, fits := n.Int(c.factor)
	if n.form == cells.Whole && n.Digits >= 0 && fits && value <= most {
		return value
	}
	refuse := func(next, what string) error {
		return model.Refuse(model.BadValue, next, "%s: column %s: %s %s", place(t.file, t.at),
			measure.Quote(c.title), measure.Quote(n.text), what)
	}
	var wrong error
	switch {
	case n.form == cells.Foreign:
		wrong = refuse(withC, "is written with a decimal comma or with points between thousands")
	case n.form == cells.NoNumber:
		wrong = refuse(again, "is no number")
	case n.Digits < 0:
		wrong = refuse(again, "is negative")
	case !fits || value > most:
		wrong = refuse(again, "is more than can be")
	case c.unit == "" && float64(value) != n.Float(1):
		wrong = refuse(again, "is no whole number")
	case n.form == cells.Thousands:
		t.english = true
	case n.form == cells.ThreeAfterComma && t.unclear == nil:
		t.unclear = refuse(withC, "is ambiguous: its comma may separate thousands or decimals")
	}
	if t.wrong == nil {
		t.wrong = wrong
	}
	return value
}

// checkName refuses a row without a name, or with one of several lines.
func (t *table) checkName(name string) error {
	if name == "" || strings.Contains(name, "\n") {
		return model.Refuse(model.BadValue, fromReport, "%s: the row has no name", place(t.file, t.at))
	}
	return nil
}

// lines gives the lines of a file without their ends. Tables in columns of fixed width, as nsys stats prints them
// without
// --format csv, come out as CSV.
type lines struct {
	file   string
	in     *bufio.Reader
	line   int    // number of the current line
	text   string // of it
	last   bool   // it is the last one and has no end
	held   bool   // it is to be given again
	starts []int  // where the columns of a printed table begin, in characters; nil outside of one
}

func newLines(file string, in io.Reader) *lines {
	return &lines{file: file, in: bufio.NewReaderSize(cells.UTF8(in), 64<<10)}
}

// printedHeader matches the titles of a table in columns of fixed width.
var printedHeader = input.Pattern(`^ *(?:Time ?\(%\)  +Total Time|Start ?\(\w+\)  +Duration|Total ?\([KMG]?i?B\)  +Count|Total  +Operations)`)

// next reads a line; at the end of the file the error is io.EOF. The rule under the titles of a printed table is left
// out.
func (s *lines) next() (string, error) {
	if s.held {
		s.held = false
		return s.text, nil
	}
	text, err := cells.Line(s.in)
	if err != nil && (err != io.EOF || text == "") {
		return "", err
	}
	s.line++
	s.last = err == io.EOF
	s.text = strings.TrimRight(text, "\r\n")
	switch {
	case s.starts != nil && strings.TrimSpace(s.text) == "":
		s.starts = nil
	case s.starts != nil:
		s.text = cells.CSV(cells.Cut(s.text, s.starts)...)
	case !s.last && strings.IndexAny(strings.TrimLeft(s.text, " "), "TS") == 0 &&
		printedHeader().MatchString(s.text):
		ahead, _ := s.in.Peek(s.in.Size()) // an error comes with the next line
		under, _, _ := strings.Cut(string(ahead), "\n")
		s.starts = cells.Rule(under)
		if s.starts != nil {
			_, _ = cells.Line(s.in)
			s.line++
			s.text = cells.CSV(cells.Cut(s.text, s.starts)...)
		}
	}
	return s.text, nil
}
