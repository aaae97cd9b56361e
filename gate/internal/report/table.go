package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/plot"
)

// table is rows under titles, for every format. Only pages have links, notes and pictures.
type table struct {
	Title, About string
	Class        string // of a page's table
	Columns      []column
	Rows         []tableRow
	// More says which rows text and a page leave out, "" for none.
	More  string
	limit int // rows in Markdown, 0 for all
}

// column is a column of a table. On a narrow terminal, columns of the highest rank are left out first, and cells of columns with a
// least width lose their middle.
type column struct {
	Title string
	Right bool
	rank  int
	least int // shortest width of a cell on a terminal; 0 where cells are never shortened
	// optional columns are left out if every cell is empty.
	optional bool
	// wrap lets the cells of a last column take several lines.
	wrap bool
	// Name is true for cells that hold names of the recording.
	Name bool
	// Sorted lets a page sort by the column, Up with the smallest value first.
	Sorted, Up bool
	// Label precedes the cell on a narrow page; Class is the CSS class of the cells.
	Label, Class string
	// Pic columns are on pages only, text columns everywhere else.
	Pic, text bool
	// markup is true for cells that are Markdown already.
	markup bool
}

type tableRow struct {
	Cells []cell
	tone  tone
}

// cell is a cell. Only pages use the fields other than Text.
type cell struct {
	Text  string
	Note  string // in small type behind the text
	Link  string // address
	Full  string // whole name, shown on a click
	Sort  string // sort key, "" for the text
	Class string
	SVG   plot.SVG
}

func cells(texts ...string) []cell {
	out := make([]cell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// Side are the CSS classes of a cell of the column.
func (c column) Side(x cell) string {
	side := ""
	switch {
	case c.Pic:
		side = "pic"
	case c.Right:
		side = "n"
	}
	return join(" ", side, c.Class, x.Class)
}

func (t *table) add(texts ...string) { t.Rows = append(t.Rows, tableRow{Cells: cells(texts...)}) }

// Shown are the indices of the columns that are not empty; with pics those of a page.
func (t *table) Shown(pics bool) []int {
	var out []int
	for i, c := range t.Columns {
		empty := c.optional && !slices.ContainsFunc(t.Rows, func(r tableRow) bool { return r.Cells[i].Text != "" })
		if !empty && (pics && !c.text || !pics && !c.Pic) {
			out = append(out, i)
		}
	}
	return out
}

// table writes aligned columns under their titles, or cards where the columns that must stay do not fit.
func (p *page) table(t *table) {
	const indent, gap, shortest = 2, 2, 8
	at := t.Shown(false)
	widths, rank := t.widths(at)
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

// widths are the full widths of the columns at these indices; rank is the highest of their ranks.
func (t *table) widths(at []int) (widths []int, rank int) {
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

// markdown writes the table in at most room bytes, and counts the rows that do not fit.
func (t *table) markdown(room int) string {
	at := t.Shown(false)
	if len(t.Rows) == 0 || len(at) == 0 {
		return ""
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString("\n**" + t.Title + "**")
		if t.About != "" {
			b.WriteString(": " + prose(t.About))
		}
		b.WriteByte('\n')
	}
	head, rule := "|", "|"
	for _, i := range at {
		head += " " + cmp.Or(t.Columns[i].Title, "name") + " |"
		rule += map[bool]string{true: " ---: |", false: " --- |"}[t.Columns[i].Right]
	}
	b.WriteString("\n" + head + "\n" + rule + "\n")
	const note = 100 // bytes of the note on rows that are cut
	for r, row := range t.Rows {
		line := "|"
		for _, i := range at {
			switch text := row.Cells[i].Text; {
			case t.Columns[i].markup:
				line += " " + text + " |"
			case t.Columns[i].Name && text != "":
				line += " " + code(text) + " |"
			case t.Columns[i].wrap:
				line += " " + prose(text) + " |"
			default:
				line += " " + bind(prose(text)) + " |"
			}
		}
		if b.Len()+len(line)+note > room || r+1 > cmp.Or(t.limit, math.MaxInt) {
			if r == 0 {
				return ""
			}
			return b.String() + fmt.Sprintf("\n%d more rows are cut here; the JSON report holds all.\n", len(t.Rows)-r)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
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

// most cuts the table to n rows; more says how many are left out.
func (t *table) most(n int, more func(left int) string) {
	if left := len(t.Rows) - n; n < math.MaxInt && left > 0 {
		t.Rows, t.More = t.Rows[:n], more(left)
	}
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
