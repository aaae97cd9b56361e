package report

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// titled writes a table under its title, unless it is empty.
func (p *page) titled(t *story.Table) {
	if len(t.Rows) == 0 {
		return
	}
	switch {
	case t.Title == "":
		p.dim(2, t.About)
	case t.About == "":
		p.title(t.Title)
	default:
		p.b.WriteByte('\n')
		p.line(0, 2, story.Plain.Of(t.Title), story.Minor.Of(story.NB+" "+t.About))
	}
	p.table(t)
}

// table writes aligned columns under their titles, or cards where the columns that must stay do not fit.
func (p *page) table(t *story.Table) {
	const indent, gap, shortest = 2, 2, 8
	at := t.Shown(false)
	for _, row := range t.Rows {
		if deep := len(row.Path) - 1; deep > 0 {
			row.Cells[0].Text = strings.Repeat(story.NB, 2*min(deep, 8)) + row.Path[deep]
		}
	}
	widths, rank := widthsOf(t, at)
	last := at[len(at)-1]
	// over is the excess width of the table.
	over := func(width func(i int) int) int {
		total := indent - gap
		for _, i := range at {
			if t.Columns[i].Rank <= rank {
				total += width(i) + gap
			}
		}
		return total - p.Width
	}
	least := func(i int) int { return min(widths[i], cmp.Or(t.Columns[i].Least, widths[i])) }
	for rank > 0 && over(least) > 0 {
		rank--
	}
	if over(least) > 0 {
		p.cards(t, at)
		return
	}
	at = slices.DeleteFunc(at, func(i int) bool { return t.Columns[i].Rank > rank })
	for _, i := range at {
		if n := over(func(i int) int { return widths[i] }); n > 0 && t.Columns[i].Least > 0 {
			widths[i] = min(widths[i], max(widths[i]-n, shortest))
		}
	}
	names := apart(t.Rows, widths[0])
	write := func(s story.Tone, text func(i int) string) {
		line, in := "", indent
		for _, i := range at {
			if t.Columns[i].Wrap && i == last {
				p.line(indent, in, s.Of(line), s.Of(text(i)))
				return
			}
			cell := story.Bind(story.Elide(text(i), widths[i]))
			if t.Columns[i].Right {
				cell = strings.Repeat(story.NB, widths[i]-story.Columns(cell)) + cell
			}
			line += story.Pad(cell, widths[i]+gap)
			in += widths[i] + gap
		}
		p.line(indent, indent, s.Of(story.Unspaced(line)))
	}
	if slices.ContainsFunc(at, func(i int) bool { return t.Columns[i].Title != "" }) {
		write(story.Minor, func(i int) string { return t.Columns[i].Title })
	}
	for r := range t.Rows {
		write(t.Rows[r].Tone, func(i int) string {
			if i == 0 {
				return names[r]
			}
			return t.Rows[r].Cells[i].Text
		})
	}
	p.dim(indent, t.More)
}

// widthsOf are the full widths of the columns at these indices; rank is the highest of their ranks.
func widthsOf(t *story.Table, at []int) (widths []int, rank int) {
	widths = make([]int, len(t.Columns))
	for _, i := range at {
		widths[i] = story.Columns(t.Columns[i].Title)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], story.Columns(row.Cells[i].Text))
		}
		if t.Columns[i].Wrap {
			widths[i] = min(widths[i], 24)
		}
		rank = max(rank, t.Columns[i].Rank)
	}
	return widths, rank
}

// cards writes each row as a paragraph: its first cell, then the other cells behind the titles of their columns.
func (p *page) cards(t *story.Table, at []int) {
	names := apart(t.Rows, p.Width-2)
	for r, row := range t.Rows {
		s := row.Tone
		p.line(2, 4, s.Of(names[r]))
		var spans []span
		for _, i := range at[1:] {
			c, text := t.Columns[i], row.Cells[i].Text
			if story.Blank(text) {
				continue
			}
			if len(spans) > 0 {
				spans = append(spans, story.Plain.Of(story.NB+"· "))
			}
			if c.Title != "" {
				spans = append(spans, story.Minor.Of(story.Bind(c.Title)+story.NB))
			}
			// a longer one would lose its middle
			if c.Least == 0 && !c.Wrap && story.Columns(c.Title)+story.Columns(text)+len("    · ") < p.Width {
				text = story.Bind(text)
			}
			spans = append(spans, s.Of(text))
		}
		p.line(4, 4, spans...)
	}
	p.dim(2, t.More)
}

// apart are the first cells of rows in at most n columns, shortened so that different names stay different: where
// cutting out the middle makes two names alike, their common start is cut out.
func apart(rows []story.TableRow, n int) []string {
	alike := make(map[string][]string)
	for _, row := range rows {
		name := row.Cells[0].Text
		if short := story.Elide(name, n); !slices.Contains(alike[short], name) {
			alike[short] = append(alike[short], name)
		}
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		name := row.Cells[0].Text
		out[i] = story.Elide(name, n)
		// Indented names differ by their place.
		if names := alike[out[i]]; len(names) > 1 && len(row.Path) < 2 {
			out[i] = fromDifference(name, names, n)
		}
	}
	return out
}

// List writes a table as text; cells of the last column may lose their middle.
func List(w io.Writer, title string, titles []string, rows [][]string, o story.Options) error {
	p := newPage(o)
	p.line(0, 2, story.Plain.Of(title))
	t := &story.Table{}
	const spare = "kernels" // a column that may be left out
	for i, title := range titles {
		t.Columns = append(t.Columns, story.Column{Title: title, Optional: i > 0,
			Least: measure.Either(i == len(titles)-1, 24, 0), Rank: measure.Either(title == spare, 1, 0)})
	}
	for _, row := range rows {
		t.Add(measure.Map(row, story.Clean)...)
	}
	p.table(t)
	return write(w, terminal.Text, p.b.String(), p.Options)
}

// fromDifference shortens a name to n columns so that its difference from the others stays.
func fromDifference(name string, others []string, n int) string {
	same := len(name)
	for _, o := range others {
		if o != name {
			same = min(same, len(story.Prefix(name, o)))
		}
	}
	const before = 4 // columns of the common start that stay on either side of the gap
	head, _ := story.Split(name, before)
	start := same - before
	for start > 0 && start < len(name) && !utf8.RuneStart(name[start]) {
		start--
	}
	if start > len(head) {
		name = head + "…" + name[start:]
	}
	if story.Columns(name) > n {
		name, _ = story.Split(name, n-1)
		name += "…"
	}
	return name
}
