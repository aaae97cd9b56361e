package ncu

import (
	"bufio"
	"bytes"
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
	name   string
	in     *bufio.Reader
	notes  notes
	tables int
	table  *table // the one that is being read, nil between them
	err    error  // why there are no more lines: io.EOF at the end

	line  int    // number of the line that was read last
	bare  []byte // that line without its end
	ended bool   // it has an end
	held  bool   // it is to be read again
	cut   bool   // the last table ends inside a quoted cell
}

// table is one CSV table of the output. It is the reader of its text.
type table struct {
	*pages
	file    string
	begin   int  // line of its header, from 1
	last    bool // the output ends with it
	quoted  bool // the text read so far has a quote
	belongs *regexp.Regexp
	open    bool   // inside a quoted cell that spans lines
	inside  bool   // the last line has a quote that does not end
	rest    []byte // of the text, which is still to be given
}

func newPages(name string, r io.Reader) *pages {
	return &pages{name: name, in: bufio.NewReaderSize(r, 64<<10), notes: notes{name: name, failure: len(failures)}}
}

func (p *pages) read() bool {
	if p.held {
		p.held = false
		return true
	}
	if p.err != nil {
		return false
	}
	line, err := p.in.ReadBytes('\n')
	if err != nil && (err != io.EOF || len(line) == 0) {
		p.err = err
		return false
	}
	p.line++
	p.bare, p.ended = bytes.TrimRight(line, "\r\n"), err == nil
	return true
}

// next reads the rest of the current table and finds the next one, nil for none.
func (p *pages) next() *table {
	for p.table != nil && p.table.more() {
	}
	for p.read() {
		bare := string(p.bare)
		if at, row := heading(bare); row != nil {
			t := &table{pages: p, file: p.name, begin: p.line, belongs: row}
			t.inside = strings.Count(bare[at:], `"`)%2 == 1
			t.take([]byte(strings.TrimRight(bare[at:], " \t")))
			p.table = t
			p.tables++
			return t
		}
		if strayed().MatchString(bare) {
			p.err = model.Refuse(model.BadTable, again,
				"%s:%d: a row of a table outside of any table: the output is cut or mixed with the program's", p.name, p.line)
			return nil
		}
		p.notes.see(p.line, bare)
	}
	return nil
}

// take makes a line the next of the text.
func (t *table) take(bare []byte) {
	t.quoted = t.quoted || bytes.IndexByte(bare, '"') >= 0
	t.rest = append(bare, '\n')
}

// more reads the next line of the table; it is false behind the last one.
func (t *table) more() bool {
	p := t.pages
	if p.table != t {
		return false
	}
	if !p.read() {
		t.last = p.err == io.EOF
		p.cut = t.last && t.inside
		p.table = nil
		return false
	}
	blank := len(bytes.TrimSpace(p.bare)) == 0
	if t.open || blank || t.belongs.Match(p.bare) {
		if t.open = t.open != (bytes.Count(p.bare, []byte(`"`))%2 == 1); !blank {
			t.inside = t.open
		}
		bare := p.bare
		if !t.open { // a cell that ends here must not be followed by blanks
			bare = bytes.TrimRight(bare, " \t")
		}
		t.take(bare)
		return true
	}
	p.table, p.held = nil, true
	if elided().Match(p.bare) {
		p.err, p.held = model.Refuse(model.RowsMissing, again, "%s:%d: rows are left out here (%s)", p.name, p.line, quote(string(bytes.TrimSpace(p.bare)))), false
	} else if _, form := cells.Parse(p.bare); cutID().Match(p.bare) || !p.ended && form == cells.Whole {
		p.err, p.held = model.Refuse(model.Truncated, again, "%s:%d: the row is cut", p.name, p.line), false
	}
	return false
}

// Read gives the text of the table, line by line.
func (t *table) Read(b []byte) (n int, err error) {
	if len(t.rest) == 0 && !t.more() {
		return 0, io.EOF
	}
	n = copy(b, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// drain reads the rest of the table.
func (t *table) drain() {
	for t.more() {
	}
	t.rest = nil
}

// refusal is the reason why the output cannot be judged, wrong cells of a table excepted: the messages beside the tables explain more.
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
