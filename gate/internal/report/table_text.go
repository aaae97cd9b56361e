package report

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table writes aligned columns under their titles, or cards where the columns that must stay do not fit.
func (p *page) table(t *table) {
	const indent, gap, shortest = 2, 2, 8
	at := t.Shown(false)
	widths, rank := widthsOf(t, at)
	last := at[len(at)-1]
	// over is the excess width of the table.
	over := func(width func(i int) int) int {
		total := indent - gap
		for _, i := range at {
			if t.Columns[i].rank <= rank {
				total += width(i) + gap
			}
		}
		return total - p.Width
	}
	least := func(i int) int { return min(widths[i], cmp.Or(t.Columns[i].least, widths[i])) }
	for rank > 0 && over(least) > 0 {
		rank--
	}
	if over(least) > 0 {
		p.cards(t, at)
		return
	}
	at = slices.DeleteFunc(at, func(i int) bool { return t.Columns[i].rank > rank })
	for _, i := range at {
		if n := over(func(i int) int { return widths[i] }); n > 0 && t.Columns[i].least > 0 {
			widths[i] = min(widths[i], max(widths[i]-n, shortest))
		}
	}
	names := apart(t.Rows, widths[0])
	write := func(s style, text func(i int) string) {
		line, in := "", indent
		for _, i := range at {
			if t.Columns[i].wrap && i == last {
				p.line(indent, in, span{line, s}, span{text(i), s})
				return
			}
			cell := bind(Elide(text(i), widths[i]))
			if t.Columns[i].Right {
				cell = strings.Repeat(nb, widths[i]-columns(cell)) + cell
			}
			line += pad(cell, widths[i]+gap)
			in += widths[i] + gap
		}
		p.line(indent, indent, span{strings.TrimRight(line, nb), s})
	}
	if slices.ContainsFunc(at, func(i int) bool { return t.Columns[i].Title != "" }) {
		write(dim, func(i int) string { return t.Columns[i].Title })
	}
	for r := range t.Rows {
		write(styles[t.Rows[r].tone], func(i int) string {
			if i == 0 {
				return names[r]
			}
			return t.Rows[r].Cells[i].Text
		})
	}
	p.dim(indent, t.More)
}

// widthsOf are the full widths of the columns at these indices; rank is the highest of their ranks.
func widthsOf(t *table, at []int) (widths []int, rank int) {
	widths = make([]int, len(t.Columns))
	for _, i := range at {
		widths[i] = columns(t.Columns[i].Title)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], columns(row.Cells[i].Text))
		}
		if t.Columns[i].wrap {
			widths[i] = min(widths[i], 24)
		}
		rank = max(rank, t.Columns[i].rank)
	}
	return widths, rank
}

// cards writes each row as a paragraph: its first cell, then the other cells behind the titles of their columns.
func (p *page) cards(t *table, at []int) {
	names := apart(t.Rows, p.Width-2)
	for r, row := range t.Rows {
		s := styles[row.tone]
		p.line(2, 4, span{names[r], s})
		var spans []span
		for _, i := range at[1:] {
			c, text := t.Columns[i], strings.TrimSpace(row.Cells[i].Text)
			if text == "" {
				continue
			}
			if len(spans) > 0 {
				spans = append(spans, span{nb + "· ", none})
			}
			if c.Title != "" {
				spans = append(spans, span{bind(c.Title) + nb, dim})
			}
			if c.least == 0 && !c.wrap && columns(c.Title)+columns(text)+len("    · ") < p.Width { // a longer one would lose its middle
				text = bind(text)
			}
			spans = append(spans, span{text, s})
		}
		p.line(4, 4, spans...)
	}
	p.dim(2, t.More)
}

// apart are the first cells of rows in at most n columns, shortened so that different names stay different: where cutting out the
// middle makes two names alike, their common start is cut out.
func apart(rows []tableRow, n int) []string {
	alike := make(map[string][]string)
	for _, row := range rows {
		name := row.Cells[0].Text
		if short := Elide(name, n); !slices.Contains(alike[short], name) {
			alike[short] = append(alike[short], name)
		}
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		name := row.Cells[0].Text
		out[i] = Elide(name, n)
		// Indented names differ by their place.
		if names := alike[out[i]]; len(names) > 1 && !strings.HasPrefix(name, nb) {
			out[i] = fromDifference(name, names, n)
		}
	}
	return out
}

// List writes a table as text; cells of the last column may lose their middle.
func List(w io.Writer, title string, titles []string, rows [][]string, o Options) error {
	p := newPage(o)
	p.line(0, 2, span{title, none})
	t := &table{}
	const spare = "kernels" // a column that may be left out
	for i, title := range titles {
		c := column{Title: title, optional: i > 0}
		if i == len(titles)-1 {
			c.least = 24
		}
		if title == spare {
			c.rank = 1
		}
		t.Columns = append(t.Columns, c)
	}
	for _, row := range rows {
		texts := make([]string, len(row))
		for i := range row {
			texts[i] = Clean(row[i])
		}
		t.add(texts...)
	}
	p.table(t)
	return p.writeTo(w)
}

// fromDifference shortens a name to n columns so that the part stays in which it differs from others.
func fromDifference(name string, others []string, n int) string {
	same := len(name)
	for _, o := range others {
		if o != name {
			same = min(same, len(prefix(name, o)))
		}
	}
	const before = 4 // columns of the common start that stay on either side of the gap
	head, _ := split(name, before)
	start := same - before
	for start > 0 && start < len(name) && !utf8.RuneStart(name[start]) {
		start--
	}
	if start > len(head) {
		name = head + "…" + name[start:]
	}
	if columns(name) > n {
		name, _ = split(name, n-1)
		name += "…"
	}
	return name
}
