package manual

import (
	"slices"
	"strings"

	tables "github.com/yuin/goldmark/extension/ast"
)

// gap is the space between two columns.
const gap = 2

// table writes a table: in columns where each has room for its longest word, else a paragraph a row.
func (p *page) table(n *tables.Table) {
	var rows [][][]word
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		as := style(0)
		if _, heading := r.(*tables.TableHeader); heading {
			as = bold
		}
		var row [][]word
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, p.inline(c, as))
		}
		rows = append(rows, row)
	}
	widths, fits := columns(rows, p.width)
	if !fits {
		p.records(rows)
		return
	}
	tall := slices.ContainsFunc(rows, func(row [][]word) bool { return height(row, widths) > 2 })
	for i, row := range rows {
		if tall && i > 1 {
			p.out.WriteString("\n")
		}
		p.row(row, widths, n.Alignments)
		if i == 0 {
			var rules []string
			for _, w := range widths {
				rules = append(rules, strings.Repeat("─", w))
			}
			p.out.WriteString(strings.Join(rules, strings.Repeat(" ", gap)) + "\n")
		}
	}
}

// height is how many lines a row takes.
func height(row [][]word, widths []int) (n int) {
	for i := range row {
		n = max(n, len(wrap(row[i], widths[i])))
	}
	return n
}

// columns are the widths of a table's columns. Those that need less than their part of the room leave the rest to the others;
// fits is false where one of these could not hold its longest word.
func columns(rows [][][]word, width int) (widths []int, fits bool) {
	natural, least := make([]int, len(rows[0])), make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			for _, w := range cell {
				least[i] = max(least[i], min(w.width(), 28))
			}
			natural[i] = max(natural[i], length(cell))
		}
	}
	room, open := width-gap*(len(natural)-1), len(natural)
	widths = make([]int, len(natural))
	for given := true; given; {
		given = false
		for i, n := range natural {
			if widths[i] == 0 && n <= room/max(open, 1) {
				widths[i], room, open, given = max(n, 1), room-n, open-1, true
			}
		}
	}
	for i := range widths {
		if widths[i] > 0 {
			continue
		}
		widths[i] = room / open
		room, open = room-widths[i], open-1
		if widths[i] < max(least[i], 16) {
			return nil, false
		}
	}
	return widths, true
}

// row writes the lines of one row.
func (p *page) row(row [][]word, widths []int, align []tables.Alignment) {
	cells := make([][][]word, len(row))
	for i := range row {
		cells[i] = wrap(row[i], widths[i])
	}
	for at := range height(row, widths) {
		line := ""
		for i := range cells {
			text, used := "", 0
			if at < len(cells[i]) {
				text, used = p.paint(cells[i][at]), length(cells[i][at])
			}
			pad := strings.Repeat(" ", widths[i]-used)
			if i < len(align) && align[i] == tables.AlignRight {
				text = pad + text
			} else {
				text += pad
			}
			line += text + strings.Repeat(" ", gap)
		}
		p.out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// records writes each row for itself: its first cell, and below it the others, each after its heading.
func (p *page) records(rows [][][]word) {
	for i, row := range rows[1:] {
		if i > 0 {
			p.out.WriteString("\n")
		}
		p.lines(wrap(row[0], p.width), "", "")
		for j, cell := range row[1:] {
			if len(cell) == 0 {
				continue
			}
			words := cell
			if heading := rows[0][j+1]; len(heading) > 0 {
				last := append(word{}, heading[len(heading)-1]...)
				words = append(append(append([]word{}, heading[:len(heading)-1]...), append(last, piece{":", 0})), cell...)
			}
			p.lines(wrap(words, p.width-4), "  ", "    ")
		}
	}
}
