package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/plot"
)

// table is rows under titles. Every format writes it: text aligns it, Markdown takes its texts, a page adds links, small print
// and pictures.
type table struct {
	Title, About string
	Class        string // of a page's table
	Columns      []column
	Rows         []tableRow
	// More says what is left out, "" for nothing.
	More string
}

// column is a column of a table. Where a terminal is too narrow, columns of a high rank go first, and those that may be shortened
// lose the middle of their cells.
type column struct {
	Title string
	Right bool
	rank  int
	least int // columns of the terminal that a cell keeps; 0 where it may not be shortened
	// optional columns are left out where every cell is empty.
	optional bool
	// wrap is true of a last column whose cells may take several lines.
	wrap bool
	// Name is true where cells hold names of the recording.
	Name bool
	// Sorted is true where a page sorts by the column, Up where the smallest comes first.
	Sorted, Up bool
	// Label stands before the cell on a narrow page; Class is the class of the cells.
	Label, Class string
	// Head is drawn in place of the title.
	Head plot.SVG
	// Pic columns are on pages only, text columns everywhere else.
	Pic, text bool
}

// tableRow is a row. On a page it is the target of a link by its ID, and searched by its Outcome.
type tableRow struct {
	Cells       []cell
	tone        tone
	ID, Outcome string
}

// cell is a cell. All but Text is for pages.
type cell struct {
	Text  string
	Note  string // small print behind the text
	Link  string // name on the page, or an address
	Full  string // the whole name, shown on a click
	Sort  string // what is sorted by, "" for the text
	Class string
	SVG   plot.SVG
}

// cells are texts as cells.
func cells(texts ...string) []cell {
	out := make([]cell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// Side are the classes of a cell of the column on a page.
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

// shown are the columns that hold something, by their indices; those with pictures only where pics is true.
func (t *table) shown(pics bool) []int {
	var out []int
	for i, c := range t.Columns {
		empty := c.optional && !slices.ContainsFunc(t.Rows, func(r tableRow) bool { return r.Cells[i].Text != "" })
		if !empty && (pics && !c.text || !pics && !c.Pic) {
			out = append(out, i)
		}
	}
	return out
}

// Shown are the columns of a page.
func (t *table) Shown() []int { return t.shown(true) }

// table writes a table in aligned columns under their titles. Where the page is too narrow for what may not be left out or
// shortened, a row takes lines of its own.
func (p *page) table(t *table) {
	const indent, gap, shortest = 2, 2, 8
	at := t.shown(false)
	widths, rank := t.widths(at)
	last := at[len(at)-1]
	// over is by how many columns of the terminal the table is too wide.
	over := func(width func(i int) int) int {
		total := indent - gap
		for _, i := range at {
			if t.Columns[i].rank <= rank {
				total += width(i) + gap
			}
		}
		return total - p.width
	}
	least := func(i int) int {
		if least := t.Columns[i].least; least > 0 {
			return min(widths[i], least)
		}
		return widths[i]
	}
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
	if t.More != "" {
		p.dim(indent, t.More)
	}
}

// widths are the columns of the terminal that the columns at these indices would take, by their index in the table; rank is the highest
// of their ranks.
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

// cards writes each row as a paragraph under its first cell: what stands in the others, each behind the title of its column.
func (p *page) cards(t *table, at []int) {
	names := apart(t.Rows, p.width-2)
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
			if c.least == 0 && !c.wrap && columns(c.Title)+columns(text)+len("    · ") < p.width { // else it would lose its middle
				text = bind(text)
			}
			spans = append(spans, span{text, s})
		}
		p.line(4, 4, spans...)
	}
	if t.More != "" {
		p.dim(2, t.More)
	}
}

// markdown writes the table in at most room bytes; rows that do not fit are counted.
func (t *table) markdown(room int) string {
	at := t.shown(false)
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
		head += " " + cmp.Or(t.Columns[i].Title, " ") + " |"
		rule += map[bool]string{true: " ---: |", false: " --- |"}[t.Columns[i].Right]
	}
	b.WriteString("\n" + head + "\n" + rule + "\n")
	const note = 100 // bytes of what is said about rows that are cut
	for r, row := range t.Rows {
		line := "|"
		for _, i := range at {
			switch text := row.Cells[i].Text; {
			case t.Columns[i].Name && text != "":
				line += " " + code(text) + " |"
			case t.Columns[i].wrap:
				line += " " + prose(text) + " |"
			default:
				line += " " + bind(prose(text)) + " |"
			}
		}
		if b.Len()+len(line)+note > room {
			if r == 0 {
				return ""
			}
			return b.String() + fmt.Sprintf("\n%d more rows are cut here; the JSON report holds all.\n", len(t.Rows)-r)
		}
		b.WriteString(line + "\n")
	}
	if t.More != "" && b.Len()+len(t.More)+note < room {
		b.WriteString("\n" + prose(t.More) + "\n")
	}
	return b.String()
}

// apart are the first cells of rows, shortened to n columns so that no two names that differ look alike: where cutting out the
// middle would do that, what they have in common goes.
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
		// What is indented is told apart by its place.
		if names := alike[out[i]]; len(names) > 1 && !strings.HasPrefix(name, nb) {
			out[i] = fromDifference(name, names, n)
		}
	}
	return out
}

// most bounds how many rows a table has, and says how many are left out.
func (t *table) most(n int, more func(left int) string) {
	if left := len(t.Rows) - n; n < math.MaxInt && left > 0 {
		t.Rows, t.More = t.Rows[:n], more(left)
	}
}

// List is rows under their titles, as text: the last column may lose its middle. Where the page is too narrow for all columns, each
// row takes lines of its own.
func List(title string, titles []string, rows [][]string, o Options) string {
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
	return p.b.String()
}
