package cli

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
)

// typeset prints Markdown as plain text of at most width columns: tables aligned, code indented, marks and addresses of
// links left out. Lines of code stay whole.
func typeset(text string, width int) string {
	var b strings.Builder
	var words []string
	var table [][]string
	indent, hang, code := 0, "", false
	line := func(in int, text string) {
		b.WriteString(strings.TrimRight(strings.Repeat(" ", in)+text, " ") + "\n")
	}
	flush := func() {
		for i, l := range wrapped(strings.Join(words, " "), width-indent-len(hang)) {
			line(indent, map[bool]string{true: hang, false: strings.Repeat(" ", len(hang))}[i == 0]+l)
		}
		for _, l := range aligned(table, width-indent) {
			line(indent, l)
		}
		words, table, hang = nil, nil, ""
	}
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		fence, row := strings.HasPrefix(l, "```"), strings.HasPrefix(l, "|")
		if len(words) > 0 && row || len(table) > 0 && !row {
			flush()
		}
		switch {
		case fence:
			flush()
			code = !code
		case code:
			line(indent+2, l)
		case l == "":
			flush()
			line(0, "")
		case strings.HasPrefix(l, "#"):
			flush()
			line(0, manual.Unmarked(strings.TrimLeft(l, "# ")))
			indent = 2
		case row:
			if cells := manual.Cells(l); !manual.Ruled(cells) {
				table = append(table, measure.Map(cells, manual.Unmarked))
			}
		case strings.HasPrefix(l, "- "):
			flush()
			hang, words = "- ", []string{manual.Unmarked(l[2:])}
		default:
			words = append(words, manual.Unmarked(strings.TrimSpace(l)))
		}
	}
	flush()
	return b.String()
}

// wrapped breaks a text into lines of at most width columns, longer words at any character.
func wrapped(text string, width int) (lines []string) {
	width = max(width, 8)
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && story.Columns(line)+1+story.Columns(word) > width {
			lines, line = append(lines, line), ""
		}
		line += map[bool]string{true: " "}[line != ""] + word
		for story.Columns(line) > width {
			head, rest := story.Split(line, width)
			lines, line = append(lines, head), rest
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// aligned prints the rows of a table, the first of which is its heading. The widest columns are broken first.
func aligned(rows [][]string, width int) (out []string) {
	const gap, least = 2, 8
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], story.Columns(cell))
		}
	}
	for measure.Sum(widths, func(n int) int { return n + gap })-gap > width {
		widest := 0
		for i, n := range widths {
			if n >= widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= least {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		cells, tall := make([][]string, len(row)), 1
		for i, cell := range row {
			cells[i] = wrapped(cell, widths[i])
			tall = max(tall, len(cells[i]))
		}
		for n := range tall {
			line := ""
			for i := range row {
				text := ""
				if n < len(cells[i]) {
					text = cells[i][n]
				}
				line += text + strings.Repeat(" ", max(widths[i]-story.Columns(text), 0)+gap)
			}
			out = append(out, strings.TrimRight(line, " "))
		}
	}
	return out
}
