package nsysstats

import (
	"bufio"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
)

// printedHeader matches the titles of a table in columns of fixed width, as nsys stats prints without --format csv.
var printedHeader = regexp.MustCompile(`^ *(?:Time ?\(%\)  +Total Time|Start ?\(\w+\)  +Duration|Total ?\([KMG]?i?B\)  +Count|Total  +Operations)`)

// drawnColumns turns tables in columns of fixed width into CSV, line by line.
type drawnColumns struct {
	from  []int  // where the columns of the table begin, in characters; nil outside of one
	ahead string // the line behind the current one, where it was read
	err   error  // of reading it
	held  bool
}

// next reads a line. The rule under the titles of a printed table is left out, and counts as a line.
func (p *drawnColumns) next(in *bufio.Reader) (text string, lines int, err error) {
	if p.held {
		text, err, p.held = p.ahead, p.err, false
	} else {
		text, err = cells.Line(in)
	}
	bare := strings.TrimRight(text, "\r\n")
	switch {
	case p.from != nil && strings.TrimSpace(bare) == "":
		p.from = nil
	case p.from != nil:
		text = p.row(bare) + text[len(bare):]
	case err == nil && printedHeader.MatchString(bare):
		p.ahead, p.err = cells.Line(in)
		if p.from = ruled(p.ahead); p.from != nil {
			return p.row(bare) + text[len(bare):], 2, nil
		}
		p.held = true
	}
	return text, 1, err
}

// ruled gives where the columns over a line of dashes begin, nil for another line.
func ruled(line string) (from []int) {
	if line = strings.TrimRight(line, " \r\n"); !strings.Contains(line, "---") || strings.Trim(line, "- ") != "" {
		return nil
	}
	before := ' '
	for i, c := range line {
		if c == '-' && before == ' ' {
			from = append(from, i)
		}
		before = c
	}
	return from
}

// row writes a line as CSV. Between two columns there are two blanks; a cell may begin anywhere in its column.
func (p *drawnColumns) row(line string) string {
	text := []rune(line)
	cut := func(i int) int { return min(p.from[i], len(text)) }
	var row []string
	for i := range p.from {
		end := len(text)
		if i+1 < len(p.from) {
			end = cut(i + 1)
		}
		cell := strings.TrimSpace(string(text[cut(i):end]))
		if strings.ContainsAny(cell, `",`) {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		row = append(row, cell)
	}
	return strings.Join(row, ",")
}
