package nsysstats

import (
	"bufio"
	"io"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/input"
)

// lines gives the lines of a file without their ends. Tables in columns of fixed width, as nsys stats prints them without
// --format csv, come out as CSV.
type lines struct {
	file   string
	in     *bufio.Reader
	line   int      // number of the current line
	text   string   // of it
	last   bool     // it is the last one and has no end
	held   bool     // it is to be given again
	starts []int    // where the columns of a printed table begin, in characters; nil outside of one
	ahead  *rawLine // the next line, where it was read already
}

type rawLine struct {
	text string
	err  error
}

func newLines(file string, in io.Reader) *lines {
	return &lines{file: file, in: bufio.NewReaderSize(cells.UTF8(in), 64<<10)}
}

// printedHeader matches the titles of a table in columns of fixed width.
var printedHeader = input.Pattern(`^ *(?:Time ?\(%\)  +Total Time|Start ?\(\w+\)  +Duration|Total ?\([KMG]?i?B\)  +Count|Total  +Operations)`)

// next reads a line; at the end of the file the error is io.EOF. The rule under the titles of a printed table is left out.
func (s *lines) next() (string, error) {
	if s.held {
		s.held = false
		return s.text, nil
	}
	r := s.read()
	if r.err != nil && (r.err != io.EOF || r.text == "") {
		return "", r.err
	}
	s.line++
	s.last = r.err == io.EOF
	s.text = strings.TrimRight(r.text, "\r\n")
	switch {
	case s.starts != nil && strings.TrimSpace(s.text) == "":
		s.starts = nil
	case s.starts != nil:
		s.text = s.cut(s.text)
	case !s.last && printedHeader().MatchString(s.text):
		under := s.read()
		if s.starts = cells.Rule(under.text); s.starts == nil {
			s.ahead = &under
			break
		}
		s.line++
		s.text = s.cut(s.text)
	}
	return s.text, nil
}

func (s *lines) read() rawLine {
	if r := s.ahead; r != nil {
		s.ahead = nil
		return *r
	}
	text, err := cells.Line(s.in)
	return rawLine{text, err}
}

// cut writes a line of a printed table as CSV.
func (s *lines) cut(line string) string {
	row := cells.Cut(line, s.starts)
	for i, cell := range row {
		if strings.ContainsAny(cell, `",`) {
			row[i] = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
	}
	return strings.Join(row, ",")
}
