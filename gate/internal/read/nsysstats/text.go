package nsysstats

import (
	"bufio"
	"io"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

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
