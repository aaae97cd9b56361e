package ncu

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// pages finds the tables in the output of ncu, line by line.
type pages struct {
	name    string
	in      *bufio.Reader
	printed printedPage
	notes   notes
	tables  int
	err     error // why there are no more lines: io.EOF at the end

	line  int    // number of the line that was read last
	bare  string // that line without its end
	ended bool   // it has an end
	held  bool   // it is to be read again
	cut   bool   // the last table ends inside a quoted cell
}

// table is one CSV table of the output.
type table struct {
	file  string
	begin int  // line of its header, from 1
	last  bool // the output ends with it
	text  strings.Builder
}

func (p *pages) read() bool {
	if p.held {
		p.held = false
		return true
	}
	if p.err != nil {
		return false
	}
	line, err := cells.Line(p.in)
	if err != nil && (err != io.EOF || line == "") {
		p.err = err
		return false
	}
	line = p.printed.line(line)
	p.line++
	p.bare, p.ended = strings.TrimRight(line, "\r\n"), strings.HasSuffix(line, "\n")
	return true
}

// next reads the next table, nil for none.
func (p *pages) next() *table {
	for p.read() {
		if at, row := heading(p.bare); row != nil {
			p.tables++
			return p.collect(p.bare[at:], row)
		}
		if strayed().MatchString(p.bare) {
			p.err = model.Refuse(model.BadTable, again,
				"%s:%d: a row of a table outside of any table: the output is cut or mixed with the program's", p.name, p.line)
			return nil
		}
		p.notes.see(p.line, p.bare)
	}
	return nil
}

// collect reads the table of a header. Its rows match row.
func (p *pages) collect(header string, row *regexp.Regexp) *table {
	t := &table{file: p.name, begin: p.line}
	odd := func(line string) bool { return strings.Count(line, `"`)%2 == 1 }
	open := false         // inside a quoted cell that spans lines
	inside := odd(header) // the last line has a quote that does not end
	t.text.WriteString(strings.TrimRight(header, " \t") + "\n")
	for p.read() {
		line, blank := p.bare, strings.TrimSpace(p.bare) == ""
		if !open && !blank && !row.MatchString(line) {
			if elided().MatchString(line) {
				p.err = model.Refuse(model.RowsMissing, again, "%s:%d: rows are left out here (%s)", p.name, p.line, quote(strings.TrimSpace(line)))
			} else if _, form := cells.Parse(line); cutID().MatchString(line) || !p.ended && form == cells.Whole {
				p.err = model.Refuse(model.Truncated, again, "%s:%d: the row is cut", p.name, p.line)
			}
			p.held = p.err == nil
			return t
		}
		if open = open != odd(line); !blank {
			inside = open
		}
		if !open { // a cell that ends here must not be followed by blanks
			line = strings.TrimRight(line, " \t")
		}
		t.text.Grow(len(line) + 1) // to twice the room where it is full: less is copied than where writing grows it
		t.text.WriteString(line)
		t.text.WriteByte('\n')
	}
	t.last = p.err == io.EOF
	p.cut = t.last && inside
	return t
}

// refusal is the reason why the output cannot be judged, wrong cells of a table excepted: the messages beside the
// tables explain more.
func (p *pages) refusal() error {
	var refused *model.Refusal
	switch {
	case errors.As(p.err, &refused):
		return p.err
	case p.err != io.EOF:
		return fmt.Errorf("%s: %w", p.name, p.err)
	}
	if err := p.notes.refusal(p.tables > 0); err != nil {
		return err
	}
	if p.cut {
		return model.Refuse(model.Truncated, again,
			"%s:%d: the output ends in the middle of a cell: it is cut", p.name, p.line)
	}
	return nil
}
