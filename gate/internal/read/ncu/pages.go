package ncu

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
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

// table is one CSV table of the output, and the reader of its text.
type table struct {
	*pages
	begin  int    // line of its header, from 1
	last   bool   // the output ends with it
	quoted bool   // a quote was read
	rest   string // the text of the last line that is still to be given
	row    *regexp.Regexp
	open   bool // the last line ends inside a quoted cell
	inside bool // so does the last line that is not blank
	done   bool // there are no more rows
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
			header := p.bare[at:]
			t := &table{pages: p, begin: p.line, row: row, quoted: strings.Contains(header, `"`),
				inside: strings.Count(header, `"`)%2 == 1}
			t.rest = strings.TrimRight(header, " \t") + "\n"
			return t
		}
		if strayed().MatchString(p.bare) {
			p.err = model.Refuse(model.BadTable, again,
				"%s:%d: a row of a table outside of any table: the output is cut or mixed with the program's", p.name,
				p.line)
			return nil
		}
		p.notes.see(p.line, p.bare)
	}
	return nil
}

// give makes a line the text to give next, without the blanks that a cell must not have behind it.
func (t *table) give(line string) {
	blank := strings.TrimSpace(line) == ""
	quotes := strings.Count(line, `"`)
	t.quoted = t.quoted || quotes > 0
	t.open = t.open != (quotes%2 == 1)
	if !blank {
		t.inside = t.open
	}
	if !t.open {
		line = strings.TrimRight(line, " \t")
	}
	t.rest = line + "\n"
}

// Read gives the text of the table up to the line that is no row of it.
func (t *table) Read(p []byte) (int, error) {
	if t.rest == "" {
		t.done = t.done || !t.more()
		if t.done {
			return 0, io.EOF
		}
		t.give(t.bare)
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// more reads the next line, and reports whether it belongs to the table.
func (t *table) more() bool {
	if !t.read() {
		t.last = t.err == io.EOF
		t.cut = t.last && t.inside
		return false
	}
	line := t.bare
	if t.open || strings.TrimSpace(line) == "" || t.row.MatchString(line) {
		return true
	}
	if elided().MatchString(line) {
		t.err = model.Refuse(model.RowsMissing, again, "%s:%d: rows are left out here (%s)", t.name, t.line,
			quote(strings.TrimSpace(line)))
	} else if _, form := cells.Parse(line); cutID().MatchString(line) || !t.ended && form == cells.Whole {
		t.err = model.Refuse(model.Truncated, again, "%s:%d: the row is cut", t.name, t.line)
	}
	t.held = t.err == nil
	return false
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

// launchLine begins a launch on the details page as ncu prints it without --csv; ncu before 2023 prints a date for the
// geometry.
var launchLine = input.Pattern(`^ {2}(\S.*?)(?: (\([0-9]+, [0-9]+, [0-9]+\))x(\([0-9]+, [0-9]+, [0-9]+\))|, 20[0-9]{2}-[A-Z][a-z]{2}-[0-9]{2} [0-9:]{8})?` +
	`, Context [0-9]+, Stream ([0-9]+)(?:, Device ([0-9]+))?(?:, CC [0-9.]+)?$`)

var (
	sectionLine = input.Pattern(`^ {4}Section: (.*\S)\s*$`)
	titleLine   = input.Pattern(`^ {4}Metric Name +Metric Unit +Metric Value\s*$`)
	ruleLine    = input.Pattern(`^ {4}-+ -+ -+\s*$`)
)

// printedPage turns details pages that ncu printed without --csv into CSV, line for line, so that line numbers hold.
// Other lines stay as they are before the first launch, and of ncu itself also behind it.
type printedPage struct {
	launch  []string // ID, kernel, stream, block, grid and device; nil before the first
	section string
	rule    []int // where the columns of the table begin
	rows    bool  // the lines are rows of metrics
	headed  bool  // the header of the CSV is written
	number  int
}

// line gives the CSV of a line.
func (p *printedPage) line(text string) string {
	line := strings.TrimRight(text, "\r\n")
	if m := launchLine().FindStringSubmatch(line); m != nil {
		p.launch, p.section, p.rows = []string{strconv.Itoa(p.number), m[1], m[4], m[3], m[2], m[5]}, "", false
		p.number++
		if p.headed {
			return "\n"
		}
		p.headed = true
		return cells.CSV("ID", "Kernel Name", "Stream", "Block Size", "Grid Size", "Device", "Section Name",
			"Metric Name", "Metric Unit", "Metric Value") + "\n"
	}
	m := sectionLine().FindStringSubmatch(line)
	switch {
	case p.launch == nil:
		return text
	case strings.HasPrefix(line, "=="):
		p.headed = false
		return text
	case m != nil:
		p.section, p.rows = m[1], false
	case ruleLine().MatchString(line):
		p.rule = cells.Rule(line)
	case titleLine().MatchString(line):
		p.rows = true
	case p.rows && len(p.rule) == 3 && strings.HasPrefix(line, "    "):
		return cells.CSV(append(append(p.launch[:6:6], p.section), cells.Cut(line, p.rule)...)...) + "\n"
	default:
		p.rows = p.rows && strings.TrimSpace(line) == ""
	}
	return "\n"
}
